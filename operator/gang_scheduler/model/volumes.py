"""What the volumes of a pod ask of a node, and what there is of volumes."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from gang_scheduler.model.requirements import NodeTerm, Requirement, hold

FILESYSTEM: Final = "Filesystem"
MANY: Final = frozenset({"ReadWriteMany", "ReadOnlyMany"})
PRIVATE: Final = ""
"""The handle of a volume that no other pod uses, and that nobody need tell from another."""


@dataclass(frozen=True, slots=True)
class Disk:
    """A disk that a pod names itself, by any of its `names`; it may be in use once a node.

    Pods that only read may share it, but for the kinds of disks that cannot be read only.
    """

    names: tuple[str, ...]
    read_only: bool = False

    def conflicts(self, other: "Disk") -> bool:
        """Tell whether both cannot be on one node (rule of kube-scheduler's VolumeRestrictions)."""
        return not (self.read_only and other.read_only) and not set(self.names).isdisjoint(
            other.names
        )


@dataclass(frozen=True, slots=True)
class PodVolume:
    """A volume of a pod as the pod names it: a claim of its own namespace, or a disk.

    The claim of an `ephemeral` one must belong to the pod.
    """

    claim: str = ""
    ephemeral: bool = False
    disk: Disk | None = None


@dataclass(frozen=True, slots=True)
class Need:
    """What a claim asks for that is bound only once its pod has a node.

    `claim` is its `namespace/name`, only where other pods use it, too. `volume` is the one that is
    kept for it, and `node` the one that a volume is being made for.
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
        """Pods on several nodes may use the volume at once."""
        return not MANY.isdisjoint(self.modes)


@dataclass(frozen=True, slots=True)
class Storage:
    """What the volumes of a pod ask for, as its claims are now. Pods that ask alike are equal.

    `problem` is why no node will do, in kube-scheduler's words; empty where some may.
    `affinities` are the node terms of each bound volume that has any, and `zones` its labels of
    zones and regions with the values that a node may have. `needs` are the claims that are bound
    only with the pod, smallest first. `sole` are claims (`namespace/name`) for one pod alone that
    several use. `attached` are drivers and handles of what will be attached to the node, of the
    drivers that have a limit anywhere; an unbound claim's volume counts as its class says.
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

    `nodes` are the terms of the nodes that reach it, None for all. One that is `for_claim` is for a
    certain claim only.
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
        """Tell whether it is large enough and of the kind that is needed."""
        return (
            self.size >= need.size
            and self.volume_mode == need.volume_mode
            and self.attributes_class == need.attributes_class
        )

    def suits(self, need: Need) -> bool:
        """Tell whether it can be bound to the claim of a need (rule of FindMatchingVolume)."""
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
    """How volumes of a class are made.

    `nodes` are the terms of the nodes that they can be made for, () for all; `pools` is the room
    that its driver says it has, None where it does not say.
    """

    nodes: tuple[NodeTerm, ...] = ()
    pools: tuple[Pool, ...] | None = None


@dataclass(frozen=True, slots=True)
class SoleUse:
    """A pod uses a claim that is for one pod alone."""

    claim: str


@dataclass(frozen=True, slots=True)
class DiskUse:
    """A pod uses a disk on a node."""

    node: str
    disk: Disk


@dataclass(frozen=True, slots=True)
class Attachment:
    """A pod has a volume attached to a node. Private ones are counted one by one."""

    node: str
    driver: str
    handle: str = PRIVATE


Use = SoleUse | DiskUse | Attachment


@dataclass(frozen=True, slots=True, eq=False)
class Volumes:
    """What there is of volumes, where a pod that is worth a try uses any.

    `available` are those that claims can be bound to, by class, smallest first and then by name.
    `provisioning` is by class; a class that makes no volumes is not in it. `uses` are how many
    pods on nodes use what. `lingering` are attachments to nodes whether or not a pod is there.
    `limits` are by driver and node. A driver in `installed` can be used on those nodes only.
    """

    available: Mapping[str, tuple[Volume, ...]] = field(default_factory=dict)
    provisioning: Mapping[str, Provisioning] = field(default_factory=dict)
    uses: Mapping[Use, int] = field(default_factory=dict)
    lingering: frozenset[Attachment] = frozenset()
    limits: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    installed: Mapping[str, frozenset[str]] = field(default_factory=dict)


NO_VOLUMES: Final = Volumes()
