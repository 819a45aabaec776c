"""The fields of Nodes, PodDisruptionBudgets and Leases that are read."""

from msgspec import field

from gang_scheduler.wire.base import (
    Condition,
    Int32,
    Int64,
    LabelSelector,
    Metadata,
    Quantities,
    Wire,
)


class PodDisruptionBudgetSpec(Wire, frozen=True):
    """`spec` of a PodDisruptionBudget. Without a selector the budget covers no pod."""

    selector: LabelSelector | None = None
    min_available: Int32 | str | None = None
    max_unavailable: Int32 | str | None = None


class PodDisruptionBudgetStatus(Wire, frozen=True):
    """`status` of a PodDisruptionBudget, and the generation that it is about."""

    observed_generation: Int64 = 0
    disruptions_allowed: Int32 = 0


class PodDisruptionBudget(Wire, frozen=True):
    """A PodDisruptionBudget."""

    metadata: Metadata
    spec: PodDisruptionBudgetSpec = PodDisruptionBudgetSpec()
    status: PodDisruptionBudgetStatus | None = None


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


class LeaseSpec(Wire, frozen=True):
    """`spec` of a Lease: its holder, and when and for how long it was renewed."""

    holder_identity: str = ""
    renew_time: str = ""
    lease_duration_seconds: int = 0


class Lease(Wire, frozen=True):
    """A Lease of leader election."""

    metadata: Metadata = field(default_factory=Metadata)
    spec: LeaseSpec = LeaseSpec()
