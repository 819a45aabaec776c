"""What is read of the Queues of Volcano."""

from typing import Any

from msgspec import field

from gang_scheduler.wire.metadata import Metadata
from gang_scheduler.wire.quantities import Quantities
from gang_scheduler.wire.structs import Int32, Wire


class Guarantee(Wire, frozen=True):
    """`spec.guarantee`."""

    resource: Quantities = field(default_factory=dict)


class QueueSpec(Wire, frozen=True):
    """`spec` of a Queue."""

    weight: Int32 = 1
    capability: Quantities = field(default_factory=dict)
    deserved: Quantities = field(default_factory=dict)
    guarantee: Guarantee = Guarantee()
    parent: str = ""
    priority: Int32 = 0
    reclaimable: bool | None = None
    dequeue_strategy: str = ""
    affinity: dict[str, Any] | None = None
    extend_clusters: list[Any] = field(default_factory=list)


class QueueStatus(Wire, frozen=True):
    """`status` of a Queue."""

    state: str = ""


class Queue(Wire, frozen=True):
    """A Queue."""

    metadata: Metadata
    spec: QueueSpec = QueueSpec()
    status: QueueStatus = QueueStatus()
