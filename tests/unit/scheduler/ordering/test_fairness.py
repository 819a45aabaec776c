"""The table of fairness: each word has one, and a tree has that of its root."""

from dataclasses import replace
from fractions import Fraction

import pytest

from gang_scheduler.model.api_words import Fairness
from gang_scheduler.model.queues import Product
from gang_scheduler.scheduler.ordering.fairness import POLICIES, policy_of
from gang_scheduler.scheduler.quota.accounts import Share
from support.queue_builders import cluster_queue, cohort, cq_ref, forest_of, our_queue, queue_ref

LENT = [cohort("all"), *(cluster_queue(name, "all", 4) for name in "abc")]
RUNNING = {cq_ref("a"): 6, cq_ref("b"): 2}


def test_every_word_has_its_policy() -> None:
    assert set(Fairness) == POLICIES.keys()


@pytest.mark.parametrize("fairness", Fairness)
def test_a_queue_has_the_fairness_of_its_root(fairness: Fairness) -> None:
    root, inner, leaf = our_queue("root", 9), our_queue("a", 9), our_queue("b", 9, parent="a")
    accounts = forest_of([replace(root, fairness=fairness), inner, leaf]).accounts

    found = policy_of(accounts, accounts.promises.trees.rows[queue_ref("b")])

    assert POLICIES[fairness] is found


@pytest.mark.parametrize(
    ("fairness", "share"),
    [
        # Of 12 that could be lent the queue borrows two.
        (Fairness.PRIORITY, Fraction(1, 6)),
        (Fairness.DRS, Fraction(1, 6)),
        # It has six of the 12 that are promised, and of its fair share.
        (Fairness.DRF, Fraction(1, 2)),
        (Fairness.FAIR_SHARE, Fraction(1)),
    ],
)
def test_the_share_is_that_of_the_fairness(fairness: Fairness, share: Fraction) -> None:
    accounts = forest_of(LENT, RUNNING, fairness={Product.KUEUE: fairness}).accounts
    row = accounts.promises.trees.rows[cq_ref("a")]

    assert Share(number=share) == policy_of(accounts, row).share(accounts.now(row))
