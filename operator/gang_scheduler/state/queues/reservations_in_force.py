"""Reservations in force, since when, and which gangs pause after holding one for too long.

A cycle decides only the gangs that a change may help. Gangs with a reservation are tried with them
every time, and so are gangs that may get one while the limit is not reached.
"""

from collections import Counter
from collections.abc import Container, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from gang_scheduler.model.causes.queues import DelaysReserved
from gang_scheduler.model.evictions import Backfilled
from gang_scheduler.model.gangs import GangGroup
from gang_scheduler.model.plan import Plan, Refused, Reservation
from gang_scheduler.model.queues import QueueRef, QueueSet
from gang_scheduler.model.reasons import PROMISED
from gang_scheduler.model.refs import GangKey
from gang_scheduler.model.rules import NO_PROMISES, PromiseRules
from gang_scheduler.state.gangs.gang_info import GangInfo

REST_SECONDS: Final = 3600
IN_VAIN_SECONDS: Final = 300
"""For this long, no start is searched for a gang that had none even after all others had ended."""
LONG_SECONDS: Final = 3600
"""A namespace that has had reservations for this long leaves the limit to others."""
BREAK_SECONDS: Final = 300
"""A shorter break does not count: a user may delete one gang for the next one."""
MOST_CANDIDATES: Final = 16
"""At most this many gangs are tried along with others because they may get a reservation."""


@dataclass(frozen=True, slots=True)
class Held:
    """A reservation and since when it is held, in seconds since the epoch."""

    reservation: Reservation
    since: int


@dataclass(frozen=True, slots=True)
class News:
    """A change that a plan made: the reservation of a gang now, and its former one."""

    key: GangKey
    now: Reservation | None
    before: Reservation | None


class Reservations:
    """The present reservations, by gang. Times are in seconds since the epoch."""

    def __init__(
        self,
        infos: Mapping[GangKey, GangInfo],
        rules: PromiseRules = NO_PROMISES,
    ) -> None:
        self.rules = rules
        self.held: dict[GangKey, Held] = {}
        self.waits: Mapping[QueueRef, int] = {}
        """How long gangs of a queue must wait for one, in seconds, if the queue declares it."""
        self._infos = infos
        self._rests_until: dict[GangKey, int] = {}
        self._in_vain_until: dict[GangKey, int] = {}
        self._behind: set[GangKey] = set()
        self._waiting: dict[GangKey, Refused] = {}
        self._untils: dict[GangKey, list[int]] = {}
        self._namespaces: dict[str, tuple[int, int]] = {}
        """Since when, and until when, each namespace has had reservations, whatever its gangs."""
        self._ended = False

    # Gangs to try.

    @property
    def pending(self) -> bool:
        """Whether gangs must be tried for which no other event comes."""
        return self._ended and bool(self._behind)

    def wanted(self, groups: Iterable[GangGroup], now: int) -> bool:
        """Return whether one of these groups may be promised a start."""
        if not self.rules.reservations:
            return False
        return any(
            bool(self.held) or self._has_waited(group.queue, group.created_at, now)
            for group in groups
        )

    def resting(self, now: int) -> frozenset[GangKey]:
        """Return the gangs that get no reservation now, because they held one for too long."""
        return frozenset(key for key, until in self._rests_until.items() if now < until)

    def not_searched(self, now: int) -> frozenset[GangKey]:
        """Return the gangs for which no start is searched now."""
        in_vain = (key for key, until in self._in_vain_until.items() if now < until)
        return self.resting(now).union(in_vain)

    def companions(self, now: int) -> set[GangKey]:
        """Return the gangs that must be tried whenever any gang is tried."""
        keys, lasting = {key for key in self.held if key in self._infos}, self.lasting(now)
        if len(keys - lasting) >= self.rules.reservations:
            return keys
        taken = Counter(key.namespace for key in keys & lasting)
        left = self.rules.reservations - len(keys - lasting)
        found = sorted(
            (-each.gang.queue_priority, each.gang.created_at, str(key), key)
            for key, each in self._waiting.items()
            if taken[key.namespace] < left
            and self._has_waited(each.gang.queue, each.gang.created_at, now)
            and now >= max(self._rests_until.get(key, 0), self._in_vain_until.get(key, 0))
        )
        return keys | {each[-1] for each in found[:MOST_CANDIDATES]}

    def helped(self, *, room_freed: bool) -> set[GangKey]:
        """Return the gangs that may start after all because a reservation may be outdated."""
        if not (room_freed or self._ended):
            return set()
        self._ended = False
        return {key for key in self._behind if key in self._infos}

    def first_wait_ends(self, refused: Refused, now: int) -> int | None:
        """Return when a refused gang will have waited long enough for a reservation, or None."""
        if not self.rules.reservations or refused.reason not in PROMISED:
            return None
        if refused.gang.queue is None:
            return None
        moment = int(refused.gang.created_at) + self._after(refused.gang.queue)
        return moment if moment > now else None

    def first_overrun(self, key: GangKey, now: int) -> int | None:
        """Return the next declared end of a gang backfilled before this one; None without any."""
        untils = self._untils.get(key)
        if untils is None:
            return None
        ahead = [each for each in untils if each > now]
        if not ahead:
            del self._untils[key]
            return None
        self._untils[key] = ahead
        return min(ahead)

    def _has_waited(self, queue: QueueRef | None, since: float, now: int) -> bool:
        return queue is not None and now - since >= self._after(queue)

    def _after(self, queue: QueueRef) -> int:
        return self.waits.get(queue, self.rules.reservation_after_seconds)

    def promised(self) -> Mapping[GangKey, Reservation]:
        """Return the present reservation of each gang."""
        return {key: each.reservation for key, each in self.held.items()}

    def lasting(self, now: int) -> frozenset[GangKey]:
        """Return the gangs with a reservation whose namespace has had some for long."""
        return frozenset(
            key
            for key in self.held
            if now - self._namespaces.get(key.namespace, (now, now))[0] >= LONG_SECONDS
        )

    def standing(self) -> tuple[Reservation, ...]:
        """Return the reservations that are still in force."""
        first = {each.reservation.gangs[0].key: each.reservation for each in self.held.values()}
        return tuple(first.values())

    # Outcomes.

    def let_pass(self, backfilled: Backfilled) -> None:
        """Note when a gang that passes a waiting one must have ended."""
        if self.rules.enforce_backfill:
            self._untils.setdefault(backfilled.ahead_of, []).append(backfilled.until)

    def moved(self, key: GangKey, after: Refused | None) -> None:
        """Note why a gang waits now; None if it does not wait."""
        self._behind.discard(key)
        self._waiting.pop(key, None)
        if after is None or not self.rules.reservations:
            return
        if isinstance(after.cause, DelaysReserved):
            self._behind.add(key)
        elif after.gang.queue is not None and after.reason in PROMISED and not after.left_over:
            self._waiting[key] = after

    def forget(self, key: GangKey) -> None:
        """Forget a gang that is gone."""
        self.moved(key, None)
        self._rests_until.pop(key, None)
        self._in_vain_until.pop(key, None)
        self._untils.pop(key, None)
        self._ended |= self.held.pop(key, None) is not None

    def take_in(self, plan: Plan, now: int) -> list[News]:
        """Note the reservations of a plan; return the changes."""
        known = {key: until for key, until in self._in_vain_until.items() if now < until}
        self._in_vain_until = known | dict.fromkeys(plan.without_start, now + IN_VAIN_SECONDS)
        if not (self.held or plan.reservations):
            return []
        had = {key.namespace for key in self.held}
        promised = {gang.key: each for each in plan.reservations for gang in each.gangs}
        decided = {each.gang.key for each in plan.placed}
        decided.update(each.gang.key for each in plan.refused)
        news = list(self._kept(promised, now))
        over = [key for key in self.held if key in decided and key not in promised]
        news += [News(key, None, self.held.pop(key).reservation) for key in over]
        self._rests_until = {k: until for k, until in self._rests_until.items() if now < until}
        self._ended |= any(each.now is None for each in news)
        self._note_namespaces(had, now)
        return news

    def _note_namespaces(self, had: Container[str], now: int) -> None:
        """Note which namespaces have reservations now; `had` are those that had some until now."""
        recent = {
            namespace: span
            for namespace, span in self._namespaces.items()
            if namespace in had or now - span[1] < BREAK_SECONDS
        }
        for key, held in self.held.items():
            since, _ = recent.get(key.namespace, (held.since, now))
            recent[key.namespace] = min(since, held.since), now
        self._namespaces = recent

    def _kept(self, promised: Mapping[GangKey, Reservation], now: int) -> Iterator[News]:
        for key, reservation in promised.items():
            before = self.held.get(key)
            since = before.since if before else self._written_since(key) or now
            if now - since >= self.rules.reservation_timeout_seconds:
                self._rests_until[key] = now + REST_SECONDS
                self.held.pop(key, None)
                yield News(key, None, before.reservation if before else reservation)
                continue
            self.held[key] = Held(reservation, since)
            if before is None or _moment(before.reservation) != _moment(reservation):
                yield News(key, reservation, before.reservation if before else None)

    def _written_since(self, key: GangKey) -> int:
        info = self._infos.get(key)
        spec = info.observed.spec if info is not None else None
        return spec.reserved_since if spec is not None else 0

    def take_over(self, key: GangKey, rests_since: int) -> None:
        """Note that a gang pauses since a time, according to its object."""
        if rests_since:
            self._rests_until.setdefault(key, rests_since + REST_SECONDS)


def waits_of(declared: QueueSet) -> Mapping[QueueRef, int]:
    """Return after how many seconds of waiting a gang may get a reservation, by queue.

    Queues that declare no such time are left out.
    """
    return declared.cached("waits", (), lambda: dict(_waits(declared)))


def _waits(declared: QueueSet) -> Iterator[tuple[QueueRef, int]]:
    for queue in declared.queues:
        if queue.reservations.after_seconds is not None:
            yield queue.ref, queue.reservations.after_seconds


def _moment(reservation: Reservation) -> tuple[int | None, GangKey | None]:
    """Return the fields of a reservation whose change is reported to users."""
    return reservation.start, reservation.after
