"""The fields that are read of claims, volumes and the objects that provision them."""

from msgspec import field

from gang_scheduler.wire.base import (
    Int32,
    LabelSelector,
    Metadata,
    NodeSelector,
    Quantities,
    Quantity,
    Wire,
)


class Named(Wire, frozen=True):
    """Base of all kinds here."""

    metadata: Metadata


class Requests(Wire, frozen=True):
    """`spec.resources` of a claim."""

    requests: Quantities = field(default_factory=dict)


class ClaimSpec(Wire, frozen=True):
    """`spec` of a PersistentVolumeClaim. The class "" means no class, not the default class."""

    access_modes: list[str] = field(default_factory=list)
    resources: Requests = Requests()
    selector: LabelSelector = LabelSelector()
    storage_class_name: str = ""
    volume_attributes_class_name: str = ""
    volume_mode: str = ""
    volume_name: str = ""


class ClaimStatus(Wire, frozen=True):
    """`status` of a PersistentVolumeClaim."""

    phase: str = ""


class Claim(Named, frozen=True):
    """A PersistentVolumeClaim."""

    spec: ClaimSpec = ClaimSpec()
    status: ClaimStatus = ClaimStatus()


class ClaimRef(Wire, frozen=True):
    """`spec.claimRef` of a volume."""

    namespace: str = ""
    name: str = ""
    uid: str = ""


class CsiSource(Wire, frozen=True):
    """`spec.csi` of a volume."""

    driver: str = ""
    volume_handle: str = ""


class VolumeNodeAffinity(Wire, frozen=True):
    """`spec.nodeAffinity` of a volume."""

    required: NodeSelector | None = None


class VolumeSpec(Wire, frozen=True):
    """`spec` of a PersistentVolume."""

    access_modes: list[str] = field(default_factory=list)
    capacity: Quantities = field(default_factory=dict)
    claim_ref: ClaimRef | None = None
    csi: CsiSource | None = None
    node_affinity: VolumeNodeAffinity = VolumeNodeAffinity()
    storage_class_name: str = ""
    volume_attributes_class_name: str = ""
    volume_mode: str = ""


class VolumeStatus(Wire, frozen=True):
    """`status` of a PersistentVolume."""

    phase: str = ""


class Volume(Named, frozen=True):
    """A PersistentVolume."""

    spec: VolumeSpec = VolumeSpec()
    status: VolumeStatus = VolumeStatus()


class TopologyRequirement(Wire, frozen=True):
    """`allowedTopologies[].matchLabelExpressions[]`."""

    key: str = ""
    values: list[str] = field(default_factory=list)


class TopologyTerm(Wire, frozen=True):
    """`allowedTopologies[]`."""

    match_label_expressions: list[TopologyRequirement] = field(default_factory=list)


class StorageClass(Named, frozen=True):
    """A StorageClass."""

    provisioner: str = ""
    volume_binding_mode: str = ""
    allowed_topologies: list[TopologyTerm] = field(default_factory=list)


class Allocatable(Wire, frozen=True):
    """`spec.drivers[].allocatable` of a CSINode."""

    count: Int32 | None = None


class NodeDriver(Wire, frozen=True):
    """`spec.drivers[]` of a CSINode."""

    name: str = ""
    allocatable: Allocatable = Allocatable()


class CsiNodeSpec(Wire, frozen=True):
    """`spec` of a CSINode."""

    drivers: list[NodeDriver] = field(default_factory=list)


class CsiNode(Named, frozen=True):
    """A CSINode."""

    spec: CsiNodeSpec = CsiNodeSpec()


class CsiDriverSpec(Wire, frozen=True):
    """`spec` of a CSIDriver."""

    storage_capacity: bool = False
    prevent_pod_scheduling_if_missing: bool = False


class CsiDriver(Named, frozen=True):
    """A CSIDriver."""

    spec: CsiDriverSpec = CsiDriverSpec()


class Capacity(Named, frozen=True):
    """A CSIStorageCapacity. Without a topology it applies to no node; with an empty one to all."""

    storage_class_name: str = ""
    node_topology: LabelSelector | None = None
    capacity: Quantity | None = None
    maximum_volume_size: Quantity | None = None


class AttachmentSource(Wire, frozen=True):
    """`spec.source` of a VolumeAttachment."""

    persistent_volume_name: str = ""


class AttachmentSpec(Wire, frozen=True):
    """`spec` of a VolumeAttachment."""

    attacher: str = ""
    node_name: str = ""
    source: AttachmentSource = AttachmentSource()


class VolumeAttachment(Named, frozen=True):
    """A VolumeAttachment."""

    spec: AttachmentSpec = AttachmentSpec()
