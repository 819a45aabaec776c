"""Queues reckoned again from their definitions for each question, by recursion: slow and plain.

Nothing is shared with the scheduler but the classes of `model`. One flavor; amounts of one or two
resources.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from gang_scheduler.model.api_words import Fairness
from gang_scheduler.model.queues import (
    DEFAULT_FLAVOR,
    FlavorResource,
    Queue,
    QueueKind,
    QueueRef,
    Quota,
)


@dataclass
class Node:
    """A queue with numbers by resource; `None` is no limit."""

    name: str
    parent: str | None = None
    nominal: dict[str, int] = field(default_factory=dict)
    guaranteed: dict[str, int] = field(default_factory=dict)
    lending: dict[str, int] = field(default_factory=dict)
    borrowing: dict[str, int | None] = field(default_factory=dict)
    limit: dict[str, int | None] = field(default_factory=dict)
    weight: int = 1
    lenders: frozenset[str] | None = None
    charged: dict[str, int] = field(default_factory=dict)
    asked: dict[str, int] = field(default_factory=dict)


class NaiveTree:
    """One tree. `nominal` of a queue with others below it is its pool."""

    def __init__(self, nodes: list[Node], resources: tuple[str, ...]) -> None:
        self.nodes = {node.name: node for node in nodes}
        self.resources = resources

    def root(self) -> str:
        """Return the name of the root."""
        return next(name for name, node in self.nodes.items() if node.parent is None)

    def children(self, name: str) -> list[str]:
        """Return the queues directly below, by name."""
        return sorted(each for each, node in self.nodes.items() if node.parent == name)

    def way(self, name: str) -> list[str]:
        """Return the queue and all above it."""
        parent = self.nodes[name].parent
        return [name] if parent is None else [name, *self.way(parent)]

    # Section by section: what is promised, what counts, what is there.

    def n(self, name: str, r: str) -> int:
        """Return the nominal: its pool, and what each child lends through it."""
        return self.nodes[name].nominal.get(r, 0) + sum(
            self.n(child, r) - self.g(child, r) for child in self.children(name)
        )

    def c(self, name: str, r: str) -> int:
        """Return all that is promised in the subtree."""
        own = self.nodes[name].nominal.get(r, 0)
        return own + sum(self.c(child, r) for child in self.children(name))

    def g(self, name: str, r: str) -> int:
        """Return what is never lent outside."""
        node, n = self.nodes[name], self.n(name, r)
        if r in node.lending:
            return max(0, n - node.lending[r])
        return min(node.guaranteed.get(r, 0), n)

    def used(self, name: str, r: str) -> int:
        """Return what counts against the nominal."""
        if not self.children(name):
            return self.nodes[name].charged.get(r, 0)
        return sum(max(0, self.used(x, r) - self.g(x, r)) for x in self.children(name))

    def total(self, name: str, r: str) -> int:
        """Return what all leaves are charged."""
        below = sum(self.total(child, r) for child in self.children(name))
        return self.nodes[name].charged.get(r, 0) + below

    def avail(self, name: str, r: str) -> int:
        """Return what is there, without limits."""
        n, g, used = self.n(name, r), self.g(name, r), self.used(name, r)
        parent = self.nodes[name].parent
        if parent is None:
            return n - used
        terms = (self.nodes[name].borrowing.get(r), self.lent_by_lenders(name, r))
        most = (n + b - max(g, used) for b in terms if b is not None)
        return max(0, g - used) + min([self.avail(parent, r), *most])

    def lent_by_lenders(self, name: str, r: str) -> int | None:
        """Return what is idle of the queues that it may borrow from; None where it may from all."""
        lenders = self.nodes[name].lenders
        if lenders is None:
            return None
        own = self.borrowed(name, r)
        idle = 0
        for each in lenders - {name}:
            used = self.used(each, r) - (own if each in self.way(name) else 0)
            idle += max(0, self.n(each, r) - max(self.g(each, r), used))
        return idle

    def room(self, name: str, r: str) -> int:
        """Return what is there, within all limits."""
        limits = [
            limit - self.total(each, r)
            for each in self.way(name)
            if (limit := self.nodes[each].limit.get(r)) is not None
        ]
        return min([self.avail(name, r), *limits])

    def emptied(self) -> "NaiveTree":
        """Return the same tree with nothing charged."""
        nodes = [Node(**{**vars(node), "charged": {}}) for node in self.nodes.values()]
        return NaiveTree(nodes, self.resources)

    def with_charge(self, name: str, charge: Mapping[str, int]) -> "NaiveTree":
        """Return the same tree with more charged."""
        found = []
        for node in self.nodes.values():
            charged = dict(node.charged)
            if node.name == name:
                for r, amount in charge.items():
                    charged[r] = charged.get(r, 0) + amount
            found.append(Node(**{**vars(node), "charged": charged}))
        return NaiveTree(found, self.resources)

    def borrowed(self, name: str, r: str) -> int:
        """Return what is used above the nominal."""
        return max(0, self.used(name, r) - self.n(name, r))

    # Fair shares.

    def demand(self, name: str, r: str) -> int:
        """Return what runs and waits in the subtree."""
        own = self.nodes[name].asked.get(r, 0) + self.nodes[name].charged.get(r, 0)
        return own + sum(self.demand(child, r) for child in self.children(name))

    def floor_and_cap(self, name: str, r: str) -> tuple[int, int]:
        """Return the least and the most that a queue should have."""
        d, promised = self.demand(name, r), self.c(name, r)
        b, limit = self.nodes[name].borrowing.get(r), self.nodes[name].limit.get(r)
        caps = [d]
        caps += [] if b is None else [promised + b]
        caps += [] if limit is None else [limit]
        cap = min(caps)
        return min(promised, d, cap), cap

    def fair_shares(self, r: str) -> dict[str, Fraction]:
        """Return fair shares, from the root down."""
        shares = {self.root(): Fraction(self.c(self.root(), r))}
        waiting = [self.root()]
        while waiting:
            name = waiting.pop()
            children = self.children(name)
            shares.update(self._divided(shares[name], children, r))
            waiting.extend(children)
        return shares

    def _divided(self, whole: Fraction, names: list[str], r: str) -> dict[str, Fraction]:
        floors = {name: Fraction(self.floor_and_cap(name, r)[0]) for name in names}
        caps = {name: Fraction(self.floor_and_cap(name, r)[1]) for name in names}
        together = sum(floors.values(), Fraction(0))
        if together > whole:
            return {name: whole * floor / together for name, floor in floors.items()}
        got, left = dict(floors), whole - together
        while left > 0 and (open_ := [name for name in names if got[name] < caps[name]]):
            weighted = [name for name in open_ if self.nodes[name].weight > 0]
            taking = weighted or open_
            weights = {name: Fraction(self.nodes[name].weight or 1) for name in taking}
            if not weighted:
                weights = dict.fromkeys(taking, Fraction(1))
            per_weight = left / sum(weights.values(), Fraction(0))
            for name in taking:
                given = min(weights[name] * per_weight, caps[name] - got[name])
                got[name] += given
                left -= given
        return got

    # Orders.

    def key(
        self, fairness: Fairness, at: str, leaf: str, asked: Mapping[str, int], fair: Any
    ) -> Any:
        """Return how a queue compares with its siblings with the head of a leaf charged."""
        after = self.with_charge(leaf, asked)
        wanted = [r for r, amount in asked.items() if amount > 0]
        borrows = any(after.borrowed(at, r) > 0 for r in wanted)
        parent, weight = self.nodes[at].parent, self.nodes[at].weight
        assert parent is not None
        parts: list[tuple[int, Fraction]] = []
        if fairness is Fairness.DRS:
            for r in self.resources:
                lendable = self.emptied().room(parent, r)
                if lendable > 0:
                    parts.append(_part(after.borrowed(at, r), Fraction(lendable), weight))
        elif fairness is Fairness.DRF:
            whole = {r: Fraction(self.c(self.root(), r)) for r in wanted}
            parts = [_part(after.total(at, r), whole[r], weight) for r in wanted]
        else:
            parts = [_part(after.total(at, r), Fraction(fair[r][at]), 1) for r in wanted]
        return (borrows, max(parts, default=(0, Fraction(0))))

    def levels(self, leaf: str, asked: Mapping[str, int]) -> int:
        """Return how many levels up a request must go."""
        after = self.with_charge(leaf, asked)
        levels = [0]
        for r in (r for r, amount in asked.items() if amount > 0):
            covers = [x for x in self.way(leaf) if after.used(x, r) <= self.n(x, r)]
            levels.append(self.height(covers[0] if covers else self.root()))
        return max(levels)

    def height(self, name: str) -> int:
        """Return how many levels there are below."""
        return max((1 + self.height(child) for child in self.children(name)), default=0)


def _part(amount: int, whole: Fraction, weight: int) -> tuple[int, Fraction]:
    if amount <= 0:
        return (0, Fraction(0))
    if whole <= 0:
        return (1, Fraction(amount))
    return (0, amount / whole / weight) if weight > 0 else (1, amount / whole)


def as_queues(tree: NaiveTree) -> list[Queue]:
    """Return the tree as Cohorts and ClusterQueues."""
    found = []
    for name, node in tree.nodes.items():
        quotas = {
            FlavorResource(DEFAULT_FLAVOR, r): Quota(
                node.nominal.get(r, 0),
                guaranteed=node.guaranteed.get(r),
                lending_limit=node.lending.get(r),
                borrowing_limit=node.borrowing.get(r),
                limit=node.limit.get(r),
            )
            for r in tree.resources
        }
        above = None if node.parent is None else QueueRef(QueueKind.COHORT, node.parent)
        found.append(
            Queue(ref_of(tree, name), parent=above, weight=Fraction(node.weight), quotas=quotas)
        )
    return found


def ref_of(tree: NaiveTree, name: str) -> QueueRef:
    """Return the queue of a name: a Cohort where it is the root, or has others below it."""
    interior = tree.children(name) or tree.nodes[name].parent is None
    return QueueRef(QueueKind.COHORT if interior else QueueKind.CLUSTER_QUEUE, name)
