"""`Priority`: the gang that must go up the fewest levels for quota, then the higher priority.

All queues of the tree stand in one line; between levels nothing is compared.
"""

from gang_scheduler.model.queues import Charge, FlavorResource
from gang_scheduler.scheduler.quota.accounts import Accounts


def levels(accounts: Accounts, leaf: int, charge: Charge) -> int:
    """Return how many levels up a request must go: 0 where it stays within the leaf's promise.

    Else the height of the lowest queue above that has what is left of it within its own promise;
    that of the root where none has. Never falls while more is charged.
    """
    keys = accounts.after(leaf, leaf, charge).used
    return max((_level(accounts, leaf, key, charge[key]) for key in keys), default=0)


def _level(accounts: Accounts, leaf: int, key: FlavorResource, asked: int) -> int:
    trees, nominal = accounts.promises.trees, accounts.promises.terms[key].nominal
    way = trees.ways[leaf]
    for row in reversed(way):
        if accounts.charges.used_after(leaf, row, key, asked) <= nominal[row]:
            return trees.heights[row]
    return trees.heights[way[0]]
