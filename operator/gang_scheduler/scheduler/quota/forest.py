"""All trees of queues with their charges: whether a request fits, what it lacks, what it borrows.

Each charge, release or check costs as many steps as the tree is deep, for each flavor and
resource. Sums are kept up to date and never computed again.
"""

import heapq
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from gang_scheduler.model.causes.queues import QueueFault, QueueUnusable
from gang_scheduler.model.nodes import NodeTable
from gang_scheduler.model.queues import (
    Charge,
    FlavorResource,
    Queue,
    QueueFigures,
    QueueKind,
    QueueRef,
    QueueState,
)
from gang_scheduler.model.reasons import Problem, Reason
from gang_scheduler.model.refs import GangKey
from gang_scheduler.scheduler.quota.accounts import accounts_of
from gang_scheduler.scheduler.quota.charges import Charges, Exact, entries
from gang_scheduler.scheduler.quota.figures import figures
from gang_scheduler.scheduler.quota.promises import (
    UNBOUNDED,
    Promises,
    Terms,
    potential,
    room,
    short_below,
)
from gang_scheduler.scheduler.quota.trees import Trees

MOST_BORROWERS = 3
"""At most this many queues are named as borrowers of the missing quota."""


class QuotaShortage(NamedTuple):
    """A request asks for more than is available of one flavor and resource.

    `borrowers` are up to three queues of the same tree that borrow most of it.
    """

    key: FlavorResource
    asked: int
    available: int
    borrowers: tuple[QueueRef, ...] = ()


class Forest:
    """The trees of a snapshot with their charges, which can be changed.

    Making one is cheap as long as neither the declared queues nor the nodes change. A tree whose
    quota is not enforced is charged like others, but refuses nothing.
    """

    def __init__(self, state: QueueState, nodes: NodeTable) -> None:
        self.accounts = accounts_of(state, nodes)
        self._borrowers: dict[tuple[int, FlavorResource], dict[int, list[int]]] = {}
        self._rooms: dict[tuple[int, FlavorResource], dict[int, int]] = {}

    def copy(self) -> "Forest":
        """Return an independent copy of the trees and charges."""
        copied = object.__new__(Forest)
        copied.accounts = self.accounts.copy()
        # What is known of a tree is shared until the tree is charged in one of the two.
        copied._borrowers, copied._rooms = self._borrowers.copy(), self._rooms.copy()
        return copied

    # The queues.

    def problem(self, ref: QueueRef) -> Problem | None:
        """Return why no gang can be in a queue now: it is missing, no leaf, or inactive."""
        row = self._row(ref)
        if row is None:
            return Problem(Reason.QUEUE_NOT_FOUND, QueueUnusable(ref.name, QueueFault.NOT_FOUND))
        if not self._trees.is_leaf(row):
            return Problem(Reason.QUEUE_NOT_FOUND, QueueUnusable(ref.name, QueueFault.NO_LEAF))
        return self._trees.problems[row] if self._enforces(row) else None

    def queue(self, ref: QueueRef) -> Queue:
        """Return a queue, even if no object declares it. Raises KeyError if it does not exist."""
        return self._trees.queues[self._trees.rows[ref]]

    def is_leaf(self, ref: QueueRef) -> bool:
        """Return whether the queue exists and takes gangs."""
        row = self._row(ref)
        return row is not None and self._trees.is_leaf(row)

    def root(self, ref: QueueRef) -> QueueRef:
        """Return the root of a queue's tree. Raises KeyError if the queue does not exist."""
        return self._trees.queues[self._trees.root(self._trees.rows[ref])].ref

    def depth(self, ref: QueueRef) -> int:
        """Return on how many levels a queue and its ancestors are."""
        row = self._row(ref)
        return 0 if row is None else len(self._trees.paths[row])

    def path(self, ref: QueueRef) -> tuple[Queue, ...]:
        """Return a queue and its ancestors, the root last; empty if the queue does not exist."""
        row = self._row(ref)
        path = () if row is None else self._trees.paths[row]
        return tuple(self._trees.queues[each] for each in reversed(path))

    # Charges.

    @property
    def version(self) -> int:
        """How often anything was charged or released."""
        return self.accounts.charges.version

    def charge(self, ref: QueueRef, charge: Charge) -> None:
        """Charge a queue, even beyond its quota.

        Resources that its tree has no number for are left out.
        """
        self._add(ref, charge, 1)

    def release(self, ref: QueueRef, charge: Charge) -> None:
        """Take back a charge: the exact opposite of `charge`."""
        self._add(ref, charge, -1)

    def charged(self) -> Charges:
        """Return the present charges, to be compared later."""
        return self._charges.copy()

    def has_given_back(self, before: Charges) -> bool:
        """Return whether any queue is charged less of anything than before."""
        return self._charges.is_less_than(before)

    def used(self, ref: QueueRef, key: FlavorResource) -> int:
        """Return the amount that counts against the promise of a queue."""
        row = self._row(ref)
        return 0 if row is None or not self._governs(row, key) else self._charges.used[key][row]

    def total(self, ref: QueueRef, key: FlavorResource) -> int:
        """Return the total that is charged to the leaves below a queue."""
        row = self._row(ref)
        return 0 if row is None or not self._governs(row, key) else self._charges.total[key][row]

    def nominal(self, ref: QueueRef, key: FlavorResource) -> int:
        """Return the nominal quota of a queue; for an interior queue, the quota lent through it."""
        row = self._row(ref)
        return 0 if row is None or not self._governs(row, key) else self._terms(key).nominal[row]

    # Questions about one request.

    def governs(self, ref: QueueRef, key: FlavorResource) -> bool:
        """Return whether the tree of a queue has a number for a key.

        Without one, nothing limits it.
        """
        row = self._row(ref)
        return row is not None and (self._governs(row, key) or self._uncovered(row, key))

    def governed(self, ref: QueueRef) -> frozenset[FlavorResource]:
        """Return all keys that the tree of a queue has numbers for."""
        row = self._row(ref)
        return frozenset() if row is None else self._trees.governed[self._trees.root(row)]

    def available(self, ref: QueueRef, key: FlavorResource) -> int:
        """Return how much more a queue may be charged, by quotas and limits.

        Negative if more is charged than there is, UNBOUNDED without a limit.
        """
        row = self._row(ref)
        return 0 if row is None else self._available(row, key)

    def fits(self, ref: QueueRef, charge: Charge) -> bool:
        """Return whether a request fits now."""
        row = self._row(ref)
        if row is None:
            return False
        # Unordered, because this is called more often than anything else.
        return not any(
            asked > 0 and asked > self._available(row, key) for key, asked in charge.items()
        )

    def lacking(self, ref: QueueRef, charge: Charge) -> dict[FlavorResource, int]:
        """Return the shortage of a request by key; empty if it fits."""
        row = self._row(ref)
        if row is None:
            return dict(_asked(charge))
        return {key: charge[key] - self._available(row, key) for key in self._lacking(row, charge)}

    def shortage(self, ref: QueueRef, charge: Charge) -> QuotaShortage | None:
        """Return the first shortage of a request; None if it fits."""
        row = self._row(ref)
        if row is None:
            return _first_shortage(charge)
        for key in self._lacking(row, charge):
            borrowers = self._most_borrowing(row, key, charge[key])
            return QuotaShortage(key, charge[key], self._available(row, key), borrowers)
        return None

    def potential(self, ref: QueueRef, key: FlavorResource) -> int | None:
        """Return how much a queue could be charged if nothing were used; None for any amount."""
        row = self._row(ref)
        if row is None:
            return 0
        most = self._potential(row, key)
        return None if most >= UNBOUNDED else most

    def exceeds_potential(self, ref: QueueRef, charge: Charge) -> QuotaShortage | None:
        """Return the first resource that the queue could not provide even to a lone request."""
        row = self._row(ref)
        if row is None:
            return _first_shortage(charge)
        for key, asked in _asked(charge):
            if asked > (most := self._potential(row, key)):
                return QuotaShortage(key, asked, most)
        return None

    def borrows(self, ref: QueueRef, charge: Charge) -> bool:
        """Return whether the request puts the queue over its promise in a requested resource."""
        return any(
            self.used(ref, key) + asked > self.nominal(ref, key)
            for key, asked in _asked(charge)
            if self.governs(ref, key)
        )

    # Figures for people.

    def fair_shares(self) -> dict[QueueRef, dict[FlavorResource, Exact]]:
        """Return the fair share of each queue in the given state."""
        shares, rows = self.accounts.fair_shares, self._trees.rows
        return {
            ref: {key: column[row] for key, column in shares.items()} for ref, row in rows.items()
        }

    def figures(
        self,
        pending: Mapping[QueueRef, tuple[GangKey, ...]] | None = None,
        admitted: Mapping[QueueRef, int] | None = None,
    ) -> tuple[QueueFigures, ...]:
        """Return the figures of all queues as they are charged now: parents first, then by name.

        `pending` are the waiting gangs in the order of turns. `admitted` counts groups that hold
        quota in addition to those in the snapshot.
        """
        return tuple(figures(self.accounts, pending or {}, admitted or {}))

    # Rows.

    @property
    def _promises(self) -> Promises:
        return self.accounts.promises

    @property
    def _charges(self) -> Charges:
        return self.accounts.charges

    @property
    def _trees(self) -> Trees:
        return self.accounts.promises.trees

    def _terms(self, key: FlavorResource) -> Terms:
        return self._promises.terms[key]

    def _row(self, ref: QueueRef) -> int | None:
        return self._trees.rows.get(ref)

    def _governs(self, row: int, key: FlavorResource) -> bool:
        return key in self._trees.governed[self._trees.root(row)]

    def _enforces(self, row: int) -> bool:
        return self._trees.queues[row].ref.product in self.accounts.declared.enforced

    def _without_terms(self, row: int, key: FlavorResource) -> int | None:
        """Return the limit of a queue where its tree sets none; None if the tree decides."""
        if not self._enforces(row):
            return UNBOUNDED
        if self._uncovered(row, key):
            return 0
        return None if self._governs(row, key) else UNBOUNDED

    def _uncovered(self, row: int, key: FlavorResource) -> bool:
        """Return whether a ClusterQueue does not cover a key, so that it is never available."""
        queue = self._trees.queues[row]
        return queue.ref.kind is QueueKind.CLUSTER_QUEUE and key not in queue.quotas

    def _add(self, ref: QueueRef, charge: Charge, sign: int) -> None:
        for row, key, amount in entries(self._promises, ref, charge):
            self._charges.add(row, key, sign * amount)
            of_tree = (self._trees.root(row), key)
            self._borrowers.pop(of_tree, None)
            self._rooms.pop(of_tree, None)

    def _lacking(self, row: int, charge: Charge) -> Iterator[FlavorResource]:
        for key, asked in _asked(charge):
            if asked > self._available(row, key):
                yield key

    def _available(self, row: int, key: FlavorResource) -> int:
        """Return the free quota, computed once until anything in the tree is charged."""
        of_tree = (self._trees.root(row), key)
        if (known := self._rooms.get(of_tree)) is None:
            known = self._rooms[of_tree] = {}
        if (left := known.get(row)) is None:
            left = known[row] = self._room(row, key)
        return left

    def _room(self, row: int, key: FlavorResource) -> int:
        if (known := self._without_terms(row, key)) is not None:
            return known
        charges = self._charges
        return room(self._promises, row, key, charges.used[key], charges.total[key])

    def _potential(self, row: int, key: FlavorResource) -> int:
        if (free := self._without_terms(row, key)) is not None:
            return free
        return potential(self._promises, row, key)

    def _most_borrowing(self, row: int, key: FlavorResource, asked: int) -> tuple[QueueRef, ...]:
        """Return the leaves that borrow most of the missing resource, except the queue itself."""
        if not self._governs(row, key):
            return ()
        used, total = self._charges.used[key], self._charges.total[key]
        top = short_below(self._promises, row, key, asked=asked, used=used, total=total)
        if top == row:
            return ()
        known = self._borrowers.setdefault((self._trees.root(row), key), {})
        if top not in known:
            known[top] = self._borrowing_leaves(top, key)
        found = [each for each in known[top] if each != row][:MOST_BORROWERS]
        return tuple(self._trees.queues[each].ref for each in found)

    def _borrowing_leaves(self, top: int, key: FlavorResource) -> list[int]:
        trees, nominal, used = self._trees, self._terms(key).nominal, self._charges.used[key]
        found = (
            each
            for each in range(top, trees.ends[top])
            if used[each] > nominal[each] and not trees.children[each]
        )
        # One more than needed, because one of them may be the queue itself.
        return heapq.nsmallest(
            MOST_BORROWERS + 1, found, key=lambda each: (nominal[each] - used[each], each)
        )


def _asked(charge: Charge) -> Iterable[tuple[FlavorResource, int]]:
    """Return the requested resources in a fixed order, without requests of 0."""
    return sorted((key, amount) for key, amount in charge.items() if amount > 0)


def _first_shortage(charge: Charge) -> QuotaShortage | None:
    return next((QuotaShortage(key, asked, 0) for key, asked in _asked(charge)), None)
