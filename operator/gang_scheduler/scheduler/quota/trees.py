"""The queues in order, parents first, and the way from each to its root."""

from collections import defaultdict
from collections.abc import Iterator

from gang_scheduler.model.problems import Problem
from gang_scheduler.model.queues import (
    FlavorResource,
    Product,
    QueueKind,
    QueueRef,
    QueueSet,
)
from gang_scheduler.scheduler.quota.relations import ROOTS, Relations, relate

NO_ROW = -1
"""The parent of a root."""

_ORDER = {product: place for place, product in enumerate(Product)}


class Trees:
    """All queues as rows: trees by product and name, in a tree parents first, siblings by name.

    `parents` are rows, NO_ROW for a root. `ways` go from the root down to the row itself.
    The rows of a subtree are those from its top up to its place in `ends`. `heights` count the
    levels below; a leaf has none.
    `problems` are what makes a queue inactive, also from above; `broken` are the rows that are
    invalid themselves. `governed` are, for the root of each tree, what its queues have numbers for.
    """

    def __init__(self, declared: QueueSet) -> None:
        relations = relate(declared)
        order = list(_in_order(relations))
        self.rows = {ref: row for row, ref in enumerate(order)}
        self.queues = tuple(relations.queues[ref] for ref in order)
        self.parents = [self._row(relations.parents[ref]) for ref in order]
        self.children: list[list[int]] = [[] for _ in order]
        self.ways: list[tuple[int, ...]] = []
        for row, parent in enumerate(self.parents):
            self.ways.append((*self.ways[parent], row) if parent >= 0 else (row,))
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
        governed: dict[int, set[FlavorResource]] = {way[0]: set() for way in self.ways}
        for queue, way in zip(self.queues, self.ways, strict=True):
            governed[way[0]].update(queue.quotas)
        return {root: frozenset(keys) for root, keys in governed.items()}

    def root(self, row: int) -> int:
        """Return the root of the tree that a row is in."""
        return self.ways[row][0]

    def is_leaf(self, row: int) -> bool:
        """Return whether the queue takes gangs. Roots and Cohorts do not, even without children."""
        ref = self.queues[row].ref
        takes_none = ref.kind is QueueKind.COHORT or ref in ROOTS.values()
        return not (takes_none or self.children[row])


def _in_order(relations: Relations) -> Iterator[QueueRef]:
    """Yield all queues: a tree after the other, each queue before those below it."""
    below: dict[QueueRef | None, list[QueueRef]] = defaultdict(list)
    for ref, parent in relations.parents.items():
        below[parent].append(ref)
    stack = sorted(below[None], key=_key, reverse=True)
    while stack:
        ref = stack.pop()
        yield ref
        stack.extend(sorted(below.get(ref, ()), key=_key, reverse=True))


def _key(ref: QueueRef) -> tuple[int, bool, str, str]:
    # The implied roots come before what could not be hung below them.
    return (_ORDER[ref.product], ref not in ROOTS.values(), ref.name, ref.kind)


def trees_of(declared: QueueSet) -> Trees:
    """Return the trees of a set of queues; made once for each set."""
    return declared.derive("trees", (), lambda: Trees(declared))
