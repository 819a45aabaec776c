"""Claims, volumes and other storage objects, as the cache keeps them."""

from dataclasses import dataclass, field
from typing import Final

from gang_scheduler.model.affinity.requirements import NodeTerm
from gang_scheduler.model.refs import ClaimRef, VolumeRef
from gang_scheduler.model.volumes import Need, Pool, Volume

NO_PROVISIONER: Final = "kubernetes.io/no-provisioner"


@dataclass(frozen=True, slots=True)
class Claim:
    """A PersistentVolumeClaim.

    `volume` is the name of the volume that the claim is, or is to be, bound to; `node` the node
    selected for it. `sole`: ReadWriteOncePod. `owner` is the uid of the claim's controller.
    """

    ref: ClaimRef
    need: Need
    sole: bool = False
    volume: str = ""
    bound: bool = False
    node: str = ""
    lost: bool = False
    deleting: bool = False
    owner: str = ""
    version: int = field(default=0, compare=False)

    @property
    def uid(self) -> str:
        """Its uid."""
        return self.ref.uid

    @property
    def key(self) -> str:
        """`namespace/name`."""
        return self.ref.key


@dataclass(frozen=True, slots=True)
class PersistentVolume:
    """A PersistentVolume. `claim` is the claim that it is, or is to be, bound to, if any.

    `csi` is the driver and the handle of a CSI volume. `zones` are its zone and region labels, each
    with the values that a node may have.
    """

    ref: VolumeRef
    volume: Volume
    claim: ClaimRef | None = None
    available: bool = False
    deleting: bool = False
    csi: tuple[str, str] | None = None
    zones: tuple[tuple[str, tuple[str, ...]], ...] = ()
    version: int = field(default=0, compare=False)

    @property
    def uid(self) -> str:
        """Its uid."""
        return self.ref.uid

    @property
    def key(self) -> str:
        """Its name."""
        return self.ref.name

    def belongs_to(self, claim: Claim) -> bool:
        """Return whether the volume is, or is to be, this claim's; a claimRef may lack the uid."""
        if self.claim is None or self.claim.key != claim.key:
            return False
        return self.claim.uid in ("", claim.uid)


@dataclass(frozen=True, slots=True)
class StorageClass:
    """A StorageClass. `waits`: WaitForFirstConsumer. `nodes` are its allowed topologies."""

    uid: str
    key: str
    provisioner: str = ""
    waits: bool = False
    nodes: tuple[NodeTerm, ...] = ()

    @property
    def makes_volumes(self) -> bool:
        """Whether a provisioner makes volumes of the class."""
        return self.provisioner not in ("", NO_PROVISIONER)


@dataclass(frozen=True, slots=True)
class CsiNode:
    """A CSINode: the drivers on the node of its name, each with its limit; None is no limit."""

    uid: str
    key: str
    drivers: tuple[tuple[str, int | None], ...] = ()


@dataclass(frozen=True, slots=True)
class CsiDriver:
    """A CSIDriver: whether it reports capacity, and whether a node must have it before a pod."""

    uid: str
    key: str
    tells_capacity: bool = False
    required: bool = False


@dataclass(frozen=True, slots=True)
class Capacity:
    """A CSIStorageCapacity. Without a `pool` there is no capacity."""

    uid: str
    key: str
    storage_class: str = ""
    pool: Pool | None = None


@dataclass(frozen=True, slots=True)
class VolumeAttachment:
    """A VolumeAttachment of a persistent volume."""

    uid: str
    key: str
    node: str = ""
    driver: str = ""
    volume: str = ""


VolumeObject = (
    Claim | PersistentVolume | StorageClass | CsiNode | CsiDriver | Capacity | VolumeAttachment
)
