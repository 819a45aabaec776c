"""What leaves used lately: for each the decaying average of what it was charged.

A leaf has a point in time and its average then. It moves on when the charges of the leaf change:
until that time the old charges were in use.
"""

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import NamedTuple

from gang_scheduler.model.queues import (
    MOST_HALF_LIVES,
    Charge,
    QueueRef,
    QueueSet,
    QueueState,
    QueueUsage,
    RecentUsage,
)

_NOTHING: Charge = {}


class _Leaf(NamedTuple):
    average: RecentUsage
    charged: Charge
    used: Mapping[str, int]


class RecentUsages:
    """The averages of all leaves; none with a half-life of 0. Times are in seconds.

    `stored` gives the average of a leaf that its object has, if any: what was used before it was
    first seen here.
    """

    def __init__(
        self, half_life: int = 0, stored: Callable[[], Mapping[QueueRef, RecentUsage]] = dict
    ) -> None:
        self._half_life = half_life
        self._stored = stored
        self._leaves: dict[QueueRef, _Leaf] = {}
        self._declared: QueueSet | None = None
        self._charged: Mapping[QueueRef, Charge] = {}
        self._shown: tuple[QueueUsage, int, QueueUsage] | None = None

    def added(self, state: QueueState, now: int) -> QueueState:
        """Return a state with what leaves used lately, as it is now. Costs a step for each leaf.

        The same usage while it is equal, and the second is the same.
        """
        if not self._half_life:
            return state
        usage = state.usage
        if self._declared is not state.declared:
            self._declared = state.declared
            self._take_stored(usage.charged, now)
        if self._charged is not usage.charged:
            self._charged = usage.charged
            self._advance(usage.charged, now)
        if self._shown is None or self._shown[0] is not usage or self._shown[1] < now:
            self._shown = usage, now, self._with_recent(usage, now)
        return replace(state, usage=self._shown[2])

    def of(self, ref: QueueRef, now: int) -> RecentUsage | None:
        """Return the average of a leaf as it is now; None for one that has used nothing."""
        leaf = self._leaves.get(ref)
        if leaf is None:
            return None
        average = leaf.average.advanced(leaf.used, now, self._half_life)
        return replace(average, amounts={r: a for r, a in average.amounts.items() if a})

    def _take_stored(self, charged: Mapping[QueueRef, Charge], now: int) -> None:
        """Take in the averages of leaves that are new here, as if what they use was in use since.

        One that is too old does not count.
        """
        for ref, stored in self._stored().items():
            if ref not in self._leaves and now - stored.at <= MOST_HALF_LIVES * self._half_life:
                of_leaf = charged.get(ref, _NOTHING)
                self._leaves[ref] = _Leaf(stored, of_leaf, _by_resource(of_leaf))

    def _advance(self, charged: Mapping[QueueRef, Charge], now: int) -> None:
        for ref in {*self._leaves, *charged}:
            leaf, after = self._leaves.get(ref), charged.get(ref, _NOTHING)
            if leaf is None or leaf.charged != after:
                average = self.of(ref, now) or RecentUsage(now, {})
                self._leaves[ref] = _Leaf(average, after, _by_resource(after))

    def _with_recent(self, usage: QueueUsage, now: int) -> QueueUsage:
        recent = {}
        for ref in list(self._leaves):
            average = self.of(ref, now)
            if average is not None and average.amounts:
                recent[ref] = average.amounts
            elif not self._leaves[ref].charged:
                del self._leaves[ref]
        last = self._shown
        if last is not None and last[0] is usage and last[2].recent == recent:
            return last[2]
        return replace(usage, recent=recent)


def _by_resource(charge: Charge) -> Mapping[str, int]:
    used = Counter[str]()
    for (_, resource), amount in charge.items():
        used[resource] += amount
    return used
