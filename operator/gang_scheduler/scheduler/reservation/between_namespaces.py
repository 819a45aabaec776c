"""What the promises and searches of gangs of one namespace leave to those of others."""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Final

from gang_scheduler.model.gangs import GangGroup
from gang_scheduler.model.snapshot import Snapshot
from gang_scheduler.scheduler.reservation.promise import MOST_LOOKS, Fit, FutureRoom, Promise
from gang_scheduler.scheduler.reservation.releases import Clock

MOST_BESIDE: Final = 3
"""At most this many promises are given beside those of the limit.

A namespace that has had promises for long takes no place from others (`promised_long`). So no
tenant keeps the only promise by gangs that never start.
"""
MOST_TRIALS: Final = 100
"""At most this often in a cycle, promised gangs are placed again to let a later gang start.

The limit is for the later gangs of one namespace.
"""
LOOKS_OF_TRIALS: Final = MOST_LOOKS // 2
"""The most looks of these trials in a cycle for one namespace: other namespaces get the rest."""


class BetweenNamespaces:
    """Which promises of a namespace count for groups of others, in one cycle.

    `most` is the setting `reservations`.
    """

    def __init__(self, snapshot: Snapshot, most: int, clock: Clock) -> None:
        self._long = snapshot.promised_long
        self._most = most
        self._clock = clock

    def may_give_more(self, given: int) -> bool:
        """Return whether any group may be promised a start beside those that were `given` one."""
        beside = MOST_BESIDE if self._long and self._most else 0
        return given < self._most + beside

    def has_place(self, group: GangGroup, promises: Sequence[Promise]) -> bool:
        """Return whether a group may have a promise beside those that were given before."""
        key = group.gangs[0].key
        taken = (
            each
            for each in promises
            if each.key.namespace == key.namespace or not self._long & {key, each.key}
        )
        return len([*taken]) < self._most

    def is_in_own_hands(
        self, future_room: FutureRoom, group: GangGroup, find: Callable[[int], Fit | None]
    ) -> bool:
        """Return whether a group that has waited for long waits for gangs of its own namespace.

        It has no place then as long as these run, and they do not say when they end.
        """
        first, keys = group.gangs[0].key, {*group.keys}
        if first not in self._long:
            return False
        own = [
            each
            for each in future_room.releases
            if each.gang is not None
            and (each.gang.namespace, each.ends_at) == (first.namespace, None)
            and each.gang not in keys
        ]
        if not own:
            return False
        last = len(future_room.releases)
        future_room.advance_to(last)
        future_room.restore(own)
        found = find(last)
        future_room.end(own)
        return found is None and not future_room.is_used_up

    def gives_way(self, promise: Promise, group: GangGroup) -> bool:
        """Return whether a promise holds a group of another namespace up no more."""
        return promise.in_own_hands and promise.key.namespace != group.gangs[0].key.namespace

    def comes_later(self, promise: Promise, group: GangGroup) -> bool:
        """Return whether a start is promised to a group as if there were no such earlier promise.

        Else a gang that never starts would come before all that are promised a start after it.
        """
        if promise.key not in self._long:
            return False
        if promise.key.namespace == group.gangs[0].key.namespace:
            return False
        ends = promise.start is None and self._clock.end_of(group) is not None
        return ends or promise.in_own_hands


class Trials:
    """How often promised gangs were placed again so that a gang may start, by its namespace."""

    def __init__(self) -> None:
        self._number: Counter[str] = Counter()
        self._looks: Counter[str] = Counter()

    def of(self, group: GangGroup) -> int:
        """Return how often this was tried for gangs of a group's namespace."""
        return self._number[_namespace(group)]

    def count(self, group: GangGroup, number: int) -> None:
        """Count trials that were not made, since the outcome for an equal group is known."""
        self._number[_namespace(group)] += number

    @contextmanager
    def one_for(self, group: GangGroup, future_room: FutureRoom) -> Iterator[bool]:
        """Count a trial and its looks; yield whether its namespace may have it."""
        namespace, before = _namespace(group), future_room.looks
        self._number[namespace] += 1
        few = self._number[namespace] <= MOST_TRIALS
        yield few and self._looks[namespace] < LOOKS_OF_TRIALS
        self._looks[namespace] += future_room.looks - before


def _namespace(group: GangGroup) -> str:
    return group.waiting[0].key.namespace
