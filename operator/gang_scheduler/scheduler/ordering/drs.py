"""`DRS`: queues within their promises come first, then the queue that borrows least.

What a queue borrows of a resource is divided by the most that its parent could ever lend. The
largest result counts, divided by the queue's weight, even if that resource was not requested.
"""

from typing import Final

from gang_scheduler.scheduler.quota.accounts import Comparison, Share, Standing, borrowed_share

in_one_line: Final = False
compares: Final = Comparison.SHARES
share: Final = borrowed_share


def key(standing: Standing) -> tuple[bool, Share]:
    """Return a sort key among siblings. The smallest key is next."""
    return (standing.borrows, share(standing))
