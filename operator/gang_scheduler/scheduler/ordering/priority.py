"""`Priority`: the gang that must go up the fewest levels for quota, then the higher priority.

All queues of the tree stand in one line; between levels nothing is compared. What is shown as the
share of a queue is what it borrows, as with `DRS`.
"""

from typing import Final

from gang_scheduler.model.queues import FlavorResource
from gang_scheduler.scheduler.quota.accounts import Comparison, Standing, borrowed_share

in_one_line: Final = True
compares: Final = Comparison.PRIORITIES
share: Final = borrowed_share


def key(standing: Standing) -> tuple[int]:
    """Return how many levels up a request must go: 0 where it stays within the leaf's promise.

    Else the height of the lowest queue above that has what is left of it within its own promise;
    that of the root where none has.
    """
    return (max((_level(standing, each) for each in standing.asked), default=0),)


def _level(standing: Standing, key: FlavorResource) -> int:
    accounts, leaf = standing.accounts, standing.row
    trees, nominal = accounts.promises.trees, accounts.promises.terms[key].nominal
    way = trees.ways[leaf]
    for row in reversed(way):
        if accounts.charges.used_after(leaf, row, key, standing.asked[key]) <= nominal[row]:
            return trees.heights[row]
    return trees.heights[way[0]]
