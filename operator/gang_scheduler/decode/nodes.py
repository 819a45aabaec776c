"""From the wire to a node."""

from collections.abc import Mapping
from typing import Any

from gang_scheduler.decode.fields import amounts, read, timestamp
from gang_scheduler.model.nodes import Node, Taint
from gang_scheduler.wire import nodes as node_wire
from gang_scheduler.wire.conditions import Condition


def node(body: Mapping[str, Any]) -> Node:
    """Return the node. Raises InvalidField that names the field and the value."""
    return node_from_wire(read(body, node_wire.Node))


def node_from_wire(source: node_wire.Node) -> Node:
    """Return the node of a decoded struct. Raises InvalidField for nonsense quantities."""
    offered = amounts(source.status.allocatable or source.status.capacity, "status.allocatable")
    # A node that has not reported its condition yet has no allocatable resources either.
    ready = next((each for each in source.status.conditions if each.type == "Ready"), None)
    is_ready = ready is None or ready.status == "True"
    return Node(
        name=source.metadata.name,
        uid=source.metadata.uid,
        labels=source.metadata.labels,
        taints=tuple(Taint(each.key, each.value, each.effect) for each in source.spec.taints),
        unschedulable=source.spec.unschedulable,
        ready=is_ready,
        allocatable=tuple(sorted(offered.items())),
        features=frozenset(source.status.declared_features),
        not_ready_since=0 if is_ready or ready is None else _changed_at(ready),
    )


def _changed_at(condition: Condition) -> int:
    """Return when a condition got its status, in seconds since the epoch; 0 if it is not said."""
    return int(timestamp(condition.last_transition_time or "", "status.conditions[Ready]"))
