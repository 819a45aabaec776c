"""The first of many victims that suffice: queues by turns, and none that must not go."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import pytest

from gang_scheduler.model.api_words import EvictionPolicy, Fairness
from gang_scheduler.model.queues import EvictionRules, Queue
from gang_scheduler.scheduler.preemption.queue_rules import Judge
from gang_scheduler.scheduler.preemption.search import greedy
from gang_scheduler.scheduler.preemption.search.greedy import Fits
from gang_scheduler.scheduler.preemption.victim_costs import VictimCosts, Victims
from gang_scheduler.scheduler.reclaim.ping_pong import Memory
from gang_scheduler.scheduler.reclaim.request import ReclaimRequest
from support.queue_builders import cluster_queue, cohort, cq_ref
from support.reclaim_builders import NOW, Nodes, request

A, B, C = cq_ref("a"), cq_ref("b"), cq_ref("c")
QUEUES = [cohort("all", nominal=10), *(cluster_queue(name, "all", 10) for name in "abc")]
LOWER = EvictionRules(EvictionPolicy.LOWER_PRIORITY, EvictionPolicy.ANY)
ANY_PRIORITY = 2**31


def always(_: Victims) -> bool:
    return True


def victims(
    nodes: Nodes,
    asking: ReclaimRequest,
    queues: Sequence[Queue] = QUEUES,
    *,
    fits: Fits = always,
    surplus: Mapping[str, int] | None = None,
    fairness: Fairness = Fairness.PRIORITY,
) -> list[str] | None:
    """Return the victims that are found, by the names of their pods."""
    reclaim_requests = nodes.reclaim_requests(queues, fairness=fairness)
    judge = Judge(reclaim_requests, reclaim_requests.reclaim(asking), Memory({}))
    bound_pods = nodes.bound_pods(surplus=surplus)
    costs = VictimCosts(bound_pods, ANY_PRIORITY, NOW, judge.standings())
    judge.costs = costs
    known = [each for each in bound_pods.pods if each.gang in judge.running]
    found = greedy.allowed(known, costs, judge, fits)
    return None if found is None else sorted(each.pod.name for each in found.values())


def borrowing(**numbers: int) -> Nodes:
    """Return so many gangs of 2 in each queue."""
    nodes = Nodes()
    for name, number in numbers.items():
        for n in range(number):
            nodes.run(cq_ref(name), f"{name}{n}", 2)
    return nodes


def test_the_fewest_first_that_suffice_go() -> None:
    found = victims(borrowing(b=20), request(A, 6))

    assert found is not None
    assert len(found) == 3


def test_the_queue_that_borrows_most_gives_first_and_then_all_by_turns() -> None:
    found = [victims(borrowing(b=11, c=9), request(A, n)) for n in (4, 8)]

    names = [[each[0] for each in some or ()] for some in found]
    assert [["b", "b"], ["b", "b", "b", "c"]] == names


def test_gangs_of_low_priority_go_before_the_larger_borrower() -> None:
    nodes = borrowing(b=12)
    for n in range(8):
        nodes.run(C, f"c{n}", 2, priority=-1)

    assert ["c", "c"] == [each[0] for each in victims(nodes, request(A, 4)) or ()]


def test_what_must_not_go_is_left_out_and_the_next_take_its_place() -> None:
    nodes = Nodes()
    nodes.run(B, "b0", 9, priority=-2)
    nodes.run(B, "b1", 9, priority=-1)
    nodes.run(C, "c0", 22)

    # Not both of the gangs that straddle what their queue was promised.
    assert ["c0-0"] == victims(nodes, request(A, 10))


def test_others_go_by_right_once_those_of_the_own_queue_do() -> None:
    """With them the queue stays within what it was promised; without, none of the others may."""
    nodes = borrowing(b=16, c=2)
    for n in range(2):
        nodes.run(A, f"a{n}", 2, priority=-1)

    found = victims(
        nodes, request(A, 8), [QUEUES[0], replace(QUEUES[1], evictions=LOWER), *QUEUES[2:]]
    )

    assert ["a", "a", "b", "b"] == [each[0] for each in found or ()]


@pytest.mark.parametrize("fairness", Fairness)
def test_one_of_the_own_queue_goes_so_that_others_go_by_a_better_right(fairness: Fairness) -> None:
    """Without it the other queue gives by shares: that is dearer than the highest of the own."""
    nodes = Nodes()
    for name, cpu, priority in (("other-0", 3, 0), ("other-1", 6, 0), ("other-2", 1, 2)):
        nodes.run(B, name, cpu, priority=priority)
    nodes.run(A, "high", 4, priority=1)
    nodes.run(A, "low", 1)
    queues = [
        cohort("all", nominal=9),
        replace(cluster_queue("a", "all", 5), evictions=LOWER),
        cluster_queue("b", "all", 0),
    ]

    found = victims(nodes, request(A, 1, priority=2), queues, fairness=fairness)

    assert found is not None
    assert ["low-0", "other"] == [found[0], found[1].split("-")[0]]


def test_room_must_suffice_too() -> None:
    def c_goes(found: Victims) -> bool:
        return any(each.pod.name.startswith("c") for each in found.values())

    assert victims(borrowing(b=20), request(A, 4), fits=c_goes) is None
    found = victims(borrowing(b=11, c=9), request(A, 2), fits=c_goes)
    assert found is not None
    assert any(each.startswith("c") for each in found)


def test_a_gang_loses_no_more_single_pods_than_its_surplus() -> None:
    nodes = Nodes()
    nodes.run(B, "b", 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2)
    nodes.run(C, "c", 18, priority=-1)

    few, many = (victims(nodes, request(A, n), surplus={"b": 2}) for n in (2, 6))

    assert [["b"], ["b", "b", "c"]] == [[each[0] for each in some or ()] for some in (few, many)]
