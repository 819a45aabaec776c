"""The queue that has the next turn, by the fairness of its tree. Trees take turns, too.

In one line, all heads of a tree are compared. In a tournament, siblings are compared, and the
winner goes one level up. A turn changes only the charges on one path to the root, so only that path
is compared again: one heap operation per level.
"""

import heapq
from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple, Protocol

from gang_scheduler.model.queues import Charge, QueueRef
from gang_scheduler.scheduler.ordering.fairness import Key, policy_of
from gang_scheduler.scheduler.quota.accounts import Accounts, Standing
from gang_scheduler.scheduler.quota.forest import Forest


class Head(NamedTuple):
    """The first gang of a queue: the charge of its quorum, and how it compares with other heads.

    `priority` includes the bonus for waiting. A head that is `first` holds nominations: it has its
    turn before all others of its tree.
    """

    charge: Charge
    priority: int
    created_at: float
    first: bool = False


class _Heap:
    """A heap of queues, as rows. Each row has one sort key, and a new key replaces the old."""

    def __init__(self) -> None:
        self._entries: list[tuple[Key, int, int]] = []
        self._current: dict[int, int] = {}
        self._stamp = 0

    def put(self, row: int, key: Key | None) -> None:
        """Give a row a key; None takes it out."""
        self._stamp += 1
        self._current[row] = self._stamp
        if key is not None:
            heapq.heappush(self._entries, (key, row, self._stamp))

    def top(self) -> tuple[Key, int] | None:
        """Return the smallest key with its row."""
        while self._entries:
            key, row, stamp = self._entries[0]
            if self._current[row] == stamp:
                return key, row
            heapq.heappop(self._entries)
        return None


class _Standings:
    """The sort keys of queues, kept until anything is charged.

    They are often asked for again, because gangs of a queue often have equal charges.
    """

    def __init__(self, accounts: Accounts, key: Callable[[Standing], Key]) -> None:
        self._accounts = accounts
        self._key = key
        self._known: dict[tuple[int, int], tuple[Charge, Key]] = {}
        self._version = accounts.charges.version

    def key(self, leaf: int, row: int, charge: Charge) -> Key:
        """Return the sort key of a queue (`row`) after a charge to a leaf below it."""
        if self._version != (version := self._accounts.charges.version):
            self._known.clear()
            self._version = version
        known = self._known.get((leaf, row))
        if known is None or known[0] != charge:
            key = self._key(self._accounts.after(leaf, row, charge))
            known = self._known[leaf, row] = (charge, key)
        return known[1]


def _borrows(standing: Standing) -> Key:
    return (standing.borrows,)


class _Order(Protocol):
    """The heads of one tree."""

    def fill(self, leaves: Iterable[int]) -> None:
        """Compare all heads, once."""

    def update(self, leaf: int) -> None:
        """Compare again the queues whose order a new head or charge of a leaf can change."""

    def first(self) -> int | None:
        """Return the leaf with the next turn."""


class _Tree:
    """The heads of one tree. `heads` has the heads of all trees, by row of queue."""

    def __init__(self, accounts: Accounts, heads: Mapping[int, Head]) -> None:
        self.accounts = accounts
        self.heads = heads

    def last_keys(self, leaf: int) -> Key:
        """Return the keys that decide between otherwise equal heads."""
        head, name = self.heads[leaf], self.accounts.queue(leaf).ref.name
        return (-head.priority, head.created_at, name)


class _Line(_Tree):
    """All heads of the tree are compared with each other."""

    def __init__(
        self, accounts: Accounts, heads: Mapping[int, Head], key: Callable[[Standing], Key]
    ) -> None:
        super().__init__(accounts, heads)
        self._standing_key = key
        self._heap = _Heap()

    def _key(self, leaf: int) -> Key:
        head = self.heads[leaf]
        standing = self._standing_key(self.accounts.after(leaf, leaf, head.charge))
        return (not head.first, *standing, *self.last_keys(leaf))

    def fill(self, leaves: Iterable[int]) -> None:
        for leaf in leaves:
            self.update(leaf)

    def update(self, leaf: int) -> None:
        self._heap.put(leaf, self._key(leaf) if leaf in self.heads else None)

    def first(self) -> int | None:
        # Charges of others may have raised the key of a head, never lowered it.
        while (top := self._heap.top()) is not None:
            known, leaf = top
            if (key := self._key(leaf)) == known:
                return leaf
            self._heap.put(leaf, key)
        return None


class _Tournament(_Tree):
    """The heads below each queue are compared; the winner is compared with its siblings."""

    def __init__(
        self,
        accounts: Accounts,
        heads: Mapping[int, Head],
        root: int,
        key: Callable[[Standing], Key],
    ) -> None:
        super().__init__(accounts, heads)
        self._trees = accounts.promises.trees
        self._root = root
        self._standings = _Standings(accounts, key)
        self._heaps: dict[int, _Heap] = {}
        self._winners: dict[int, int | None] = {}
        """The leaf that wins below each queue that was compared."""

    def fill(self, leaves: Iterable[int]) -> None:
        rows = {row for leaf in leaves for row in self._trees.paths[leaf][1:]}
        # Children have greater rows than their parents, so in this order each winner is known in
        # time.
        for row in sorted(rows, reverse=True):
            self._compare(row)

    def update(self, leaf: int) -> None:
        for row in reversed(self._trees.paths[leaf][1:]):
            self._compare(row)

    def _compare(self, row: int) -> None:
        heap = self._heaps.setdefault(self._trees.parents[row], _Heap())
        heap.put(row, self._key(row))

    def first(self) -> int | None:
        return self._winner(self._root)

    def _winner(self, row: int) -> int | None:
        """Return the leaf that wins in a subtree, whose queues were all compared."""
        leaf: int | None = row
        if row in self._heaps:
            top = self._heaps[row].top()
            leaf = None if top is None else self._winners[top[1]]
        return leaf if leaf in self.heads else None

    def _key(self, row: int) -> Key | None:
        leaf = self._winners[row] = self._winner(row)
        if leaf is None:
            return None
        head = self.heads[leaf]
        standing = self._standings.key(leaf, row, head.charge)
        return (not head.first, *standing, *self.last_keys(leaf))


class Turns:
    """The queue with the next turn: it stays the same until its head is replaced or parked.

    Charges are read from the forest. Call `replace` or `update` for a queue after charging it, and
    `restart` after a release or a charge in another forest.
    """

    def __init__(self, forest: Forest, heads: Mapping[QueueRef, Head]) -> None:
        self._trees = forest.accounts.promises.trees
        self._heads: dict[int, Head] = {}
        self.restart(forest, heads)

    def restart(self, forest: Forest, heads: Mapping[QueueRef, Head]) -> None:
        """Replace all heads, and compare all of them again."""
        self._accounts = forest.accounts
        self._borrowing = _Standings(self._accounts, _borrows)
        self._orders: dict[int, _Order] = {}
        self._line = _Heap()
        rows = self._trees.rows
        self._heads.clear()
        self._heads.update((rows[ref], head) for ref, head in heads.items() if ref in rows)
        leaves: dict[int, list[int]] = {}
        for leaf in sorted(self._heads):
            leaves.setdefault(self._trees.root(leaf), []).append(leaf)
        for root, below in leaves.items():
            self._order(root).fill(below)
            self._line.put(root, self._key(root))

    def next(self) -> QueueRef | None:
        """Return the queue with the next head; None when all are parked."""
        top = self._line.top()
        leaf = None if top is None else self._orders[top[1]].first()
        return None if leaf is None else self._accounts.queue(leaf).ref

    def replace(self, ref: QueueRef, head: Head | None) -> None:
        """Replace the head of a queue; None parks the queue."""
        row = self._trees.rows[ref]
        if head is None:
            self._heads.pop(row, None)
        else:
            self._heads[row] = head
        self.update(ref)

    def end(self, ref: QueueRef) -> None:
        """Park all queues in the tree of a queue."""
        root = self._trees.root(self._trees.rows[ref])
        for row in range(root, self._trees.ends[root]):
            self._heads.pop(row, None)
        self._line.put(root, None)

    def update(self, ref: QueueRef) -> None:
        """Compare a queue and its ancestors again, after a charge."""
        leaf = self._trees.rows[ref]
        root = self._trees.root(leaf)
        self._order(root).update(leaf)
        self._line.put(root, self._key(root))

    def _order(self, root: int) -> _Order:
        if root not in self._orders:
            self._orders[root] = self._make_order(root)
        return self._orders[root]

    def _make_order(self, root: int) -> _Order:
        policy = policy_of(self._accounts, root)
        if policy.in_one_line:
            return _Line(self._accounts, self._heads, policy.key)
        return _Tournament(self._accounts, self._heads, root, policy.key)

    def _key(self, root: int) -> Key | None:
        """Return how the next head of a tree compares with the heads of other trees."""
        leaf = self._orders[root].first()
        if leaf is None:
            return None
        head = self._heads[leaf]
        borrows = self._borrowing.key(leaf, leaf, head.charge)
        return (*borrows, -head.priority, head.created_at, root)
