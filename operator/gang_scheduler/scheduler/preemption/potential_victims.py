"""All pods that may be evicted, as columns and by node, kept for all preemptors of a cycle.

To look at every bound pod for every preemptor would make a cycle with many preemptors slow. So
every bound pod is looked at once, and the victims of each preemptor are removed.
"""

import functools
from collections import OrderedDict
from collections.abc import Collection, Hashable
from typing import Final, NamedTuple

import numpy as np

from gang_scheduler.model.bound_pods import BoundPod
from gang_scheduler.model.device_needs import Uses
from gang_scheduler.model.nodes import BoolArray, IntArray, NodeTable
from gang_scheduler.model.pods import PodClass
from gang_scheduler.model.refs import GangKey
from gang_scheduler.model.selectors import PodSelector
from gang_scheduler.scheduler.preemption.least_costs import Columns, LeastCosts
from gang_scheduler.scheduler.preemption.queue_rules import Judge
from gang_scheduler.scheduler.preemption.victim_costs import Cost, VictimCosts, Victims, price_of
from gang_scheduler.scheduler.trial import Share

NOWHERE: Final = -1
"""The row of pods on nodes that do not exist."""
MOST_QUESTIONS: Final = 256
"""The results of this many searches are kept, the latest ones."""


class Pool(NamedTuple):
    """The pods considered: up to a priority, with or without the pods under a budget.

    Pods that a selector of `staying` selects are not considered.
    """

    highest: int
    outside_budgets: bool = False
    staying: frozenset[PodSelector] = frozenset()


class Weighed(NamedTuple):
    """The gain in slots and the cost of an eviction set for one node; without a set the gain is 0.

    `rows` are the node rows on which the result depends.
    """

    gain: int
    cost: Cost
    rows: frozenset[int]


class _Answers(NamedTuple):
    """The results of one search, by node row.

    They were found with the room `free`, (nodes, resources), after `at` changes of the victims.
    """

    free: IntArray
    by_row: dict[int, Weighed]
    at: int


class PotentialVictims:
    """The pods that may be evicted by `costs`, in natural order of their names.

    These arrays have one entry for each pod. `rows` are node rows, `priorities` the highest
    priority that is evicted with the pod, and `gangs` numbers of gangs. `used` is the room of the
    pod along the resource axis, and `work` the run time lost in pod-seconds.

    These masks also have one entry for each pod. Pods `under_budget` are under a budget. Pods
    `chosen` are victims already. Pods `unprotected` are not, and belong to a Job that evictions
    could end for good. Pods `elastic` belong to a gang that had surplus at first. Pods `remaining`
    may still be evicted. With queues, the `judge` decides which pods may be evicted together.
    """

    def __init__(self, costs: VictimCosts, nodes: NodeTable, judge: Judge | None = None) -> None:
        self.costs = costs
        self.judge = judge
        self.nodes = nodes
        self.bound_pods = costs.evictable
        rows = [nodes.rows.get(each.pod.node, NOWHERE) for each in self.bound_pods]
        self.rows: IntArray = np.array(rows, dtype=np.int64)
        self.priorities: IntArray = np.array(
            [costs.priority(e) for e in self.bound_pods], dtype=np.int64
        )
        self.under_budget: BoolArray = np.array(
            [bool(e.budgets) for e in self.bound_pods], dtype=np.bool_
        )
        elastic = [costs.has_surplus(each.gang) for each in self.bound_pods]
        self.elastic: BoolArray = np.array(elastic, dtype=np.bool_)
        self.chosen: BoolArray = np.array(
            [e.pod.is_victim for e in self.bound_pods], dtype=np.bool_
        )
        unprotected = [each.unprotected and not each.pod.is_victim for each in self.bound_pods]
        self.unprotected: BoolArray = np.array(unprotected, dtype=np.bool_)
        self.remaining: BoolArray = np.ones(len(rows), dtype=np.bool_)
        classes: dict[PodClass, int] = {}
        codes = [classes.setdefault(each.pod.pod_class, len(classes)) for each in self.bound_pods]
        self._codes: IntArray = np.array(codes, dtype=np.int64)
        self._pod_classes = tuple(classes)
        requests = [nodes.vector(pod_class.requests) for pod_class in classes]
        self.used: IntArray = np.array(requests, dtype=np.int64)[self._codes]
        self.used = self.used.reshape(len(codes), len(nodes.resources))
        extended = bool(nodes.by_devices)
        used_claims = [each.pod.may_use_devices(extended=extended) for each in self.bound_pods]
        self._use_claims: BoolArray = np.array(used_claims, dtype=np.bool_)
        gangs: dict[GangKey, int] = {}
        codes = [gangs.setdefault(each.gang, len(gangs)) for each in self.bound_pods]
        self.gangs: IntArray = np.array(codes, dtype=np.int64)
        self.work: IntArray = np.array(
            [costs.work(each) for each in self.bound_pods], dtype=np.int64
        )
        self._by_row: IntArray = np.argsort(self.rows, kind="stable")
        self._by_gang: dict[GangKey, list[int]] = {}
        for place, each in enumerate(self.bound_pods):
            self._by_gang.setdefault(each.gang, []).append(place)
        self.put_in_order = 0
        """The number of pods that were sorted by their costs, which counts as work."""
        self._on_row: dict[int, dict[Pool, list[BoundPod]]] = {}
        self._weighed: OrderedDict[Hashable, _Answers] = OrderedDict()
        self._changes = 0
        self._changed_last: IntArray = np.zeros(len(nodes), dtype=np.int64)

    def leave(self, victims: Collection[BoundPod]) -> None:
        """Remove victims, and pods of their gangs that may not be evicted any more."""
        gangs = {each.gang for each in victims}
        members = (each for gang in gangs for each in self.costs.members(gang))
        concerned = {self.nodes.rows.get(each.pod.node, NOWHERE) for each in members}
        # The cost of other pods under the same budgets has changed.
        others = self.costs.leave(victims) - gangs
        if others:
            self.__dict__.pop("least_costs", None)
        for gang in others:
            nodes = (each.pod.node for each in self.costs.members(gang))
            concerned.update(self.nodes.rows.get(node, NOWHERE) for node in nodes)
        gone = {each.pod.uid for each in victims}
        for place in (place for gang in gangs for place in self._by_gang.get(gang, ())):
            each = self.bound_pods[place]
            self.remaining[place] &= each.pod.uid not in gone and self.costs.may_go(each)
            self.priorities[place] = self.costs.priority(each)
        self._forget(concerned)

    def on_nodes(self, nodes: BoolArray) -> BoolArray:
        """Return the mask of the remaining pods on some nodes, given as a mask of rows."""
        found: BoolArray = self.remaining & (self.rows != NOWHERE)
        found[found] = nodes[self.rows[found]]
        return found

    def freeing_quota(self) -> BoolArray:
        """Return the mask of the remaining pods that free quota that the request lacks."""
        return self._freeing & self.remaining

    @functools.cached_property
    def _freeing(self) -> BoolArray:
        if self.judge is None or not self.judge.reclaim.short:
            return np.zeros_like(self.remaining)
        return np.fromiter(map(self.judge.frees_quota, self.bound_pods), dtype=np.bool_)

    def priorities_of(self, chosen: BoolArray) -> list[int]:
        """Return the priorities of the chosen pods, ascending."""
        priorities: list[int] = np.unique(self.priorities[chosen]).tolist()
        return priorities

    def of(self, pool: Pool, among: BoolArray) -> BoolArray:
        """Return the mask of the pods among these that the pool considers."""
        found: BoolArray = among & (self.priorities <= pool.highest)
        if pool.staying:
            found = found & ~self._selected_by(pool.staying)
        return found & ~self.under_budget if pool.outside_budgets else found

    def may_leave_with(self, pool: Pool, among: BoolArray) -> BoolArray:
        """Return the mask of the pods among these that may be evicted with pods of the pool.

        A member of an elastic gang may be above the priority limit of the pool, and a pod under a
        budget may be evicted along with its gang.
        """
        found: BoolArray = among & (self.elastic | (self.priorities <= pool.highest))
        return found

    def beyond(self) -> BoolArray:
        """Return the mask of the pods whose eviction alone already exceeds a budget."""
        found: BoolArray = np.zeros_like(self.under_budget)
        for place in np.flatnonzero(self.under_budget & self.remaining).tolist():
            found[place] = self.costs.is_beyond(self.bound_pods[place])
        return found

    def freed(self, chosen: BoolArray) -> IntArray:
        """Return the resources that the chosen pods free: (nodes, resources)."""
        freed = np.zeros((len(self.nodes), len(self.nodes.resources)), dtype=np.int64)
        placed = chosen & (self.rows != NOWHERE)
        np.add.at(freed, self.rows[placed], self.used[placed])
        return freed

    def victims(self, chosen: BoolArray) -> Victims:
        """Return the chosen pods by uid."""
        bound_pods = (self.bound_pods[place] for place in np.flatnonzero(chosen).tolist())
        return {each.pod.uid: each for each in bound_pods}

    def shares(self, chosen: BoolArray) -> list[Share]:
        """Return the shares of the chosen pods."""
        placed = chosen & (self.rows != NOWHERE)
        rows, codes = self.rows[placed], self._codes[placed]
        uses = self._uses(placed) if self._use_claims.any() else {}
        return [
            Share(
                *(self._pod_classes[code], *np.unique(rows[codes == code], return_counts=True)),
                uses=uses.get(code, ()),
            )
            for code in np.unique(codes).tolist()
        ]

    def _uses(self, chosen: BoolArray) -> dict[int, Uses]:
        """Return the claims that the chosen pods use, by the number of their class."""
        found: dict[int, list[tuple[str, str]]] = {}
        for place in np.flatnonzero(chosen & self._use_claims).tolist():
            found.setdefault(int(self._codes[place]), []).extend(self.bound_pods[place].pod.uses)
        return {code: tuple(uses) for code, uses in found.items()}

    def on_row(self, row: int, pool: Pool) -> list[BoundPod]:
        """Return the pods on a node that the pool considers, the cheapest first."""
        known = self._on_row.setdefault(row, {})
        if pool not in known:
            known[pool] = self._cheapest_on(row, pool)
        return known[pool]

    def weighed(self, question: Hashable, free: IntArray) -> dict[int, Weighed]:
        """Return the kept results of an equal search, for nodes whose free room is the same."""
        known = self._weighed.pop(question, None) or _Answers(free, {}, self._changes)
        changed = (known.free != free).any(axis=1) | (self._changed_last > known.at)
        if changed.any():
            rows = frozenset(np.flatnonzero(changed).tolist())
            left = {row: each for row, each in known.by_row.items() if rows.isdisjoint(each.rows)}
            known = known._replace(by_row=left)
        self._weighed[question] = known._replace(free=free.copy(), at=self._changes)
        if len(self._weighed) > MOST_QUESTIONS:
            self._weighed.popitem(last=False)
        return known.by_row

    @functools.cached_property
    def least_costs(self) -> LeastCosts:
        """The least cost of clearing a slot on each node."""
        rigid = ~self.elastic
        going = (~self.chosen).astype(np.float64)
        sizes = np.bincount(self.gangs, going, minlength=1)
        work = np.bincount(self.gangs, self.work, minlength=1)
        beyond = (self.beyond() & ~self.chosen).astype(np.float64)
        over = np.bincount(self.gangs, beyond, minlength=1)
        # All pods of a rigid gang leave a node together, so they are one entry there.
        apart = len(sizes) + np.arange(len(rigid))
        keys = np.where(rigid, self.gangs, apart) * (len(self.nodes) + 1) + self.rows
        _, places, entries = np.unique(keys, return_index=True, return_inverse=True)
        used = np.zeros((len(places), self.used.shape[1]), dtype=np.int64)
        np.add.at(used, entries, self.used)
        gangs, whole = self.gangs[places], rigid[places]
        columns = Columns(
            places=places,
            rows=self.rows[places],
            gangs=gangs,
            used=used,
            priorities=self._own_priorities()[places],
            over=np.where(whole, over[gangs], beyond[places]),
            broken=(whole & (sizes[gangs] > 0)).astype(np.float64),
            work=np.where(whole, work[gangs], self.work[places]),
            pods=np.where(whole, sizes[gangs], going[places]),
        )
        return LeastCosts(columns, len(self.nodes))

    def _own_priorities(self) -> IntArray:
        """Return the lowest priority that each pod can count with, even after others have left."""
        steps = self.costs.steps
        at_first = zip(self.priorities.tolist(), self.bound_pods, strict=True)
        own = [price_of(each) if each.gang in steps else at for at, each in at_first]
        return np.array(own, dtype=np.int64)

    def _selected_by(self, selectors: frozenset[PodSelector]) -> BoolArray:
        """Return the mask of the bound pods that any of these selectors selects."""
        selected = np.array(
            [bool(pod_class.selected_by & selectors) for pod_class in self._pod_classes],
            dtype=np.bool_,
        )
        return selected[self._codes]

    def _cheapest_on(self, row: int, pool: Pool) -> list[BoundPod]:
        first, end = np.searchsorted(self.rows, (row, row + 1), sorter=self._by_row).tolist()
        places = self._by_row[first:end]
        chosen = self.remaining[places] & (self.priorities[places] <= pool.highest)
        if pool.outside_budgets:
            chosen &= ~self.under_budget[places]
        if pool.staying:
            chosen &= ~self._selected_by(pool.staying)[places]
        found = [self.bound_pods[place] for place in places[chosen].tolist()]
        self.put_in_order += len(found)
        return sorted(found, key=lambda each: (self.costs.cost_of(each), each.pod.uid))

    def _forget(self, rows: set[int]) -> None:
        """Drop the answers for nodes whose potential victims have changed."""
        self._changes += 1
        for row in rows:
            self._on_row.pop(row, None)
        self._changed_last[[row for row in rows if row != NOWHERE]] = self._changes
