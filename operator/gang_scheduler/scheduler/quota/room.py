"""How much more a queue may be charged: by promises, borrowing, limits and lenders."""

from collections.abc import Sequence

from gang_scheduler.model.queues import FlavorResource
from gang_scheduler.scheduler.quota.promises import Promises


def room(
    promises: Promises, row: int, key: FlavorResource, used: Sequence[int], total: Sequence[int]
) -> int:
    """Return how much more fits with these charges, from the root down to the queue.

    Negative where more is charged than is there. The tree must govern the key.
    """
    terms, way = promises.terms[key], promises.trees.ways[row]
    left = terms.nominal[way[0]] - used[way[0]]
    limit = terms.limit[way[0]] - total[way[0]]
    for each in way[1:]:
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
    """Return the lowest queue, from this one up to its root, that lets no so much through.

    What queues beside it give back does not help. The root, if none below it is full.
    """
    terms, way = promises.terms[key], promises.trees.ways[row]
    for each in reversed(way[1:]):
        kept = max(0, terms.guaranteed[each] - used[each])
        most = kept + _from_above(promises, each, key, used)
        if asked > min(most, terms.limit[each] - total[each]):
            return each
    return way[0]


def potential(promises: Promises, row: int, key: FlavorResource) -> int:
    """Return how much could be charged if nothing were used; worked out once."""
    known = promises.potentials
    if (row, key) not in known:
        nothing = [0] * len(promises.trees)
        known[row, key] = room(promises, row, key, nothing, nothing)
    return known[row, key]


def lendable(promises: Promises, row: int, resource: str) -> int:
    """Return what a queue could ever give those below it, of all flavors; worked out once."""
    known = promises.lendables
    if (row, resource) not in known:
        keys = promises.by_resource(row).get(resource, ())
        known[row, resource] = sum(potential(promises, row, key) for key in keys)
    return known[row, resource]


def _from_above(promises: Promises, row: int, key: FlavorResource, used: Sequence[int]) -> int:
    """Return how much more a queue may take of what the one above it has."""
    terms = promises.terms[key]
    most = terms.nominal[row] + _borrowing(promises, row, key, used)
    return most - max(terms.guaranteed[row], used[row])


def _borrowing(promises: Promises, row: int, key: FlavorResource, used: Sequence[int]) -> int:
    """Return how far a queue may go above its promise: by its terms, and by its lenders."""
    terms = promises.terms[key]
    lenders = promises.lenders.get(row)
    if lenders is None:
        return terms.borrowing[row]
    borrowed = max(0, used[row] - terms.nominal[row])
    way = promises.trees.ways[row]
    idle = 0
    for each in lenders:
        if each != row:
            # What the queue borrows itself is idle of a subtree that it is in.
            by_others = used[each] - (borrowed if each in way else 0)
            idle += max(0, terms.nominal[each] - max(terms.guaranteed[each], by_others))
    return min(terms.borrowing[row], idle)
