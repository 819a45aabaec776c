"""A gang that prefers a layer that no tree has yet waits a moment for the tree."""

import json
from typing import Any

import pytest

from gang_scheduler.state.gangs.grouping import LAYER_SECONDS
from support.in_memory_cluster import START, InMemoryCluster

LAYER = "Rack"


def topology(layer: str = LAYER) -> dict[str, Any]:
    """Return the default ClusterNetworkTopology with this layer above the nodes."""
    layers = [
        {"topologyLayer": layer, "labelKey": ["example.com/rack"]},
        {"topologyLayer": "NodeTopologyLayer", "parentTopologyLayer": layer},
    ]
    return {
        "apiVersion": "scheduling.koordinator.sh/v1alpha1",
        "kind": "ClusterNetworkTopology",
        "metadata": {"name": "default", "uid": f"uid-{layer}", "resourceVersion": "1"},
        "spec": {"networkTopologySpec": layers},
    }


def asking(strategy: str = "PreferGather", layer: str = LAYER) -> InMemoryCluster:
    """Return a cluster with a gang of two that asks for a layer."""
    cluster = InMemoryCluster()
    rules = [{"layer": layer, "strategy": strategy}]
    spec = json.dumps({"gatherStrategy": rules})
    cluster.gang("a", 2, network_topology_spec=spec)
    return cluster


def test_the_gang_is_placed_as_soon_as_the_tree_is_there() -> None:
    cluster = asking()
    before = cluster.bound()

    cluster.put(topology())

    assert (set(), {"a-0", "a-1"}) == (before, cluster.bound())


def test_a_tree_without_the_layer_is_not_the_one_that_is_waited_for() -> None:
    cluster = asking()
    cluster.cycle()

    cluster.put(topology("Spine"))

    assert set() == cluster.bound()


def test_no_gang_waits_longer_than_two_seconds() -> None:
    cluster = asking()

    assert set() == cluster.bound()
    assert START + LAYER_SECONDS == cluster.cache.gang_queue.next_retry()
    assert {"a-0", "a-1"} == cluster.bound(LAYER_SECONDS)


@pytest.mark.parametrize("layer", ["NodeTopologyLayer", LAYER])
def test_a_layer_that_is_there_is_not_waited_for(layer: str) -> None:
    cluster = InMemoryCluster()
    cluster.put(topology())
    rules = [{"layer": layer, "strategy": "PreferGather"}]
    cluster.gang("a", 2, network_topology_spec=json.dumps({"gatherStrategy": rules}))

    assert {"a-0", "a-1"} == cluster.bound()


def test_a_gang_that_must_gather_has_its_verdict_at_once() -> None:
    cluster = asking("MustGather")

    cluster.cycle()

    refusals = [each.verdict.refusal for each in cluster.cache.gang_queue.infos.values()]
    assert ["UnknownLayer"] == [each.reason for each in refusals if each]


def test_a_gang_that_has_started_waits_for_no_layer() -> None:
    cluster = asking()
    cluster.cycle()
    cluster.cycle(LAYER_SECONDS)
    cluster.cycle()

    cluster.pod("a-2", "a")

    assert {"a-2"} == cluster.bound()
