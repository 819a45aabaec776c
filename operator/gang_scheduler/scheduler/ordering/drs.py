"""`DRS`: queues within their promises come first, then the queue that borrows least.

What is borrowed of each resource is seen against what the queue above could ever lend; the largest
part counts, by weight. All resources are looked at, asked for or not.
"""

from typing import Final

from gang_scheduler.scheduler.quota.accounts import Comparison, Share, Standing, borrowed_share

in_one_line: Final = False
compares: Final = Comparison.SHARES
share: Final = borrowed_share


def key(standing: Standing) -> tuple[bool, Share]:
    """Return a sort key among siblings. Smaller has its turn first."""
    return (standing.borrows, share(standing))
