"""What is read of nodes."""

from msgspec import field

from gang_scheduler.wire.conditions import Condition
from gang_scheduler.wire.metadata import Metadata
from gang_scheduler.wire.quantities import Quantities
from gang_scheduler.wire.structs import Wire


class Taint(Wire, frozen=True):
    """`spec.taints[]`."""

    key: str
    value: str = ""
    effect: str = "NoSchedule"


class NodeSpec(Wire, frozen=True):
    """`spec` of a node."""

    unschedulable: bool = False
    taints: list[Taint] = field(default_factory=list)


class NodeStatus(Wire, frozen=True):
    """`status` of a node."""

    allocatable: Quantities = field(default_factory=dict)
    capacity: Quantities = field(default_factory=dict)
    conditions: list[Condition] = field(default_factory=list)
    declared_features: list[str] = field(default_factory=list)


class Node(Wire, frozen=True):
    """A node."""

    metadata: Metadata
    spec: NodeSpec = NodeSpec()
    status: NodeStatus = NodeStatus()
