"""Topologies of Kueue: trees as Kueue makes them, beside that of the ClusterNetworkTopology."""

from typing import Any

import pytest

from gang_scheduler.api.kinds import CLUSTER_NETWORK_TOPOLOGIES, KUEUE_TOPOLOGIES
from gang_scheduler.decode import topology
from gang_scheduler.model import topology as model_topology
from gang_scheduler.model.layers import NODE_LAYER, Layer, TreeSpec
from gang_scheduler.model.topology import Domain
from gang_scheduler.model.topology_request import LayerRef, TopologyRequest
from gang_scheduler.watch.sweep import Sweep
from support import builders, cache_feeding
from support.topology_harness import SPEC, TopologyHarness

HOSTNAME = "kubernetes.io/hostname"
BLOCK_AND_RACK = (
    Layer("block", "", ("block",)),
    Layer("rack", "block", ("rack",)),
    Layer(NODE_LAYER, "rack"),
)
TWICE = 'spec.levels[1].nodeLabel must differ from the keys of the layers above (it is "rack"); '
KEPT = "the tree of the last valid spec stays in use"


@pytest.fixture
def harness() -> TopologyHarness:
    return TopologyHarness()


def tree_spec_of(*keys: str) -> TreeSpec | None:
    return topology.read_kueue_topology(body(levels=[{"nodeLabel": key} for key in keys])).tree_spec


def body(**spec: Any) -> dict[str, Any]:
    return {
        "apiVersion": "kueue.x-k8s.io/v1beta2",
        "kind": "Topology",
        "metadata": {"name": "t", "uid": "u"},
        "spec": spec,
    }


def test_each_label_is_a_layer_and_the_nodes_are_the_lowest() -> None:
    assert TreeSpec("Topology t", BLOCK_AND_RACK, lone_nodes=False) == tree_spec_of("block", "rack")


def test_the_label_of_the_host_name_is_the_layer_of_the_nodes() -> None:
    expected = TreeSpec("Topology t", BLOCK_AND_RACK, lone_nodes=False, node_label=HOSTNAME)

    assert expected == tree_spec_of("block", "rack", HOSTNAME)


def test_nodes_alone_are_a_tree() -> None:
    expected = TreeSpec("Topology t", (Layer(NODE_LAYER),), lone_nodes=False, node_label=HOSTNAME)

    assert expected == tree_spec_of(HOSTNAME)


@pytest.mark.parametrize(
    ("spec", "problem"),
    [
        ({}, "spec.levels must name a label of the nodes"),
        ({"levels": None}, "spec.levels must name a label of the nodes"),
        ({"levels": []}, "spec.levels must name a label of the nodes"),
        ({"levels": "rack"}, 'spec.levels must be a list, not "rack"'),
        ({"levels": [{}]}, "spec.levels[0].nodeLabel is required"),
        ({"levels": [{"nodeLabel": 7}]}, "spec.levels[0].nodeLabel must be a string, not 7"),
        (
            {"levels": [{"nodeLabel": "a"}, {"nodeLabel": "b"}, {"nodeLabel": "a"}]},
            'spec.levels[2].nodeLabel must differ from the keys of the layers above (it is "a")',
        ),
        (
            {"levels": [{"nodeLabel": HOSTNAME}, {"nodeLabel": "a"}]},
            (
                "spec.levels[0].nodeLabel must be the label of a layer above the nodes, "
                f'not "{HOSTNAME}"'
            ),
        ),
    ],
)
def test_layers_that_make_no_tree_are_reported_by_field(spec: dict[str, Any], problem: str) -> None:
    declared = topology.read_kueue_topology(body(**spec))

    assert (None, problem) == (declared.tree_spec, declared.problem)


def test_a_spec_that_is_no_object_is_reported_too() -> None:
    declared = topology.read_kueue_topology({**body(), "spec": "block"})

    assert 'spec must be an object, not "block"' == declared.problem


def test_a_node_that_lacks_any_label_is_outside(harness: TopologyHarness) -> None:
    harness.node("n1", block="b1", rack="r1", **{HOSTNAME: "n1"})
    harness.node("n2", block="b1", **{HOSTNAME: "n2"})
    harness.node("n3", block="b1", rack="r1")
    harness.kueue_topology("block", "rack", HOSTNAME)

    (tree_spec,) = harness.cache.topologies.tree_specs()

    assert ["n2", "n3"] == model_topology.build(
        tree_spec, harness.cache.node_usage.table()
    ).outside_names


def test_trees_are_in_the_natural_order_of_names_after_the_default(
    harness: TopologyHarness,
) -> None:
    for name in ("t10", "t9", "default"):
        harness.kueue_topology("rack", name=name)
    harness.topology()

    expected = ["Topology default", "Topology t9", "Topology t10"]
    assert ["ClusterNetworkTopology default", *expected] == harness.trees()


def test_one_without_a_tree_leaves_that_of_its_last_valid_spec(harness: TopologyHarness) -> None:
    harness.kueue_topology("block", "rack")
    harness.kueue_topology("rack", "rack")
    harness.kueue_topology("rack", "rack", name="never-valid")

    assert ["Topology default"] == harness.trees()
    assert BLOCK_AND_RACK == harness.cache.topologies.tree_specs()[0].layers


def test_a_deleted_one_means_no_tree(harness: TopologyHarness) -> None:
    harness.kueue_topology("rack", name="a")
    harness.kueue_topology("rack", name="b")

    harness.cluster.delete(KUEUE_TOPOLOGIES[0], "", "a")

    assert ["Topology b"] == harness.trees()


def test_another_one_of_the_name_inherits_no_tree(harness: TopologyHarness) -> None:
    harness.kueue_topology("rack")
    # Its deletion was missed: no event tells of it.
    cache_feeding.upsert(
        harness.cache,
        CLUSTER_NETWORK_TOPOLOGIES,
        topology.read_kueue_topology({**body(), "metadata": named("default", "u2")}),
    )

    assert [] == harness.trees()
    assert {"u2"} == cache_feeding.uids(harness.cache, KUEUE_TOPOLOGIES[0])


def test_one_object_seen_in_several_versions_is_one(harness: TopologyHarness) -> None:
    harness.cache.upsert_pod(builders.pod("a"))
    woken = []
    for gvr in KUEUE_TOPOLOGIES:
        harness.kueue_topology("rack", version=gvr.version)
        woken.append(harness.tried())

    assert [["a"], [], []] == woken
    assert ["Topology default"] == harness.trees()


async def test_a_sweep_finds_a_deletion_that_was_missed(harness: TopologyHarness) -> None:
    harness.topology()
    harness.kueue_topology("rack")
    harness.cluster.watchers.clear()
    harness.cluster.delete(KUEUE_TOPOLOGIES[0], "", "default")

    await Sweep(harness.api, harness.event_handlers, 60).sweep_all()

    assert ["ClusterNetworkTopology default"] == harness.trees()


async def test_faults_of_a_tree_are_reported_once_and_nothing_is_written(
    harness: TopologyHarness,
) -> None:
    harness.kueue_topology("rack")
    await harness.writer.flush()
    harness.kueue_topology("rack", "rack")
    for number in range(3):
        harness.now += 1000
        harness.node(f"n{number}")
        await harness.writer.flush()

    assert [TWICE + KEPT] == await harness.notes()
    assert 0 == harness.writes()


async def test_a_fault_that_returns_is_reported_again(harness: TopologyHarness) -> None:
    for keys in (["rack", "rack"], ["rack"], ["rack", "rack"]):
        harness.now += 1000
        harness.kueue_topology(*keys)
        await harness.writer.flush()

    assert [TWICE + "no tree is made of it", TWICE + KEPT] == await harness.notes()


def test_the_domain_of_nodes_is_the_lowest_in_the_first_tree_that_has_them_all(
    harness: TopologyHarness,
) -> None:
    harness.node("n1", spine="s1", block="b1", rack="r1")
    harness.node("n2", spine="s1", block="b2", rack="r1")
    harness.node("n3", block="b1", rack="r1")
    harness.topology()
    harness.kueue_topology("block", "rack")

    found = [harness.cache.domain_of(names) for names in (["n1"], ["n1", "n2"], ["n1", "n3"])]

    expected = [
        Domain(NODE_LAYER, ("s1", "b1", "n1")),
        Domain("SpineLayer", ("s1",)),
        Domain("rack", ("b1", "r1")),
    ]
    assert expected == found


def test_the_tree_that_was_asked_for_comes_first_also_where_a_label_alone_makes_it(
    harness: TopologyHarness,
) -> None:
    harness.node("n1", spine="s1", block="b1", zone="z1")
    harness.node("n2", spine="s1", block="b2", zone="z1")
    harness.topology()
    asked = TopologyRequest(must=(LayerRef("zone", by_label=True),))

    assert Domain("zone", ("z1",)) == harness.cache.domain_of(["n1", "n2"], asked)


@pytest.mark.parametrize("names", [[], ["n1", "n2"], ["n1", "n3"], ["n1", "gone"]])
def test_nodes_that_no_domain_below_the_cluster_holds_have_none(
    harness: TopologyHarness, names: list[str]
) -> None:
    harness.node("n1", spine="s1", block="b1")
    harness.node("n2", spine="s2", block="b1")
    harness.node("n3")
    harness.topology(SPEC)

    assert harness.cache.domain_of(names) is None


def test_without_a_tree_there_are_no_domains(harness: TopologyHarness) -> None:
    harness.node("n1", spine="s1", block="b1")

    assert harness.cache.domain_of(["n1"]) is None


def named(name: str, uid: str) -> dict[str, str]:
    return {"name": name, "uid": uid}
