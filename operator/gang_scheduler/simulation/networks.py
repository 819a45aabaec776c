"""Topologies of the input: a wrong type is refused, and a topology without a tree is explained."""

from collections.abc import Mapping
from typing import Any

from msgspec import field

from gang_scheduler.api.network_topology import DEFAULT_NAME
from gang_scheduler.decode import fields
from gang_scheduler.decode.network import kueue_topologies, topologies
from gang_scheduler.decode.network.topologies import DeclaredTopology
from gang_scheduler.report import topology_status
from gang_scheduler.wire.structs import Wire


class _Layer(Wire, frozen=True):
    topology_layer: str = ""
    parent_topology_layer: str = ""
    label_key: list[str] = field(default_factory=list)


class _Spec(Wire, frozen=True):
    network_topology_spec: list[_Layer] = field(default_factory=list)


class _ClusterNetworkTopology(Wire, frozen=True):
    """The types in a ClusterNetworkTopology. Its layers are checked as on a cluster."""

    spec: _Spec = _Spec()


def cluster_network_topology(body: Mapping[str, Any]) -> DeclaredTopology:
    """Return what a ClusterNetworkTopology declares. Raises InvalidField for a wrong type."""
    fields.read(body, _ClusterNetworkTopology)
    return topologies.read(body)


def kueue_topology(body: Mapping[str, Any]) -> DeclaredTopology:
    """Return what a Topology of Kueue declares. Raises InvalidField for a wrong type."""
    fields.read(body, kueue_topologies.Topology)
    return kueue_topologies.read(body)


def why_unused(declared: DeclaredTopology) -> str:
    """Return why there is no tree, in the words of the condition on a cluster; "" if there is."""
    if not declared.is_used:
        return topology_status.not_default(DEFAULT_NAME).message
    if not declared.problem:
        return ""
    return topology_status.invalid_spec(declared.problem, kept=False).message
