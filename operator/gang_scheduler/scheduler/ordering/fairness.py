"""The table of fairness policies.

To add a policy, add a word to `model/api_words.py`, a file for it, and a line here.
"""

from collections.abc import Mapping
from typing import Any, Final, Protocol

from gang_scheduler.model.api_words import Fairness
from gang_scheduler.scheduler.ordering import drf, drs, fair_share, priority
from gang_scheduler.scheduler.quota.accounts import Accounts, Comparison, Share, Standing

Key = tuple[Any, ...]


class FairnessPolicy(Protocol):
    """How the queues of a tree take turns, and when one may take quota from another."""

    @property
    def in_one_line(self) -> bool:
        """Whether all heads of a tree are compared at once, not only siblings level by level."""

    @property
    def compares(self) -> Comparison:
        """What is compared before a gang may evict a gang of a queue that borrows."""

    def key(self, standing: Standing) -> Key:
        """Return the sort key of a queue once its head is charged; the smallest key is next.

        If all heads are compared `in_one_line`, it is the key of the leaf, and it never falls while
        more is charged.
        """

    def share(self, standing: Standing) -> Share:
        """Return the number by which queues are compared."""


POLICIES: Final[Mapping[Fairness, FairnessPolicy]] = {
    Fairness.PRIORITY: priority,
    Fairness.DRS: drs,
    Fairness.DRF: drf,
    Fairness.FAIR_SHARE: fair_share,
}


def policy_of(accounts: Accounts, row: int) -> FairnessPolicy:
    """Return the fairness of a queue's tree."""
    return POLICIES[accounts.fairness(accounts.promises.trees.root(row))]
