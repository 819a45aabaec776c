"""Members of several classes, packed together; what is hopeless is not tried."""

from dataclasses import replace

from gang_scheduler.model.gangs import GangGroup
from gang_scheduler.model.plan import Plan
from gang_scheduler.model.pods import PodClass
from gang_scheduler.report.words import messages
from gang_scheduler.scheduler.cycle import schedule
from gang_scheduler.scheduler.effort import MOST_OF_ALL
from gang_scheduler.scheduler.profile import PROFILES
from support import topology_builders
from support.builders import gang, group, pod, pod_class, snapshot
from support.call_counts import Calls, calls_of
from support.plan_reading import nodes_of
from support.topology_builders import SPINE, TREE_SPEC, must

TRIED, SEARCHED = "mixed_classes.Packing._seat_each", "packing.pack_exactly"


def unlike(name: str, *pod_classes: PodClass) -> GangGroup:
    """Return a gang that must gather under a spine, of members that ask for this."""
    members = [
        replace(pod(f"{name}-{i}", gang=name), pod_class=each) for i, each in enumerate(pod_classes)
    ]
    return group(gang(name, members=members), topology_request=must(SPINE))


def decide(*groups: GangGroup, spines: int, nodes: int) -> tuple[Plan, Calls]:
    """Return the plan for spines of so many nodes of 10 CPUs, and the calls that it took."""
    blocks = {f"s{i}/b{i}": range(i * nodes, (i + 1) * nodes) for i in range(spines)}
    cluster = snapshot(topology_builders.nodes(blocks, cpu=10), groups, tree_specs=[TREE_SPEC])
    plans: list[Plan] = []
    calls = calls_of(lambda: plans.append(schedule(cluster, PROFILES["binpack"])))
    return plans[0], calls


def halves(number: int, least: int = 5001) -> list[PodClass]:
    return [pod_class(cpu=f"{least + i}m") for i in range(number)]


def test_eleven_classes_over_half_a_node_are_refused_without_a_try() -> None:
    plan, calls = decide(unlike("g", *halves(11)), spines=64, nodes=10)

    assert ({}, 0, 0) == (nodes_of(plan), calls[TRIED], calls[SEARCHED])
    assert messages.CUT_OFF not in messages.describe(plan.refused[0])


def test_ten_of_them_have_a_node_each() -> None:
    plan, calls = decide(unlike("g", *halves(10)), spines=64, nodes=10)

    assert 10 == len(set(nodes_of(plan).values()))
    assert calls[TRIED] <= 3


def test_of_domains_that_are_alike_one_is_tried() -> None:
    # Three of 4.1 and three of 3.4 need three nodes by counting, and four in fact.
    pod_classes = [pod_class(cpu=f"{4100 + i}m") for i in range(3)] + [
        pod_class(cpu=f"{3400 + i}m") for i in range(3)
    ]

    one, many = (decide(unlike("g", *pod_classes), spines=n, nodes=2)[1] for n in (1, 40))

    assert one[TRIED] == many[TRIED]


def test_what_is_packed_at_last_is_as_it_was_tried() -> None:
    pod_classes = [pod_class(cpu=n) for n in (7, 6, 4, 3, 5, 5)]

    plan, _ = decide(unlike("g", *pod_classes), spines=3, nodes=4)

    assert 6 == len(nodes_of(plan))
    assert 3 == len(set(nodes_of(plan).values()))


def test_many_gangs_of_many_classes_are_not_all_searched_in_one_cycle() -> None:
    # Any two fit on a node by counting, and no arrangement has a place for all.
    gangs = [
        unlike(f"g{k}", *(pod_class(cpu=f"{4700 + (37 * i + k) % 600}m") for i in range(16)))
        for k in range(40)
    ]

    plan, calls = decide(*gangs, spines=20, nodes=8)

    assert plan.untried
    assert len(gangs) == len(plan.untried) + len(plan.refused) + len(plan.placed)
    assert calls["effort.Effort.spend"] <= 1.5 * MOST_OF_ALL
