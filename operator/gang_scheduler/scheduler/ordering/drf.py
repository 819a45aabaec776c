"""`DRF`: queues within their promises come first, then the queue with the smallest share.

The share of a resource is its charge divided by the promises of the whole tree. The largest share
among the requested resources counts, divided by the queue's weight.
"""

from fractions import Fraction
from typing import Final

from gang_scheduler.scheduler.quota.accounts import NO_SHARE, Comparison, Share, Standing, share_of

in_one_line: Final = False
compares: Final = Comparison.SHARES


def key(standing: Standing) -> tuple[bool, Share]:
    """Return a sort key among siblings. The smallest key is next."""
    return (standing.borrows, share(standing))


def share(standing: Standing) -> Share:
    """Return the queue's largest share of the quota that is promised in its tree."""
    weight = standing.accounts.queue(standing.row).weight
    resources = {fr.resource for fr in standing.total}
    return max(
        (_part(standing, resource, weight) for resource in sorted(resources)), default=NO_SHARE
    )


def _part(standing: Standing, resource: str, weight: Fraction) -> Share:
    accounts, row = standing.accounts, standing.row
    root = accounts.promises.trees.root(row)
    keys = accounts.promises.by_resource(row)[resource]
    whole = sum(accounts.promises.terms[fr].promised[root] for fr in keys)
    return share_of(standing.held(resource), standing.parts * whole, weight)
