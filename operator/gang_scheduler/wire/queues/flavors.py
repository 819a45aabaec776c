"""What is read of ResourceFlavors, those of Kueue and ours."""

from msgspec import field

from gang_scheduler.wire.metadata import Metadata
from gang_scheduler.wire.nodes import Taint
from gang_scheduler.wire.pods import Toleration
from gang_scheduler.wire.structs import Wire


class ResourceFlavorSpec(Wire, frozen=True):
    """`spec` of a ResourceFlavor."""

    node_labels: dict[str, str] = field(default_factory=dict)
    node_taints: list[Taint] = field(default_factory=list)
    tolerations: list[Toleration] = field(default_factory=list)
    topology_name: str = ""


class ResourceFlavor(Wire, frozen=True):
    """A ResourceFlavor."""

    metadata: Metadata
    spec: ResourceFlavorSpec = ResourceFlavorSpec()
