"""All who may go, as columns and by node, kept from one preemptor of a cycle to the next.

Looking at every bound pod for every preemptor is what would make a cycle with many of them slow. So
each is looked at once, and those whom a preemptor takes are crossed out.
"""

from collections.abc import Collection, Hashable
from typing import Final, NamedTuple

import numpy as np

from gang_scheduler.model.bound_pods import BoundPod
from gang_scheduler.model.gangs import GangKey
from gang_scheduler.model.nodes import BoolArray, IntArray, NodeTable
from gang_scheduler.model.pod_affinity import PodSelector
from gang_scheduler.model.pods import PodClass
from gang_scheduler.scheduler.preemption.victim_costs import Cost, VictimCosts, Victims
from gang_scheduler.scheduler.trial import Share

NOWHERE: Final = -1
"""The row of those on nodes that do not exist."""


class Pool(NamedTuple):
    """What is considered: pods up to a priority, perhaps without those under a budget.

    Those stay that any selector of `staying` means.
    """

    highest: int
    outside_budgets: bool = False
    staying: frozenset[PodSelector] = frozenset()


class Weighed(NamedTuple):
    """How many slots it gives, at what cost, to clear one on a node; 0 if that cannot be.

    `rows` are those of the nodes that this depends on.
    """

    gain: int
    cost: Cost
    rows: frozenset[int]


class PotentialVictims:
    """Those whom `costs` let go, in natural order of their names.

    `rows` are those of their nodes, `priorities` the priorities that go with them, `gangs` the
    numbers of their gangs, `used` what they use along the resource axis, and `work` what is lost
    with each in pod-seconds. `under_budget` are under a budget, `marked` are victims already,
    `elastic` were of a gang that could spare some, and `remaining` are those who have not left.
    """

    def __init__(self, costs: VictimCosts, nodes: NodeTable) -> None:
        self.costs = costs
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
        elastic = [costs.surplus(each.gang) > 0 for each in self.bound_pods]
        self.elastic: BoolArray = np.array(elastic, dtype=np.bool_)
        self.marked: BoolArray = np.array([e.pod.marked for e in self.bound_pods], dtype=np.bool_)
        self.remaining: BoolArray = np.ones(len(rows), dtype=np.bool_)
        classes: dict[PodClass, int] = {}
        codes = [classes.setdefault(each.pod.pod_class, len(classes)) for each in self.bound_pods]
        self._codes: IntArray = np.array(codes, dtype=np.int64)
        self._pod_classes = tuple(classes)
        requests = [nodes.vector(pod_class.requests) for pod_class in classes]
        self.used: IntArray = np.array(requests, dtype=np.int64)[self._codes]
        self.used = self.used.reshape(len(codes), len(nodes.resources))
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
        self._on_row: dict[int, dict[Pool, list[BoundPod]]] = {}
        self._weighed: dict[Hashable, tuple[IntArray, dict[int, Weighed]]] = {}

    def leave(self, victims: Collection[BoundPod]) -> None:
        """Cross those out who have left, and who can go no more without them."""
        gangs = {each.gang for each in victims}
        members = (each for gang in gangs for each in self.costs.members(gang))
        concerned = {self.nodes.rows.get(each.pod.node, NOWHERE) for each in members}
        self.costs.leave(victims)
        gone = {each.pod.uid for each in victims}
        for place in (place for gang in gangs for place in self._by_gang.get(gang, ())):
            each = self.bound_pods[place]
            self.remaining[place] &= each.pod.uid not in gone and self.costs.may_go(each)
            self.priorities[place] = self.costs.priority(each)
        if any(each.budgets for each in victims):
            # It costs something else now to evict others under the same budgets.
            self._on_row.clear()
            self._weighed.clear()
        self._forget(concerned)

    def on_nodes(self, nodes: BoolArray) -> BoolArray:
        """Return which of those there are on some nodes, given as rows."""
        found: BoolArray = self.remaining & (self.rows != NOWHERE)
        found[found] = nodes[self.rows[found]]
        return found

    def priorities_of(self, chosen: BoolArray) -> list[int]:
        """Return the priorities of these, ascending."""
        priorities: list[int] = np.unique(self.priorities[chosen]).tolist()
        return priorities

    def of(self, pool: Pool, among: BoolArray) -> BoolArray:
        """Return which of these are thought of."""
        found: BoolArray = among & (self.priorities <= pool.highest)
        if pool.staying:
            found = found & ~self._meant_by(pool.staying)
        return found & ~self.under_budget if pool.outside_budgets else found

    def may_leave_with(self, pool: Pool, among: BoolArray) -> BoolArray:
        """Return which of these may leave if only those are taken who are thought of.

        One of a higher priority may go along with an elastic gang, one under a budget with any.
        """
        found: BoolArray = among & (self.elastic | (self.priorities <= pool.highest))
        return found

    def beyond(self) -> BoolArray:
        """Return those who cannot go without more going than a budget allows."""
        found: BoolArray = np.zeros_like(self.under_budget)
        for place in np.flatnonzero(self.under_budget & self.remaining).tolist():
            found[place] = self.costs.is_beyond(self.bound_pods[place])
        return found

    def freed(self, chosen: BoolArray) -> IntArray:
        """Return what these leave, nodes by resources."""
        freed = np.zeros((len(self.nodes), len(self.nodes.resources)), dtype=np.int64)
        placed = chosen & (self.rows != NOWHERE)
        np.add.at(freed, self.rows[placed], self.used[placed])
        return freed

    def victims(self, chosen: BoolArray) -> Victims:
        """Return these by uid."""
        bound_pods = (self.bound_pods[place] for place in np.flatnonzero(chosen).tolist())
        return {each.pod.uid: each for each in bound_pods}

    def shares(self, chosen: BoolArray) -> list[Share]:
        """Return the room that these take."""
        placed = chosen & (self.rows != NOWHERE)
        rows, codes = self.rows[placed], self._codes[placed]
        return [
            Share(self._pod_classes[code], *np.unique(rows[codes == code], return_counts=True))
            for code in np.unique(codes).tolist()
        ]

    def on_row(self, row: int, pool: Pool) -> list[BoundPod]:
        """Return those on a node that are thought of, the cheapest first."""
        known = self._on_row.setdefault(row, {})
        if pool not in known:
            known[pool] = self._cheapest_on(row, pool)
        return known[pool]

    def weighed(self, question: Hashable, free: IntArray) -> dict[int, Weighed]:
        """Return what was weighed for the same question, by row, and holds with so much free."""
        before, known = self._weighed.get(question, (free, {}))
        changed = frozenset(np.flatnonzero((before != free).any(axis=1)).tolist())
        if changed:
            known = {row: each for row, each in known.items() if changed.isdisjoint(each.rows)}
        self._weighed[question] = free.copy(), known
        return known

    def _meant_by(self, selectors: frozenset[PodSelector]) -> BoolArray:
        """Return which bound pods any of the selectors means."""
        meant = np.array(
            [bool(pod_class.selected_by & selectors) for pod_class in self._pod_classes],
            dtype=np.bool_,
        )
        return meant[self._codes]

    def _cheapest_on(self, row: int, pool: Pool) -> list[BoundPod]:
        first, end = np.searchsorted(self.rows, (row, row + 1), sorter=self._by_row).tolist()
        places = self._by_row[first:end]
        chosen = self.remaining[places] & (self.priorities[places] <= pool.highest)
        if pool.outside_budgets:
            chosen &= ~self.under_budget[places]
        if pool.staying:
            chosen &= ~self._meant_by(pool.staying)[places]
        found = [self.bound_pods[place] for place in places[chosen].tolist()]
        return sorted(found, key=lambda each: (self.costs.cost_of(each), each.pod.uid))

    def _forget(self, rows: set[int]) -> None:
        """Forget what was known of nodes on which somebody else is now."""
        for row in rows & self._on_row.keys():
            del self._on_row[row]
        for question, (free, known) in self._weighed.items():
            left = {row: each for row, each in known.items() if rows.isdisjoint(each.rows)}
            self._weighed[question] = free, left
