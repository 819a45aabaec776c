"""The choice of victims, decided by whole cycles."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any
from unittest.mock import patch

import pytest

from gang_scheduler.model.bound_pods import BoundPod, BoundPods
from gang_scheduler.model.gangs import Gang, GangGroup
from gang_scheduler.model.nodes import Node
from gang_scheduler.model.plan import Plan
from gang_scheduler.model.rules import PreemptionRules, Rules
from gang_scheduler.model.topology_request import TopologyRequest
from gang_scheduler.scheduler import effort
from gang_scheduler.scheduler.cycle import schedule
from gang_scheduler.scheduler.preemption.search import cheapest, exhaustive
from gang_scheduler.scheduler.profile import PROFILES
from support import topology_builders
from support.builders import bound_pod, bound_pods, gang, group, node, pod, snapshot
from support.call_counts import Calls, calls_of
from support.plan_reading import nodes_of, nominations_of, reasons, said_of, victims_of
from support.topology_builders import BLOCK, SPINE, TREE_SPEC, TWELVE, must, prefer

NOW = 10_000
EXHAUSTIVE = "exhaustive.cheapest"


def decide(nodes: Sequence[Node], held: BoundPods, *gangs: Gang | GangGroup, **rules: Any) -> Plan:
    profile = replace(PROFILES["binpack"], rules=Rules(preemption=PreemptionRules(**rules)))
    return schedule(
        snapshot(nodes, gangs, tree_specs=[TREE_SPEC], bound_pods=held, taken_at=NOW), profile
    )


def twelve(*busy: int, priority: int = 1000) -> tuple[list[Node], BoundPods]:
    """Return twelve nodes, of which some are full."""
    full = (bound_pod(f"low-{i}", f"node-{i}", cpu=8, priority=priority) for i in busy)
    return topology_builders.nodes(TWELVE, cpu=8), bound_pods(*full)


def four(topology_request: TopologyRequest | None, *, pods: int = 4) -> GangGroup:
    return group(gang("a", pods=pods, cpu=8, priority=1_000_000), topology_request=topology_request)


def low(name: str, where: str, *, cpu: int = 4, priority: int = 1, **others: Any) -> BoundPod:
    return bound_pod(name, where, cpu=cpu, priority=priority, **others)


def high(*, pods: int = 1, cpu: int = 4) -> Gang:
    return gang("a", pods=pods, cpu=cpu, priority=10)


# The domain.


def test_the_manuals_second_example() -> None:
    plan = decide(*twelve(0, 1, 5), four(must(SPINE)))

    assert {"low-5"} == victims_of(plan)
    assert [f"node-{i}" for i in (5, 6, 7, 8)] == list(nominations_of(plan).values())
    assert ["SpineLayer/spine-1"] == [str(made.domain) for made in plan.preemptions]


def test_no_pod_goes_where_another_domain_has_room() -> None:
    plan = decide(*twelve(0, 1, 3), four(must(SPINE)))

    assert (set(), 4) == (victims_of(plan), len(nodes_of(plan)))


def test_a_wish_buys_no_victims() -> None:
    plan = decide(*twelve(0, 1, 5), four(prefer(SPINE)))

    assert (set(), 4) == (victims_of(plan), len(nodes_of(plan)))


def test_without_a_domain_the_whole_cluster_is_looked_at() -> None:
    plan = decide(*twelve(0, 1, 5), four(None, pods=10))

    assert (1, 10) == (len(victims_of(plan)), len(nominations_of(plan)))
    assert [None] == [made.domain for made in plan.preemptions]


def test_of_equal_domains_the_first_by_name() -> None:
    plan = decide(*twelve(0, 1, 3, 5, 7, 9, 10), four(must(BLOCK), pods=2))

    assert {"low-3"} == victims_of(plan)


def test_of_equal_domains_the_one_with_the_least_left_over() -> None:
    plan = decide(*twelve(*range(12)), four(must(BLOCK), pods=2))

    assert {"low-3", "low-4"} == victims_of(plan)


def test_all_gangs_of_a_group_are_nominated_or_none() -> None:
    one, other = (gang(name, pods=2, cpu=8, priority=10) for name in "ab")
    nodes, held = [node(f"n{i}") for i in range(4)], bound_pods(low("x", "n0"), low("y", "n3"))

    plan = decide(nodes, held, group(one, other))

    assert {"x", "y"} == victims_of(plan)
    assert {"a-0", "a-1", "b-0", "b-1"} == set(nominations_of(plan))
    assert {"a": "WaitingForVictims", "b": "WaitingForVictims"} == reasons(plan)


# Victims.


def test_only_lower_priorities_go() -> None:
    nodes = [node("n1"), node("n2")]
    held = bound_pods(low("equal", "n1", priority=10), low("lower", "n2", priority=9))

    assert {"lower"} == victims_of(decide(nodes, held, high(cpu=8)))


def test_a_pod_that_is_protected_stays() -> None:
    plan = decide([node("n1")], bound_pods(low("kept", "n1", evictable=False)), high(cpu=8))

    assert set() == victims_of(plan)
    assert {"a": "Unschedulable"} == reasons(plan)


def test_gangs_go_whole() -> None:
    held = bound_pods(*(low(f"g-{i}", f"n{i}", gang="g") for i in range(3)))

    plan = decide([node(f"n{i}", cpu=4) for i in range(3)], held, high())

    assert {"g-0", "g-1", "g-2"} == victims_of(plan)


def test_a_gang_with_a_member_that_stays_stays_whole() -> None:
    held = bound_pods(low("g-0", "n1", gang="g"), low("g-1", "n2", gang="g", evictable=False))

    plan = decide([node("n1", cpu=4), node("n2", cpu=4)], held, high())

    assert set() == victims_of(plan)


def test_the_surplus_of_elastic_gangs_goes_first() -> None:
    rigid = [low("rigid-0", "n1", gang="rigid")]
    elastic = [low(f"elastic-{i}", "n2", cpu=2, gang="elastic") for i in range(4)]
    held = bound_pods(*rigid, *elastic, surplus={"elastic": 2})

    plan = decide([node("n1", cpu=4), node("n2", cpu=8)], held, high())

    assert 2 == len(victims_of(plan))
    assert {"n2"} == set(nominations_of(plan).values())


def test_beyond_its_surplus_an_elastic_gang_goes_whole() -> None:
    elastic = [low(f"g-{i}", "n1", cpu=2, gang="g") for i in range(4)]

    plan = decide([node("n1", cpu=8)], bound_pods(*elastic, surplus={"g": 1}), high())

    assert {"g-0", "g-1", "g-2", "g-3"} == victims_of(plan)


def test_the_lower_priority_goes_however_many_they_are() -> None:
    many = [low(f"many-{i}", "n1", cpu=1, priority=1) for i in range(4)]

    plan = decide(
        [node("n1", cpu=4), node("n2", cpu=4)],
        bound_pods(*many, low("one", "n2", priority=2)),
        high(),
    )

    assert {f"many-{i}" for i in range(4)} == victims_of(plan)


def test_one_gang_goes_rather_than_two() -> None:
    nodes = [node("n1", cpu=4), node("n2", cpu=4)]
    several = [low("a-0", "n1", cpu=2), low("b-0", "n1", cpu=2)]
    together = [low(f"g-{i}", "n2", cpu=1, gang="g") for i in range(4)]

    plan = decide(nodes, bound_pods(*several, *together), high())

    assert {f"g-{i}" for i in range(4)} == victims_of(plan)


def test_the_least_work_is_lost() -> None:
    held = bound_pods(low("old", "n1", started_at=1), low("new", "n2", started_at=NOW - 1))

    assert {"new"} == victims_of(decide([node("n1", cpu=4), node("n2", cpu=4)], held, high()))


@pytest.mark.parametrize("most_units", [exhaustive.MOST_LOSSES, 0], ids=["exact", "greedy"])
def test_an_unprotected_job_goes_after_all_others_of_as_many_gangs(most_units: int) -> None:
    job = low("job", "n1", unprotected=True, started_at=NOW - 1)
    other = low("other", "n2", started_at=1)
    nodes = [node("n1", cpu=4), node("n2", cpu=4)]

    with patch.object(cheapest, "MOST_LOSSES", most_units):
        plan = decide(nodes, bound_pods(job, other), high())

    assert {"other"} == victims_of(plan)


def test_an_unprotected_job_goes_before_a_higher_priority() -> None:
    job, other = low("job", "n1", unprotected=True), low("other", "n2", priority=2)
    nodes = [node("n1", cpu=4), node("n2", cpu=4)]

    assert {"job"} == victims_of(decide(nodes, bound_pods(job, other), high()))


def test_of_two_domains_the_one_without_an_unprotected_job() -> None:
    nodes, _ = twelve()
    held = [
        bound_pod(f"x-{i}", f"node-{i}", cpu=8, priority=1, unprotected=i < 3, started_at=1 + i)
        for i in range(12)
    ]

    plan = decide(nodes, bound_pods(*held), group(high(cpu=8), topology_request=must(BLOCK)))

    (victim,) = victims_of(plan)
    assert victim not in {"x-0", "x-1", "x-2"}


def test_a_pod_that_need_not_go_is_put_back() -> None:
    held = bound_pods(*(low(f"p-{i}", "n1", cpu=i, priority=i) for i in (1, 2, 5)))

    assert {"p-1", "p-5"} == victims_of(decide([node("n1")], held, high(cpu=6)))


def test_surplus_makes_no_pod_go() -> None:
    members = [pod(f"a-{i}", gang="a", cpu=4, priority=10) for i in range(3)]
    elastic = gang("a", members=members, min_member=2, priority=10)
    nodes = [node("n1"), node("n2", cpu=4)]

    plan = decide(nodes, bound_pods(low("x", "n2")), elastic)

    assert {"a-0": "n1", "a-1": "n1"} == nodes_of(plan)
    assert set() == victims_of(plan)


def test_only_the_quorum_is_nominated() -> None:
    members = [pod(f"a-{i}", gang="a", cpu=4, priority=10) for i in range(4)]
    elastic = gang("a", members=members, min_member=2, priority=10)
    held = bound_pods(
        *(low(f"x-{i}", "n1") for i in range(2)), *(low(f"y-{i}", "n2") for i in (0, 1))
    )

    plan = decide([node("n1"), node("n2")], held, elastic)

    assert (2, ["a-0", "a-1"]) == (len(victims_of(plan)), list(nominations_of(plan)))


def test_a_pod_that_is_marked_costs_nothing() -> None:
    held = bound_pods(
        low("cheap", "n1", priority=1), low("marked", "n2", priority=9, marked_as_victim=True)
    )

    assert {"marked"} == victims_of(decide([node("n1", cpu=4), node("n2", cpu=4)], held, high()))


# Budgets.


def test_a_budget_diverts_the_choice() -> None:
    held = bound_pods(
        low("covered", "n1", priority=1, budgets=["b"]), low("free", "n2", priority=9)
    )

    assert {"free"} == victims_of(decide([node("n1", cpu=4), node("n2", cpu=4)], held, high()))


def test_what_a_budget_allows_goes() -> None:
    covered = low("covered", "n1", priority=1, budgets=["b"])
    held = bound_pods(covered, low("free", "n2", priority=9), allowed={"b": 1})

    assert {"covered"} == victims_of(decide([node("n1", cpu=4), node("n2", cpu=4)], held, high()))


def test_a_budget_is_exceeded_where_nothing_else_helps() -> None:
    held = bound_pods(low("covered", "n1", budgets=["b"]))

    assert {"covered"} == victims_of(decide([node("n1", cpu=4)], held, high()))


def test_a_budget_is_never_exceeded_where_that_is_the_rule() -> None:
    held = bound_pods(low("covered", "n1", budgets=["b"]))

    plan = decide([node("n1", cpu=4)], held, high(), use_eviction_api=True)

    assert set() == victims_of(plan)
    assert {"a": "Unschedulable"} == reasons(plan)


def test_within_budgets_another_choice_is_still_found() -> None:
    held = bound_pods(low("covered", "n1", budgets=["b"]), low("free", "n2", priority=9))

    plan = decide([node("n1", cpu=4), node("n2", cpu=4)], held, high(), use_eviction_api=True)

    assert {"free"} == victims_of(plan)


def test_a_pod_under_two_exhausted_budgets_is_no_dearer_than_one_under_one() -> None:
    held = bound_pods(
        low("both", "n1", priority=1, budgets=["b", "c"]),
        low("one", "n2", priority=5, budgets=["d"]),
    )

    assert {"both"} == victims_of(decide([node("n1", cpu=4), node("n2", cpu=4)], held, high()))


# How far it is searched.


def test_domains_that_are_alike_are_judged_once() -> None:
    plan, calls = counted(*twelve(*range(12)), four(must(BLOCK), pods=2))

    # Three blocks have two nodes, and two have three.
    assert ({"low-3", "low-4"}, 2) == (victims_of(plan), calls[EXHAUSTIVE])


def test_a_domain_that_costs_more_at_least_is_not_searched() -> None:
    nodes, _ = twelve()
    held = bound_pods(*(low(f"low-{i}", f"node-{i}", cpu=8, priority=i // 5) for i in range(12)))

    plan, calls = counted(nodes, held, four(must(SPINE)))

    assert ({"low-0", "low-1", "low-2", "low-3"}, 1) == (victims_of(plan), calls[EXHAUSTIVE])


def test_a_search_that_is_cut_off_says_so_and_still_finds_victims() -> None:
    plan = decide(*unlike_each_other(16), high(pods=5, cpu=3))
    with patch.multiple(effort, MOST_LOOKS=1, RESERVED=0, LEAST=1):
        cut_off = decide(*unlike_each_other(16), high(pods=5, cpu=3))

    assert "cut off" not in said_of(plan.refused[0])
    assert said_of(cut_off.refused[0]).endswith(
        "The search was cut off: there may be cheaper ones."
    )
    assert 5 == len(nominations_of(cut_off))


def test_members_that_go_each_for_itself_say_that_a_search_of_one_was_cut_off() -> None:
    # The nodes have room for eight: all ten together find none.
    single = replace(high(pods=10, cpu=5), each_alone=True)
    plan = decide(*unlike_each_other(16), single)
    with patch.multiple(effort, MOST_LOOKS=1, RESERVED=0, LEAST=1):
        cut_off = decide(*unlike_each_other(16), single)

    assert (8, 8) == (len(nominations_of(plan)), len(nominations_of(cut_off)))
    assert "cut off" not in said_of(plan.refused[0])
    assert said_of(cut_off.refused[0]).endswith(
        "The search was cut off: there may be cheaper ones."
    )


def test_a_gang_for_which_no_looks_are_left_waits_and_says_so() -> None:
    with patch.multiple(effort, MOST_OF_ALL=0, RESERVED=0):
        plan = decide(*unlike_each_other(16), high(pods=5, cpu=3))

    assert set() == victims_of(plan)
    assert said_of(plan.refused[0]).startswith("the search was cut off before it found pods")


def unlike_each_other(number: int) -> tuple[list[Node], BoundPods]:
    """Return five nodes full of gangs of two across them, none like another."""
    held = [
        low(f"g-{i}-{j}", f"n{(i + j) % 5}", gang=f"g-{i}", cpu=1 + (i + j) % 2, priority=i % 3)
        for i in range(number)
        for j in range(2)
    ]
    asked = {f"n{k}": 0 for k in range(5)}
    for each in held:
        asked[each.pod.node] += dict(each.pod.pod_class.requests)["cpu"] // 1000
    return [node(name, cpu=cpu) for name, cpu in asked.items()], bound_pods(*held)


def counted(nodes: Sequence[Node], held: BoundPods, wanted: GangGroup) -> tuple[Plan, Calls]:
    plans: list[Plan] = []
    calls = calls_of(lambda: plans.append(decide(nodes, held, wanted)))
    return plans[0], calls


# Settings.


def test_a_plan_with_too_many_victims_is_not_made() -> None:
    held = bound_pods(*(low(f"x-{i}", "n1", cpu=1) for i in range(4)))

    plan = decide([node("n1", cpu=4)], held, high(), max_victims=3)

    assert set() == victims_of(plan)
    assert "needs 4 victims, and at most 3 are allowed." == said_of(plan.refused[0])


def test_a_plan_with_as_many_victims_as_are_allowed_is_made() -> None:
    held = bound_pods(*(low(f"x-{i}", "n1", cpu=1) for i in range(4)))

    assert 4 == len(victims_of(decide([node("n1", cpu=4)], held, high(), max_victims=4)))


def test_priorities_that_differ_by_too_little_stay() -> None:
    held = bound_pods(low("near", "n1", priority=6), low("far", "n2", priority=5))

    plan = decide([node("n1", cpu=4), node("n2", cpu=4)], held, high(), min_priority_difference=5)

    assert {"far"} == victims_of(plan)
    near = bound_pods(low("near", "n1", priority=6))
    assert set() == victims_of(decide([node("n1", cpu=4)], near, high(), min_priority_difference=5))
