"""A port of the host belongs to one pod a node."""

import numpy as np

from gang_scheduler.model.pods import HostPort
from gang_scheduler.scheduler.cycle import schedule
from gang_scheduler.scheduler.filters import host_ports
from gang_scheduler.scheduler.profile import PROFILES
from gang_scheduler.scheduler.trial import Trial
from support.builders import gang, node, pod, pod_class, snapshot
from support.plan_reading import nodes_of

BINPACK = PROFILES["binpack"]


def test_a_pod_without_ports_is_of_no_concern() -> None:
    trial = Trial(snapshot([node("n1"), node("n2")]))

    assert not host_ports.concerns(pod_class(), trial)


def test_a_pod_with_ports_has_one_slot_where_they_are_free() -> None:
    holder = pod("x", node="n1", ports=[HostPort(80)])
    trial = Trial(snapshot([node("n1"), node("n2")], bound=[holder]))

    assert [0, 1] == host_ports.slots(pod_class(ports=[HostPort(80)]), trial).tolist()
    assert [1, 1] == host_ports.slots(pod_class(ports=[HostPort(80, "UDP")]), trial).tolist()


def test_one_taken_port_of_several_is_enough_to_refuse() -> None:
    holder = pod("x", node="n1", ports=[HostPort(80), HostPort(81)])
    trial = Trial(snapshot([node("n1")], bound=[holder]))

    assert [0] == host_ports.slots(pod_class(ports=[HostPort(443), HostPort(81)]), trial).tolist()


def test_members_of_one_gang_see_each_others_ports() -> None:
    nodes = [node("n1"), node("n2"), node("n3")]

    plan = schedule(snapshot(nodes, [gang("a", pods=3, ports=[HostPort(80)])]), BINPACK)

    assert {"a-0": "n1", "a-1": "n2", "a-2": "n3"} == nodes_of(plan)


def test_members_of_several_classes_see_each_others_ports() -> None:
    members = [pod("a-0", cpu=1, ports=[HostPort(80)]), pod("a-1", cpu=2, ports=[HostPort(80)])]

    plan = schedule(snapshot([node("n1")], [gang("a", members=members)]), BINPACK)

    assert {} == nodes_of(plan)


def test_a_later_gang_sees_the_ports_of_an_earlier_one() -> None:
    gangs = [gang("a", ports=[HostPort(80)]), gang("b", created_at=1, ports=[HostPort(80)])]

    plan = schedule(snapshot([node("n1"), node("n2")], gangs), BINPACK)

    assert {"a-0": "n1", "b-0": "n2"} == nodes_of(plan)


def test_the_reason_is_kube_schedulers() -> None:
    trial = Trial(snapshot([node("n1"), node("n2")]))

    found = host_ports.reasons(pod_class(), trial, np.array([True, True]))

    assert {"node(s) didn't have free ports for the requested pod ports": 2} == found
