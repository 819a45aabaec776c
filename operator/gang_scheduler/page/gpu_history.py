"""GPUs over the last hours: how many exist, are used, and are requested by gangs that wait."""

from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from typing import Final, NamedTuple

from gang_scheduler.inspection import cluster as inspection_cluster
from gang_scheduler.inspection.cluster import Cluster
from gang_scheduler.inspection.listing.gangs import API_VERSION, Json
from gang_scheduler.model.wording import rfc3339
from gang_scheduler.page import timeline
from gang_scheduler.page.timeline import HOUR, MINUTE, Tick

STEP_SECONDS: Final = MINUTE
"""At most one point in this time is kept."""
LEAST_SHOWN: Final = HOUR
"""The picture covers at least this time, so that its first points are not stretched."""
GAP_SECONDS: Final = 5 * MINUTE
"""Points that are further apart are not joined: nothing is known between them."""
WHOLE: Final = 100.0
TOP, HEIGHT, LETTERS, ABOVE = 8, 112, 14, 4
"""Where the lines are drawn, and how high letters are and how far above a line; in pixels."""


class Use(NamedTuple):
    """GPUs at one time: all, used by pods, and requested by waiting gangs."""

    at: int
    all: int
    used: int
    asked: int


class UseLine(NamedTuple):
    """The parts of the picture that are joined: each a path of an area, and of two lines."""

    used_area: str
    used: str
    wanted: str


class Picture(NamedTuple):
    """The parts of the picture, and its content in words; `top` is the number at its top.

    `capacity` is the place of all present GPUs, from the top, in percent.
    """

    lines: tuple[UseLine, ...]
    ticks: tuple[Tick, ...]
    top: int
    capacity: float
    now: Use
    words: str

    @property
    def capacity_label(self) -> float:
        """The place of the word at the line of all GPUs: above it, or below if that is cut off."""
        at = TOP + HEIGHT * self.capacity / WHOLE
        return round(at - ABOVE if at - ABOVE > LETTERS else at + LETTERS, 1)

    @property
    def top_label(self) -> bool:
        """Whether the top has a number of its own, and room for it."""
        return self.capacity * HEIGHT / WHOLE > 2 * LETTERS


class GpuHistory:
    """Keeps a point a minute of the last `kept_seconds`, in memory."""

    def __init__(self, kept_seconds: int, points: Iterable[Use] = ()) -> None:
        self._kept_seconds = kept_seconds
        self._points = deque(points)

    @property
    def points(self) -> tuple[Use, ...]:
        """The points, the oldest first."""
        return tuple(self._points)

    def add(self, point: Use) -> bool:
        """Keep a point; return whether it began a minute. The last point of a minute counts."""
        points = self._points
        if points and point.at < points[-1].at:
            return False  # The clock was set back.
        begins = not points or point.at // STEP_SECONDS != points[-1].at // STEP_SECONDS
        if not begins:
            points.pop()
        points.append(point)
        while points[0].at < point.at - self._kept_seconds:
            points.popleft()
        return begins


# The picture.


def picture(points: Sequence[Use]) -> Picture | None:
    """Return the picture of points; None if there are none, or no GPUs. Linear."""
    if not any(each.all or each.asked for each in points):
        return None
    now = points[-1]
    begins = min(points[0].at, now.at - LEAST_SHOWN)
    top = max(max(each.all, each.used + each.asked) for each in points)

    def place(at: int) -> float:
        return round(WHOLE * (at - begins) / (now.at - begins), 2)

    def height(number: int) -> float:
        return round(WHOLE - WHOLE * number / top, 2)

    def line(some: Sequence[Use]) -> UseLine:
        used = _path((place(each.at), height(each.used)) for each in some)
        wanted = _path((place(each.at), height(each.used + each.asked)) for each in some)
        first, last = place(some[0].at), place(some[-1].at)
        return UseLine(f"{used}L{last} 100L{first} 100z", used, wanted)

    return Picture(
        tuple(map(line, _joined(points))),
        tuple(Tick(at, place(at)) for at in timeline.ticks(begins, now.at)),
        top,
        height(now.all),
        now,
        _words(points),
    )


def _joined(points: Sequence[Use]) -> Iterator[Sequence[Use]]:
    """Yield the points that are joined by lines."""
    first = 0
    for number in range(1, len(points) + 1):
        if number == len(points) or points[number].at - points[number - 1].at > GAP_SECONDS:
            yield points[first:number]
            first = number


def _path(places: Iterable[tuple[float, float]]) -> str:
    """Return a path that keeps each height until the next place: numbers change at once."""
    found = ""
    for x, y in places:
        found = f"{found}H{x}V{y}" if found else f"M{x} {y}"
    return f"{found}h0.15"


def _words(points: Sequence[Use]) -> str:
    """Return the most and the fewest GPUs that the picture shows, in words."""
    used = [each.used for each in points]
    asked = max(each.asked for each in points)
    most, fewest = max(used), min(used)
    some = f"{most}" if most == fewest else f"{fewest} to {most}"
    return f"{some} GPUs were used, and gangs that waited asked for up to {asked} more."


# The document.


def document(points: Sequence[Use], cluster: Cluster) -> Json:
    """Return points as a document of kind GpuUsage."""
    return {
        "apiVersion": API_VERSION,
        "kind": "GpuUsage",
        **inspection_cluster.origin_document(cluster),
        "stepSeconds": STEP_SECONDS,
        "points": [
            {"at": rfc3339(each.at), "all": each.all, "used": each.used, "asked": each.asked}
            for each in points
        ],
    }
