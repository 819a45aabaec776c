"""What each queue should have, by promises, demand and weights; whatever is charged now.

Nothing is lost: what one queue does not need, or may not have, is shared by the others.
"""

import math
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import NamedTuple

from gang_scheduler.model.queues import FlavorResource, QueueUsage
from gang_scheduler.scheduler.quota.charges import Charges, entries
from gang_scheduler.scheduler.quota.promises import Promises

FairShares = Mapping[FlavorResource, Sequence[int]]
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


def _of_key(promises: Promises, key: FlavorResource, demand: Sequence[int]) -> list[int]:
    trees, terms = promises.trees, promises.terms[key]
    shares = [0] * len(trees)
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


def divide(total: int, claims: Sequence[Claim]) -> list[int]:
    """Return what each claim gets of a total: its least, and by weight what is left.

    All of the total is given away unless every claim has its most. Where the least are more than
    there is, each gets its part. What rounding leaves goes to the first, a unit each. A weight of 0
    gets something when no other claim is open, all in equal parts.
    """
    least = [claim.least for claim in claims]
    if sum(least) >= total:
        return in_proportion(total, least)
    got = list(least)
    left = total - sum(least)
    weighted = [place for place, claim in enumerate(claims) if claim.weight > 0]
    left = _pour(left, got, claims, weighted, _whole([claims[each].weight for each in weighted]))
    others = [place for place, claim in enumerate(claims) if claim.weight <= 0]
    _pour(left, got, claims, others, [1] * len(others))
    return got


def in_proportion(total: int, parts: Sequence[int]) -> list[int]:
    """Return a total of at most all parts split as they are; what rounding leaves to the first."""
    whole = sum(parts)
    given = [total * part // whole if whole else 0 for part in parts]
    over = total - sum(given)
    # What is left over is less than a unit for each that was cut: all of those have room for one.
    for place in [each for each, part in enumerate(parts) if given[each] < part][:over]:
        given[place] += 1
    return given


def _whole(weights: Sequence[Fraction]) -> list[int]:
    """Return weights in the same proportions as integers."""
    scale = math.lcm(*(weight.denominator for weight in weights))
    return [int(weight * scale) for weight in weights]


def _pour(
    left: int,
    got: list[int],
    claims: Sequence[Claim],
    places: Sequence[int],
    weights: Sequence[int],
) -> int:
    """Give what is left by weight, each up to its most; return what none could take."""
    weight_of = dict(zip(places, weights, strict=True))
    lacks = {place: claims[place].most - got[place] for place in places}
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
    rest = sorted(open_[filled:])
    given = [left * weight_of[place] // together for place in rest]
    over = left - sum(given)
    for nth, place in enumerate(rest):
        got[place] += given[nth] + (1 if nth < over else 0)
    return 0 if rest else left
