"""What is read of `spec.affinity`: which nodes a pod asks for, and which other pods."""

from msgspec import field

from gang_scheduler.wire.selectors import LabelSelector, NodeSelector, NodeSelectorTerm
from gang_scheduler.wire.structs import Int32, Wire

REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"


class PreferredSchedulingTerm(Wire, frozen=True):
    """A node selector term, and its weight."""

    weight: Int32 = 0
    preference: NodeSelectorTerm = NodeSelectorTerm()


class NodeAffinity(Wire, frozen=True):
    """`spec.affinity.nodeAffinity`."""

    required: NodeSelector | None = field(default=None, name=REQUIRED)
    preferred: list[PreferredSchedulingTerm] = field(default_factory=list, name=PREFERRED)


class PodAffinityTerm(Wire, frozen=True):
    """To be near to, or far from, selected pods."""

    label_selector: LabelSelector | None = None
    namespaces: list[str] = field(default_factory=list)
    namespace_selector: LabelSelector | None = None
    topology_key: str = ""
    match_label_keys: list[str] = field(default_factory=list)
    mismatch_label_keys: list[str] = field(default_factory=list)


class WeightedPodAffinityTerm(Wire, frozen=True):
    """A pod affinity term, and its weight."""

    weight: Int32 = 0
    pod_affinity_term: PodAffinityTerm = PodAffinityTerm()


class PodAffinity(Wire, frozen=True):
    """`spec.affinity.podAffinity` and `podAntiAffinity`."""

    required: list[PodAffinityTerm] = field(default_factory=list, name=REQUIRED)
    preferred: list[WeightedPodAffinityTerm] = field(default_factory=list, name=PREFERRED)


class Affinity(Wire, frozen=True):
    """`spec.affinity`."""

    node_affinity: NodeAffinity = NodeAffinity()
    pod_affinity: PodAffinity = PodAffinity()
    pod_anti_affinity: PodAffinity = PodAffinity()
