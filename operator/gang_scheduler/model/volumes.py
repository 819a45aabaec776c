"""The requirements of a pod's volumes on a node, and the existing volumes."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from gang_scheduler.model.selectors import NodeTerm, Requirement, hold

FILESYSTEM: Final = "Filesystem"
MANY: Final = frozenset({"ReadWriteMany", "ReadOnlyMany"})
PRIVATE: Final = ""
"""Stands for every volume that no other pod uses: such volumes are only counted."""


@dataclass(frozen=True, slots=True)
class Disk:
    """A disk that a pod names itself, by any of its `names`; one pod on a node may use it.

    Pods that only read may share a disk, except for kinds of disks that cannot be read-only.
    """

    names: tuple[str, ...]
    read_only: bool = False

    def conflicts(self, other: "Disk") -> bool:
        """Return whether both cannot be on one node (kube-scheduler's VolumeRestrictions)."""
        return not (self.read_only and other.read_only) and not set(self.names).isdisjoint(
            other.names
        )


@dataclass(frozen=True, slots=True)
class PodVolume:
    """A volume as the pod names it: a claim in its own namespace, or a disk.

    The claim of an `ephemeral` volume must belong to the pod.
    """

    claim: str = ""
    ephemeral: bool = False
    disk: Disk | None = None


@dataclass(frozen=True, slots=True)
class Need:
    """The requirements of an unbound claim of WaitForFirstConsumer.

    `claim` is its `namespace/name`, only if other pods use the claim, too. `volume` is the volume
    that is reserved for the claim, and `node` the node for which a volume is being created.
    """

    storage_class: str
    size: int = 0
    modes: tuple[str, ...] = ()
    volume_mode: str = FILESYSTEM
    selector: tuple[Requirement, ...] = ()
    attributes_class: str = ""
    claim: str = ""
    volume: str = ""
    node: str = ""

    @property
    def for_many_nodes(self) -> bool:
        """Whether pods on several nodes may use the volume at once."""
        return not MANY.isdisjoint(self.modes)


@dataclass(frozen=True, slots=True)
class Storage:
    """The requirements of a pod's volumes, by the present state of its claims.

    Pods with the same requirements are equal. `problem` is why no node is feasible, in
    kube-scheduler's words; empty if some may be. `affinities` are the node terms of each bound
    volume that has any, and `zones` its zone and region labels with the values that a node may
    have. `needs` are the unbound claims of WaitForFirstConsumer, smallest first. `sole` are
    ReadWriteOncePod claims (`namespace/name`) that several pods use. `attached` are drivers and
    handles of the volumes to attach, for drivers that have a limit on any node; the volume of an
    unbound claim counts by its class.
    """

    problem: str = ""
    affinities: tuple[tuple[NodeTerm, ...], ...] = ()
    zones: tuple[tuple[str, tuple[str, ...]], ...] = ()
    needs: tuple[Need, ...] = ()
    sole: tuple[str, ...] = ()
    disks: tuple[Disk, ...] = ()
    attached: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Volume:
    """A persistent volume that a claim can be bound to.

    `nodes` are the terms of its node affinity; None: all nodes reach it. `for_claim`: the volume
    is reserved for a certain claim.
    """

    name: str
    storage_class: str = ""
    size: int = 0
    modes: tuple[str, ...] = ()
    volume_mode: str = FILESYSTEM
    attributes_class: str = ""
    labels: Mapping[str, str] = field(default_factory=dict, hash=False)
    nodes: tuple[NodeTerm, ...] | None = None
    for_claim: bool = False

    def roomy(self, need: Need) -> bool:
        """Return whether the volume is large enough, and has the needed mode and class."""
        return (
            self.size >= need.size
            and self.volume_mode == need.volume_mode
            and self.attributes_class == need.attributes_class
        )

    def suits(self, need: Need) -> bool:
        """Return whether the volume can be bound to a need's claim (rule of FindMatchingVolume)."""
        if need.volume or self.for_claim:
            return self.name == need.volume
        return (
            self.storage_class == need.storage_class
            and self.roomy(need)
            and set(need.modes) <= set(self.modes)
            and hold(need.selector, self.labels)
        )


@dataclass(frozen=True, slots=True)
class Pool:
    """Room for new volumes of one class: of at most `size` bytes, on nodes with certain labels."""

    size: int
    nodes: tuple[Requirement, ...] = ()


@dataclass(frozen=True, slots=True)
class Provisioning:
    """How volumes of a class are created.

    `nodes` are terms that select the nodes for which volumes can be created, () for all. `pools` is
    the capacity that the driver reports, None without a report.
    """

    nodes: tuple[NodeTerm, ...] = ()
    pools: tuple[Pool, ...] | None = None


@dataclass(frozen=True, slots=True)
class SoleUse:
    """A pod uses a ReadWriteOncePod claim."""

    claim: str


@dataclass(frozen=True, slots=True)
class DiskUse:
    """A pod uses a disk on a node."""

    node: str
    disk: Disk


@dataclass(frozen=True, slots=True)
class Attachment:
    """A volume attached to a node by a pod. Private ones are counted one by one."""

    node: str
    driver: str
    handle: str = PRIVATE


Use = SoleUse | DiskUse | Attachment


@dataclass(frozen=True, slots=True, eq=False)
class Volumes:
    """The volumes of the cluster, if a pod to be placed uses any.

    `available` are the volumes that claims can be bound to, by class, smallest first and then by
    name. `provisioning` is by class, only for classes that create volumes. `uses` is how many pods
    on nodes have each use. `lingering` are attachments to nodes, with or without a pod there.
    `limits` are by driver and node. A driver in `installed` can be used only on its nodes.
    """

    available: Mapping[str, tuple[Volume, ...]] = field(default_factory=dict)
    provisioning: Mapping[str, Provisioning] = field(default_factory=dict)
    uses: Mapping[Use, int] = field(default_factory=dict)
    lingering: frozenset[Attachment] = frozenset()
    limits: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    installed: Mapping[str, frozenset[str]] = field(default_factory=dict)


NO_VOLUMES: Final = Volumes()
