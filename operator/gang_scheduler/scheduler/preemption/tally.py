"""What a set of victims costs as it grows: what is compared, in which order."""

from collections import Counter
from collections.abc import Callable, Collection, Mapping
from typing import Any, NamedTuple

from gang_scheduler.model.refs import GangKey
from gang_scheduler.scheduler.preemption.eviction_units import (
    NO_PRIORITY,
    NO_SHARE,
    EvictionUnit,
    Overlap,
    Portion,
    ShareRank,
)

NONE: Mapping[Portion, int] = {}


class Cost(NamedTuple):
    """What a set of victims costs; compared in this order, less is better.

    `over_budget` are pods beyond what PodDisruptionBudgets allow, each counted once. The evictions
    that a budget allows go to the pods under the fewest budgets, then to those with the smallest
    uids. As in kube-scheduler, a pod is beyond if any of its budgets allows no more evictions; it
    counts for its other budgets all the same, so one victim more never makes another one cheaper.
    `broken` are gangs that fall below their minMember (a gang of one, too), `touched` gangs that
    lose any member. `unprotected` are pods of Jobs that evictions could end for good. That comes
    before `lost_work`, in pod-seconds: such a Job loses all of its work, however long it ran.

    Only queues make a difference in the others: `highest_class` by which a victim goes,
    `least_share` that a queue of victims borrows, and `ties`, which decide between sets that are
    allowed and cost the same. Bounds have no ties.
    """

    over_budget: int = 0
    highest_class: int = 0
    highest_priority: int = NO_PRIORITY
    least_share: ShareRank = NO_SHARE
    broken: int = 0
    touched: int = 0
    unprotected: int = 0
    lost_work: int = 0
    pods: int = 0
    ties: tuple[Any, ...] = ()


class Tally:
    """What a growing set of victims costs, and what it would cost with more.

    `numbers` are the victims of each portion of a gang in the set.
    """

    def __init__(self, allowed: Mapping[str, int], surplus: Callable[[Portion], int]) -> None:
        self.cost = Cost()
        self.numbers: Counter[Portion] = Counter()
        self._beyond: set[GangKey] = set()
        self._allowed = allowed
        self._surplus = surplus
        self._going: Counter[GangKey] = Counter()
        self._covered: Counter[str] = Counter()
        self._overlapping: tuple[Overlap, ...] = ()

    def add(self, more: Collection[EvictionUnit]) -> None:
        """Add eviction units that are not in the set."""
        self.cost = self.with_more(more)
        for each in more:
            for portion, number in each.numbers.items():
                self.numbers[portion] += number
                if self.numbers[portion] > self._surplus(portion):
                    self._beyond.add(each.gang)
            self._going[each.gang] += each.going
            self._covered.update(each.covered)
            self._overlapping += each.overlapping

    def with_more(self, more: Collection[EvictionUnit]) -> Cost:
        """Return the cost of the set with more units."""
        now = self.cost
        numbers: dict[GangKey, dict[Portion, int]] = {}
        going: dict[GangKey, int] = {}
        for each in more:
            of_gang = numbers.setdefault(each.gang, {})
            for portion, number in each.numbers.items():
                of_gang[portion] = of_gang.get(portion, 0) + number
            going[each.gang] = going.get(each.gang, 0) + each.going
        return Cost(
            over_budget=self._over_budget(more),
            highest_class=max([now.highest_class, *(e.lowest_class for e in more)]),
            highest_priority=max([now.highest_priority, *(e.highest_priority for e in more)]),
            least_share=max([now.least_share, *(e.share for e in more)]),
            broken=now.broken
            + sum(self._breaks(gang, some, going[gang]) for gang, some in numbers.items()),
            touched=now.touched + sum(n > 0 and not self._going[gang] for gang, n in going.items()),
            unprotected=now.unprotected + sum(each.unprotected for each in more),
            lost_work=now.lost_work + sum(each.lost_work for each in more),
            pods=now.pods + sum(going.values()),
        )

    def _over_budget(self, more: Collection[EvictionUnit]) -> int:
        """Return how many pods of the set with more units are beyond a budget."""
        under_budget = [each for each in more if each.covered or each.overlapping]
        if not under_budget:
            return self.cost.over_budget
        covered = self._covered.copy()
        overlapping = self._overlapping
        for each in under_budget:
            covered.update(each.covered)
            overlapping += each.overlapping
        over = sum(max(0, n - self._allowed.get(budget, 0)) for budget, n in covered.items())
        for pod in sorted(overlapping):
            covered.update(pod.budgets)
            over += any(covered[each] > self._allowed.get(each, 0) for each in pod.budgets)
        return over

    def _breaks(self, gang: GangKey, more: Mapping[Portion, int], going: int) -> int:
        """Return 1 if so many more victims break a gang that was not broken, else 0."""
        return self._is_broken(gang, more, going) - self._is_broken(gang, NONE, 0)

    def _is_broken(self, gang: GangKey, more: Mapping[Portion, int], going: int) -> bool:
        if self._going.get(gang, 0) + going <= 0:
            return False
        return gang in self._beyond or any(
            self.numbers.get(portion, 0) + number > self._surplus(portion)
            for portion, number in more.items()
        )
