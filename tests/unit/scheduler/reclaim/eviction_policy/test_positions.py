"""Where two queues meet, and which of them use more than they were promised."""

import pytest

from gang_scheduler.model.queues import FlavorResource, QueueRef
from gang_scheduler.scheduler.quota.accounts import Accounts
from gang_scheduler.scheduler.reclaim.eviction_policy import (
    Branches,
    branches_at_ancestor,
    is_over,
    is_within,
    missing_keys_in_tree,
)
from support.queue_builders import CPU, cluster_queue, cohort, cohort_ref, cq_ref, forest_of

A, B, C, ALONE = (cq_ref(name) for name in ("a", "b", "c", "alone"))
LEFT, ALL = cohort_ref("left"), cohort_ref("all")
QUEUES = [
    cohort("all"),
    cohort("left", "all"),
    cluster_queue("a", "left", 10),
    cluster_queue("b", "left", 10),
    cluster_queue("c", "all", 10),
    cluster_queue("alone", nominal={FlavorResource("spot", "cpu"): 10}),
]
MEMORY = FlavorResource("default", "memory")


def accounts(**used: int) -> Accounts:
    return forest_of(QUEUES, {cq_ref(name): amount for name, amount in used.items()}).accounts


def row(ref: QueueRef) -> int:
    return accounts().promises.trees.rows[ref]


def test_siblings_meet_right_above_them() -> None:
    assert Branches((row(A),), (row(B),)) == branches_at_ancestor(accounts(), row(A), row(B))


def test_a_queue_further_down_comes_with_those_above_it_up_to_the_meeting() -> None:
    branches = branches_at_ancestor(accounts(), row(A), row(C))

    assert branches is not None
    assert Branches((row(A), row(LEFT)), (row(C),)) == branches
    assert (row(LEFT), row(C)) == (branches.our_child, branches.their_child)


@pytest.mark.parametrize("other", [A, LEFT, ALL, ALONE])
def test_nothing_meets_itself_what_is_above_it_or_another_tree(other: QueueRef) -> None:
    assert branches_at_ancestor(accounts(), row(A), row(other)) is None


@pytest.mark.parametrize(("used", "over"), [(9, False), (10, False), (11, True)])
def test_to_use_all_that_is_promised_is_within_it(used: int, *, over: bool) -> None:
    state = accounts(a=used)

    assert over == is_over(state, row(A), [CPU])
    assert over != is_within(state, row(A), {CPU: 1})


def test_what_a_queue_borrows_of_its_sibling_leaves_the_queue_above_within_its_promise() -> None:
    state = accounts(a=15, b=5)

    assert not is_over(state, row(LEFT), [CPU])
    assert is_over(accounts(a=15, b=6), row(LEFT), [CPU])


def test_only_what_is_asked_for_and_governed_counts() -> None:
    state = accounts(a=11)

    assert is_within(state, row(A), {CPU: 0, MEMORY: 5})
    assert not is_over(state, row(A), [])


def test_a_resource_without_room_is_lacking_in_every_flavor_of_the_other_tree() -> None:
    spot = FlavorResource("spot", "cpu")

    assert frozenset({CPU}) == missing_keys_in_tree(accounts(), row(A), [CPU, spot, MEMORY], ())
    assert frozenset({spot}) == missing_keys_in_tree(
        accounts(), row(ALONE), [CPU], {"cpu", "memory"}
    )
