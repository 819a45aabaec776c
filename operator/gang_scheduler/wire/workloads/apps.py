"""What is read of StatefulSets."""

from gang_scheduler.wire.metadata import Metadata
from gang_scheduler.wire.pods import PodTemplate
from gang_scheduler.wire.structs import Count, Wire


class StatefulSetSpec(Wire, frozen=True):
    """`spec` of a StatefulSet."""

    replicas: Count = 1
    pod_management_policy: str = "OrderedReady"
    template: PodTemplate = PodTemplate()


class StatefulSet(Wire, frozen=True):
    """A StatefulSet."""

    metadata: Metadata
    spec: StatefulSetSpec = StatefulSetSpec()
