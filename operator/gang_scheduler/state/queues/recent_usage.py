"""Recent usage of leaves: a decaying average of their charges.

Each leaf has an average and the time as of which it was computed. Both are updated when the charges
of the leaf change: until then, the old charges were in use.
"""

from collections import Counter
from collections.abc import Callable, Hashable, Mapping
from dataclasses import replace
from typing import Final, Generic, NamedTuple, TypeVar

from gang_scheduler.model.queues import (
    Charge,
    LocalQueueKey,
    QueueRef,
    QueueSet,
    QueueState,
    QueueUsage,
    RecentUsage,
)

K = TypeVar("K", bound=Hashable)
_NOTHING: Charge = {}
MOST_HALF_LIVES: Final = 4
"""After this many half-lives past usage of a queue is dropped."""


def advanced(
    average: RecentUsage, used: Mapping[str, int], now: int, half_life: int
) -> RecentUsage:
    """Return the present average, if `used` was in use since `average` was computed.

    The half-life is in seconds. Usage older than a few half-lives does not count.
    """
    waited = max(0, now - average.at)
    kept = 0.5 ** (waited / half_life) if waited <= MOST_HALF_LIVES * half_life else 0.0
    amounts = {
        name: round(kept * average.amounts.get(name, 0) + (1 - kept) * used.get(name, 0))
        for name in sorted({*average.amounts, *used})
    }
    return RecentUsage(max(now, average.at), amounts)


class _Leaf(NamedTuple):
    average: RecentUsage
    charged: Charge
    used: Mapping[str, int]


class _Averages(Generic[K]):
    """The averages of one kind of leaves."""

    def __init__(self, half_life: int) -> None:
        self._half_life = half_life
        self._leaves: dict[K, _Leaf] = {}
        self._charged: Mapping[K, Charge] = {}

    def take_stored(
        self, stored: Mapping[K, RecentUsage], charged: Mapping[K, Charge], now: int
    ) -> None:
        """Take in stored averages of leaves that are new here.

        Their present usage counts as constant since the average was stored. An average that is too
        old does not count.
        """
        for ref, each in stored.items():
            if ref not in self._leaves and now - each.at <= MOST_HALF_LIVES * self._half_life:
                of_leaf = charged.get(ref, _NOTHING)
                self._leaves[ref] = _Leaf(each, of_leaf, _by_resource(of_leaf))

    def advance(self, charged: Mapping[K, Charge], now: int) -> None:
        """Note the charges that apply from now on."""
        if self._charged is charged:
            return
        self._charged = charged
        for ref in {*self._leaves, *charged}:
            leaf, after = self._leaves.get(ref), charged.get(ref, _NOTHING)
            if leaf is None or leaf.charged != after:
                average = self.of(ref, now) or RecentUsage(now, {})
                self._leaves[ref] = _Leaf(average, after, _by_resource(after))

    def of(self, ref: K, now: int) -> RecentUsage | None:
        """Return the present average of a leaf; None if it has used nothing."""
        leaf = self._leaves.get(ref)
        if leaf is None:
            return None
        average = advanced(leaf.average, leaf.used, now, self._half_life)
        return replace(average, amounts={r: a for r, a in average.amounts.items() if a})

    def all(self, now: int) -> dict[K, Mapping[str, int]]:
        """Return the amounts of all leaves; forget leaves that used nothing for long."""
        recent = {}
        for ref in list(self._leaves):
            average = self.of(ref, now)
            if average is not None and average.amounts:
                recent[ref] = average.amounts
            elif not self._leaves[ref].charged:
                del self._leaves[ref]
        return recent


class RecentUsages:
    """The averages of all leaves; none with a half-life of 0. Times are in seconds.

    `stored` returns the average in the status of a leaf, if there is one: usage before this process
    saw the leaf. LocalQueues have no stored average, because their objects belong to Kueue; they
    begin at zero after a restart.
    """

    def __init__(
        self, half_life: int = 0, stored: Callable[[], Mapping[QueueRef, RecentUsage]] = dict
    ) -> None:
        self._half_life = half_life
        self._stored = stored
        self._averages = _Averages[QueueRef](half_life)
        self._local = _Averages[LocalQueueKey](half_life)
        self._declared: QueueSet | None = None
        self._shown: tuple[QueueUsage, int, QueueUsage] | None = None

    def added(self, state: QueueState, now: int) -> QueueState:
        """Return a state with the present recent usage of leaves. Linear in leaves.

        Within one second, its usage is the same object as long as the usage of `state` is.
        """
        if not self._half_life:
            return state
        usage = state.usage
        if self._declared is not state.declared:
            self._declared = state.declared
            self._averages.take_stored(self._stored(), usage.charged, now)
        self._averages.advance(usage.charged, now)
        self._local.advance(usage.local_charged, now)
        if self._shown is None or self._shown[0] is not usage or self._shown[1] < now:
            self._shown = usage, now, self._with_recent(usage, now)
        return replace(state, usage=self._shown[2])

    def of(self, ref: QueueRef, now: int) -> RecentUsage | None:
        """Return the present average of a leaf; None if it has used nothing."""
        return self._averages.of(ref, now)

    def _with_recent(self, usage: QueueUsage, now: int) -> QueueUsage:
        recent, local = self._averages.all(now), self._local.all(now)
        last = self._shown[2] if self._shown is not None and self._shown[0] is usage else None
        if last is not None and (last.recent, last.local_recent) == (recent, local):
            return last
        return replace(usage, recent=recent, local_recent=local)


def _by_resource(charge: Charge) -> Mapping[str, int]:
    used = Counter[str]()
    for (_, resource), amount in charge.items():
        used[resource] += amount
    return used
