"""Each queue's promised (nominal) quota, how much it may borrow, its upper limit, and what is left.

An interior queue is promised its own quota plus the quota that the queues below lend through it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

import numpy as np

from gang_scheduler.model.nodes import BoolArray, NodeTable
from gang_scheduler.model.queues import (
    DEFAULT_FLAVOR,
    GPU,
    Flavor,
    FlavorResource,
    Product,
    Queue,
    QueueKind,
    QueueSet,
    Quota,
)
from gang_scheduler.scheduler.quota.trees import ROOTS, Trees, trees_of

# The capacity of a flavor: its nodes that are ready and not cordoned.


def flavor_of(declared: QueueSet, product: Product, name: str) -> Flavor | None:
    """Return the flavor that queues of a product mean by a name; None if it is not declared."""
    found = (flavor for flavor in declared.flavors if flavor.name == name)
    return next((flavor for flavor in found if flavor.product is product), None)


def nodes_of(flavor: Flavor | None, nodes: NodeTable) -> BoolArray:
    """Return the nodes of a flavor, ready or not; without a flavor, all nodes."""
    chosen = np.ones(len(nodes), dtype=np.bool_)
    for key, value in flavor.node_labels if flavor else ():
        chosen &= nodes.label(key).matches([value])
    return chosen


def is_empty(flavor: Flavor, nodes: NodeTable) -> bool:
    """Return whether no node is of a flavor. Computed once for these nodes."""
    key = "is_empty", flavor.node_labels
    return nodes.cached(key, lambda: not nodes_of(flavor, nodes).any())


def capacity(declared: QueueSet, product: Product, key: FlavorResource, nodes: NodeTable) -> int:
    """Return how much of one resource the schedulable nodes of a flavor offer.

    Node resources are counted under the same names as requests, which settings can transform.
    """
    flavor = flavor_of(declared, product, key.flavor)
    if flavor is None and key.flavor != DEFAULT_FLAVOR:
        return 0
    chosen = nodes_of(flavor, nodes) & nodes.ready & ~nodes.unschedulable
    if declared.request_rules.transformations:
        return _transformed(declared, key.resource, nodes, chosen)
    names = declared.gpu_resources if key.resource == GPU else (key.resource,)
    columns = [nodes.axis[name] for name in names if name in nodes.axis]
    return sum(int(nodes.allocatable[chosen, column].sum()) for column in columns)


def _transformed(declared: QueueSet, resource: str, nodes: NodeTable, chosen: BoolArray) -> int:
    """Return how much of a resource nodes have after transformations.

    Linear in kinds of nodes.
    """
    kinds, numbers = np.unique(nodes.allocatable[chosen], axis=0, return_counts=True)
    found = 0
    for kind, number in zip(kinds.tolist(), numbers.tolist(), strict=True):
        requests = tuple(zip(nodes.resources, kind, strict=True))
        found += number * declared.charged(requests).get(resource, 0)
    return found


UNBOUNDED: Final = 2**80
"""Stands for "no limit": more than any sum of amounts."""

_NOTHING: Final = Quota(borrowing_limit=0)
_BORROWS_ANY: Final = Quota()


@dataclass(frozen=True, eq=False)
class Terms:
    """The promises of all queues for one flavor and resource; each list has one entry per queue.

    `promised` is the sum of promises in the subtree. `borrowing` is how far a queue may go above
    its nominal quota, and `limit` the most that its whole subtree may hold; both are UNBOUNDED
    without a limit. `capacities` has the capacity of the nodes for each root that lends capacity
    promised to no queue. `oversubscribed` has the own quota of each queue whose children were
    promised more.
    """

    nominal: list[int]
    promised: list[int]
    guaranteed: list[int]
    borrowing: list[int]
    limit: list[int]
    pool: list[int]
    capacities: Mapping[int, int]
    oversubscribed: dict[int, int] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class Promises:
    """The trees with their terms. Immutable, except for results that are computed once and kept."""

    trees: Trees
    terms: Mapping[FlavorResource, Terms]
    lenders: Mapping[int, tuple[int, ...]]
    potentials: dict[tuple[int, FlavorResource], int] = field(default_factory=dict)
    lendables: dict[tuple[int, str], int] = field(default_factory=dict)
    _by_resource: dict[int, Mapping[str, tuple[FlavorResource, ...]]] = field(default_factory=dict)

    def by_resource(self, row: int) -> Mapping[str, tuple[FlavorResource, ...]]:
        """Return the keys that the tree of a row has numbers for, by resource, sorted by flavor."""
        root = self.trees.root(row)
        if root not in self._by_resource:
            found: dict[str, tuple[FlavorResource, ...]] = {}
            for key in sorted(self.trees.governed[root]):
                found[key.resource] = (*found.get(key.resource, ()), key)
            self._by_resource[root] = found
        return self._by_resource[root]


def promises_of(declared: QueueSet, nodes: NodeTable) -> Promises:
    """Return the promises of all trees, computed once for a queue set and these nodes."""
    return declared.cached("promises", (nodes,), lambda: _promises(declared, nodes))


def _promises(declared: QueueSet, nodes: NodeTable) -> Promises:
    trees = trees_of(declared)
    governed = sorted(set().union(*trees.governed.values()))
    return Promises(
        trees,
        {key: _terms(trees, key, _capacities(declared, trees, key, nodes)) for key in governed},
        _lenders(trees),
    )


def _lenders(trees: Trees) -> dict[int, tuple[int, ...]]:
    """Return the queues that each queue may borrow from, for queues that name their lenders."""
    found: dict[int, tuple[int, ...]] = {}
    for row, queue in enumerate(trees.queues):
        if queue.lenders is not None:
            refs = [queue.ref._replace(name=name) for name in sorted(queue.lenders)]
            found[row] = tuple(trees.rows[ref] for ref in refs if ref in trees.rows)
    return found


def _capacities(
    declared: QueueSet, trees: Trees, key: FlavorResource, nodes: NodeTable
) -> dict[int, int]:
    """Return the capacity of the nodes, for roots that lend quota promised to no queue."""
    return {
        trees.rows[ref]: capacity(declared, product, key, nodes)
        for product, ref in ROOTS.items()
        if ref in trees.rows and key in trees.governed[trees.rows[ref]]
    }


def _terms(trees: Trees, key: FlavorResource, capacities: Mapping[int, int]) -> Terms:
    """Return the terms for one key, from the leaves up."""
    size = len(trees)
    terms = Terms(
        [0] * size, [0] * size, [0] * size, [0] * size, [0] * size, [0] * size, capacities
    )
    # For each queue, the sums over the queues below: quota lent, promised and guaranteed.
    lent, promised, kept = [0] * size, [0] * size, [0] * size
    for row in reversed(range(size)):
        quota = quota_of(trees, row, key)
        if trees.is_leaf(row):
            nominal = terms.promised[row] = quota.nominal
        else:
            terms.pool[row] = _pool(trees, row, quota, promised[row], capacities)
            nominal = terms.pool[row] + lent[row]
            terms.promised[row] = terms.pool[row] + promised[row]
            if quota.total and promised[row] > quota.nominal:
                terms.oversubscribed[row] = quota.nominal
        terms.nominal[row] = nominal
        terms.guaranteed[row] = _guaranteed(quota, nominal, _kept_by(trees, row, kept[row]))
        terms.borrowing[row] = _borrowing(quota, nominal)
        terms.limit[row] = UNBOUNDED if quota.limit is None else quota.limit
        if (parent := trees.parents[row]) >= 0:
            lent[parent] += nominal - terms.guaranteed[row]
            promised[parent] += terms.promised[row]
            kept[parent] += kept[row] + terms.guaranteed[row]
    return terms


def quota_of(trees: Trees, row: int, key: FlavorResource) -> Quota:
    """Return the declared quota of a queue for a key. An invalid queue promises nothing."""
    queue = trees.queues[row]
    if row in trees.broken:
        return _NOTHING
    return queue.quotas.get(key) or _default(queue)


def _default(queue: Queue) -> Quota:
    if queue.default_quota is not None:
        return queue.default_quota
    # A queue that says nothing of a resource still passes on what the queues below it borrow.
    passes = queue.ref.kind in {QueueKind.COHORT, QueueKind.VOLCANO_QUEUE}
    return _BORROWS_ANY if passes or queue.ref in ROOTS.values() else _NOTHING


def _pool(
    trees: Trees, row: int, quota: Quota, promised: int, capacities: Mapping[int, int]
) -> int:
    if trees.queues[row].ref.product is Product.KUEUE:
        return quota.nominal
    if quota.total and not quota.implied:
        return max(0, quota.nominal - promised)
    if row in capacities:
        return max(0, capacities[row] - promised)
    # As in Volcano's capacity plugin, a queue deserves at least its guarantee.
    is_floor = trees.queues[row].ref.product is Product.VOLCANO
    return max(0, quota.nominal - promised) if is_floor else 0


def _kept_by(trees: Trees, row: int, below: int) -> int:
    """Return how much of a queue's guarantee its children keep: none, except in Volcano."""
    return below if trees.queues[row].ref.product is Product.VOLCANO else 0


def _guaranteed(quota: Quota, nominal: int, kept: int) -> int:
    if quota.guaranteed is not None:
        # The promise of an interior queue can be less than declared: the queues below keep their
        # guarantees.
        return min(max(0, quota.guaranteed - kept), nominal)
    return 0 if quota.lending_limit is None else max(0, nominal - quota.lending_limit)


def _borrowing(quota: Quota, nominal: int) -> int:
    if quota.borrowing_limit is not None:
        return quota.borrowing_limit
    return UNBOUNDED if quota.borrowing_ratio is None else int(quota.borrowing_ratio * nominal)


# How much more a queue may be charged: by promises, borrowing, limits and lenders.


def room(
    promises: Promises, row: int, key: FlavorResource, used: Sequence[int], total: Sequence[int]
) -> int:
    """Return how much more fits with these charges, from the root down to the queue.

    Negative if more is charged than there is. The tree must have a number for the key.
    """
    terms, path = promises.terms[key], promises.trees.paths[row]
    left = terms.nominal[path[0]] - used[path[0]]
    limit = terms.limit[path[0]] - total[path[0]]
    for each in path[1:]:
        kept = max(0, terms.guaranteed[each] - used[each])
        left = kept + min(left, _from_above(promises, each, key, used))
        limit = min(limit, terms.limit[each] - total[each])
    return min(left, limit)


def short_below(
    promises: Promises,
    row: int,
    key: FlavorResource,
    *,
    asked: int,
    used: Sequence[int],
    total: Sequence[int],
) -> int:
    """Return the lowest queue, from this one up to its root, that has too little for the request.

    Quota that its siblings give back does not help this queue. If no queue below the root has too
    little, the result is the root.
    """
    terms, path = promises.terms[key], promises.trees.paths[row]
    for each in reversed(path[1:]):
        kept = max(0, terms.guaranteed[each] - used[each])
        most = kept + _from_above(promises, each, key, used)
        if asked > min(most, terms.limit[each] - total[each]):
            return each
    return path[0]


def potential(promises: Promises, row: int, key: FlavorResource) -> int:
    """Return how much could be charged if nothing were used. Computed once."""
    known = promises.potentials
    if (row, key) not in known:
        nothing = [0] * len(promises.trees)
        known[row, key] = room(promises, row, key, nothing, nothing)
    return known[row, key]


def lendable(promises: Promises, row: int, resource: str) -> int:
    """Return the most a queue could ever give the queues below it. Computed once."""
    known = promises.lendables
    if (row, resource) not in known:
        keys = promises.by_resource(row).get(resource, ())
        known[row, resource] = sum(potential(promises, row, key) for key in keys)
    return known[row, resource]


def _from_above(promises: Promises, row: int, key: FlavorResource, used: Sequence[int]) -> int:
    """Return how much more a queue may take from its parent."""
    terms = promises.terms[key]
    most = terms.nominal[row] + _may_borrow(promises, row, key, used)
    return most - max(terms.guaranteed[row], used[row])


def _may_borrow(promises: Promises, row: int, key: FlavorResource, used: Sequence[int]) -> int:
    """Return how far a queue may go above its promise, by its terms and its lenders."""
    terms = promises.terms[key]
    lenders = promises.lenders.get(row)
    if lenders is None:
        return terms.borrowing[row]
    borrowed = max(0, used[row] - terms.nominal[row])
    path = promises.trees.paths[row]
    idle = 0
    for each in lenders:
        if each != row:
            # Quota that the queue itself borrows comes from a subtree that contains it, so it
            # counts as idle there.
            by_others = used[each] - (borrowed if each in path else 0)
            idle += max(0, terms.nominal[each] - max(terms.guaranteed[each], by_others))
    return min(terms.borrowing[row], idle)
