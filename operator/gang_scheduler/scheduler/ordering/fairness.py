"""Each fairness by its word. A new one is that word, its file and its line here."""

from collections.abc import Mapping
from typing import Any, Final, Protocol

from gang_scheduler.model.values import Fairness
from gang_scheduler.scheduler.ordering import drf, drs, fair_share, priority
from gang_scheduler.scheduler.quota.accounts import Accounts, Comparison, Share, Standing

Key = tuple[Any, ...]


class FairnessPolicy(Protocol):
    """How the queues of a tree take turns, and what they may take from each other."""

    @property
    def in_one_line(self) -> bool:
        """Whether all heads of the tree are compared; else those of siblings, level by level."""

    @property
    def compares(self) -> Comparison:
        """What decides whether a gang may evict one of a queue that borrows."""

    def key(self, standing: Standing) -> Key:
        """Return a sort key of a queue once its head is charged. Smaller has its turn first.

        In one line it is that of the leaf, and never falls while more is charged.
        """

    def share(self, standing: Standing) -> Share:
        """Return the figure by which queues are compared."""


POLICIES: Final[Mapping[Fairness, FairnessPolicy]] = {
    Fairness.PRIORITY: priority,
    Fairness.DRS: drs,
    Fairness.DRF: drf,
    Fairness.FAIR_SHARE: fair_share,
}


def policy_of(accounts: Accounts, row: int) -> FairnessPolicy:
    """Return the fairness of the tree that a queue is in."""
    return POLICIES[accounts.fairness(accounts.promises.trees.root(row))]
