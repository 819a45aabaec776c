"""What is read of `spec.volumes[]` of a pod."""

from msgspec import field

from gang_scheduler.wire.structs import Wire


class ClaimSource(Wire, frozen=True):
    """`spec.volumes[].persistentVolumeClaim`."""

    claim_name: str = ""


class GceDisk(Wire, frozen=True):
    """`spec.volumes[].gcePersistentDisk`."""

    pd_name: str = ""
    read_only: bool = False


class AwsDisk(Wire, frozen=True):
    """`spec.volumes[].awsElasticBlockStore`."""

    volume_id: str = field(default="", name="volumeID")


class IscsiDisk(Wire, frozen=True):
    """`spec.volumes[].iscsi`."""

    iqn: str = ""
    read_only: bool = False


class RbdDisk(Wire, frozen=True):
    """`spec.volumes[].rbd`."""

    monitors: list[str] = field(default_factory=list)
    pool: str = "rbd"
    image: str = ""
    read_only: bool = False


class Volume(Wire, frozen=True):
    """`spec.volumes[]`: only the fields that may decide where the pod goes."""

    name: str = ""
    persistent_volume_claim: ClaimSource | None = None
    ephemeral: dict[str, object] | None = None
    gce_persistent_disk: GceDisk | None = None
    aws_elastic_block_store: AwsDisk | None = None
    iscsi: IscsiDisk | None = None
    rbd: RbdDisk | None = None
