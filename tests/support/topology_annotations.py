"""What gangs request of the network, as annotations."""

import json

from gang_scheduler.model.gangs import GangGroup
from gang_scheduler.model.reasons import Problem, Reason
from gang_scheduler.model.topology_request import LayerRef, TopologyRequest
from gang_scheduler.report.words.text import text_of
from support.in_memory_cluster import InMemoryCluster

SPEC = "gang.scheduling.koordinator.sh/network-topology-spec"
SPEC_FIELD = f"metadata.annotations[{SPEC}]"
KUEUE = "kueue.x-k8s.io/podset-"
RACK, BLOCK = TopologyRequest(must=(LayerRef("Rack"),)), TopologyRequest(must=(LayerRef("Block"),))


def must(layer: str) -> str:
    """Return a spec that a layer must be gathered in."""
    return json.dumps({"gatherStrategy": [{"layer": layer, "strategy": "MustGather"}]})


def naming(*names: str) -> str:
    """Return the annotation that names the gangs of a group."""
    return json.dumps([f"default/{name}" for name in names])


def kueue(**given: str) -> dict[str, str]:
    """Return annotations; `group_name` is written `group-name` with the prefix."""
    return {KUEUE + name.replace("_", "-"): text for name, text in given.items()}


REQUIRED = kueue(required_topology="example.com/rack")


def due(cluster: InMemoryCluster) -> dict[str, GangGroup]:
    """Return the groups that are due, by the name of their first gang."""
    groups = cluster.cache.snapshot(cluster.now).groups
    return {group.gangs[0].key.name: group for group in groups}


def only(cluster: InMemoryCluster) -> GangGroup:
    """Return the only group that is due."""
    (group,) = due(cluster).values()
    return group


def invalid(found: Problem | None) -> str:
    """Return what people read of a spec that is wrong."""
    assert found is not None
    assert Reason.INVALID_SPEC is found.reason
    return text_of(found.cause)
