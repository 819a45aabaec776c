"""Gangs that ask something of the network, decided by whole cycles."""

from collections.abc import Sequence
from dataclasses import replace
from types import ModuleType
from typing import Any
from unittest.mock import patch

import pytest

from gang_scheduler.model.nodes import Node
from gang_scheduler.model.plan import IfEmpty, Plan
from gang_scheduler.model.pods import Pod
from gang_scheduler.model.topology_request import LayerRef, PodSet, TopologyRequest
from gang_scheduler.report.words.messages import describe
from gang_scheduler.report.words.text import text_of
from gang_scheduler.scheduler import effort, empty_cluster
from gang_scheduler.scheduler.cycle import schedule
from gang_scheduler.scheduler.placement import lower_bounds
from gang_scheduler.scheduler.placement.tree import one_class
from gang_scheduler.scheduler.profile import PROFILES
from support import topology_builders
from support.builders import gang, group, node, pod, snapshot
from support.call_counts import calls_of
from support.plan_reading import nodes_of, reasons
from support.selector_builders import apart_from, asking, enriched
from support.topology_builders import (
    BLOCK,
    EIGHT,
    SPINE,
    TREE_SPEC,
    TWELVE,
    multiples,
    must,
    prefer,
    runs,
)

BINPACK = PROFILES["binpack"]


def plan_for(
    nodes: Sequence[Node],
    topology_request: TopologyRequest | None,
    *,
    bound: Sequence[Pod] = (),
    started: Sequence[Pod] = (),
    **gang_fields: Any,
) -> Plan:
    one = group(gang("a", **gang_fields), topology_request=topology_request, started=started)
    return schedule(snapshot(nodes, [one], bound, tree_specs=[TREE_SPEC]), BINPACK)


def numbers(plan: Plan) -> list[int]:
    return [int(name.rpartition("-")[2]) for name in nodes_of(plan).values()]


def message(plan: Plan) -> str:
    return describe(plan.refused[0])


def test_the_manuals_first_example() -> None:
    nodes = topology_builders.nodes(TWELVE, cpu=8)

    assert [5, 6, 7, 8] == numbers(plan_for(nodes, prefer(BLOCK, SPINE), pods=4, cpu=8))


def test_members_in_the_order_of_the_tree() -> None:
    nodes = topology_builders.nodes(EIGHT, cpu=16)

    assert [1, 8, 2, 7] == numbers(plan_for(nodes, prefer(BLOCK, SPINE), pods=4, cpu=16))


def test_the_lowest_layer_with_room_is_a_node() -> None:
    nodes = topology_builders.nodes(EIGHT, cpu=16)

    assert [1, 1] == numbers(plan_for(nodes, prefer(BLOCK, SPINE), pods=2, cpu=8))


def test_a_gang_that_no_domain_holds_waits_with_what_they_offer() -> None:
    nodes = topology_builders.nodes(EIGHT, cpu=16)
    bound = [pod("x", node="node-1", cpu=16), pod("y", node="node-4", cpu=16)]

    plan = plan_for(nodes, must(SPINE), bound=bound, pods=4, cpu=16)

    assert message(plan).startswith(
        "No SpineLayer has 4 nodes with 16 free cpu: s1 has 3, s2 has 3. "
        "It would fit the empty cluster: it waits for other pods to end. "
        "no candidate topology nodes can accommodate job, desiredOfferSlot: 4, topology "
        "topologyNode SpineLayer/s1: 3;topology topologyNode SpineLayer/s2: 3, "
        "0/8 nodes are available: 8 Insufficient cpu."
    )


def test_what_is_only_preferred_is_spread_over_the_fewest() -> None:
    nodes = topology_builders.nodes(TWELVE, cpu=8)

    assert [0, 1, 2, 3, 4, 5, 6, 7, 8] == numbers(plan_for(nodes, prefer(SPINE), pods=9, cpu=8))


def test_the_highest_preferred_layer_is_split_into_the_fewest_whatever_is_above() -> None:
    # The fullest spine has three blocks of 2; two blocks of 3 in two spines hold six as well.
    blocks = {"a/1": (1, 2), "a/2": (3, 4), "a/3": (5, 6), "b/4": (7, 8, 9), "c/5": (10, 11, 12)}

    plan = plan_for(topology_builders.nodes(blocks, cpu=8), prefer(BLOCK), pods=6, cpu=8)

    assert [1, 2, 3, 4, 5, 6] == numbers(plan), "one spine holds all of them"

    plan = plan_for(topology_builders.nodes(blocks, cpu=8), prefer(BLOCK), pods=7, cpu=8)

    # Not the whole first spine and one more.
    assert [1, 2, 7, 8, 9, 10, 11] == numbers(plan)


def test_the_refusal_of_a_gang_that_must_gather_by_a_label_of_no_node_names_the_label() -> None:
    nodes = [node(f"node-{i}", cpu=8, labels={"example.com/rack": "r1"}) for i in range(2)]
    typo = TopologyRequest(must=(LayerRef("cloud.example.com/rack", by_label=True),))

    assert message(plan_for(nodes, typo, pods=2, cpu=8)) == (
        "No node has the label cloud.example.com/rack (did you mean example.com/rack?). It would "
        "not fit even the empty cluster: ask for another layer, or label the nodes. 0/2 nodes are "
        "available: 2 node(s) were not in a domain that could hold the gang."
    )


def test_a_node_without_a_label_higher_up_is_not_for_gangs_that_must_gather() -> None:
    nodes = [*topology_builders.nodes({"s1/b1": (1,)}, cpu=8), node("node-9", cpu=8)]

    assert {"a": "Unschedulable"} == reasons(plan_for(nodes, must(SPINE), pods=2, cpu=8))


def test_a_gang_that_only_prefers_to_gather_never_waits_for_labels() -> None:
    nodes = [*topology_builders.nodes({"s1/b1": (1,)}, cpu=8), node("node-9", cpu=8)]

    assert [1, 9] == numbers(plan_for(nodes, prefer(SPINE), pods=2, cpu=8))


def test_as_many_of_an_elastic_gang_as_one_domain_holds() -> None:
    nodes = topology_builders.nodes(TWELVE, cpu=8)

    plan = plan_for(nodes, must(SPINE), pods=7, min_member=2, cpu=8)

    assert [0, 1, 2, 3, 4] == numbers(plan)
    assert "each of 2 more members waits for room" in message(plan)


def test_all_of_an_elastic_gang_in_a_higher_layer_before_fewer_in_a_lower_one() -> None:
    nodes = topology_builders.nodes(TWELVE, cpu=8)

    plan = plan_for(nodes, prefer(BLOCK), pods=7, min_member=2, cpu=8)

    assert 7 == len(nodes_of(plan))


def test_several_classes_gather_together() -> None:
    nodes = topology_builders.nodes(EIGHT, cpu=16)
    members = [pod("m-0", cpu=10), *(pod(f"w-{i}", cpu=6) for i in range(4))]

    plan = plan_for(nodes, must(BLOCK), members=members)

    assert {}.keys() == nodes_of(plan).keys(), "10 + 4 times 6 is more than a block has"

    plan = plan_for(nodes, must(SPINE), members=members)

    assert 5 == len(nodes_of(plan))
    assert set(numbers(plan)) <= {1, 2, 7, 8}


def test_several_classes_find_the_only_arrangement() -> None:
    # Largest first fills the first node with 3 + 3; then 2 + 2 + 2 do not fit on 6 - 6 and 4.
    nodes = [
        node("node-1", cpu=7, labels=topology_builders.labels_of("s/b")),
        node("node-2", cpu=5, labels=topology_builders.labels_of("s/b")),
    ]
    members = [pod("a-0", cpu=3), pod("a-1", cpu=3), *(pod(f"b-{i}", cpu=2) for i in range(3))]

    plan = plan_for(nodes, must(BLOCK), members=members)

    assert 5 == len(nodes_of(plan))


def test_each_run_of_ranks_is_in_one_domain() -> None:
    nodes = topology_builders.nodes(TWELVE, cpu=8)

    plan = plan_for(nodes, prefer(SPINE, slices=[runs(BLOCK, 2)]), pods=6, cpu=8)

    # The largest spine, and the tightest for the rest.
    assert [0, 1, 3, 4, 9, 10] == numbers(plan)


def test_the_last_run_may_be_short_and_has_the_last_ranks() -> None:
    nodes = topology_builders.nodes(TWELVE, cpu=8)

    plan = plan_for(nodes, must(SPINE, slices=[runs(BLOCK, 2)]), pods=5, cpu=8)

    # Ranks 0 and 1, 2 and 3 are together; the odd one fits beside the first two.
    assert [0, 1, 3, 4, 2] == numbers(plan)


def test_a_multiple_that_does_not_divide_the_gang_is_refused() -> None:
    nodes = topology_builders.nodes(TWELVE, cpu=8)

    plan = plan_for(nodes, must(SPINE, slices=[multiples(BLOCK, 2)]), pods=5, cpu=8)

    assert {"a": "InvalidSpec"} == reasons(plan)


def test_an_elastic_gang_comes_in_the_largest_multiple() -> None:
    nodes = topology_builders.nodes(TWELVE, cpu=8)

    plan = plan_for(nodes, must(SPINE, slices=[multiples(BLOCK, 2)]), pods=5, min_member=3, cpu=8)

    assert [0, 1, 3, 4] == numbers(plan)


@pytest.mark.parametrize("size", [2, 3])
def test_slices_whose_members_differ(size: int) -> None:
    nodes = topology_builders.nodes({"s/b1": (1, 2), "s/b2": (3, 4)}, cpu=8)
    members = [pod(f"a-{i}", cpu=1 + i % size) for i in range(2 * size)]

    plan = plan_for(nodes, must(SPINE, slices=[runs("NodeTopologyLayer", size)]), members=members)

    placed = numbers(plan)
    assert [1, 1] == [len(set(placed[:size])), len(set(placed[size:]))]


def slices_that_differ(racks: int, cpu: int) -> Plan:
    """Return the plan for slices of a member of 4 CPUs and one of 1, on racks of two nodes."""
    nodes = topology_builders.nodes(
        {f"s/b{i:02}": (2 * i, 2 * i + 1) for i in range(racks)}, cpu=cpu
    )
    members = [pod(f"a-{i}", cpu=(4, 1)[i % 2]) for i in range(2 * racks)]
    return plan_for(nodes, must(SPINE, slices=[runs(BLOCK, 2)]), members=members)


def test_slices_whose_members_differ_are_tried_only_where_each_member_has_a_slot() -> None:
    calls = calls_of(lambda: slices_that_differ(20, cpu=3))

    assert 0 == calls["gather._Gathering._seat_slices"]


def test_a_search_for_slices_whose_members_differ_ends_with_its_looks() -> None:
    with patch.multiple(effort, MOST_LOOKS=8, LEAST=4, RESERVED=0, OVERRUN=0):
        plan = slices_that_differ(20, cpu=6)

    assert "search" in message(plan)
    assert 40 == len(nodes_of(slices_that_differ(20, cpu=6)))


def elastic_and_tied(size: int, fitting: int) -> Plan:
    """Return the plan for members that all differ, each in a zone of its own; three must start.

    So many of them fit in the zones of their spine, of two nodes each.
    """
    nodes = [
        replace(each, labels={**each.labels, "zone": f"z{number // 2}"})
        for number, each in enumerate(topology_builders.nodes({"s/b": range(2 * fitting)}, cpu=10))
    ]
    unlike = [
        asking(pod(f"a-{i:02}", cpu=f"{9000 + i}m"), apart_from("a", "zone")) for i in range(size)
    ]
    one = gang("a", members=enriched(unlike), min_member=3)
    asked = group(one, topology_request=must(SPINE))
    return schedule(snapshot(nodes, [asked], tree_specs=[TREE_SPEC]), BINPACK)


def test_how_many_of_an_elastic_gang_fit_is_looked_for_only_for_the_work_of_a_cycle() -> None:
    sought = "mixed_classes.Packing._seat_one_by_one"
    assert 20 == len(nodes_of(elastic_and_tied(40, fitting=20)))
    before = calls_of(lambda: elastic_and_tied(40, fitting=20))[sought]

    with patch.object(effort, "MOST_OF_CYCLE", 300):
        after = calls_of(lambda: elastic_and_tied(40, fitting=20))[sought]
        plan = elastic_and_tied(40, fitting=20)

    assert after < before
    # The members that it needs are placed in any case.
    assert 3 <= len(nodes_of(plan)) < 20
    assert "search" in message(plan)


@pytest.mark.parametrize(
    ("module", "looks"), [(one_class, "LOOKS_A_LEVEL"), (lower_bounds, "LOOKS_A_FLOOR")]
)
def test_adding_up_the_room_of_many_classes_is_work_of_the_cycle(
    module: ModuleType, looks: str
) -> None:
    with patch.object(module, looks, effort.MOST_OF_CYCLE):
        plan = elastic_and_tied(40, fitting=20)

    assert 3 <= len(nodes_of(plan)) < 20


def test_whether_it_would_fit_without_pods_is_looked_for_only_for_some_work() -> None:
    assert IfEmpty.TOO_LARGE == elastic_and_tied(40, fitting=2).refused[0].if_empty

    with patch.object(empty_cluster, "WORK", 0):
        plan = elastic_and_tied(40, fitting=2)

    assert IfEmpty.NOT_SEARCHED == plan.refused[0].if_empty


def test_a_replacement_goes_where_its_neighbours_in_rank_are() -> None:
    nodes = topology_builders.nodes(EIGHT, cpu=16)
    bound_members = [pod("a-0", node="node-5", cpu=16), pod("a-2", node="node-6", cpu=16)]

    plan = plan_for(
        nodes,
        must(SPINE),
        bound=bound_members,
        bound_members=bound_members,
        members=[pod("a-3", cpu=16)],
        min_member=3,
    )

    assert [3] == numbers(plan)


def test_a_replacement_waits_for_the_domain_of_its_gang() -> None:
    nodes = topology_builders.nodes({"s1/b1": (1, 2), "s2/b2": (3, 4)}, cpu=8)
    bound_members = [pod("a-0", node="node-1", cpu=8)]
    full = [*bound_members, pod("other", node="node-2", cpu=8)]

    plan = plan_for(
        nodes, must(SPINE), bound=full, bound_members=bound_members, members=[pod("a-1", cpu=8)]
    )

    assert {"a": "Unschedulable"} == reasons(plan)
    assert "SpineLayer/s1: 0, 0/4" in message(plan)


def test_a_replacement_joins_its_slice() -> None:
    nodes = topology_builders.nodes({"s/b1": (1, 2), "s/b2": (3, 4)}, cpu=2)
    bound_members = [pod(f"a-{i}", node=f"node-{1 + i}") for i in (0, 1, 3)]

    plan = plan_for(
        nodes,
        must(SPINE, slices=[runs(BLOCK, 2)]),
        bound=bound_members,
        bound_members=bound_members,
        members=[pod("a-2")],
        min_member=4,
    )

    # Alone on node-3 would be as near to a-3; but node-4 is beside it.
    assert [4] == numbers(plan)


def test_members_of_a_group_join_those_of_gangs_that_have_started() -> None:
    nodes = topology_builders.nodes({"s1/b1": (1, 2), "s2/b2": (3, 4)}, cpu=8)
    started = [pod("b-0", node="node-3", cpu=8)]

    plan = plan_for(nodes, must(SPINE), bound=started, started=started, pods=1, cpu=1)

    assert [4] == numbers(plan)


def test_members_bound_in_two_domains_are_reported_and_joined_where_most_are() -> None:
    nodes = topology_builders.nodes({"s1/b1": (1, 2), "s2/b2": (3, 4, 5)}, cpu=8)
    bound_members = [pod(f"a-{i}", node=f"node-{n}", cpu=8) for i, n in enumerate((1, 3, 4))]

    plan = plan_for(
        nodes,
        must(SPINE),
        bound=bound_members,
        bound_members=bound_members,
        members=[pod("a-3", cpu=8)],
    )

    assert [5] == numbers(plan)
    assert "the others join those in SpineLayer/s2" in text_of(plan.warned[0].problem.cause)


def test_podsets_of_one_gang_gather_each_for_itself() -> None:
    nodes = topology_builders.nodes({"s1/b1": (1, 2), "s2/b2": (3, 4)}, cpu=8)
    in_one_spine = TopologyRequest(must=(LayerRef(topology_builders.SPINE_KEY, by_label=True),))
    members = [
        pod(f"{job}-{i}", cpu=8, podset=PodSet(in_one_spine, owner=job))
        for job in ("x", "y")
        for i in range(2)
    ]

    assert [1, 2, 3, 4] == numbers(plan_for(nodes, None, members=members))


def test_podsets_of_one_group_share_a_domain() -> None:
    nodes = topology_builders.nodes({"s1/b1": (1, 2), "s2/b2": (3, 4)}, cpu=8)
    in_one_spine = TopologyRequest(must=(LayerRef(topology_builders.SPINE_KEY, by_label=True),))
    leader, *workers = [
        pod(name, cpu=cpu, podset=PodSet(in_one_spine, group="g", owner=name[0]))
        for name, cpu in (("l-0", 2), ("w-0", 6), ("w-1", 6))
    ]
    gangs = [gang("l", members=[leader]), gang("w", members=workers)]

    plan = schedule(snapshot(nodes, [group(*gangs)], tree_specs=[TREE_SPEC]), BINPACK)

    assert {1, 2} == set(numbers(plan))
    assert ["l", "w"] == [each.gang.key.name for each in plan.placed]


def test_a_preferred_label_that_no_node_has_holds_no_pod_up() -> None:
    nodes = topology_builders.nodes({"s1/b1": (1,)}, cpu=8)
    zoo = TopologyRequest(prefer=(LayerRef("zoo", by_label=True),), upward=True)

    assert [1] == numbers(plan_for(nodes, zoo, pods=1, cpu=8))


def test_surplus_that_comes_later_comes_in_multiples_too() -> None:
    nodes = topology_builders.nodes({"s/b1": (1, 2), "s/b2": (3, 4)}, cpu=1)
    bound_members = [pod(f"a-{i}", node=f"node-{1 + i}") for i in range(2)]

    def later(*numbers_of_members: int) -> list[int]:
        topology_request = must(SPINE, slices=[multiples(BLOCK, 2)])
        members = [pod(f"a-{i}") for i in numbers_of_members]
        plan = plan_for(
            nodes,
            topology_request,
            bound=bound_members,
            bound_members=bound_members,
            members=members,
            satisfied=True,
        )
        return numbers(plan)

    assert [] == later(2)
    assert [3, 4] == later(2, 3)


def test_offers_of_domains_are_explained_once_for_an_elastic_gang() -> None:
    nodes = topology_builders.nodes(TWELVE, cpu=8)

    calls = calls_of(lambda: plan_for(nodes, must(BLOCK), pods=60, min_member=30, cpu=8))

    assert 1 == calls["gather.explain_offers"]
