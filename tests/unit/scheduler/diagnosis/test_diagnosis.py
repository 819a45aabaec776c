"""How many nodes reject a pod, by the reason of the first filter that does, and what is short."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from gang_scheduler.model.nodes import Node
from gang_scheduler.model.plan import Shortage
from gang_scheduler.model.pods import HostPort
from gang_scheduler.scheduler import diagnosis
from gang_scheduler.scheduler.filters import readiness, resources, taints, unschedulable
from gang_scheduler.scheduler.profile import PROFILES
from gang_scheduler.scheduler.trial import Trial
from support.builders import GPU, node, pod, snapshot

BINPACK = PROFILES["binpack"]
NOT_COUNTED: Any = {"asked": (), "one_a_node": False, "ruled_out": ()}


def test_the_first_filter_to_reject_a_node_gives_the_reason() -> None:
    nodes = [
        node("n1", cpu=1, unschedulable=True, ready=False, taints=["a=b:NoSchedule"]),
        node("n2", cpu=1, ready=False, taints=["a=b:NoSchedule"]),
        node("n3", cpu=1, taints=["a=b:NoSchedule"]),
        node("n4", cpu=1),
    ]

    found = diagnosis.diagnose(pod("a-0", cpu=2).pod_class, Trial(snapshot(nodes)), BINPACK)

    expected = {
        "node(s) were unschedulable": 1,
        "node(s) were not ready": 1,
        "node(s) had untolerated taint {a: b}": 1,
        "Insufficient cpu": 1,
    }
    assert expected == dict(found.rejections)


def test_a_node_with_room_has_no_reason() -> None:
    nodes = [node("n1", cpu=1), node("n2", cpu=2)]

    found = diagnosis.diagnose(pod("a-0", cpu=2).pod_class, Trial(snapshot(nodes)), BINPACK)

    assert (("Insufficient cpu", 1),) == found.rejections


def shortage(nodes: list[Node], near: list[bool] | None = None, **asks: Any) -> Shortage | None:
    """Return what a pod is short of."""
    where = None if near is None else np.array(near, dtype=np.bool_)
    trial = Trial(snapshot(nodes))
    found = diagnosis.diagnose(pod("a-0", **asks).pod_class, trial, BINPACK, where).shortage
    return replace(found, oversized=(), **NOT_COUNTED) if found else None


def test_what_is_short_is_what_the_nearest_node_lacks() -> None:
    nodes = [node("n1", cpu=1, gpu=1), node("n2", cpu=4, gpu=3), node("n3", cpu=4, gpu=5)]

    # The first lacks two resources, and of the others the last lacks less.
    assert Shortage(resources.obstacle, 3, ((GPU, 3),)) == shortage(nodes, cpu=4, gpu=8)


def test_only_nodes_that_are_asked_about_are_near() -> None:
    nodes = [node("n1", cpu=1), node("n2", cpu=3)]

    expected = Shortage(resources.obstacle, 2, (("cpu", 3000),))
    assert expected == shortage(nodes, near=[True, False], cpu=4)


def test_room_comes_before_rules_that_more_nodes_break() -> None:
    tainted = [node(f"t{i}", taints=["a=b:NoSchedule"]) for i in range(3)]
    nodes = [*tainted, node("n1", cpu=1)]

    assert Shortage(resources.obstacle, 1, (("cpu", 1000),)) == shortage(nodes, cpu=2)


def test_nodes_that_are_cordoned_or_not_ready_are_counted() -> None:
    nodes = [node("n1", unschedulable=True), node("n2", ready=False), node("n3", cpu=1)]

    found = shortage(nodes, cpu=2)

    assert found is not None
    assert 2 == found.out


@pytest.mark.parametrize("amount", [1, 8])
def test_a_resource_that_no_node_offers_is_short_by_all_of_it(amount: int) -> None:
    assert Shortage(resources.obstacle, 1, ((GPU, amount),)) == shortage([node("n1")], gpu=amount)


def test_of_several_rules_that_break_the_one_of_most_nodes_is_named() -> None:
    nodes = [
        node("n1", ready=False),
        node("n2", taints=["a=b:NoSchedule"]),
        node("n3", taints=["c=d:NoSchedule"]),
    ]

    assert Shortage(taints.obstacle, 2, out=1) == shortage(nodes)


def test_where_there_is_room_nothing_is_short() -> None:
    assert shortage([node("n1")]) is None


def counted(nodes: list[Node], near: list[bool] | None = None, **asks: Any) -> Shortage:
    """Return all that is told of what a pod is short of."""
    where = None if near is None else np.array(near, dtype=np.bool_)
    found = diagnosis.diagnose(pod("a-0", **asks).pod_class, Trial(snapshot(nodes)), BINPACK, where)
    assert found.shortage is not None
    return found.shortage


def test_the_request_is_shown_of_resources_that_every_node_has_too_little_of() -> None:
    without_gpu = node("n1", cpu=1)

    # One node lacks both, and the other only the GPUs.
    assert ((GPU, 8),) == counted([without_gpu, node("n2", cpu=9, gpu=7)], cpu=8, gpu=8).asked
    # Here one has enough GPUs, and the other enough CPUs.
    several = counted([node("n1", cpu=1, gpu=8), node("n2", cpu=9, gpu=7)], cpu=8, gpu=8).asked
    assert {("cpu", 8000), (GPU, 8)} == set(several)


def test_the_diagnosis_says_whether_a_node_could_hold_two() -> None:
    assert counted([node("n1", gpu=7)], gpu=8).one_a_node
    assert not counted([node("n1", gpu=1), node("n2", gpu=4, unschedulable=True)], gpu=2).one_a_node


def test_nodes_with_room_that_are_ruled_out_are_counted_by_the_first_rule() -> None:
    nodes = [
        node("full", gpu=7),
        node("c1", gpu=8, unschedulable=True, taints=["a=b:NoSchedule"]),
        node("c2", gpu=8, unschedulable=True),
        node("c3", gpu=7, unschedulable=True),
        node("down", gpu=8, ready=False),
    ]

    expected = {unschedulable.obstacle: 2, readiness.obstacle: 1}
    assert expected == dict(counted(nodes, gpu=8).ruled_out)
    # In the order of their names.
    near = [True, False, False, False, True]
    assert {unschedulable.obstacle: 1} == dict(counted(nodes, near, gpu=8).ruled_out)


def test_where_rules_about_other_pods_keep_it_away_too_the_nodes_are_not_counted() -> None:
    taken = pod("x", node="n1", ports=[HostPort(80)])
    trial = Trial(snapshot([node("n1", cpu=8), node("n2", cpu=1)], bound=[taken]))

    asks = pod("a-0", cpu=4, ports=[HostPort(80)]).pod_class
    found = diagnosis.diagnose(asks, trial, BINPACK).shortage

    assert found is not None
    assert (resources.obstacle, ()) == (found.obstacle, found.asked)
