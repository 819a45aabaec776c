"""How screens are written: templates, bars, times and addresses."""

import hashlib
import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any, Final, NamedTuple
from urllib.parse import quote

import jinja2

from gang_scheduler.inspection.explaining import text
from gang_scheduler.inspection.explaining.section_lines import View as TextView
from gang_scheduler.inspection.explaining.timeline import SCHEDULED
from gang_scheduler.inspection.listing import queues as listing_queues
from gang_scheduler.inspection.listing import table_layout, waits
from gang_scheduler.inspection.listing.gangs import Row
from gang_scheduler.inspection.listing.queues import QueueLine
from gang_scheduler.model.queues import Amounts
from gang_scheduler.model.refs import GangKey
from gang_scheduler.model.resources import quantity
from gang_scheduler.model.wording import counted, rfc3339
from gang_scheduler.page import node_map, timeline, view
from gang_scheduler.page.node_map import NodeMap
from gang_scheduler.page.view import Heartbeat
from gang_scheduler.report.words import text as words

FOLDER: Final = Path(__file__).parent
STATIC: Final = FOLDER / "static"
WIDTH: Final = 100.0
"""The width of a bar, in its own units."""
MARK: Final = 0.6
"""The width of the mark of a fair share."""
LATE: Final = 3
"""If a Lease was not renewed for this many times its duration, the scheduler counts as down."""
LONGEST_NODES: Final = 60
HEIGHTS: Final = ((32, "low"), (96, "middle"))
"""The heights of maps with at most this many nodes; with more nodes, the largest."""
STARTS: Final = frozenset({SCHEDULED, "Provisioned", "ScaledUp"})
"""The reasons of Events of gangs that start or grow."""
EXPLAINED: Final = TextView(width=100, all_domains=False, wide=False)


@cache
def environment() -> jinja2.Environment:
    """Return the templates. All text is escaped, and a missing name is an error."""
    made = jinja2.Environment(
        loader=jinja2.FileSystemLoader(FOLDER / "templates"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters.update(
        age=table_layout.age,
        cells=cells,
        clock=clock,
        clock_of_seconds=clock_of_seconds,
        counted=counted,
        date=date,
        iso=rfc3339,
        part=part,
        quantity_of=quantity,
        queue_title=view.queue_title,
        short_share=table_layout.short_share,
    )
    made.globals.update(
        bar=bar,
        beating=beating,
        next_cycle=waits.NEXT_CYCLE,
        reasons_of_starts=STARTS,
        domain_path=domain_path,
        gang_path=gang_path,
        node_path=node_path,
        node_words=node_map.WORDS,
        nodes_of=nodes_of,
        queue_path=queue_path,
        timeline_path=timeline_path,
        resources_of=resources_of,
        most_spans=timeline.MOST_SPANS,
        sections=text.sections,
        facts=text.facts,
        explained_view=EXPLAINED,
        map_height=map_height,
        width=WIDTH,
        mark=MARK,
    )
    return made


def render(template: str, /, **given: Any) -> str:  # noqa: ANN401 - values for a template.
    """Return a screen."""
    return environment().get_template(template).render(**given)


def tag(body: bytes) -> str:
    """Return the ETag of a body."""
    return f'"{hashlib.blake2b(body, digest_size=12).hexdigest()}"'


# Addresses.


def part(text: str) -> str:
    """Return a text encoded as one part of a path."""
    return quote(text, safe="")


def gang_path(namespace: str, name: str, source: str = "") -> str:
    """Return the address of a gang; a name with a / in it gets its kind as a prefix."""
    kind = f"{source.lower()}/" if source and "/" in name else ""
    return f"/gangs/{part(namespace)}/{kind}{quote(name, safe='/')}"


def timeline_path(key: GangKey) -> str:
    """Return the address of the timeline of a gang, as JSON."""
    return "/api/v1/timelines" + gang_path(key.namespace, key.name, key.source).removeprefix(
        "/gangs"
    )


def node_path(name: str) -> str:
    """Return the address of a node."""
    return f"/nodes/{part(name)}"


def domain_path(topology: str, path: Sequence[str]) -> str:
    """Return the address of the nodes of a domain."""
    return with_query("/nodes", {"topology": topology, "in": "/".join(path)})


def queue_path(name: str) -> str:
    """Return the address of a queue."""
    return f"/queues/{part(name)}"


# Texts that commands align in columns.


def cells(text: str) -> list[str]:
    """Return the two columns of a line of a command, or the line if it has no columns."""
    return _BETWEEN_COLUMNS.split(text.strip(), maxsplit=1)


_BETWEEN_COLUMNS: Final = re.compile(r" {2,}")


# Times in UTC; the script of the page shows them in the browser's time zone.


def clock(seconds: int, now: int) -> str:
    """Return a time of day, with the date if it is not today."""
    return table_layout.moment(seconds, now)


def clock_of_seconds(seconds: int) -> str:
    """Return a time of day to the second."""
    return f"{datetime.fromtimestamp(seconds, UTC):%H:%M:%S}"


def date(seconds: int) -> str:
    """Return a time with its date."""
    return f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%d %H:%M:%S} UTC"


def map_height(found: NodeMap) -> str:
    """Return the class for the height of a map, which is known before it is drawn."""
    return next((name for most, name in HEIGHTS if len(found.names) <= most), "")


# Bars. A page without inline style draws them with attributes.


class Piece(NamedTuple):
    """A piece of a bar: its kind, where it begins, and how wide it is."""

    kind: str
    x: float
    width: float


def bar(*parts: tuple[str, int]) -> list[Piece]:
    """Return the pieces of a bar of amounts, each wide enough to be seen."""
    whole = sum(amount for _, amount in parts if amount > 0)
    pieces, x = [], 0.0
    for kind, amount in parts:
        if amount > 0:
            width = round(WIDTH * amount / whole, 2)
            pieces.append(Piece(kind, round(x, 2), width))
            x += width
    return pieces


class ResourceBar(NamedTuple):
    """The quota of a queue for one resource, in words and as a bar."""

    name: str
    used: str
    nominal: str
    borrowed: str
    lent: str
    pieces: list[Piece]
    fair: float | None


def resources_of(line: QueueLine) -> Iterator[ResourceBar]:
    """Yield the bars of the scarce resources of a queue."""
    for of, amounts in listing_queues.scarce(line.amounts).items():
        shown = (amounts.used, amounts.nominal, amounts.borrowed, amounts.lent)
        used, nominal, borrowed, lent = (quantity(of.resource, each) for each in shown)
        name = of.resource if of.flavor in ("", "default") else f"{of.flavor}/{of.resource}"
        yield ResourceBar(name, used, nominal, borrowed, lent, _pieces(amounts), _fair(amounts))


def _pieces(amounts: Amounts) -> list[Piece]:
    own = max(0, amounts.used - amounts.borrowed)
    lent = max(0, amounts.lent)
    free = max(0, amounts.nominal - own - lent)
    return bar(("used", own), ("borrowed", amounts.borrowed), ("free", free), ("lent", lent))


def _fair(amounts: Amounts) -> float | None:
    """Return the place of the fair share on the bar; None if it is unknown or beyond the bar."""
    whole = max(amounts.nominal, 0) + max(amounts.borrowed, 0)
    if not amounts.fair_share or amounts.fair_share > whole:
        return None
    return round(min(WIDTH * float(amounts.fair_share) / whole, WIDTH - MARK), 2)


# Words.


class Beat(NamedTuple):
    """The state of the scheduler: a kind for the colour, a word, and the rest of the sentence."""

    kind: str
    word: str
    more: str


def beating(beat: Heartbeat | None, now: int) -> Beat:
    """Return whether the scheduler is alive, as far as its Lease tells."""
    if beat is None:
        return Beat("unknown", "not known", "a file does not say which replica leads")
    if beat.problem:
        return Beat("unknown", "not known", beat.problem)
    if not beat.holder:
        return Beat("bad", "none", "no replica holds the Lease")
    ago = max(0, now - beat.renewed)
    late = ago > LATE * max(beat.seconds, 1)
    word = "silent" if late else "alive"
    return Beat(
        "bad" if late else "good",
        word,
        f"{beat.holder} renewed its Lease {table_layout.age(ago)} ago",
    )


def nodes_of(row: Row) -> str:
    """Return the nodes of a gang in short."""
    folded = words.folded(words.without_domain(row.nodes))
    if len(folded) <= LONGEST_NODES:
        return folded
    number = f"{len(set(row.nodes))} nodes"
    return f"{number} in {row.domain}" if row.domain else number


def with_query(path: str, query: Mapping[str, str], **changed: str) -> str:
    """Return an address with changed query fields; fields that become "" are removed."""
    found = {name: value for name, value in {**query, **changed}.items() if value}
    rest = "&".join(f"{name}={quote(value, safe='')}" for name, value in found.items())
    return f"{path}?{rest}" if rest else path
