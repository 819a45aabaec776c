"""Victims are put back beside members whose places are known, by counting."""

from dataclasses import replace

from gang_scheduler.model.bound_pods import BoundPod, BoundPods
from gang_scheduler.scheduler.placement.anywhere import place
from gang_scheduler.scheduler.preemption.preemptor import usage_of
from gang_scheduler.scheduler.preemption.search import reprieve
from gang_scheduler.scheduler.preemption.victim_costs import VictimCosts
from gang_scheduler.scheduler.profile import PROFILES
from gang_scheduler.scheduler.trial import Placement, Trial
from support import builders

HIGH = 9


def left_over(bound_pods: BoundPods, members: int, *, nodes: int = 2, cpu: int = 4) -> set[str]:
    """Return the victims that are left of all, beside members of a CPU each on the first node."""
    names = [f"n{number}" for number in range(nodes)]
    trial = Trial(
        builders.snapshot([builders.node(name, cpu=cpu) for name in names], bound_pods=bound_pods)
    )
    victims = {each.pod.uid: each for each in bound_pods.pods}
    with trial.all_or_nothing():
        for share in usage_of(victims.values(), trial.nodes):
            trial.release(share)
        pods = [builders.pod(f"a-{i}", selector=None) for i in range(members)]
        placement = place(pods, members, trial, PROFILES["binpack"])
        assert isinstance(placement, Placement)
        assert {bind.node for bind in placement.binds} == {"n0"}
    costs = VictimCosts(bound_pods, HIGH, 0)
    found = reprieve.without_reprieved([placement], victims, costs, trial)
    return {each.pod.name for each in found.values()}


def on(node: str, *pods: BoundPod) -> list[BoundPod]:
    return [replace(each, pod=replace(each.pod, node=node)) for each in pods]


def test_victims_on_nodes_without_a_member_stay() -> None:
    held = [
        *(builders.bound_pod(f"x-{i}", "n0") for i in range(4)),
        *(builders.bound_pod(f"y-{i}", "n1") for i in range(4)),
    ]

    assert {"x-0", "x-1", "x-2", "x-3"} == left_over(builders.bound_pods(*held), 4)


def test_the_most_valuable_stay_first_where_a_part_of_a_node_is_left() -> None:
    held = [builders.bound_pod(f"x-{i}", "n0", priority=i) for i in range(4)]

    assert {"x-0", "x-1"} == left_over(builders.bound_pods(*held), 2)


def test_a_gang_stays_as_a_whole_or_not_at_all() -> None:
    held = [
        builders.bound_pod("x-0", "n0", gang="x", cpu=2),
        builders.bound_pod("x-1", "n1", gang="x", cpu=2),
        builders.bound_pod("y", "n1", cpu=2),
    ]

    assert {"x-0", "x-1"} == left_over(builders.bound_pods(*held), 3)


def test_a_node_that_has_less_than_nothing_frees_no_victim_elsewhere() -> None:
    held = [builders.bound_pod("x", "n0", cpu=4), builders.bound_pod("y", "n1", cpu=6)]

    assert {"x"} == left_over(builders.bound_pods(*held), 1)
