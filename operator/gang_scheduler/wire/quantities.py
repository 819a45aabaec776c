"""What is read of amounts of resources."""

from msgspec import field

from gang_scheduler.wire.structs import Int64, Wire

Quantity = str | Int64 | float
Quantities = dict[str, Quantity]


class ResourceRequirements(Wire, frozen=True):
    """`resources` of a container or a pod."""

    requests: Quantities = field(default_factory=dict)
    limits: Quantities = field(default_factory=dict)
