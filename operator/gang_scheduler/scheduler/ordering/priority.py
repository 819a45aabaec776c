"""`Priority`: first the gang that finds quota on the lowest level, then the higher priority.

All leaves of a tree are compared with each other, whichever parents they have. The share that users
see of a queue is what it borrows, as with `DRS`.
"""

from typing import Final

from gang_scheduler.model.queues import FlavorResource
from gang_scheduler.scheduler.quota.accounts import Comparison, Standing, borrowed_share

in_one_line: Final = True
compares: Final = Comparison.PRIORITIES
share: Final = borrowed_share


def key(standing: Standing) -> tuple[int]:
    """Return how many levels up a request must go for quota: 0 within the promise of its leaf.

    Otherwise the result is the height of the lowest ancestor that can cover the rest within its own
    promise, or of the root if none can.
    """
    return (max((_level(standing, each) for each in standing.asked), default=0),)


def _level(standing: Standing, key: FlavorResource) -> int:
    accounts, leaf = standing.accounts, standing.row
    trees, nominal = accounts.promises.trees, accounts.promises.terms[key].nominal
    path = trees.paths[leaf]
    for row in reversed(path):
        if accounts.charges.used_after(leaf, row, key, standing.asked[key]) <= nominal[row]:
            return trees.heights[row]
    return trees.heights[path[0]]
