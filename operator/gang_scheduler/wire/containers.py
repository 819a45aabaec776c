"""What is read of containers and of their statuses."""

from msgspec import field

from gang_scheduler.wire.quantities import Quantities, ResourceRequirements
from gang_scheduler.wire.structs import Int32, Wire


class ContainerPort(Wire, frozen=True):
    """`spec.containers[].ports[]`."""

    host_port: Int32 = 0
    container_port: Int32 = 0
    protocol: str = "TCP"
    host_ip: str = field(default="", name="hostIP")


class ContainerRestartRule(Wire, frozen=True):
    """`spec.containers[].restartPolicyRules[]`."""

    action: str = ""


class VolumeMount(Wire, frozen=True):
    """`spec.containers[].volumeMounts[]`."""

    bind_mount_options: list[str] = field(default_factory=list)


class Container(Wire, frozen=True):
    """`spec.containers[]` and `spec.initContainers[]`."""

    name: str = ""
    resources: ResourceRequirements = ResourceRequirements()
    ports: list[ContainerPort] = field(default_factory=list)
    restart_policy: str = ""
    restart_policy_rules: list[ContainerRestartRule] = field(default_factory=list)
    volume_mounts: list[VolumeMount] = field(default_factory=list)


class ContainerStatus(Wire, frozen=True):
    """`status.containerStatuses[]`: what the kubelet has allocated during an in-place resize."""

    name: str = ""
    resources: ResourceRequirements | None = None
    allocated_resources: Quantities = field(default_factory=dict)
