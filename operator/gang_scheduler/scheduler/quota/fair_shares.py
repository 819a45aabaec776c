"""What each queue should have, by promises, demand and weights; whatever is charged now.

Nothing is lost: what one queue does not need, or may not have, is shared by the others. Shares are
exact: of three GPUs two queues have one and a half each.
"""

import math
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import NamedTuple

from gang_scheduler.model.queues import FlavorResource, QueueUsage
from gang_scheduler.scheduler.quota.charges import Charges, entries
from gang_scheduler.scheduler.quota.promises import Promises

Exact = int | Fraction
"""An amount that need not be whole."""
FairShares = Mapping[FlavorResource, Sequence[Exact]]
"""The fair share of each row."""


class Claim(NamedTuple):
    """What a queue has a right to, if there is enough, and the most that it can use."""

    least: int
    most: int
    weight: Fraction = Fraction(1)


def fair_shares(promises: Promises, charges: Charges, usage: QueueUsage) -> FairShares:
    """Return all fair shares. Costs steps in proportion to queues that have or want anything."""
    asked = _asked(promises, usage)
    return {
        key: _of_key(
            promises, key, [t + a for t, a in zip(charges.total[key], asked[key], strict=True)]
        )
        for key in promises.terms
    }


def _asked(promises: Promises, usage: QueueUsage) -> dict[FlavorResource, list[int]]:
    """Return what waits in each subtree. What waits in an inactive queue asks for nothing."""
    trees = promises.trees
    asked = {key: [0] * len(trees) for key in promises.terms}
    for ref, charge in usage.asked.items():
        for row, key, amount in entries(promises, ref, charge):
            if trees.problems[row] is None:
                for each in trees.ways[row]:
                    asked[key][each] += amount
    return asked


def _of_key(promises: Promises, key: FlavorResource, demand: Sequence[int]) -> list[Exact]:
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


def _claim(promises: Promises, key: FlavorResource, row: int, demand: int) -> Claim:
    terms = promises.terms[key]
    promised = terms.promised[row]
    most = min(terms.limit[row], promised + terms.borrowing[row], demand)
    weight = max(Fraction(0), promises.trees.queues[row].weight)
    return Claim(min(promised, most), most, weight)


def divide(total: Exact, claims: Sequence[Claim]) -> list[Exact]:
    """Return what each claim gets of a total: its least, and by weight what is left.

    All of the total is given away unless every claim has its most. Where the least are more than
    there is, each gets its part. A weight of 0 gets something when no other claim is open, all in
    equal parts.
    """
    together = sum(claim.least for claim in claims)
    if together >= total:
        return [exact(total * claim.least, together) for claim in claims]
    got: list[Exact] = [claim.least for claim in claims]
    left = total - together
    weighted = [place for place, claim in enumerate(claims) if claim.weight > 0]
    left = _pour(left, got, claims, weighted, _whole([claims[each].weight for each in weighted]))
    others = [place for place, claim in enumerate(claims) if claim.weight <= 0]
    _pour(left, got, claims, others, [1] * len(others))
    return got


def exact(part: Exact, whole: int) -> Exact:
    """Return a part of a whole, as an integer where it is one: those are fast."""
    if part == 0:
        return 0
    found = Fraction(part, whole)
    return found.numerator if found.denominator == 1 else found


def _whole(weights: Sequence[Fraction]) -> list[int]:
    """Return weights in the same proportions as integers."""
    scale = math.lcm(*(weight.denominator for weight in weights))
    return [int(weight * scale) for weight in weights]


def _pour(
    left: Exact,
    got: list[Exact],
    claims: Sequence[Claim],
    places: Sequence[int],
    weights: Sequence[int],
) -> Exact:
    """Give what is left by weight, each up to its most; return what none could take."""
    weight_of = dict(zip(places, weights, strict=True))
    lacks = {place: claims[place].most - claims[place].least for place in places}
    open_ = sorted(
        (place for place in places if lacks[place] > 0),
        key=lambda place: Fraction(lacks[place], weight_of[place]),
    )
    together = sum(weight_of[place] for place in open_)
    filled = 0
    # The first to be full are those that lack least for their weight.
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
