"""Charges on queues, their sums up the tree, and the fair share of each queue."""

import math
import operator
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import NamedTuple

from gang_scheduler.model.queues import Charge, FlavorResource, QueueRef, QueueState, QueueUsage
from gang_scheduler.scheduler.quota.promises import Promises

# The charges on queues, and how they count in the queues above.


class Charges:
    """The charged amounts: for each flavor and resource, a list with one entry per queue.

    `used` is the charge that counts against a queue's own promise: a queue below counts only with
    the part beyond its guarantee. `total` is the sum of all leaves below. A resource for which no
    queue of the tree has a number is not kept.
    """

    def __init__(self, promises: Promises) -> None:
        self.promises = promises
        self.version = 0
        """How often anything was charged or released."""
        self.used = {key: [0] * len(promises.trees) for key in promises.terms}
        self.total = {key: [0] * len(promises.trees) for key in promises.terms}
        self._asked: dict[FlavorResource, tuple[tuple[int, int, int], int, int]] = {}
        """The last question of `used_after`, the row up to which it went, and what counts there."""

    def copy(self) -> "Charges":
        """Return an independent copy of the charges. Linear in rows, in one pass."""
        copied = object.__new__(Charges)
        copied.promises, copied.version = self.promises, self.version
        copied.used = {key: column.copy() for key, column in self.used.items()}
        copied.total = {key: column.copy() for key, column in self.total.items()}
        copied._asked = {}
        return copied

    def is_less_than(self, before: "Charges") -> bool:
        """Return whether any charge of a queue is lower than before."""
        return any(
            now != then and any(map(operator.lt, now, then))
            for key, now in self.total.items()
            for then in (before.total[key],)
        )

    def add(self, row: int, key: FlavorResource, amount: int) -> None:
        """Charge an amount to a queue and its ancestors; a negative amount is released."""
        parents, guaranteed = self.promises.trees.parents, self.promises.terms[key].guaranteed
        used, total = self.used[key], self.total[key]
        beyond = amount
        self.version += 1
        while row >= 0:
            total[row] += amount
            before = used[row]
            used[row] = before + beyond
            beyond = _beyond(before, beyond, guaranteed[row])
            row = parents[row]

    def used_after(self, leaf: int, top: int, key: FlavorResource, amount: int) -> int:
        """Return the amount that would count against `top`, the leaf or a row above it.

        Asked again for a row further up, it goes on from there: trees may be thousands deep.
        """
        parents, guaranteed = self.promises.trees.parents, self.promises.terms[key].guaranteed
        used, question, row = self.used[key], (self.version, leaf, amount), leaf
        known = self._asked.get(key)
        # Parents have lower rows than their children.
        if known is not None and known[0] == question and known[1] >= top:
            _, row, amount = known
        while row != top:
            amount = _beyond(used[row], amount, guaranteed[row])
            row = parents[row]
        self._asked[key] = question, top, amount
        return used[top] + amount


def _beyond(used: int, more: int, guaranteed: int) -> int:
    """Return how much of a further charge counts in the parent queue."""
    over = used - guaranteed
    if over >= 0 and over + more >= 0:
        return more  # Most often, and this is asked for each queue of a path and each resource.
    return max(0, over + more) - max(0, over)


def charges_of(state: QueueState, promises: Promises) -> Charges:
    """Return the charges of a state, computed once for a usage. They must not be changed."""
    return state.declared.cached(
        "charges", (promises, state.usage), lambda: _charged(state.usage, promises)
    )


def _charged(usage: QueueUsage, promises: Promises) -> Charges:
    charges = Charges(promises)
    for ref, charge in usage.charged.items():
        for row, key, amount in entries(promises, ref, charge):
            charges.add(row, key, amount)
    return charges


def entries(
    promises: Promises, ref: QueueRef, charge: Charge
) -> list[tuple[int, FlavorResource, int]]:
    """Return the charges for keys that the tree has numbers for, with the row of the queue."""
    trees = promises.trees
    row = trees.rows.get(ref)
    if row is None:
        return []
    governed = trees.governed[trees.root(row)]
    return [(row, key, amount) for key, amount in charge.items() if amount and key in governed]


def add_up(
    sums: dict[QueueRef, dict[FlavorResource, int]], ref: QueueRef, charge: Charge, sign: int = 1
) -> None:
    """Add a charge to the sum of a queue; with a sign of -1, take it away."""
    of_queue = sums.setdefault(ref, {})
    for key, amount in charge.items():
        of_queue[key] = of_queue.get(key, 0) + sign * amount


# The fair share of each queue, by promises, demand and weights. Present charges do not change it.
# No quota is left over: if a queue needs less than its share, the others get the rest. Shares are
# exact: if two queues share three GPUs, each has one and a half.

Exact = int | Fraction
"""An amount that may be a fraction."""
FairShares = Mapping[FlavorResource, Sequence[Exact]]
"""The fair share of each row."""


class FairShareClaim(NamedTuple):
    """The least that a queue gets if there is enough, the most it can use, and its weight."""

    least: int
    most: int
    weight: Fraction = Fraction(1)


def fair_shares(promises: Promises, charges: Charges, usage: QueueUsage) -> FairShares:
    """Return all fair shares.

    The cost grows with the number of queues that have or want anything.
    """
    asked = _waiting_demand(promises, usage)
    return {
        key: _fair_shares_of_key(
            promises, key, [t + a for t, a in zip(charges.total[key], asked[key], strict=True)]
        )
        for key in promises.terms
    }


def _waiting_demand(promises: Promises, usage: QueueUsage) -> dict[FlavorResource, list[int]]:
    """Return the waiting demand of each subtree. Demand in an inactive queue does not count."""
    trees = promises.trees
    asked = {key: [0] * len(trees) for key in promises.terms}
    for ref, charge in usage.asked.items():
        for row, key, amount in entries(promises, ref, charge):
            if trees.problems[row] is None:
                for each in trees.paths[row]:
                    asked[key][each] += amount
    return asked


def _fair_shares_of_key(
    promises: Promises, key: FlavorResource, demand: Sequence[int]
) -> list[Exact]:
    trees, terms = promises.trees, promises.terms[key]
    shares: list[Exact] = [0] * len(trees)
    for row, parent in enumerate(trees.parents):
        if parent < 0:
            shares[row] = terms.promised[row]
            if (most := terms.capacities.get(row)) is not None:
                shares[row] = min(shares[row], most)
        children = [child for child in trees.children[row] if demand[child]]
        if children and shares[row]:
            claims = [_claim(promises, key, child, demand[child]) for child in children]
            for child, share in zip(children, divide(shares[row], claims), strict=True):
                shares[child] = share
    return shares


def _claim(promises: Promises, key: FlavorResource, row: int, demand: int) -> FairShareClaim:
    terms = promises.terms[key]
    promised = terms.promised[row]
    most = min(terms.limit[row], promised + terms.borrowing[row], demand)
    weight = max(Fraction(0), promises.trees.queues[row].weight)
    return FairShareClaim(min(promised, most), most, weight)


def divide(total: Exact, claims: Sequence[FairShareClaim]) -> list[Exact]:
    """Return the share of each claimant in a total: its least, and the rest by weight.

    The whole total is given away, unless every claim has its most. If the least amounts exceed the
    total, each claim gets a part of it. A claim of weight 0 gets something only when all others are
    full; such claims share equally.
    """
    together = sum(claim.least for claim in claims)
    if together >= total:
        return [exact(total * claim.least, together) for claim in claims]
    got: list[Exact] = [claim.least for claim in claims]
    left = total - together
    weighted = [place for place, claim in enumerate(claims) if claim.weight > 0]
    left = _fill_by_weight(
        left, got, claims, weighted, _integer_weights([claims[each].weight for each in weighted])
    )
    others = [place for place, claim in enumerate(claims) if claim.weight <= 0]
    _fill_by_weight(left, got, claims, others, [1] * len(others))
    return got


def exact(part: Exact, whole: int) -> Exact:
    """Return a share of a whole.

    A whole number is returned as an integer: computing with integers is faster.
    """
    if part == 0:
        return 0
    found = Fraction(part, whole)
    return found.numerator if found.denominator == 1 else found


def _integer_weights(weights: Sequence[Fraction]) -> list[int]:
    """Return integer weights in the same proportions."""
    scale = math.lcm(*(weight.denominator for weight in weights))
    return [int(weight * scale) for weight in weights]


def _fill_by_weight(
    left: Exact,
    got: list[Exact],
    claims: Sequence[FairShareClaim],
    places: Sequence[int],
    weights: Sequence[int],
) -> Exact:
    """Divide an amount by weight, each claim up to its `most`; return what is left over."""
    weight_of = dict(zip(places, weights, strict=True))
    lacks = {place: claims[place].most - claims[place].least for place in places}
    open_ = sorted(
        (place for place in places if lacks[place] > 0),
        key=lambda place: Fraction(lacks[place], weight_of[place]),
    )
    together = sum(weight_of[place] for place in open_)
    filled = 0
    # Claims fill up in the order of their missing amount divided by their weight.
    for place in open_:
        if lacks[place] * together > left * weight_of[place]:
            break
        got[place] += lacks[place]
        left -= lacks[place]
        together -= weight_of[place]
        filled += 1
    rest = open_[filled:]
    for place in rest:
        got[place] = exact(got[place] * together + left * weight_of[place], together)
    return 0 if rest else left
