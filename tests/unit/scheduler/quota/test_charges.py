"""What queues should have: cases worked by hand."""

from collections.abc import Sequence
from fractions import Fraction

import pytest

from gang_scheduler.model.nodes import Node
from gang_scheduler.model.queues import DEFAULT_FLAVOR, FlavorResource, Queue
from gang_scheduler.scheduler.quota.charges import Exact, FairShareClaim, divide
from support.queue_builders import (
    CPU,
    cluster_queue,
    cohort,
    cq_ref,
    forest_of,
    our_queue,
    queue_ref,
)


def shares(
    queues: Sequence[Queue], asked: dict[str, int], running: dict[str, int] | None = None
) -> dict[str, Exact]:
    forest = forest_of(
        queues,
        {queue_ref(name): amount for name, amount in (running or {}).items()},
        asked={queue_ref(name): amount for name, amount in asked.items()},
    )
    return {ref.name: share[CPU] for ref, share in forest.fair_shares().items() if share[CPU]}


def test_the_cap_of_a_parent_is_shared_by_its_children() -> None:
    queues = [
        our_queue("root", 40),
        our_queue("p", 8, hard=10, borrowing=True),
        our_queue("c1", 4, parent="p", borrowing=True),
        our_queue("c2", 4, parent="p", borrowing=True),
        our_queue("o", 30),
    ]

    found = shares(queues, {"c1": 6, "c2": 9})

    assert {"root": 40, "p": 10, "c1": 5, "c2": 5} == found


def test_what_one_does_not_want_is_shared_by_the_others() -> None:
    queues = [
        our_queue("root", 100),
        our_queue("a", borrowing=True),
        our_queue("b", borrowing=True),
    ]

    assert {"root": 100, "a": 30, "b": 70} == shares(queues, {"a": 30, "b": 90})


def test_a_limit_leaves_more_for_the_others() -> None:
    queues = [
        our_queue("root", 60),
        our_queue("a", 0, hard=20, borrowing=True),
        our_queue("b", borrowing=True),
        our_queue("c", borrowing=True),
    ]

    found = shares(queues, {"a": 60, "b": 60, "c": 20})

    assert {"root": 60, "a": 20, "b": 20, "c": 20} == found


def test_what_is_above_all_promises_goes_by_weight() -> None:
    queues = [
        our_queue("root", 8),
        our_queue("q0", 2, weight=Fraction(3), borrowing=True),
        our_queue("q1", 2, weight=Fraction(1), borrowing=True),
    ]

    assert {"root": 8, "q0": 5, "q1": 3} == shares(queues, {"q0": 9, "q1": 9})


def test_a_promise_without_demand_is_lent_on() -> None:
    queues = [our_queue("root", 12), our_queue("a", 6, guaranteed=6), our_queue("b", 6)]

    assert {"root": 12, "a": 2, "b": 6} == shares(queues, {"a": 2, "b": 9})


def test_what_runs_is_demand() -> None:
    queues = [our_queue("root", 12), our_queue("a", 6), our_queue("b", 6, borrowing=True)]

    assert {"root": 12, "a": 5, "b": 7} == shares(queues, {"b": 2}, {"a": 5, "b": 6})


def test_nodes_that_are_gone_are_shared_by_none() -> None:
    queues = [our_queue("root", 3000), our_queue("a", 2000), our_queue("b", 1000)]

    found = shares(queues, {"a": 2000, "b": 1000})

    assert {"root": 1000, "a": Fraction(2000, 3), "b": Fraction(1000, 3)} == found


def test_what_waits_in_an_inactive_queue_asks_for_nothing() -> None:
    queues = [
        our_queue("root", 10),
        our_queue("a", 4, guaranteed=5),
        our_queue("b", borrowing=True),
    ]

    assert {"root": 10, "b": 8} == shares(queues, {"a": 8, "b": 8})


def test_a_cohort_shares_what_it_is_promised() -> None:
    queues = [cohort("all", nominal=8), cluster_queue("a", "all", 4), cluster_queue("b", "all", 4)]

    forest = forest_of(queues, asked={cq_ref("a"): 20, cq_ref("b"): 20})

    found = {ref.name: share[CPU] for ref, share in forest.fair_shares().items()}
    assert {"root": 0, "none": 0, "all": 16, "a": 8, "b": 8} == found


@pytest.mark.parametrize(
    ("total", "claims", "expected"),
    [
        (
            10,
            [FairShareClaim(0, 9), FairShareClaim(0, 9), FairShareClaim(0, 9)],
            [Fraction(10, 3)] * 3,
        ),
        (10, [FairShareClaim(6, 6), FairShareClaim(6, 6), FairShareClaim(3, 3)], [4, 4, 2]),
        (
            2,
            [FairShareClaim(1, 1), FairShareClaim(1, 1), FairShareClaim(1, 1)],
            [Fraction(2, 3)] * 3,
        ),
        (10, [FairShareClaim(0, 20, Fraction(0)), FairShareClaim(0, 4)], [6, 4]),
        (
            9,
            [FairShareClaim(0, 20, Fraction(0)), FairShareClaim(0, 20, Fraction(0))],
            [Fraction(9, 2)] * 2,
        ),
        (10, [FairShareClaim(0, 20, Fraction(0)), FairShareClaim(0, 20)], [0, 10]),
        (10, [FairShareClaim(1, 2), FairShareClaim(1, 3)], [2, 3]),
        (
            10,
            [FairShareClaim(0, 20, Fraction(1, 3)), FairShareClaim(0, 20, Fraction(1, 2))],
            [4, 6],
        ),
        (0, [FairShareClaim(0, 1)], [0]),
        (5, [], []),
    ],
)
def test_a_total_is_divided(
    total: int, claims: list[FairShareClaim], expected: list[Exact]
) -> None:
    assert expected == divide(total, claims)


GPU = FlavorResource(DEFAULT_FLAVOR, "nvidia.com/gpu")


@pytest.mark.parametrize(
    ("queues", "gpus", "expected"),
    [
        ("ab", 3, Fraction(3, 2)),
        ("abc", 4, Fraction(4, 3)),
        ("abc", 1, Fraction(1, 3)),
        ("abcdefg", 8, Fraction(8, 7)),
    ],
)
def test_gpus_are_shared_to_the_part(queues: str, gpus: int, expected: Fraction) -> None:
    """The share of each queue is the same, whatever its name: none has a whole GPU for it."""
    root = our_queue("root", gpus, key=GPU)
    below = [our_queue(name, borrowing=True, key=GPU) for name in queues]
    refs = [queue_ref(name) for name in queues]
    forest = forest_of(
        [root, *below],
        {ref: {GPU: 1} for ref in refs},
        asked={ref: {GPU: 9} for ref in refs},
        nodes=[Node("n", allocatable=((GPU.resource, 8),))],
    )

    assert {expected} == {forest.fair_shares()[ref][GPU] for ref in refs}
    found = {each.queue.ref: each for each in forest.figures()}
    assert {1 / expected} == {found[ref].share for ref in refs}
