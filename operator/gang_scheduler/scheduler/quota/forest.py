"""All trees of queues with what is charged to them: what fits, what is lacking, what is borrowed.

Whatever is charged or released costs steps in proportion to the depth of the queue, for each
flavor and resource; so does whatever is asked. Nothing is summed anew.
"""

import heapq
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from gang_scheduler.model.causes import QueueFault, QueueUnusable
from gang_scheduler.model.nodes import NodeTable
from gang_scheduler.model.problems import Problem, Reason
from gang_scheduler.model.queues import (
    Charge,
    FlavorResource,
    Queue,
    QueueKind,
    QueueRef,
    QueueState,
    QueueUsage,
)
from gang_scheduler.scheduler.quota.promises import UNBOUNDED, Promises, Terms, promises_of
from gang_scheduler.scheduler.quota.trees import Trees

MOST_BORROWERS = 3
"""How many queues are named that borrow what is lacking."""


class Shortage(NamedTuple):
    """What a request lacks: there is less `available` than `asked`.

    `borrowers` are the queues of the same tree that borrow most of it, the first three.
    """

    key: FlavorResource
    asked: int
    available: int
    borrowers: tuple[QueueRef, ...] = ()


class Charges:
    """What is charged, a list along the rows for each flavor and resource.

    `used` is what counts against a queue's promise: of those below it, only what is beyond their
    guarantees. `total` is all that the leaves below it are charged.
    """

    def __init__(self, promises: Promises) -> None:
        self._parents = promises.trees.parents
        self._terms = promises.terms
        self.used = {key: [0] * len(promises.trees) for key in promises.terms}
        self.total = {key: [0] * len(promises.trees) for key in promises.terms}

    def copy(self) -> "Charges":
        """Return the same charges, to be changed apart. Costs a step a row, in one pass."""
        copied = object.__new__(Charges)
        copied._parents, copied._terms = self._parents, self._terms
        copied.used = {key: column.copy() for key, column in self.used.items()}
        copied.total = {key: column.copy() for key, column in self.total.items()}
        return copied

    def add(self, row: int, key: FlavorResource, amount: int) -> None:
        """Charge an amount to a queue and to all above it; release it where it is negative."""
        used, total, guaranteed = self.used[key], self.total[key], self._terms[key].guaranteed
        beyond = amount
        while row >= 0:
            total[row] += amount
            before = used[row]
            used[row] = before + beyond
            kept = guaranteed[row]
            beyond = max(0, before + beyond - kept) - max(0, before - kept)
            row = self._parents[row]


class Forest:
    """The trees of a state on these nodes. What is charged to them can be changed.

    Cheap to make while neither what is declared nor the nodes change. Trees that are not enforced
    are charged as others, and refuse nothing.
    """

    def __init__(self, state: QueueState, nodes: NodeTable) -> None:
        self._declared = state.declared
        self._promises = promises_of(state.declared, nodes)
        self._charges = charges_of(state, self._promises).copy()
        self._borrowers: dict[tuple[int, FlavorResource], list[int]] = {}

    def copy(self) -> "Forest":
        """Return the same trees with the same charges, to be changed apart."""
        copied = object.__new__(Forest)
        copied._declared, copied._promises = self._declared, self._promises
        copied._charges, copied._borrowers = self._charges.copy(), {}
        return copied

    # The queues.

    def problem(self, ref: QueueRef) -> Problem | None:
        """Return why no gang can be in a queue now: it is absent, no leaf, or inactive."""
        row = self._row(ref)
        if row is None:
            return Problem(Reason.QUEUE_NOT_FOUND, QueueUnusable(ref.name, QueueFault.NOT_FOUND))
        if not self._trees.is_leaf(row):
            return Problem(Reason.QUEUE_NOT_FOUND, QueueUnusable(ref.name, QueueFault.NO_LEAF))
        return self._trees.problems[row] if self._enforces(row) else None

    def queue(self, ref: QueueRef) -> Queue:
        """Return a queue, also one that no object declares. Raises KeyError if there is none."""
        return self._trees.queues[self._trees.rows[ref]]

    def is_leaf(self, ref: QueueRef) -> bool:
        """Return whether there is such a queue and it takes gangs."""
        row = self._row(ref)
        return row is not None and self._trees.is_leaf(row)

    def way(self, ref: QueueRef) -> tuple[Queue, ...]:
        """Return a queue and those above it, the root last; none where it does not exist."""
        row = self._row(ref)
        way = () if row is None else self._trees.ways[row]
        return tuple(self._trees.queues[each] for each in reversed(way))

    # What is charged.

    def charge(self, ref: QueueRef, charge: Charge) -> None:
        """Charge amounts to a queue, whether they fit or not. What is ungoverned is left out."""
        self._add(ref, charge, 1)

    def release(self, ref: QueueRef, charge: Charge) -> None:
        """Take back what was charged: the exact opposite of `charge`."""
        self._add(ref, charge, -1)

    def used(self, ref: QueueRef, key: FlavorResource) -> int:
        """Return what counts against the promise of a queue."""
        row = self._row(ref)
        return 0 if row is None or not self._governs(row, key) else self._charges.used[key][row]

    def total(self, ref: QueueRef, key: FlavorResource) -> int:
        """Return all that the leaves of a queue are charged."""
        row = self._row(ref)
        return 0 if row is None or not self._governs(row, key) else self._charges.total[key][row]

    def nominal(self, ref: QueueRef, key: FlavorResource) -> int:
        """Return what a queue is promised; of an interior one what is lent through it."""
        row = self._row(ref)
        return 0 if row is None or not self._governs(row, key) else self._terms(key).nominal[row]

    # What is asked for.

    def governs(self, ref: QueueRef, key: FlavorResource) -> bool:
        """Return whether the tree of a queue has a number for a key: else nothing limits it."""
        row = self._row(ref)
        return row is not None and (self._governs(row, key) or self._uncovered(row, key))

    def available(self, ref: QueueRef, key: FlavorResource) -> int:
        """Return how much more a queue may be charged, by quotas and limits.

        Negative where more is charged than is there, UNBOUNDED where nothing governs it.
        """
        row = self._row(ref)
        return 0 if row is None else self._available(row, key)

    def fits(self, ref: QueueRef, charge: Charge) -> bool:
        """Return whether a request fits now."""
        row = self._row(ref)
        return row is not None and next(self._lacking(row, charge), None) is None

    def shortage(self, ref: QueueRef, charge: Charge) -> Shortage | None:
        """Return the first that a request lacks, by flavor and resource; None if it fits."""
        row = self._row(ref)
        if row is None:
            return _first(charge)
        for key in self._lacking(row, charge):
            borrowers = self._most_borrowing(row, key)
            return Shortage(key, charge[key], self._available(row, key), borrowers)
        return None

    def potential(self, ref: QueueRef, key: FlavorResource) -> int | None:
        """Return how much a queue could be charged if nothing were used; None for any amount."""
        row = self._row(ref)
        if row is None:
            return 0
        most = self._potential(row, key)
        return None if most >= UNBOUNDED else most

    def exceeds_potential(self, ref: QueueRef, charge: Charge) -> Shortage | None:
        """Return the first of which a request is more than could ever be there."""
        row = self._row(ref)
        if row is None:
            return _first(charge)
        for key, asked in _asked(charge):
            if asked > (most := self._potential(row, key)):
                return Shortage(key, asked, most)
        return None

    def borrows(self, ref: QueueRef, charge: Charge) -> bool:
        """Return whether the queue is over its promise, with a request charged, on what it asks."""
        return any(
            self.used(ref, key) + asked > self.nominal(ref, key)
            for key, asked in _asked(charge)
            if self.governs(ref, key)
        )

    # Rows.

    @property
    def _trees(self) -> Trees:
        return self._promises.trees

    def _terms(self, key: FlavorResource) -> Terms:
        return self._promises.terms[key]

    def _row(self, ref: QueueRef) -> int | None:
        return self._trees.rows.get(ref)

    def _governs(self, row: int, key: FlavorResource) -> bool:
        return key in self._trees.governed[self._trees.root(row)]

    def _enforces(self, row: int) -> bool:
        return self._trees.queues[row].ref.product in self._declared.enforced

    def _without_terms(self, row: int, key: FlavorResource) -> int | None:
        """Return what there is of a key that is not reckoned with in the tree; None if it is."""
        if not self._enforces(row):
            return UNBOUNDED
        if self._uncovered(row, key):
            return 0
        return None if self._governs(row, key) else UNBOUNDED

    def _uncovered(self, row: int, key: FlavorResource) -> bool:
        """Return whether a ClusterQueue does not cover a key: then it can never be had there."""
        queue = self._trees.queues[row]
        return queue.ref.kind is QueueKind.CLUSTER_QUEUE and key not in queue.quotas

    def _add(self, ref: QueueRef, charge: Charge, sign: int) -> None:
        row = self._row(ref)
        if row is None:
            return
        root = self._trees.root(row)
        for key, amount in charge.items():
            if amount and self._governs(row, key):
                self._charges.add(row, key, sign * amount)
                self._borrowers.pop((root, key), None)

    def _lacking(self, row: int, charge: Charge) -> Iterator[FlavorResource]:
        for key, asked in _asked(charge):
            if asked > self._available(row, key):
                yield key

    def _available(self, row: int, key: FlavorResource) -> int:
        if (known := self._without_terms(row, key)) is not None:
            return known
        return self._most(row, key, self._charges.used[key], self._charges.total[key])

    def _potential(self, row: int, key: FlavorResource) -> int:
        if (free := self._without_terms(row, key)) is not None:
            return free
        known = self._promises.potentials
        if (row, key) not in known:
            nothing = [0] * len(self._trees)
            known[row, key] = self._most(row, key, nothing, nothing)
        return known[row, key]

    def _most(self, row: int, key: FlavorResource, used: list[int], total: list[int]) -> int:
        """Return how much more a queue may be charged with these charges, from the root down."""
        terms, way = self._terms(key), self._trees.ways[row]
        room = terms.nominal[way[0]] - used[way[0]]
        limit = terms.limit[way[0]] - total[way[0]]
        for each in way[1:]:
            kept = terms.guaranteed[each]
            held = max(kept, used[each])
            most = terms.nominal[each] + self._borrowing(each, key, used) - held
            room = max(0, kept - used[each]) + min(room, most)
            limit = min(limit, terms.limit[each] - total[each])
        return min(room, limit)

    def _borrowing(self, row: int, key: FlavorResource, used: list[int]) -> int:
        """Return how far a queue may go above its promise: by its terms, and by its lenders."""
        terms = self._terms(key)
        lenders = self._promises.lenders.get(row)
        if lenders is None:
            return terms.borrowing[row]
        borrowed = max(0, used[row] - terms.nominal[row])
        way = self._trees.ways[row]
        idle = 0
        for each in lenders:
            if each != row:
                # What the queue borrows itself is idle of a subtree that it is in.
                by_others = used[each] - (borrowed if each in way else 0)
                idle += max(0, terms.nominal[each] - max(terms.guaranteed[each], by_others))
        return min(terms.borrowing[row], idle)

    def _most_borrowing(self, row: int, key: FlavorResource) -> tuple[QueueRef, ...]:
        """Return the leaves of the tree that borrow most, without the queue itself."""
        root = self._trees.root(row)
        if not self._governs(row, key):
            return ()
        if (root, key) not in self._borrowers:
            self._borrowers[root, key] = self._borrowing_leaves(root, key)
        found = [each for each in self._borrowers[root, key] if each != row][:MOST_BORROWERS]
        return tuple(self._trees.queues[each].ref for each in found)

    def _borrowing_leaves(self, root: int, key: FlavorResource) -> list[int]:
        trees, nominal, used = self._trees, self._terms(key).nominal, self._charges.used[key]
        found = (
            each
            for each in range(root, trees.ends[root])
            if used[each] > nominal[each] and not trees.children[each]
        )
        # One more than is named: one of them may be the queue that asks.
        return heapq.nsmallest(
            MOST_BORROWERS + 1, found, key=lambda each: (nominal[each] - used[each], each)
        )


def _asked(charge: Charge) -> Iterable[tuple[FlavorResource, int]]:
    """Return what is asked for in order: a request of 0 is none."""
    return sorted((key, amount) for key, amount in charge.items() if amount > 0)


def _first(charge: Charge) -> Shortage | None:
    return next((Shortage(key, asked, 0) for key, asked in _asked(charge)), None)


def charges_of(state: QueueState, promises: Promises) -> Charges:
    """Return what a state charges; made once for a usage. Not to be changed."""
    return state.declared.derive(
        "charges", (promises, state.usage), lambda: _charged(state.usage, promises)
    )


def _charged(usage: QueueUsage, promises: Promises) -> Charges:
    charges, trees = Charges(promises), promises.trees
    for ref, charge in usage.charged.items():
        if (row := trees.rows.get(ref)) is not None:
            governed = trees.governed[trees.root(row)]
            for key, amount in charge.items():
                if key in governed:
                    charges.add(row, key, amount)
    return charges
