"""Topologies of Kueue (kueue.x-k8s.io): node labels from the top down make a tree."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import msgspec

from gang_scheduler.api.kinds import GVR, KUEUE_TOPOLOGIES
from gang_scheduler.api.parsing import InvalidField
from gang_scheduler.decode import fields
from gang_scheduler.decode.network.topologies import DeclaredTopology
from gang_scheduler.model.network.layers import NODE_LAYER, Layer, TreeSpec
from gang_scheduler.model.network.topology_request import HOSTNAME
from gang_scheduler.wire.structs import Wire


class _Level(Wire, frozen=True):
    """`spec.levels[]`."""

    node_label: str = ""


class _Spec(Wire, frozen=True):
    """`spec`."""

    levels: list[_Level] = msgspec.field(default_factory=list)


class Topology(Wire, frozen=True):
    """The fields read of a Topology, the same in every version."""

    spec: _Spec = _Spec()


def read(obj: Mapping[str, Any]) -> DeclaredTopology:
    """Return what a Topology declares.

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
            raise InvalidField(where, key, "must differ from those above")
        if key == HOSTNAME and i < len(levels) - 1:
            raise InvalidField(where, key, "must be the label of a layer above the nodes")
        seen.add(key)
        yield key


def _tree_spec(name: str, keys: Sequence[str]) -> TreeSpec:
    """Return how the tree is made: as Kueue does, without the nodes that lack any label."""
    upper = [key for key in keys if key != HOSTNAME]
    parents = ["", *upper]
    line = [Layer(key, above, (key,)) for key, above in zip(upper, parents, strict=False)]
    return TreeSpec(
        name=name,
        layers=(*line, Layer(NODE_LAYER, parents[-1])),
        lone_nodes=False,
        node_label=HOSTNAME if HOSTNAME in keys else "",
    )
