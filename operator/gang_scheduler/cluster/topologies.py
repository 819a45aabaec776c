"""The ClusterNetworkTopologies as last seen, and the tree that the one named `default` makes.

Plain synchronous code, a part of the cache. Nothing is built before somebody looks, and then once
for as long as neither the nodes nor the layers change.
"""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

from gang_scheduler.api.network_topology import DEFAULT_NAME, ClusterNetworkTopology
from gang_scheduler.api.parsing import InvalidField, parse_spec
from gang_scheduler.model import layers, topology
from gang_scheduler.model.layers import InvalidLayers, Layer, Layers, Scheme
from gang_scheduler.model.nodes import NodeTable
from gang_scheduler.model.topology import Topology


@dataclass(frozen=True, slots=True)
class DeclaredTopology:
    """A ClusterNetworkTopology as it was read. `problem` says why it has no layers."""

    uid: str
    name: str
    layers: Layers = ()
    problem: str = ""
    generation: int = 0
    status: Mapping[str, Any] = field(default_factory=dict)


def read(obj: Mapping[str, Any]) -> DeclaredTopology:
    """Return what an object says. Never raises: what is wrong with it is a part of the answer."""
    found: Layers = ()
    problem = ""
    try:
        found = _layers(obj)
    except (InvalidField, InvalidLayers) as error:
        problem = str(error)
    metadata, status = obj["metadata"], obj.get("status")
    return DeclaredTopology(
        uid=metadata["uid"],
        name=metadata["name"],
        layers=found,
        problem=problem,
        generation=metadata.get("generation", 0),
        status=status if isinstance(status, Mapping) else {},
    )


def _layers(obj: Mapping[str, Any]) -> Layers:
    # The status may be large, and says nothing new to us.
    spec = parse_spec(ClusterNetworkTopology, {**obj, "status": {}}).spec
    return layers.in_order(
        [
            Layer(each.topology_layer, each.parent_topology_layer, each.label_key)
            for each in spec.network_topology_spec
        ]
    )


class Topologies:
    """All topologies by uid; `on_change` is called when what they say may be another thing now."""

    def __init__(self) -> None:
        self.on_change: Callable[[], None] = lambda: None
        self.declared: dict[str, DeclaredTopology] = {}
        self._layers: Layers = ()

    @property
    def uids(self) -> Collection[str]:
        """The uids of all that exist."""
        return self.declared.keys()

    def seen(self, declared: DeclaredTopology) -> None:
        """Take in an object. One without layers leaves those of its earlier spec in force."""
        if declared.name == DEFAULT_NAME:
            self._forget_earlier_lives(declared)
            self._layers = declared.layers or self._layers
        self.declared[declared.uid] = declared
        self.on_change()

    def gone(self, uid: str) -> None:
        """Forget an object, and the tree if it was the default."""
        gone = self.declared.pop(uid, None)
        if gone is not None and gone.name == DEFAULT_NAME:
            self._layers = ()

    def nodes_changed(self) -> None:
        """Note that the nodes are others now."""
        if self.declared:
            self.on_change()

    def tree(self, nodes: NodeTable) -> Topology | None:
        """Return the tree over these nodes; None while there are no layers to make one of."""
        if not self._layers:
            return None
        return topology.build(Scheme(f"ClusterNetworkTopology {DEFAULT_NAME}", self._layers), nodes)

    def _forget_earlier_lives(self, declared: DeclaredTopology) -> None:
        # The deletion of one of the same name was missed: another uid is another object.
        for each in list(self.declared.values()):
            if each.name == declared.name and each.uid != declared.uid:
                self.gone(each.uid)
