"""What is read of ProvisioningRequests, in all versions that are served."""

from msgspec import field

from gang_scheduler.wire.conditions import Condition
from gang_scheduler.wire.metadata import Metadata
from gang_scheduler.wire.structs import Wire


class Reference(Wire, frozen=True):
    """`spec.podSets[].podTemplateRef`."""

    name: str = ""


class PodSet(Wire, frozen=True):
    """`spec.podSets[]`."""

    pod_template_ref: Reference = Reference()


class Spec(Wire, frozen=True):
    """`spec`."""

    provisioning_class_name: str = ""
    pod_sets: list[PodSet] = field(default_factory=list)


class Status(Wire, frozen=True):
    """`status`."""

    conditions: list[Condition] = field(default_factory=list)


class ProvisioningRequest(Wire, frozen=True):
    """A ProvisioningRequest."""

    metadata: Metadata
    spec: Spec = Spec()
    status: Status = Status()
