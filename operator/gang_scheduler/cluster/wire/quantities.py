"""What is read of amounts of resources."""

from msgspec import field

from gang_scheduler.cluster.wire.structs import Wire

Quantity = str | int | float
Quantities = dict[str, Quantity]


class ResourceRequirements(Wire, frozen=True):
    """`resources` of a container or a pod."""

    requests: Quantities = field(default_factory=dict)
    limits: Quantities = field(default_factory=dict)
