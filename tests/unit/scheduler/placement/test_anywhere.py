"""Members of one gang are placed together, or nothing changes."""

from collections import Counter
from dataclasses import replace
from typing import Any

import pytest

from gang_scheduler.model.nodes import Node
from gang_scheduler.model.plan import Misfit, Oversized, Shortage
from gang_scheduler.model.pods import Pod
from gang_scheduler.model.selectors import AffinityTerm, PodAffinity
from gang_scheduler.scheduler.filters import resources
from gang_scheduler.scheduler.placement import anywhere
from gang_scheduler.scheduler.placement.anywhere import assume_again, place, release
from gang_scheduler.scheduler.placement.feasible_slots import offer_slots
from gang_scheduler.scheduler.profile import PROFILES
from gang_scheduler.scheduler.trial import Placement, Trial
from support.builders import GPU, node, pod, snapshot
from support.call_counts import calls_of
from support.selector_builders import app

BINPACK = PROFILES["binpack"]


def members(count: int, prefix: str = "a", **asks: Any) -> list[Pod]:
    return [pod(f"{prefix}-{i}", **asks) for i in range(count)]


def placed(nodes: list[Node], pods: list[Pod], at_least: int | None = None) -> dict[str, str]:
    outcome = place(pods, at_least or len(pods), Trial(snapshot(nodes)), BINPACK)
    assert isinstance(outcome, Placement), outcome
    return {bind.pod.name: bind.node for bind in outcome.binds}


def misfit(nodes: list[Node], pods: list[Pod], at_least: int | None = None) -> Misfit:
    outcome = place(pods, at_least or len(pods), Trial(snapshot(nodes)), BINPACK)
    assert isinstance(outcome, Misfit), outcome
    return outcome


def test_neighbours_in_rank_get_neighbouring_nodes() -> None:
    found = placed([node("n10", cpu=2), node("n9", cpu=2), node("n1", cpu=2)], members(5))

    assert {"a-0": "n1", "a-1": "n1", "a-2": "n9", "a-3": "n9", "a-4": "n10"} == found


def test_ranks_follow_the_nodes_also_where_binpack_fills_a_later_node_first() -> None:
    nodes = [node("n1", cpu=8), node("n2", cpu=2)]

    assert {"a-0": "n1", "a-1": "n2", "a-2": "n2"} == placed(nodes, members(3))


def test_binds_are_in_rank_order_whatever_the_classes() -> None:
    pods = [pod("a-0", cpu=1), pod("a-1", cpu=4), pod("a-2", cpu=1), pod("a-3", cpu=4)]

    found = placed([node("n1", cpu=5), node("n2", cpu=5)], pods)

    assert ["a-0", "a-1", "a-2", "a-3"] == list(found)
    assert {"n1": 2, "n2": 2} == Counter(found.values())


def test_what_does_not_wholly_fit_changes_nothing() -> None:
    trial = Trial(snapshot([node("n1", cpu=4)]))
    before = trial.free.tolist()

    outcome = place(members(5), 5, trial, BINPACK)

    one_cpu = (("cpu", 1000),)
    short = Shortage(resources.obstacle, 1, one_cpu, asked=one_cpu)
    expected = Misfit(1, fits=4, needs=5, rejections=(("Insufficient cpu", 1),), shortage=short)
    assert expected == outcome
    assert before == trial.free.tolist()


def test_as_many_as_fit_are_placed_if_that_is_enough() -> None:
    assert ["a-0", "a-1", "a-2", "a-3"] == list(placed([node("n1", cpu=4)], members(6), 3))


def test_one_too_few_is_not_enough() -> None:
    assert (4, 5) == ((found := misfit([node("n1", cpu=4)], members(6), 5)).fits, found.needs)


def test_members_may_ask_for_different_things() -> None:
    nodes = [node("cpu-1", cpu=8), node("gpu-1", cpu=2, gpu=8)]
    pods = [pod("master", cpu=4), *members(2, "worker", cpu=1, gpu=4)]

    expected = {"master": "cpu-1", "worker-0": "gpu-1", "worker-1": "gpu-1"}
    assert expected == placed(nodes, pods)


def test_the_class_with_the_least_choice_chooses_first() -> None:
    nodes = [node("n1", cpu=2, labels={"zone": "a"}), node("n2", cpu=2)]
    pods = [*members(2, "anywhere"), *members(2, "bound", selector={"zone": "a"})]

    found = placed(nodes, pods)

    assert {"bound-0": "n1", "bound-1": "n1", "anywhere-0": "n2", "anywhere-1": "n2"} == found


def test_one_class_without_room_fails_all() -> None:
    nodes = [node("n1", cpu=8)]
    pods = [*members(3), pod("worker", gpu=1)]

    one_gpu = ((GPU, 1),)
    short = Shortage(
        *(resources.obstacle, 1, one_gpu), oversized=(Oversized(GPU, 1),), asked=one_gpu
    )
    expected = Misfit(1, 3, 4, ((f"Insufficient {GPU}", 1),), shortage=short)
    assert expected == misfit(nodes, pods)


def test_a_class_too_small_for_the_rest_says_so() -> None:
    # Both fit alone; together they lack one CPU, and the reason is about what is left by then.
    found = misfit([node("n1", cpu=4)], [pod("big", cpu=3), *members(2, "small")])

    assert (("Insufficient cpu", 1),) == found.rejections


@pytest.mark.parametrize("reverse", [False, True])
def test_classes_are_placed_alike_whatever_their_order(*, reverse: bool) -> None:
    nodes = [node("n1", cpu=5), node("n2", cpu=4)]
    pods = [*members(2, "big", cpu=3), *members(3, "small")]

    found = placed(nodes, pods[::-1] if reverse else pods)

    kinds = Counter((name.split("-")[0], where) for name, where in found.items())
    expected = {("big", "n1"): 1, ("big", "n2"): 1, ("small", "n1"): 2, ("small", "n2"): 1}
    assert expected == kinds


def test_no_node_is_room_for_no_pod() -> None:
    assert Misfit(0, 0, 1, ()) == misfit([], members(1))


def test_a_cluster_without_nodes_has_no_room_for_some_of_several_classes() -> None:
    pods = [*members(1), *members(1, "b", cpu=2)]

    assert misfit([], pods, at_least=1).fits == 0


def test_giving_back_and_retaking_a_placement_leaves_things_as_they_were() -> None:
    trial = Trial(snapshot([node("n1", cpu=4), node("n2", cpu=4)]))
    before = trial.free.tolist()
    placement = place(members(6), 6, trial, BINPACK)
    assert isinstance(placement, Placement)
    after = trial.free.tolist()

    release(placement, trial)
    given_back = trial.free.tolist()
    assume_again(placement, trial)

    assert (before, after) == (given_back, trial.free.tolist())


def test_offer_slots_are_zero_where_a_filter_refuses() -> None:
    nodes = [node("n1", cpu=4), node("n2", cpu=4, ready=False), node("n3", unschedulable=True)]
    nodes += [node("n4", cpu=3, taints=["a=b:NoSchedule"]), node("n5", cpu=2)]

    found = offer_slots(pod("a-0").pod_class, Trial(snapshot(nodes)), BINPACK)

    assert [4, 0, 0, 0, 2] == found.tolist()


def test_several_classes_find_the_only_arrangement_on_few_nodes() -> None:
    # Fullest first, one of the larger goes to each node, and one of the smaller has no place.
    pods = [*members(2, cpu=3), *members(2, "b", cpu=2)]

    found = placed([node("n1", cpu=6), node("n2", cpu=4)], pods)

    assert {"a-0": "n1", "a-1": "n1", "b-0": "n2", "b-1": "n2"} == found


def selecting_each_other(number: int) -> list[Pod]:
    """Return pods of as many classes, each with a term about all others."""
    selectors = [app(f"s{place}") for place in range(number)]
    return [
        replace(
            each,
            pod_class=replace(
                each.pod_class,
                selected_by=frozenset(selectors) - {selector},
                pod_affinity=PodAffinity(anti=(AffinityTerm(selector, "rack"),)),
            ),
        )
        for selector, each in zip(selectors, (pod(f"a-{i}") for i in range(number)), strict=True)
    ]


@pytest.mark.parametrize(("most", "number"), [(12, 4), (11, 0)])
def test_members_that_select_each_other_too_often_are_not_placed_one_by_one(
    most: int, number: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(anywhere, "MOST_TERMS", most)
    trial = Trial(snapshot([node(f"n{i}", cpu=1, labels={"rack": f"r{i}"}) for i in range(4)]))

    made = calls_of(lambda: place(selecting_each_other(4), 4, trial, BINPACK))

    assert number == made["trial.Trial.assume"]
    assert 1 == made["anywhere._select_each_other_too_often"]
    assert trial.effort.cut_off == (number == 0)


def test_terms_of_others_keep_no_gang_from_its_place(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(anywhere, "MOST_TERMS", 11)
    pods = [
        replace(each, pod_class=replace(each.pod_class, pod_affinity=None))
        for each in selecting_each_other(5)
    ]

    placement = place(pods, 5, Trial(snapshot([node("n1", cpu=8)])), BINPACK)

    assert isinstance(placement, Placement)


def test_terms_of_others_about_all_members_change_no_columns() -> None:
    selectors = frozenset(app(f"s{place}") for place in range(500))
    pods = [
        replace(each, pod_class=replace(each.pod_class, selected_by=selectors))
        for each in (pod(f"a-{i}", memory=i + 1) for i in range(20))
    ]
    trial = Trial(snapshot([node("n1", cpu=32)]))

    made = calls_of(lambda: place(pods, 20, trial, BINPACK))

    assert 0 == made["pod_affinity.AffinityChanges._add"]
    assert [20] == trial.pod_affinity.present(app("s7")).tolist()
