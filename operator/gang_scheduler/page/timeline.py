"""The timeline of a gang as a picture and as a document: its states, and what happened to it."""

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from typing import Final, NamedTuple

from gang_scheduler.inspection import cluster as inspection_cluster
from gang_scheduler.inspection.cluster import Cluster
from gang_scheduler.inspection.explaining import document_fields, history, timeline
from gang_scheduler.inspection.explaining.history import Happened
from gang_scheduler.inspection.explaining.timeline import Current, Span
from gang_scheduler.inspection.listing.gangs import API_VERSION, Json, Row
from gang_scheduler.model.refs import GangKey
from gang_scheduler.model.wording import rfc3339

MINUTE: Final = 60
HOUR: Final = 60 * MINUTE
DAY: Final = 24 * HOUR
STEPS: Final = (
    *(1, 2, 5, 10, 30, MINUTE, 2 * MINUTE, 5 * MINUTE, 10 * MINUTE, 30 * MINUTE),
    *(HOUR, 2 * HOUR, 6 * HOUR, 12 * HOUR, DAY, 2 * DAY, 7 * DAY, 30 * DAY),
)
"""The distances between the times on an axis, in seconds."""
MOST_TICKS: Final = 6
WHOLE: Final = 100.0
LEAST_WIDTH: Final = 0.4
"""In percent of the picture. A shorter time is drawn as wide as this."""
WITH_WORD, WITH_WORD_ON_PHONES = 11.0, 28.0
"""A span this wide has its state written in it; in percent."""
MOST_SPANS: Final = 24
"""At most this many spans are in the table: the last ones. The document has all."""


class Timeline(NamedTuple):
    """The states of a gang one after the other, and what happened to it, the oldest first.

    `now` is the time of the reading, and `lacks` says why more is not known; "" if it is.
    """

    key: GangKey
    state: str
    now: int
    spans: tuple[Span, ...]
    moments: tuple[Happened, ...]
    lacks: str = ""


class Part(NamedTuple):
    """A span on the picture: where it begins, and how wide it is, in percent."""

    span: Span
    x: float
    width: float

    @property
    def word(self) -> str:
        """The class of the state's word: whether it has room, always or on wide screens."""
        if self.width < WITH_WORD:
            return ""
        return "always" if self.width >= WITH_WORD_ON_PHONES else "roomy"


class Tick(NamedTuple):
    """A time on the axis or of a moment, and its place in percent. `words` are for moments."""

    at: int
    x: float
    words: str = ""


class Picture(NamedTuple):
    """The parts of the picture of a timeline, and its content in a sentence.

    `with_seconds`: ticks are less than a minute apart.
    """

    parts: tuple[Part, ...]
    moments: tuple[Tick, ...]
    ticks: tuple[Tick, ...]
    title: str
    with_seconds: bool


def of_gang(
    cluster: Cluster,
    row: Row,
    seen: Sequence[Current],
    events: Sequence[Happened],
    lacks: str,
) -> Timeline | None:
    """Return the timeline of a gang that was `seen` in some states; None if it has no times.

    Linear in members and Events.
    """
    info = cluster.cache.gang_queue.infos.get(row.key)
    if info is None or not timeline.is_dated(info):
        return None
    words = ": ".join(filter(None, (row.wait.reason, row.wait.brief)))
    happened = history.all_of(info, events)
    now = Current(cluster.read_at, row.state, words)
    spans = timeline.spans_of(info, happened, [*seen, now])
    moments = history.changes(happened)
    return Timeline(row.key, row.state, cluster.read_at, tuple(spans), tuple(moments), lacks)


# The picture.


def picture(found: Timeline) -> Picture:
    """Return the picture: times from the first span to the reading, linear."""
    begins = found.spans[0].begins
    whole = max(found.now - begins, 1)

    def place(at: int) -> float:
        return round(WHOLE * min(max(at - begins, 0), whole) / whole, 2)

    def part(span: Span) -> Part:
        x = min(place(span.begins), WHOLE - LEAST_WIDTH)
        end = place(found.now if span.ends is None else span.ends)
        return Part(span, x, round(max(end - x, LEAST_WIDTH), 2))

    marks = [*ticks(begins, begins + whole)]
    return Picture(
        tuple(map(part, found.spans)),
        tuple(Tick(each.at, place(each.at), each.what) for each in found.moments),
        tuple(Tick(at, place(at)) for at in marks),
        _title(found),
        with_seconds=any(at % MINUTE for at in marks),
    )


def ticks(begins: int, ends: int, most: int = MOST_TICKS) -> Iterator[int]:
    """Yield round times between two times, at most so many."""
    step = next((each for each in STEPS if (ends - begins) / each <= most - 1), STEPS[-1])
    first = -(-begins // step) * step
    yield from range(first, ends + 1, step)


def _title(found: Timeline) -> str:
    """Return the states in a sentence, for readers without the picture."""
    states = ", then ".join(dict.fromkeys(each.state for each in found.spans))
    begins = datetime.fromtimestamp(found.spans[0].begins, UTC)
    return f"{states}; since {begins:%Y-%m-%d %H:%M} UTC. The table below says the same."


# The document.


def document(found: Timeline, cluster: Cluster) -> Json:
    """Return a timeline as a document of kind Timeline."""
    return {
        "apiVersion": API_VERSION,
        "kind": "Timeline",
        **inspection_cluster.origin_document(cluster),
        "name": str(found.key),
        "state": found.state,
        "lacks": found.lacks or None,
        "spans": [
            {
                "state": each.state,
                "from": rfc3339(each.begins),
                "until": rfc3339(each.ends) if each.ends is not None else None,
                "words": each.words or None,
            }
            for each in found.spans
        ],
        "moments": [document_fields.as_json(history.part_of(each)) for each in found.moments],
    }
