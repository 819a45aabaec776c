"""ClusterNetworkTopologies: objects that declare a topology tree."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final

from gang_scheduler.api.kinds import CLUSTER_NETWORK_TOPOLOGIES, GVR, KUEUE_TOPOLOGIES
from gang_scheduler.api.network_topology import DEFAULT_NAME, ClusterNetworkTopology
from gang_scheduler.api.parsing import InvalidField, parse_spec
from gang_scheduler.model.names import NaturalKey, natural_key
from gang_scheduler.model.network import layers
from gang_scheduler.model.network.layers import InvalidLayers, Layer, Layers, TreeSpec

KINDS: Final = {
    CLUSTER_NETWORK_TOPOLOGIES.group: "ClusterNetworkTopology",
    KUEUE_TOPOLOGIES[0].group: "Topology",
}
"""The kinds by their API group, in the order in which a layer is looked up in their trees."""
DEFAULT_TREE: Final = f"ClusterNetworkTopology {DEFAULT_NAME}"


@dataclass(frozen=True, slots=True)
class DeclaredTopology:
    """An object that declares a topology tree. `problem` is why it has no tree spec."""

    uid: str
    name: str
    gvr: GVR = CLUSTER_NETWORK_TOPOLOGIES
    tree_spec: TreeSpec | None = None
    problem: str = ""
    generation: int = 0
    status: Mapping[str, Any] = field(default_factory=dict)

    @property
    def kind(self) -> str:
        """The kind of the object, as in manifests."""
        return KINDS[self.gvr.group]

    @property
    def is_used(self) -> bool:
        """Whether its tree is used: of ClusterNetworkTopologies only that of the default."""
        return self.gvr != CLUSTER_NETWORK_TOPOLOGIES or self.name == DEFAULT_NAME

    @property
    def order(self) -> tuple[int, NaturalKey]:
        """The sort key of the object among all that are used."""
        return list(KINDS).index(self.gvr.group), natural_key(self.name)


def read(obj: Mapping[str, Any]) -> DeclaredTopology:
    """Return what a ClusterNetworkTopology declares.

    Never raises: a problem is a part of the result.
    """
    metadata, status = obj["metadata"], obj.get("status")
    said = DeclaredTopology(
        uid=metadata["uid"],
        name=metadata["name"],
        generation=_whole(metadata.get("generation")),
        status=status if isinstance(status, Mapping) else {},
    )
    try:
        return replace(said, tree_spec=TreeSpec(f"{said.kind} {said.name}", _layers(obj)))
    except (InvalidField, InvalidLayers) as error:
        return replace(said, problem=str(error))


def _whole(number: object) -> int:
    return number if isinstance(number, int) else 0


def _layers(obj: Mapping[str, Any]) -> Layers:
    # The status may be large, and the tree does not depend on it.
    spec = parse_spec(ClusterNetworkTopology, {**obj, "status": {}}).spec
    return layers.in_order(
        [
            Layer(each.topology_layer, each.parent_topology_layer, each.label_key)
            for each in spec.network_topology_spec
        ]
    )
