"""From the wire to a node."""

from collections.abc import Mapping
from typing import Any

from gang_scheduler.decode.fields import amounts, read
from gang_scheduler.model.nodes import Node, Taint
from gang_scheduler.wire import nodes as node_wire


def node(body: Mapping[str, Any]) -> Node:
    """Return the node. Raises InvalidField that names the field and the value."""
    return node_from_wire(read(body, node_wire.Node))


def node_from_wire(source: node_wire.Node) -> Node:
    """Return the node of a decoded struct. Raises InvalidField for nonsense quantities."""
    offered = amounts(source.status.allocatable or source.status.capacity, "status.allocatable")
    # A node that has not reported its condition yet has no allocatable resources either.
    ready = (each.status == "True" for each in source.status.conditions if each.type == "Ready")
    return Node(
        name=source.metadata.name,
        uid=source.metadata.uid,
        labels=source.metadata.labels,
        taints=tuple(Taint(each.key, each.value, each.effect) for each in source.spec.taints),
        unschedulable=source.spec.unschedulable,
        ready=next(ready, True),
        allocatable=tuple(sorted(offered.items())),
        features=frozenset(source.status.declared_features),
    )
