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


class Terminated(Wire, frozen=True):
    """`status.containerStatuses[].state.terminated`."""

    message: str = ""
    finished_at: str = ""


class ContainerState(Wire, frozen=True):
    """`status.containerStatuses[].state` and `lastState`."""

    terminated: Terminated | None = None


NO_STATE = ContainerState()


class ContainerStatus(Wire, frozen=True):
    """`status.containerStatuses[]`: how it ended, and what the kubelet allocated in a resize."""

    name: str = ""
    state: ContainerState = NO_STATE
    last_state: ContainerState = NO_STATE
    resources: ResourceRequirements | None = None
    allocated_resources: Quantities = field(default_factory=dict)
