"""`FairShare`: of the queues that stay within their promises first, then the neediest.

What is charged is seen against the fair share of the queue; of what is asked for, the largest part
counts. Volcano's priority of a queue comes before all that.
"""

from typing import Final

from gang_scheduler.scheduler.quota.accounts import NO_SHARE, Comparison, Share, Standing, share_of

in_one_line: Final = False
compares: Final = Comparison.DUES


def key(standing: Standing) -> tuple[int, bool, Share]:
    """Return a sort key among sibling queues. The smallest key has its turn first."""
    order = standing.accounts.queue(standing.row).order
    return (-order, standing.borrows, share(standing))


def share(standing: Standing) -> Share:
    """Return the largest part that the queue has of its fair share."""
    row, fair_shares = standing.row, standing.accounts.fair_shares
    if standing.accounts.recent is not None:
        return _lately(standing)
    parts = (share_of(total, fair_shares[fr][row]) for fr, total in standing.total.items())
    return max(parts, default=NO_SHARE)


def _lately(standing: Standing) -> Share:
    """Return the largest part by resource: what was used lately is of no flavor."""
    accounts, row = standing.accounts, standing.row
    shares = [NO_SHARE]
    for resource in sorted({fr.resource for fr in standing.total}):
        keys = accounts.promises.by_resource(row)[resource]
        fair = sum(accounts.fair_shares[fr][row] for fr in keys)
        shares.append(share_of(standing.held(resource), standing.parts * fair))
    return max(shares)
