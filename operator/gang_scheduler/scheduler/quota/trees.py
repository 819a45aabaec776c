"""Trees of queues: the queues in order, parents first, and the path from each to its root."""

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Final, NamedTuple

from gang_scheduler.model.causes.queues import FieldRefused, Inactivity, QueueInactive
from gang_scheduler.model.queues import (
    DEFAULT_FLAVOR,
    NONE,
    PRODUCTS,
    ROOT,
    VOLCANO_ROOT,
    FlavorResource,
    Product,
    Queue,
    QueueKind,
    QueueRef,
    QueueSet,
    Quota,
)
from gang_scheduler.model.reasons import Problem, Reason
from gang_scheduler.model.resources import quantity_of

# The parent of each queue, and the faults in these relations.

ROOTS: Final[Mapping[Product, QueueRef]] = {Product.OURS: ROOT, Product.VOLCANO: VOLCANO_ROOT}
"""The root of each product whose queues are all in one tree."""

_PARENT_FIELDS: Final = {
    QueueKind.COHORT: "spec.parentName",
    QueueKind.CLUSTER_QUEUE: "spec.cohort",
}
_WEIGHT_FIELDS: Final = {
    QueueKind.COHORT: "spec.fairSharing.weight",
    QueueKind.CLUSTER_QUEUE: "spec.fairSharing.weight",
}
_FLAVOR_FIELDS: Final = {
    QueueKind.QUEUE: "spec.flavors",
    QueueKind.COHORT: "spec.resourceGroups",
    QueueKind.CLUSTER_QUEUE: "spec.resourceGroups",
}
_GUARANTEE_FIELDS: Final = {QueueKind.VOLCANO_QUEUE: "spec.guarantee.resource"}
_NOMINAL_FIELDS: Final = {QueueKind.VOLCANO_QUEUE: "spec.deserved"}


class Relations(NamedTuple):
    """All queues, also undeclared ones, with their parents and their own problems.

    The parent is None for the root of a tree and for a queue that cannot be put into a tree. A
    problem is listed only for the queue that has it, not for the queues below.
    """

    queues: Mapping[QueueRef, Queue]
    parents: Mapping[QueueRef, QueueRef | None]
    problems: Mapping[QueueRef, Problem]


def relate(declared: QueueSet) -> Relations:
    """Return the parents of the queues, and their problems.

    Costs a few steps for each queue and quota.
    """
    queues = {queue.ref: queue for queue in declared.queues}
    for implied in _implied(declared.queues):
        queues.setdefault(implied.ref, implied)
    above = {ref: _parent(queue) for ref, queue in queues.items()}
    circling = _circling(above)
    flavors = {(flavor.product, flavor.name) for flavor in declared.flavors}
    problems = {
        queue.ref: problem
        for queue in declared.queues
        if (problem := _problem(queue, above, circling, flavors)) is not None
    }
    parents = {
        ref: parent if parent in queues and ref not in circling else None
        for ref, parent in above.items()
    }
    return Relations(queues, parents, problems)


def _implied(queues: Sequence[Queue]) -> Iterator[Queue]:
    """Yield the queues that exist without an object, unless one declares them."""
    yield Queue(ROOT)
    yield Queue(NONE, parent=ROOT, default_quota=Quota())
    if any(queue.ref.product is Product.VOLCANO for queue in queues):
        yield Queue(VOLCANO_ROOT)
    for queue in queues:
        if queue.parent is not None and queue.parent.kind is QueueKind.COHORT:
            yield Queue(queue.parent)


def _parent(queue: Queue) -> QueueRef | None:
    root = ROOTS.get(PRODUCTS[queue.ref.kind])
    return root if queue.parent is None and queue.ref != root else queue.parent


def _circling(above: Mapping[QueueRef, QueueRef | None]) -> frozenset[QueueRef]:
    """Return the queues that are their own ancestors."""
    known: set[QueueRef] = set()
    found: set[QueueRef] = set()
    for start in above:
        path: dict[QueueRef, int] = {}
        at: QueueRef | None = start
        while at is not None and at in above and at not in known and at not in path:
            path[at] = len(path)
            at = above[at]
        if at in path:
            found.update(each for each, place in path.items() if place >= path[at])
        known.update(path)
    return frozenset(found)


def _problem(
    queue: Queue,
    above: Mapping[QueueRef, QueueRef | None],
    circling: Collection[QueueRef],
    flavors: Collection[tuple[Product, str]],
) -> Problem | None:
    """Return the first fault of the queue itself."""
    parent, ref = above[queue.ref], queue.ref
    field = _PARENT_FIELDS.get(ref.kind, "spec.parent")
    if queue.problem is not None:
        cause = QueueInactive(ref.name, Inactivity.INVALID_SPEC, queue.problem.cause)
        return Problem(Reason.QUEUE_STOPPED, cause)
    if parent is not None and (parent not in above or parent == NONE):
        return _inactive(ref, Inactivity.PARENT_NOT_FOUND, field, parent.name)
    if ref in circling and parent is not None:
        return _inactive(ref, Inactivity.CYCLE, field, parent.name)
    for flavor, _ in queue.quotas:
        if (ref.product, flavor) not in flavors and not _is_every_node(ref, flavor):
            where = _FLAVOR_FIELDS.get(ref.kind, "spec")
            return _inactive(ref, Inactivity.FLAVOR_NOT_FOUND, where, flavor)
    return next((_inactive(ref, Inactivity.INVALID_SPEC, *each) for each in _refused(queue)), None)


def _is_every_node(ref: QueueRef, flavor: str) -> bool:
    """Return whether the flavor needs no object.

    Queues of Kueue name only flavors that have one.
    """
    return flavor == DEFAULT_FLAVOR and ref.product is not Product.KUEUE


def _inactive(ref: QueueRef, fault: Inactivity, field: str, value: str) -> Problem:
    return Problem(Reason.QUEUE_STOPPED, QueueInactive(ref.name, fault, FieldRefused(field, value)))


def _refused(queue: Queue) -> Iterator[tuple[str, str]]:
    """Yield the fields with invalid values, and the values."""
    ref = queue.ref
    if ref == NONE:
        yield "metadata.name", ref.name
    if ref in ROOTS.values() and queue.parent is not None:
        yield "spec.parent", queue.parent.name
    if queue.weight < 0:
        yield _WEIGHT_FIELDS.get(ref.kind, "spec.weight"), str(queue.weight)
    for key, quota in queue.quotas.items():
        yield from _refused_quota(ref.kind, key, quota)


def _refused_quota(kind: QueueKind, key: FlavorResource, quota: Quota) -> Iterator[tuple[str, str]]:
    if quota.guaranteed is not None and quota.guaranteed > quota.nominal:
        field = _GUARANTEE_FIELDS.get(kind, "spec.quota.guaranteed")
        yield f"{field}.{key.resource}", quantity_of(key.resource, quota.guaranteed)
    if quota.limit is not None and quota.nominal > quota.limit:
        field = _NOMINAL_FIELDS.get(kind, "spec.quota.soft")
        yield f"{field}.{key.resource}", quantity_of(key.resource, quota.nominal)


NO_ROW = -1
"""The parent of a root."""

_ORDER = {product: place for place, product in enumerate(Product)}


class Trees:
    """All queues as rows: by product, tree and name; parents come before children.

    `parents` are rows, NO_ROW for a root. `paths` go from the root down to the row itself. The rows
    of a subtree are consecutive: from its top up to its entry in `ends`. `heights` count the levels
    below; a leaf has none. `problems` say why a queue is inactive: a fault of its own, or of a
    queue above. `broken` are the rows with a fault of their own. `governed` lists, for the root of
    each tree, the flavors and resources for which its queues have numbers.
    """

    def __init__(self, declared: QueueSet) -> None:
        relations = relate(declared)
        order = list(_in_order(relations))
        self.rows = {ref: row for row, ref in enumerate(order)}
        self.queues = tuple(relations.queues[ref] for ref in order)
        self.parents = [self._row(relations.parents[ref]) for ref in order]
        self.children: list[list[int]] = [[] for _ in order]
        self.paths: list[tuple[int, ...]] = []
        for row, parent in enumerate(self.parents):
            self.paths.append((*self.paths[parent], row) if parent >= 0 else (row,))
            if parent >= 0:
                self.children[parent].append(row)
        self.ends = list(range(1, len(order) + 1))
        self.heights = [0] * len(order)
        for row, parent in reversed(list(enumerate(self.parents))):
            if parent >= 0:
                self.ends[parent] = max(self.ends[parent], self.ends[row])
                self.heights[parent] = max(self.heights[parent], self.heights[row] + 1)
        self.broken = frozenset(self.rows[ref] for ref in relations.problems)
        self.problems = self._problems(relations)
        self.governed = self._governed()

    def __len__(self) -> int:
        return len(self.queues)

    def _row(self, ref: QueueRef | None) -> int:
        return NO_ROW if ref is None else self.rows[ref]

    def _problems(self, relations: Relations) -> list[Problem | None]:
        found: list[Problem | None] = []
        for queue, parent in zip(self.queues, self.parents, strict=True):
            above = found[parent] if parent >= 0 else None
            found.append(relations.problems.get(queue.ref, above))
        return found

    def _governed(self) -> dict[int, frozenset[FlavorResource]]:
        governed: dict[int, set[FlavorResource]] = {path[0]: set() for path in self.paths}
        for queue, path in zip(self.queues, self.paths, strict=True):
            governed[path[0]].update(queue.quotas)
        return {root: frozenset(keys) for root, keys in governed.items()}

    def root(self, row: int) -> int:
        """Return the root of the tree that a row is in."""
        return self.paths[row][0]

    def is_leaf(self, row: int) -> bool:
        """Return whether the queue takes gangs. Roots and Cohorts do not, even without children."""
        ref = self.queues[row].ref
        takes_none = ref.kind is QueueKind.COHORT or ref in ROOTS.values()
        return not (takes_none or self.children[row])


def _in_order(relations: Relations) -> Iterator[QueueRef]:
    """Yield all queues, one tree after another, each queue before the queues below it."""
    below: dict[QueueRef | None, list[QueueRef]] = defaultdict(list)
    for ref, parent in relations.parents.items():
        below[parent].append(ref)
    stack = sorted(below[None], key=_key, reverse=True)
    while stack:
        ref = stack.pop()
        yield ref
        stack.extend(sorted(below.get(ref, ()), key=_key, reverse=True))


def _key(ref: QueueRef) -> tuple[int, bool, str, str]:
    # The implied roots come first, then queues that could not be put into their tree.
    return (_ORDER[ref.product], ref not in ROOTS.values(), ref.name, ref.kind)


def trees_of(declared: QueueSet) -> Trees:
    """Return the trees of a set of queues, computed once for each set."""
    return declared.cached("trees", (), lambda: Trees(declared))
