"""`DRS`: of the queues that stay within their promises first, then the one that borrows least.

What is borrowed of each resource is seen against what the queue above could ever lend; the largest
part counts, by weight. All resources are looked at, asked for or not.
"""

from gang_scheduler.scheduler.quota.accounts import NO_SHARE, Share, Standing, share_of
from gang_scheduler.scheduler.quota.promises import lendable

Key = tuple[bool, Share]


def key(standing: Standing) -> Key:
    """Return a sort key among siblings. Smaller has its turn first."""
    return (standing.borrows, share(standing))


def share(standing: Standing) -> Share:
    """Return the largest part that is borrowed of what can be lent. A root borrows nothing."""
    promises, row = standing.accounts.promises, standing.row
    parent = promises.trees.parents[row]
    if parent < 0:
        return NO_SHARE
    weight = standing.accounts.queue(row).weight
    shares = [NO_SHARE]
    for resource in promises.by_resource(row):
        borrowed = _borrowed(standing, resource)
        if borrowed and (whole := lendable(promises, parent, resource)) > 0:
            shares.append(share_of(borrowed, whole, weight))
    return max(shares)


def _borrowed(standing: Standing, resource: str) -> int:
    accounts, row = standing.accounts, standing.row
    borrowed = 0
    for fr in accounts.promises.by_resource(row)[resource]:
        used = standing.used.get(fr)
        if used is None:
            used = accounts.charges.used[fr][row]
        borrowed += max(0, used - accounts.promises.terms[fr].nominal[row])
    return borrowed
