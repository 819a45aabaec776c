"""`FairShare`: queues within their promises come first, then the neediest queue.

For each requested resource, the charge is divided by the fair share of the queue; the largest
result counts. In Volcano, the priority of a queue goes before all of this.
"""

from typing import Final

from gang_scheduler.scheduler.quota.accounts import NO_SHARE, Comparison, Share, Standing, share_of

in_one_line: Final = False
compares: Final = Comparison.DUES


def key(standing: Standing) -> tuple[int, bool, Share]:
    """Return a sort key among sibling queues. The smallest key is next."""
    order = standing.accounts.queue(standing.row).order
    return (-order, standing.borrows, share(standing))


def share(standing: Standing) -> Share:
    """Return the largest part of its fair share that the queue uses."""
    row, fair_shares = standing.row, standing.accounts.fair_shares
    if standing.accounts.recent is not None:
        return _lately(standing)
    parts = (share_of(total, fair_shares[fr][row]) for fr, total in standing.total.items())
    return max(parts, default=NO_SHARE)


def _lately(standing: Standing) -> Share:
    """Return the largest share of recent usage over all resources. Recent usage has no flavors."""
    accounts, row = standing.accounts, standing.row
    shares = [NO_SHARE]
    for resource in sorted({fr.resource for fr in standing.total}):
        keys = accounts.promises.by_resource(row)[resource]
        fair = sum(accounts.fair_shares[fr][row] for fr in keys)
        shares.append(share_of(standing.held(resource), standing.parts * fair))
    return max(shares)
