"""Claims, volumes and other storage objects: read from the wire, in the form the cache keeps."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from gang_scheduler.api.annotations import SELECTED_NODE
from gang_scheduler.decode import cluster, events, fields
from gang_scheduler.decode.fields import amounts
from gang_scheduler.model.api_words import Operator
from gang_scheduler.model.refs import ClaimRef, VolumeRef
from gang_scheduler.model.selectors import NodeTerm, Requirement
from gang_scheduler.model.volumes import FILESYSTEM, Need, Pool, Volume
from gang_scheduler.wire import volumes as volume_wire
from gang_scheduler.wire.base import Metadata, NodeSelector, NodeSelectorRequirement, Quantity

NO_PROVISIONER: Final = "kubernetes.io/no-provisioner"


@dataclass(frozen=True, slots=True)
class Claim:
    """A PersistentVolumeClaim.

    `volume` is the name of the volume that is, or will be, bound to the claim; `node` the node
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
    """A PersistentVolume.

    `claim` is the claim that is, or will be, bound to it, if any. `csi` is the driver and the
    handle of a CSI volume. `zones` are its zone and region labels, each with the values that a node
    may have.
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
        """Return whether the volume is, or will be, this claim's; a claimRef may lack the uid."""
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
    """A CSINode: the drivers on the node of its name, with their volume limits; None: no limit."""

    uid: str
    key: str
    drivers: tuple[tuple[str, int | None], ...] = ()


@dataclass(frozen=True, slots=True)
class CsiDriver:
    """A CSIDriver: whether it reports capacity, and whether its pods need a node that has it."""

    uid: str
    key: str
    tells_capacity: bool = False
    required: bool = False


@dataclass(frozen=True, slots=True)
class Capacity:
    """A CSIStorageCapacity. Without a `pool`, it reports no capacity."""

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

BIND_COMPLETED: Final = "pv.kubernetes.io/bind-completed"
OLD_CLASS: Final = "volume.beta.kubernetes.io/storage-class"
ZONE_LABELS: Final = (
    "failure-domain.beta.kubernetes.io/zone",
    "failure-domain.beta.kubernetes.io/region",
    "topology.kubernetes.io/zone",
    "topology.kubernetes.io/region",
)


def claim(body: Mapping[str, Any]) -> Claim:
    """Return a PersistentVolumeClaim. Raises InvalidField."""
    source = fields.read(body, volume_wire.Claim)
    metadata, spec = source.metadata, source.spec
    need = Need(
        storage_class=metadata.annotations.get(OLD_CLASS, spec.storage_class_name),
        size=_size(spec.resources.requests.get("storage"), "spec.resources.requests"),
        modes=tuple(sorted(set(spec.access_modes))),
        volume_mode=spec.volume_mode or FILESYSTEM,
        selector=cluster.label_requirements(spec.selector, "spec.selector"),
        attributes_class=spec.volume_attributes_class_name,
    )
    return Claim(
        ref=ClaimRef(metadata.namespace, metadata.name, metadata.uid),
        need=need,
        sole="ReadWriteOncePod" in spec.access_modes,
        volume=spec.volume_name,
        bound=bool(spec.volume_name) and BIND_COMPLETED in metadata.annotations,
        node=metadata.annotations.get(SELECTED_NODE, ""),
        lost=source.status.phase == "Lost",
        deleting=bool(metadata.deletion_timestamp),
        owner=metadata.controller.uid,
        version=_version(metadata),
    )


def persistent_volume(body: Mapping[str, Any]) -> PersistentVolume:
    """Return a PersistentVolume. Raises InvalidField."""
    source = fields.read(body, volume_wire.Volume)
    metadata, spec = source.metadata, source.spec
    volume = Volume(
        name=metadata.name,
        storage_class=metadata.annotations.get(OLD_CLASS, spec.storage_class_name),
        size=_size(spec.capacity.get("storage"), "spec.capacity"),
        modes=tuple(sorted(set(spec.access_modes))),
        volume_mode=spec.volume_mode or FILESYSTEM,
        attributes_class=spec.volume_attributes_class_name,
        labels=metadata.labels,
        nodes=_node_terms(spec.node_affinity.required),
    )
    owner, csi = spec.claim_ref, spec.csi
    return PersistentVolume(
        ref=VolumeRef(metadata.name, metadata.uid),
        volume=volume,
        claim=ClaimRef(owner.namespace, owner.name, owner.uid) if owner is not None else None,
        available=source.status.phase == "Available",
        deleting=bool(metadata.deletion_timestamp),
        csi=(csi.driver, csi.volume_handle) if csi and csi.driver and csi.volume_handle else None,
        zones=tuple(_zones(metadata.labels)),
        version=_version(metadata),
    )


def storage_class(body: Mapping[str, Any]) -> StorageClass:
    """Return a StorageClass. Raises InvalidField."""
    source = fields.read(body, volume_wire.StorageClass)
    return StorageClass(
        uid=source.metadata.uid,
        key=source.metadata.name,
        provisioner=source.provisioner,
        waits=source.volume_binding_mode == "WaitForFirstConsumer",
        nodes=tuple(_topology_term(term) for term in source.allowed_topologies),
    )


def csi_node(body: Mapping[str, Any]) -> CsiNode:
    """Return a CSINode. Raises InvalidField."""
    source = fields.read(body, volume_wire.CsiNode)
    drivers = ((each.name, each.allocatable.count) for each in source.spec.drivers)
    return CsiNode(source.metadata.uid, source.metadata.name, tuple(drivers))


def csi_driver(body: Mapping[str, Any]) -> CsiDriver:
    """Return a CSIDriver. Raises InvalidField."""
    source = fields.read(body, volume_wire.CsiDriver)
    spec = source.spec
    return CsiDriver(
        uid=source.metadata.uid,
        key=source.metadata.name,
        tells_capacity=spec.storage_capacity,
        required=spec.prevent_pod_scheduling_if_missing,
    )


def capacity(body: Mapping[str, Any]) -> Capacity:
    """Return a CSIStorageCapacity. Raises InvalidField."""
    source = fields.read(body, volume_wire.Capacity)
    # The maximum volume size, if the driver reports it, is a better bound than the sum.
    amount = source.capacity if source.maximum_volume_size is None else source.maximum_volume_size
    pool = None
    if amount is not None and source.node_topology is not None:
        nodes = cluster.label_requirements(source.node_topology, "nodeTopology")
        pool = Pool(_size(amount, "capacity"), nodes)
    name = f"{source.metadata.namespace}/{source.metadata.name}"
    return Capacity(source.metadata.uid, name, source.storage_class_name, pool)


def volume_attachment(body: Mapping[str, Any]) -> VolumeAttachment:
    """Return a VolumeAttachment. Raises InvalidField."""
    source = fields.read(body, volume_wire.VolumeAttachment)
    return VolumeAttachment(
        uid=source.metadata.uid,
        key=source.metadata.name,
        node=source.spec.node_name,
        driver=source.spec.attacher,
        volume=source.spec.source.persistent_volume_name,
    )


def _version(metadata: Metadata) -> int:
    return events.number_of(metadata.resource_version)


def _size(quantity: Quantity | None, where: str) -> int:
    return amounts({"storage": quantity}, where)["storage"] if quantity is not None else 0


def _node_terms(required: NodeSelector | None) -> tuple[NodeTerm, ...] | None:
    """Return the node terms of a volume. As in Kubernetes, matchFields match no node's name."""
    if required is None:
        return None
    return tuple(
        tuple(_requirement(each) for each in (*term.match_expressions, *term.match_fields))
        for term in required.node_selector_terms
    )


def _requirement(expression: NodeSelectorRequirement) -> Requirement:
    return Requirement(expression.key, expression.operator, tuple(expression.values))


def _topology_term(term: volume_wire.TopologyTerm) -> NodeTerm:
    expressions = term.match_label_expressions
    return tuple(Requirement(each.key, Operator.IN, tuple(each.values)) for each in expressions)


def _zones(labels: Mapping[str, str]) -> Iterator[tuple[str, tuple[str, ...]]]:
    for key in ZONE_LABELS:
        values = [each.strip() for each in labels.get(key, "").split("__")]
        # Kubernetes ignores a list with an empty entry.
        if all(values):
            yield key, tuple(sorted(set(values)))
