"""All pods that may be evicted, from one preemptor to the next."""

from collections.abc import Iterable

import numpy as np

from gang_scheduler.model.bound_pods import BoundPod
from gang_scheduler.model.nodes import NodeTable
from gang_scheduler.scheduler.preemption.potential_victims import (
    MOST_QUESTIONS,
    Pool,
    PotentialVictims,
    Weighed,
)
from gang_scheduler.scheduler.preemption.victim_costs import Cost, VictimCosts
from support.builders import bound_pod, bound_pods, node, pod_class, snapshot

EVERYWHERE = np.ones(2, dtype=np.bool_)
ALL = Pool(highest=9)
FREE = np.zeros((2, 1), dtype=np.int64)
LOW, DEAR = bound_pod("low", "n1", priority=1), bound_pod("dear", "n1", priority=5)
GUARDED = bound_pod("guarded", "n2", priority=2, budgets=["b"])
PAIR = [bound_pod(f"pair-{i}", f"n{i + 1}", gang="pair", priority=3) for i in range(2)]


def table() -> NodeTable:
    return snapshot([node("n1"), node("n2")]).nodes


def roster(*those: BoundPod, surplus: dict[str, int] | None = None) -> PotentialVictims:
    held = bound_pods(*those, surplus=surplus, allowed={"b": 5})
    return PotentialVictims(VictimCosts(held, below=9, now=0), table())


def names(those: Iterable[BoundPod]) -> list[str]:
    return [each.pod.name for each in those]


def of(found: PotentialVictims, pool: Pool) -> list[str]:
    return names(found.victims(found.of(pool, found.on_nodes(EVERYWHERE))).values())


def weighed(*rows: int) -> Weighed:
    return Weighed(1, Cost(), frozenset(rows))


def test_a_pool_has_those_up_to_a_price_and_within_budgets() -> None:
    found = roster(LOW, DEAR, GUARDED)

    assert ["low", "guarded"] == of(found, Pool(highest=2))
    assert ["low", "dear"] == of(found, Pool(highest=9, outside_budgets=True))


def test_a_pod_that_is_on_no_node_that_exists_is_in_no_pool() -> None:
    found = roster(LOW, bound_pod("lost", "gone"))

    assert ["low"] == of(found, ALL)
    assert [1] == [int(share.counts.sum()) for share in found.shares(found.remaining)]


def test_the_cheapest_on_a_node_come_first() -> None:
    found = roster(DEAR, LOW, *PAIR)

    assert ["low", "pair-0", "dear"] == names(found.on_row(0, ALL))
    assert ["pair-1"] == names(found.on_row(1, ALL))


def test_the_room_of_a_class_is_one_share() -> None:
    found = roster(*(bound_pod(f"x-{i}", f"n{1 + i // 2}", cpu=2) for i in range(3)))

    (share,) = found.shares(found.remaining)

    assert (pod_class(cpu=2), [0, 1], [2, 1]) == (
        share.pod_class,
        share.rows.tolist(),
        share.counts.tolist(),
    )


def test_a_pod_that_has_left_is_in_no_pool_and_on_no_node() -> None:
    found = roster(LOW, *PAIR)
    found.on_row(0, ALL)
    found.leave(PAIR)

    assert ["low"] == of(found, ALL) == names(found.on_row(0, ALL))


def test_a_pod_that_may_go_no_more_without_those_that_left_is_in_no_pool_either() -> None:
    high = bound_pod("pair-2", "n1", gang="pair", priority=10)
    found = roster(LOW, *PAIR, high, surplus={"pair": 1})
    found.leave(PAIR[:1])

    assert ["low"] == of(found, ALL)


def test_what_was_weighed_holds_for_the_same_question() -> None:
    found = roster(LOW)
    found.weighed("what?", FREE)[0] = weighed(0)

    assert {0: weighed(0)} == found.weighed("what?", FREE)
    assert {} == found.weighed("what else?", FREE)


def test_what_was_weighed_does_not_hold_where_there_is_other_room() -> None:
    found = roster(LOW)
    found.weighed("what?", FREE).update({0: weighed(0, 1), 1: weighed(1)})

    assert {1: weighed(1)} == found.weighed("what?", np.array([[1], [0]]))
    assert {} == found.weighed("what?", FREE + 1)


def test_what_was_weighed_does_not_hold_where_a_pod_has_left() -> None:
    found = roster(LOW, GUARDED)
    found.weighed("what?", FREE).update({0: weighed(0), 1: weighed(1)})
    found.leave([LOW])

    assert {1: weighed(1)} == found.weighed("what?", FREE)


def test_what_was_weighed_of_others_under_a_budget_does_not_hold_once_it_allows_less() -> None:
    found = roster(bound_pod("other", "n1", budgets=["b"]), GUARDED)
    found.weighed("what?", FREE).update({0: weighed(0), 1: weighed(1)})
    found.leave([GUARDED])

    assert {} == found.weighed("what?", FREE)


def test_a_budget_concerns_no_pods_that_are_not_under_it() -> None:
    found = roster(LOW, GUARDED)
    found.weighed("what?", FREE).update({0: weighed(0), 1: weighed(1)})
    found.leave([GUARDED])

    assert {0: weighed(0)} == found.weighed("what?", FREE)


def test_of_the_questions_that_were_asked_long_ago_no_answer_is_kept() -> None:
    found = roster(LOW)
    found.weighed("first", FREE).update({0: weighed(0)})
    for number in range(MOST_QUESTIONS):
        found.weighed(number, FREE)

    assert {} == found.weighed("first", FREE)
