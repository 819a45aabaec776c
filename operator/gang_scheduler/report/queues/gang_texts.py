"""Texts on the evictions, queue positions and promised starts of gangs in queues."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from gang_scheduler.api.conditions import Finding
from gang_scheduler.apply.disruption_target import Naming
from gang_scheduler.decode.gangs.status_fields import RESERVED, RESTING
from gang_scheduler.model.evictions import Backfilled, YieldedTo
from gang_scheduler.model.plan import Reservation
from gang_scheduler.model.queues import QueueFigures
from gang_scheduler.model.refs import GangKey
from gang_scheduler.model.wording import ordinal, rfc3339
from gang_scheduler.state.cache import Cache
from gang_scheduler.state.queues.reservations_in_force import News

EVICTED: Final = "Evicted"


class EvictionTexts:
    """Texts on evictions, with the names that the namespaces of the gangs may know."""

    def __init__(self, cache: Cache, naming: Naming) -> None:
        self._cache = cache
        self._naming = naming

    def status_of(self, key: GangKey) -> dict[str, Any] | None:
        """Return the evictions for the status of a PodGroup; None if there were none."""
        found = self._cache.evictions.of(key)
        if not found.count:
            return None
        return {
            "count": found.count,
            "last": rfc3339(found.last),
            "yieldedTo": [*self._links(key, found.yielded)],
        }

    def finding(self, key: GangKey) -> Finding | None:
        """Return the Evicted condition of a gang that was last evicted for a gang of a queue."""
        found = self._cache.evictions.of(key)
        if not found.yielded:
            return None
        last = found.yielded[-1]
        words = f"{self._ordinal(key)} eviction: for {self._by(key, last)}"
        return Finding(EVICTED, status=True, reason=last.eviction_class.shown, message=words)

    def reclaimed(self, key: GangKey) -> str:
        """Return the text of the Event on a gang whose borrowed quota is taken back.

        The text names the owner of the quota and counts the evictions once these are recorded.
        """
        links = self._cache.evictions.of(key).yielded
        own = self._where(key).replace(" of ", " by ")
        owner = f" for {self._by(key, links[-1])}" if links else ""
        more = f": {self._ordinal(key)} eviction of the gang" if links else ""
        return f"Quota that was borrowed{own} is taken back{owner}{more}"

    def _ordinal(self, key: GangKey) -> str:
        """Return the number of a gang's evictions as an ordinal, such as 2nd."""
        return ordinal(self._cache.evictions.of(key).count)

    def _by(self, key: GangKey, link: YieldedTo) -> str:
        where = self._where(link.gang)
        is_hidden = self._naming.hides_foreign and link.gang.namespace != key.namespace
        return f"a gang{where}" if is_hidden else f"{link.gang}{where}"

    def _where(self, key: GangKey) -> str:
        resolved = self._cache.gang_queue.queues.of(key)
        return f" of queue {resolved.ref}" if resolved is not None and resolved.ref else ""

    def _links(self, key: GangKey, links: Iterable[YieldedTo]) -> Iterator[dict[str, str]]:
        for each in links:
            written = {
                "by": self._naming.gang(each.gang, each.uid, key.namespace),
                "uid": each.uid,
                "class": each.eviction_class.shown,
                "at": rfc3339(each.at) if each.at else "",
                "edition": each.edition,
            }
            # A gang of another namespace may have no name that can be shown.
            if written["by"]:
                yield {name: text for name, text in written.items() if text}


# The positions of waiting gangs in the status of their PodGroups: updated now and then, for the
# first gangs of each queue.

MOST: Final = 100
"""This many gangs of a queue get their place in it."""
LEAST_SECONDS: Final = 30
"""Places change with every gang that starts, so they are updated only after this time."""


class Place(NamedTuple):
    """The `position` of a gang in its queue, from 1, and the number of `pending` gangs there."""

    position: int
    pending: int


class QueuePlaces:
    """The places that statuses show now."""

    def __init__(self) -> None:
        self.in_use = False
        """Whether there ever were figures."""
        self._places: dict[GangKey, Place] = {}
        self._next = 0.0

    def show(self, figures: Sequence[QueueFigures], now: float) -> set[GangKey]:
        """Note new figures; return the gangs whose place has changed. `now` is in seconds.

        If it is called again within LEAST_SECONDS, it only gives a place to gangs that had none.
        """
        places = dict(_places(figures))
        self.in_use = True
        if now < self._next:
            new = {key: place for key, place in places.items() if key not in self._places}
            self._places.update(new)
            return set(new)
        known = self._places.keys() | places.keys()
        changed = {key for key in known if self._places.get(key) != places.get(key)}
        if changed:
            self._next = now + LEAST_SECONDS
        self._places = places
        return changed

    def of(self, key: GangKey) -> Place | None:
        """Return the place of a gang, if it waits and is among the first."""
        return self._places.get(key)


def _places(figures: Sequence[QueueFigures]) -> Iterator[tuple[GangKey, Place]]:
    for each in figures:
        number = len(each.pending)
        for position, key in enumerate(each.pending[:MOST], start=1):
            yield key, Place(position, number)


# Texts on the promised start of a gang, in its status and in Events.

MADE: Final = "ReservationMade"
MOVED: Final = "ReservationMoved"
NOT_RESERVED: Final = "NotReserved"
_RESTS: Final = "was promised a start for long, and is promised none for an hour"


@dataclass(frozen=True, slots=True)
class Promised:
    """The reservation of a gang, None without one; `rests`: it gets none for a while."""

    reservation: Reservation | None = None
    rests: bool = False


def start_of(reservation: Reservation) -> str:
    """Return when a gang starts, if that is known."""
    after = f"after gang {reservation.after} ends" if reservation.after is not None else ""
    if reservation.start is None:
        return f"start unknown, {after}" if after else "start unknown"
    start = f"estimated start {rfc3339(reservation.start)}"
    return f"{start}, {after}" if after else start


def reservation_finding(promised: Promised) -> Finding:
    """Return the Reserved condition of a gang."""
    if promised.reservation is not None:
        words = start_of(promised.reservation)
        return Finding(RESERVED, status=True, reason="Reserved", message=words)
    if promised.rests:
        return Finding(RESERVED, status=False, reason=RESTING, message=_RESTS)
    return Finding(RESERVED, status=False, reason=NOT_RESERVED)


def event_of(news: News) -> tuple[str, str] | None:
    """Return reason and note of an Event; None if a start moved earlier, or was withdrawn."""
    now, before = news.now, news.before
    if now is None:
        return None
    if before is None:
        return MADE, f"Promised a start: {start_of(now)}"
    later = now.start is None if before.start is not None else now.after != before.after
    if now.start is not None and before.start is not None:
        later = now.start > before.start
    if now.start is not None and before.start is None:
        later = False
    return (MOVED, f"Now {start_of(now)}; before: {start_of(before)}") if later else None


def backfill_of(backfilled: Backfilled | None) -> Mapping[str, Any] | None:
    """Return the `backfill` field of a status; None for a gang that was not backfilled."""
    if backfilled is None:
        return None
    return {"until": rfc3339(backfilled.until), "for": str(backfilled.ahead_of)}
