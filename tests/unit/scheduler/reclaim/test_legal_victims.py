"""By which class each victim goes, judged once all have gone and the preemptor is charged."""

import math
from collections.abc import Sequence
from typing import Any

import pytest

from gang_scheduler.model.api_words import EvictionPolicy, Fairness
from gang_scheduler.model.evictions import EvictionClass
from gang_scheduler.model.queues import NONE, EvictionRules, Queue
from gang_scheduler.model.refs import GangKey
from gang_scheduler.scheduler.reclaim.legal_victims import Reclaim
from gang_scheduler.scheduler.reclaim.request import ReclaimRequest, RunningInQueue
from support.builders import gang_key
from support.queue_builders import cluster_queue, cohort, cq_ref, our_queue, queue_ref
from support.reclaim_builders import LIMITS, cpu_of, ledger, part, request, running

OVERRUN, RECLAIM, IN_QUEUE, WHILE_BORROWING, FAIR_SHARE, AT_FIRST = EvictionClass
LOWER = EvictionPolicy.LOWER_PRIORITY
A, B, C, OURS = cq_ref("a"), cq_ref("b"), cq_ref("c"), queue_ref("ours")
BORROWS = EvictionRules(while_borrowing=LOWER)


def judged(
    queues: Sequence[Queue],
    asking: ReclaimRequest,
    victims: Sequence[RunningInQueue],
    *others: RunningInQueue,
    **world: Any,
) -> dict[str, EvictionClass | None]:
    """Return the class of each victim by name, None if it goes by no right; `others` stay."""
    resources = world.pop("resources", ())
    quota = ledger(queues, [*victims, *others], **world)
    found = Reclaim(quota, asking, LIMITS, resources).judge([part(each) for each in victims])
    return {
        each.key.name: None if each.key in found.illegal else found.classes.get(each.key)
        for each in victims
    }


def sharing(**nominal: int) -> list[Queue]:
    made = [cluster_queue(name, "all", n, evictions=BORROWS) for name, n in nominal.items()]
    return [cohort("all"), *made]


def test_within_its_promise_a_gang_takes_back_what_others_borrow() -> None:
    assert {"v": RECLAIM} == judged(sharing(a=10, b=10), request(A, 10), [running(B, "v", 20)])


def test_beyond_its_promise_it_needs_a_higher_priority() -> None:
    queues = sharing(a=4, b=4, c=4)

    found = [judged(queues, request(A, 5, priority=n), [running(B, "v", 12)]) for n in (0, 1)]

    assert [{"v": None}, {"v": WHILE_BORROWING}] == found


def test_what_a_queue_was_promised_nobody_takes() -> None:
    victims = [running(B, "v", 10)]

    assert {"v": None} == judged(sharing(a=10, b=10), request(A, 15, priority=9), victims)


def test_one_gang_that_straddles_the_promise_may_go_and_only_as_the_last() -> None:
    queues, asking = sharing(a=10, b=10), request(A, 10)

    assert {"v": RECLAIM, "w": RECLAIM} == judged(
        queues, asking, [running(B, "v", 12), running(B, "w", 3)]
    )
    assert {"v": None, "w": None} == judged(
        queues, asking, [running(B, "v", 8), running(B, "w", 8)]
    )
    assert {"v": RECLAIM} == judged(queues, asking, [running(B, "v", 8)], running(B, "w", 8))


def test_a_queue_below_another_that_is_within_its_promise_gives_nothing() -> None:
    queues = [
        *(cohort("all"), cohort("left", "all"), cohort("right", "all")),
        *(cluster_queue("a", "left", 10), cluster_queue("b", "right", 10)),
        cluster_queue("c", "right", 10),
    ]

    inside = judged(queues, request(A, 11), [running(B, "v", 15)], running(C, "w", 5))
    beyond = judged(queues, request(A, 10), [running(B, "v", 16)], running(C, "w", 5))

    assert [{"v": None}, {"v": RECLAIM}] == [inside, beyond]


def test_victims_of_the_own_queue_may_go_together_with_those_of_others() -> None:
    own, other = running(A, "own", 10), running(B, "other", 14)

    found = judged(sharing(a=10, b=10), request(A, 10, priority=1), [own, other])

    assert {"own": IN_QUEUE, "other": RECLAIM} == found


@pytest.mark.parametrize(
    ("evicted", "asked", "by"), [(60, 55, AT_FIRST), (50, 50, FAIR_SHARE), (40, 35, FAIR_SHARE)]
)
def test_by_shares_the_final_state_counts_or_that_with_one_victim_put_back(
    evicted: int, asked: int, by: EvictionClass
) -> None:
    queues = [cohort("all", nominal=100), cluster_queue("a", "all"), cluster_queue("b", "all")]
    victim, other = running(B, "v", evicted), running(B, "w", 100 - evicted)

    found = judged(queues, request(A, asked), [victim], other, fairness=Fairness.DRS)

    assert {"v": by} == found


def test_equal_shares_with_one_put_back_are_not_enough() -> None:
    queues = [cohort("all", nominal=100), cluster_queue("a", "all"), cluster_queue("b", "all")]

    found = [
        judged(
            queues, request(A, n), [running(B, "v", 50)], running(C, "w", 50), fairness=Fairness.DRS
        )
        for queues in [[*queues, cluster_queue("c", "all")]]
        for n in (49, 50)
    ]

    assert [{"v": AT_FIRST}, {"v": None}] == found


@pytest.mark.parametrize(("asked", "by"), [(50, FAIR_SHARE), (51, None)])
def test_by_fair_shares_a_queue_gets_up_to_its_own_from_one_that_is_over(
    asked: int, by: EvictionClass | None
) -> None:
    queues = [cohort("all", nominal=100), cluster_queue("a", "all"), cluster_queue("b", "all")]
    world: dict[str, Any] = {"fairness": Fairness.FAIR_SHARE, "asked": {A: 60, B: 100}}

    found = judged(queues, request(A, asked), [running(B, "v", 60)], running(B, "w", 40), **world)

    assert {"v": by} == found


@pytest.mark.parametrize(
    ("asked", "victim", "by"),
    [
        (10, running(OURS, "v", 6), RECLAIM),
        (10, running(OURS, "v", 5), None),
        (10, running(NONE, "v", 1), RECLAIM),
        (11, running(OURS, "v", 6), None),
        (11, running(NONE, "v", 1), None),
    ],
)
def test_room_of_another_tree_is_for_gangs_within_their_promise_up_to_the_root(
    asked: int, victim: RunningInQueue, by: EvictionClass | None
) -> None:
    queues = [*sharing(a=10, b=10), our_queue("ours", 5, borrowing=True)]

    found = judged(queues, request(A, asked, priority=9), [victim], resources=["cpu"])

    assert {"v": by} == found


def test_without_need_of_room_another_tree_frees_nothing() -> None:
    queues = [*sharing(a=10), our_queue("ours", 5)]

    assert {"v": None} == judged(queues, request(A, 10), [running(NONE, "v", 50)])


def test_to_judge_leaves_all_charges_as_they_were() -> None:
    one, other = running(A, "v", 4), running(B, "w", 14)
    quota = ledger(sharing(a=10, b=10), [one, other])
    reclaim = Reclaim(quota, request(A, 10, priority=1), LIMITS)
    parts = [part(one), part(other)]

    assert reclaim.judge(parts).illegal == frozenset[GangKey]()
    assert {} == reclaim.lacking(parts)
    assert not reclaim.borrows(parts)
    assert reclaim.lacking([part(one)])
    assert (4, 14) == (cpu_of(quota, A), cpu_of(quota, B))


def test_policies_tell_which_queues_need_not_be_looked_at() -> None:
    rules = EvictionRules(LOWER, EvictionPolicy.NEVER, EvictionPolicy.NEVER)
    inward = Reclaim(ledger([cluster_queue("a", evictions=rules)]), request(A, priority=5), LIMITS)

    assert not inward.reaches_out
    assert 4 == inward.highest_reached(within=True)
    assert -math.inf == Reclaim(ledger([]), request(A), LIMITS).highest_reached(within=True)


def test_names_of_gangs_that_must_stay_are_reported() -> None:
    kept, given = running(B, "kept", 3, min_runtime=20_000), running(B, "given", 20)
    reclaim = Reclaim(ledger(sharing(a=10, b=10), [kept, given]), request(A, 10), LIMITS)

    assert frozenset({gang_key("kept")}) == reclaim.judge([part(kept), part(given)]).illegal
