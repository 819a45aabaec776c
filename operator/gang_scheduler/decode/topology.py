"""Topology trees that objects declare, and topology requests of whole gangs."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Final, NamedTuple

import msgspec

from gang_scheduler.api import annotations
from gang_scheduler.api.kinds import CLUSTER_NETWORK_TOPOLOGIES, GVR, KUEUE_TOPOLOGIES
from gang_scheduler.api.parsing import IS, Faults, InvalidField, parse_spec
from gang_scheduler.api.topology import DEFAULT_NAME, ClusterNetworkTopology
from gang_scheduler.decode import fields
from gang_scheduler.decode.fields import JsonField
from gang_scheduler.model import layers, records
from gang_scheduler.model.layers import NODE_LAYER, InvalidLayers, Layer, Layers, TreeSpec
from gang_scheduler.model.refs import NaturalKey, natural_key
from gang_scheduler.model.topology_request import (
    HOSTNAME,
    GangRequest,
    LayerRef,
    Slices,
    TopologyRequest,
)
from gang_scheduler.model.wording import field as fields_field
from gang_scheduler.wire.base import Wire

# The topology request of a whole gang, in the network-topology-spec annotation of a PodGroup or a
# pod.

MUST, PREFER = "MustGather", "PreferGather"
MOST_LAYERS: Final = 32
"""The most entries of a request: as many layers as a ClusterNetworkTopology can have."""
SPEC_FIELD: Final = fields_field(annotations.NETWORK_TOPOLOGY_SPEC)


class _Rule(NamedTuple):
    """An entry of `gatherStrategy`."""

    layer: str
    strategy: str
    multiple: int


NO_RULE: Final = _Rule("", "", 1)


def network_topology_spec(present: Mapping[str, str]) -> TopologyRequest | None:
    """Return the request of the annotation; None if it is absent or empty.

    Raises InvalidField for all faults in it.
    """
    text = present.get(annotations.NETWORK_TOPOLOGY_SPEC)
    return None if text is None else _spec(text)


def of_pod(present: Mapping[str, str]) -> GangRequest | None:
    """Return the topology request of a pod for its gang; None without the annotation.

    Equal requests share one object.
    """
    text = present.get(annotations.NETWORK_TOPOLOGY_SPEC)
    return None if text is None else _of_pod(text)


@records.by_short_texts(1024)
def _of_pod(text: str) -> GangRequest:
    try:
        return GangRequest(_spec(text))
    except InvalidField as error:
        return GangRequest(None, problem=str(error))


@records.by_short_texts(1024)
def _spec(text: str) -> TopologyRequest | None:
    faults = Faults()
    found = faults.read(lambda: _rules(fields.read_json(SPEC_FIELD, text), faults), ())
    faults.check()
    # The order of the list has no meaning: requests that differ only in order are equal.
    rules = sorted(found)
    if not rules:
        return None
    return TopologyRequest(
        must=tuple(LayerRef(each.layer) for each in rules if each.strategy == MUST),
        prefer=tuple(LayerRef(each.layer) for each in rules if each.strategy == PREFER),
        slices=tuple(
            Slices(LayerRef(each.layer), each.multiple, whole=True)
            for each in rules
            if each.multiple > 1
        ),
        where=SPEC_FIELD,
    )


def _rules(spec: JsonField, faults: Faults) -> Sequence[_Rule]:
    """Return the valid entries. Raises InvalidField if there is none."""
    listed = spec.fields("gatherStrategy", faults=faults)["gatherStrategy"]
    entries = listed.items(MOST_LAYERS) if listed.value is not None else ()
    seen: set[str] = set()
    return [faults.read(partial(_rule, each, seen, faults), NO_RULE) for each in entries]


def _rule(entry: JsonField, seen: set[str], faults: Faults) -> _Rule:
    """Return an entry, and add its layer to `seen`."""
    known = entry.fields("layer", "strategy", "podCountMultiple", faults=faults)
    layer, strategy, multiple = known.values()
    return _Rule(
        faults.read(lambda: _layer(layer, seen), ""),
        faults.read(lambda: _strategy(strategy), ""),
        faults.read(lambda: 1 if multiple.value is None else multiple.whole_number(), 1),
    )


def _layer(layer: JsonField, seen: set[str]) -> str:
    name = layer.text()
    if name in seen:
        raise layer.wrong("must be listed once")
    seen.add(name)
    return name


def _strategy(strategy: JsonField) -> str:
    if strategy.text() not in (MUST, PREFER):
        raise strategy.wrong(f"must be {MUST} or {PREFER}")
    return strategy.text()


# ClusterNetworkTopologies: objects that declare a topology tree.

KINDS: Final = {
    CLUSTER_NETWORK_TOPOLOGIES.group: "ClusterNetworkTopology",
    KUEUE_TOPOLOGIES[0].group: "Topology",
}
"""The kinds by their API group. Layers are looked up in their trees in this order."""
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
        """Whether its tree is used: only the default ClusterNetworkTopology has one."""
        return self.gvr != CLUSTER_NETWORK_TOPOLOGIES or self.name == DEFAULT_NAME

    @property
    def order(self) -> tuple[int, NaturalKey]:
        """The sort key of the object among all objects in use."""
        return list(KINDS).index(self.gvr.group), natural_key(self.name)


def read(obj: Mapping[str, Any]) -> DeclaredTopology:
    """Return the declaration of a ClusterNetworkTopology.

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


# Topologies of Kueue (kueue.x-k8s.io): node labels, listed from the top down, make a tree.


class _Level(Wire, frozen=True):
    """`spec.levels[]`."""

    node_label: str = ""


class _Spec(Wire, frozen=True):
    """`spec`."""

    levels: list[_Level] = msgspec.field(default_factory=list)


class Topology(Wire, frozen=True):
    """The fields read of a Topology, the same in every version."""

    spec: _Spec = _Spec()


def read_kueue_topology(obj: Mapping[str, Any]) -> DeclaredTopology:
    """Return the declaration of a Topology.

    Never raises: a problem is a part of the result.
    """
    metadata = obj["metadata"]
    group, plural = KUEUE_TOPOLOGIES[0].group, KUEUE_TOPOLOGIES[0].plural
    version = str(obj["apiVersion"]).rpartition("/")[2]
    said = DeclaredTopology(
        uid=metadata["uid"], name=metadata["name"], gvr=GVR(group, version, plural)
    )
    try:
        keys = list(_keys(fields.read(obj, Topology).spec.levels))
    except InvalidField as error:
        return replace(said, problem=str(error))
    return replace(said, tree_spec=_tree_spec(f"{said.kind} {said.name}", keys))


def _keys(levels: Sequence[_Level]) -> Iterator[str]:
    """Yield the label keys from the top down. Raises InvalidField."""
    if not levels:
        raise InvalidField("spec.levels", None, "must name a label of the nodes")
    seen: set[str] = set()
    for i, level in enumerate(levels):
        key, where = level.node_label, f"spec.levels[{i}].nodeLabel"
        if not key:
            raise InvalidField(where, None, "is required")
        if key in seen:
            raise InvalidField(where, key, "must differ from the keys of the layers above", IS)
        if key == HOSTNAME and i < len(levels) - 1:
            raise InvalidField(where, key, "must be the label of a layer above the nodes")
        seen.add(key)
        yield key


def _tree_spec(name: str, keys: Sequence[str]) -> TreeSpec:
    """Return the spec of the tree. As in Kueue, nodes without one of the labels are left out."""
    upper = [key for key in keys if key != HOSTNAME]
    parents = ["", *upper]
    line = [Layer(key, above, (key,)) for key, above in zip(upper, parents, strict=False)]
    return TreeSpec(
        name=name,
        layers=(*line, Layer(NODE_LAYER, parents[-1])),
        lone_nodes=False,
        node_label=HOSTNAME if HOSTNAME in keys else "",
    )
