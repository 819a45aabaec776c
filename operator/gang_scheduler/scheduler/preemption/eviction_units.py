"""Eviction units: bound pods of one gang that are evicted together, with their cost and usage."""

import functools
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from fractions import Fraction
from typing import Any, Final, NamedTuple

import numpy as np

from gang_scheduler.model.bound_pods import BoundPod
from gang_scheduler.model.nodes import IntArray, NodeTable
from gang_scheduler.model.pods import Pod, PodClass
from gang_scheduler.model.refs import GangKey

NO_PRIORITY: Final = -(2**31)
"""A priority below all."""


ShareRank = tuple[int, Fraction]
"""A sort key of the share that a queue borrows: the queue that borrows more sorts first."""
NO_SHARE: Final[ShareRank] = (-1, Fraction(0))
"""The lowest sort key: no victim is of another queue, or there are no queues."""


Portion = GangKey | tuple[GangKey, str]
"""The members whose surplus is counted together: all members of a gang, or of one of its roles."""


class Standing(NamedTuple):
    """The rank of a gang among victims where there are queues.

    `lowest_class` is the lowest class by which the gang may be evicted. `share` is the amount that
    its queue borrows, none for the queue of the preemptor. `name` is the sort key of the gang's
    name.
    """

    lowest_class: int = 0
    share: ShareRank = NO_SHARE
    name: tuple[object, ...] = ()


NO_STANDING: Final = Standing()
"""The rank of every gang where there are no queues."""


class Usage(NamedTuple):
    """The resources that bound pods use, node row by node row.

    `used[i]` along the resource axis is the usage on node row `rows[i]`; rows ascend.
    """

    rows: IntArray
    used: IntArray
    on_row: Mapping[int, IntArray]


class Overlap(NamedTuple):
    """A pod under several budgets; pods under fewer come first, then pods with smaller uids."""

    number: int
    uid: str
    budgets: tuple[str, ...]


class EvictionUnit:
    """Bound pods of one gang, at least one, that are evicted together; `now` is in seconds.

    A pod that was already chosen as a victim costs nothing any more. Of the other pods, `going` is
    the number, `highest_priority` the highest priority, and `lost_work` the run time in
    pod-seconds, without the time before `work_since`. `unprotected` is the number of pods of Jobs
    that evictions could end for good. `covered` is the number of pods under exactly one
    PodDisruptionBudget, by budget, and `overlapping` are the pods under several budgets.
    `lowest_class` and `share` are taken from the `Standing` of the gang. `numbers` counts the pods
    of each portion of the gang; by default all are in one portion.
    """

    def __init__(
        self,
        bound_pods: Sequence[BoundPod],
        now: int,
        standing: Standing = NO_STANDING,
        numbers: Mapping[Portion, int] | None = None,
        work_since: int = 0,
    ) -> None:
        self.bound_pods = tuple(bound_pods)
        self.gang: GangKey = bound_pods[0].gang
        self.numbers = numbers or {self.gang: len(bound_pods)}
        pods = [each.pod for each in bound_pods if not each.pod.chosen]
        self.going = len(pods)
        priorities = (each.priority for each in bound_pods if not each.pod.chosen)
        self.highest_priority = max(priorities, default=NO_PRIORITY)
        self.unprotected = sum(1 for each in bound_pods if each.unprotected and not each.pod.chosen)
        self.lost_work = sum([work_of(pod, now, work_since) for pod in pods])
        self.lowest_class = standing.lowest_class if pods else 0
        self.share = standing.share if pods else NO_SHARE
        under_budget = [each for each in bound_pods if each.budgets and not each.pod.chosen]
        self.covered = Counter(each.budgets[0] for each in under_budget if len(each.budgets) == 1)
        self.overlapping = tuple(
            Overlap(len(each.budgets), each.pod.uid, each.budgets)
            for each in under_budget
            if len(each.budgets) > 1
        )
        self._usage: Usage | None = None

    def __len__(self) -> int:
        return len(self.bound_pods)

    @functools.cached_property
    def uids(self) -> frozenset[str]:
        """The uids of the pods."""
        return frozenset(each.pod.uid for each in self.bound_pods)

    def usage(self, nodes: NodeTable) -> Usage:
        """Return the usage of the pods on existing nodes.

        Computed once: a unit is always asked with the same nodes.
        """
        if self._usage is None:
            self._usage = _usage(self.bound_pods, nodes)
        return self._usage


def work_of(pod: Pod, now: int, since: int = 0) -> int:
    """Return the run time that is lost with a pod, in pod-seconds; times are in seconds.

    The run time before `since` is not lost.
    """
    if not pod.started_at or pod.chosen:
        return 0
    return max(0, now - max(pod.started_at, since))


def of_surplus(unit: EvictionUnit) -> EvictionUnit:
    """Return the surplus with its rank among victims of queues: before whole gangs of its class."""
    unit.highest_priority = NO_PRIORITY
    unit.share = NO_SHARE
    return unit


def gang_of(portion: Portion) -> GangKey:
    """Return the gang of a portion."""
    return portion if isinstance(portion, GangKey) else portion[0]


def usage_of(units: Sequence[EvictionUnit], nodes: NodeTable) -> tuple[IntArray, IntArray]:
    """Return the ascending node rows that the units use, and the resources they use on each row."""
    rooms = [each.usage(nodes) for each in units]
    if len(rooms) == 1:
        return rooms[0].rows, rooms[0].used
    if not rooms:
        return np.zeros(0, dtype=np.int64), np.zeros((0, len(nodes.resources)), dtype=np.int64)
    rows, places = np.unique(np.concatenate([each.rows for each in rooms]), return_inverse=True)
    used = np.zeros((len(rows), len(nodes.resources)), dtype=np.int64)
    np.add.at(used, places, np.concatenate([each.used for each in rooms]))
    return rows, used


def _usage(bound_pods: Iterable[BoundPod], nodes: NodeTable) -> Usage:
    on_row: dict[int, IntArray] = {}
    for each in bound_pods:
        row = nodes.rows.get(each.pod.node)
        if row is not None:
            used = _request(each.pod.pod_class, nodes)
            on_row[row] = on_row[row] + used if row in on_row else used
    rows = sorted(on_row)
    used = np.array([on_row[row] for row in rows], dtype=np.int64)
    return Usage(
        np.array(rows, dtype=np.int64), used.reshape(len(rows), len(nodes.resources)), on_row
    )


def _request(pod_class: PodClass, nodes: NodeTable) -> IntArray:
    return nodes.derive(("request", pod_class), functools.partial(nodes.vector, pod_class.requests))


# The cost of a growing set of victims, and the order that compares costs.

NONE: Mapping[Portion, int] = {}


class Cost(NamedTuple):
    """The cost of a set of victims; costs compare field by field in this order, less is better.

    `over_budget` counts pods beyond the PodDisruptionBudgets, each pod once. The evictions that a
    budget allows go to the pods under the fewest budgets, then to those with the smallest uids. As
    in kube-scheduler, a pod is beyond if any of its budgets allows no more evictions. It still
    counts for its other budgets, so one victim more never makes another one cheaper.

    `broken` counts gangs that fall below their minMember, gangs of one included. `touched` counts
    gangs that lose any member. `unprotected` counts pods of Jobs that evictions could end for good.
    It comes before `lost_work`, in pod-seconds, since such a Job loses all its work, however long
    it ran.

    The other fields differ only with queues. `highest_class` is the highest class by which a victim
    goes, and `least_share` is the least amount that a queue of victims borrows. `ties` decides
    between sets that are allowed and cost the same. Bounds have no ties.
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
    """The cost of a growing set of victims, and the cost if more victims were added.

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
        """Return 1 if this many more victims break a gang that was not broken, else 0."""
        return self._is_broken(gang, more, going) - self._is_broken(gang, NONE, 0)

    def _is_broken(self, gang: GangKey, more: Mapping[Portion, int], going: int) -> bool:
        if self._going.get(gang, 0) + going <= 0:
            return False
        return gang in self._beyond or any(
            self.numbers.get(portion, 0) + number > self._surplus(portion)
            for portion, number in more.items()
        )
