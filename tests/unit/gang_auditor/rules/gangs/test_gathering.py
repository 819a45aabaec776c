"""Gangs beyond the domain that they must gather in."""

import json
from typing import Any

import pytest

from gang_scheduler.api import annotations as keys
from support.audit_streams import Stream, bound, changed, deleted, node, pod, pod_group


def network() -> dict[str, Any]:
    layers = [
        {"topologyLayer": "SpineLayer", "labelKey": ["spine"]},
        {"topologyLayer": "BlockLayer", "parentTopologyLayer": "SpineLayer", "labelKey": ["block"]},
        {"topologyLayer": "NodeTopologyLayer", "parentTopologyLayer": "BlockLayer"},
    ]
    return {
        "apiVersion": "scheduling.koordinator.sh/v1alpha1",
        "kind": "ClusterNetworkTopology",
        "metadata": {"name": "default", "uid": "network"},
        "spec": {"networkTopologySpec": layers},
    }


def must(layer: str) -> dict[str, str]:
    strategies = [
        {"layer": layer, "strategy": "MustGather"},
        {"layer": "NodeTopologyLayer", "strategy": "PreferGather"},
    ]
    return {keys.NETWORK_TOPOLOGY_SPEC: json.dumps({"gatherStrategy": strategies})}


@pytest.fixture
def stream() -> Stream:
    stream = Stream("gathering")
    stream.see(network())
    for spine in "st":
        for block in "xy":
            labels = {"spine": spine, "block": block}
            stream.see(node(f"{spine}{block}0", labels=labels))
            stream.see(node(f"{spine}{block}1", labels=labels))
    stream.see(node("lone", labels={"spine": "s"}), node("outside"))
    stream.wait(60)
    return stream


def bind(stream: Stream, *nodes: str, gang: str = "ring") -> list[dict[str, Any]]:
    ring = [bound(pod(f"{gang}-{i}", gang=gang), name) for i, name in enumerate(nodes)]
    stream.see(*ring)
    return ring


@pytest.mark.parametrize(
    ("layer", "nodes", "found"),
    [
        ("SpineLayer", ("sx0", "sy1"), []),
        ("SpineLayer", ("sx0", "tx0"), ["Pod lab/ring-1"]),
        ("BlockLayer", ("sx0", "sx1"), []),
        ("BlockLayer", ("sx0", "sy0"), ["Pod lab/ring-1"]),
        # Two blocks of one name below two spines are two domains.
        ("BlockLayer", ("sx0", "tx0"), ["Pod lab/ring-1"]),
        ("BlockLayer", ("lone", "lone"), []),
        ("BlockLayer", ("lone", "sx0"), ["Pod lab/ring-1"]),
        ("BlockLayer", ("outside",), ["Pod lab/ring-0"]),
        ("NodeTopologyLayer", ("sx0", "sx1"), ["Pod lab/ring-1"]),
        ("NoSuchLayer", ("sx0", "tx0"), []),
    ],
)
def test_a_gang_is_in_one_domain(
    stream: Stream, layer: str, nodes: tuple[str, ...], found: list[str]
) -> None:
    stream.see(pod_group("ring", 2, **must(layer)))
    bind(stream, *nodes)

    assert found == [about for _, about in stream.end()]


def test_the_message_names_both_domains(stream: Stream) -> None:
    stream.see(pod_group("ring", 2, **must("BlockLayer")))
    bind(stream, "sx0", "sy0")
    stream.end()

    words = "bound to sy0 in s/y, away from its gang in s/x, of BlockLayer"
    assert words == stream.found[0].message


def test_a_gang_that_only_prefers_may_be_anywhere(stream: Stream) -> None:
    stream.see(pod_group("ring", 2))
    bind(stream, "sx0", "tx0")

    assert [] == stream.end()


def test_a_new_attempt_may_be_elsewhere(stream: Stream) -> None:
    stream.see(pod_group("ring", 2, **must("SpineLayer")))
    ring = bind(stream, "sx0", "sx1")
    stream.see(*(deleted(each) for each in ring))
    bind(stream, "tx0", "tx1")

    assert [] == stream.end()


def test_a_replacement_joins_the_members_that_are_there(stream: Stream) -> None:
    stream.see(pod_group("ring", 2, **must("SpineLayer")))
    ring = bind(stream, "sx0", "sx1")
    stream.gone(ring[0])
    stream.see(bound(pod("ring-0", gang="ring"), "tx0"))

    assert [("gathering", "Pod lab/ring-0")] == stream.end()


def test_members_that_were_bound_for_another_request_do_not_count(stream: Stream) -> None:
    stream.see(pod_group("ring", 2))
    bind(stream, "sx0", "tx0")
    stream.see(pod_group("ring", 2, **must("SpineLayer")))
    stream.see(bound(pod("ring-2", gang="ring"), "ty0"))

    assert [] == stream.end()


def test_a_node_whose_labels_changed_may_have_been_there(stream: Stream) -> None:
    stream.see(pod_group("ring", 2, **must("SpineLayer")))
    bind(stream, "sx0")
    stream.see(bound(pod("ring-1", gang="ring"), "tx0"))
    stream.see(node("tx0", labels={"spine": "s", "block": "x"}))

    assert [] == stream.end()


def test_the_gangs_of_a_group_are_in_one_domain(stream: Stream) -> None:
    names = {keys.GANG_GROUPS: '["lab/ring", "lab/band"]'}
    stream.see(pod_group("ring", 1, **must("SpineLayer"), **names))
    stream.see(pod_group("band", 1, **must("SpineLayer"), **names))
    bind(stream, "sx0")
    bind(stream, "tx0", gang="band")

    assert [("gathering", "Pod lab/band-0")] == stream.end()


def test_podsets_gather_by_the_label_that_they_name(stream: Stream) -> None:
    def member(name: str, owner: str) -> dict[str, Any]:
        made = pod(name, gang="set", annotations={keys.PODSET_REQUIRED: "block"})
        owners = [{"kind": "Job", "name": owner, "uid": owner, "controller": True}]
        return changed(made, metadata={"ownerReferences": owners})

    stream.see(pod_group("set", 2))
    stream.see(bound(member("a-0", "a"), "sx0"), bound(member("b-0", "b"), "tx0"))
    assert [] == stream.end()

    stream.see(bound(member("a-1", "a"), "tx1"))
    assert [("gathering", "Pod lab/a-1")] == stream.end()
