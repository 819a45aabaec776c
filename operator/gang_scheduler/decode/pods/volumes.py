"""The volumes of a pod that may decide where it goes: claims, and disks that it names itself."""

from collections.abc import Iterable, Iterator

from gang_scheduler.model.volumes import Disk, PodVolume
from gang_scheduler.wire import pods as pod_wire
from gang_scheduler.wire.pod_volumes import Volume


def volumes_of(pod: pod_wire.Pod) -> tuple[PodVolume, ...]:
    """Return the volumes in the order of the pod; most pods have none."""
    if not pod.spec.volumes:
        return ()
    name = pod.metadata.name
    return tuple([volume for each in pod.spec.volumes for volume in _read(each, name)])


def _read(source: Volume, pod: str) -> Iterable[PodVolume]:
    if source.persistent_volume_claim is not None:
        return (PodVolume(claim=source.persistent_volume_claim.claim_name),)
    if source.ephemeral is not None:
        return (PodVolume(claim=f"{pod}-{source.name}", ephemeral=True),)
    return [PodVolume(disk=disk) for disk in _disks(source)]


def _disks(source: Volume) -> Iterator[Disk]:
    gce, aws, iscsi, rbd = (
        *(source.gce_persistent_disk, source.aws_elastic_block_store),
        *(source.iscsi, source.rbd),
    )
    if gce is not None:
        yield Disk((f"gce {gce.pd_name}",), gce.read_only)
    if aws is not None:
        # Only one pod a node may use such a volume, even read-only.
        yield Disk((f"aws {aws.volume_id}",))
    if iscsi is not None:
        yield Disk((f"iscsi {iscsi.iqn}",), iscsi.read_only)
    if rbd is not None:
        names = (f"rbd {monitor} {rbd.pool} {rbd.image}" for monitor in sorted(rbd.monitors))
        yield Disk(tuple(names), rbd.read_only)
