"""What the bindings of a gang say of the checkpoint that it goes on from."""

from collections.abc import Mapping

from gang_scheduler.api import annotations
from gang_scheduler.model.checkpoints import Checkpoints
from gang_scheduler.model.pods import Pod
from gang_scheduler.state.checkpoints.records import CheckpointRecords
from gang_scheduler.state.gangs.gang_info import GangInfo


def annotations_of(records: CheckpointRecords, info: GangInfo | None) -> Mapping[str, str]:
    """Return the annotations of the bindings of a gang; none where its workload has saved nothing.

    Members that join a gang which goes on have the count of those that are there.
    """
    if info is None:
        return {}
    found = records.of(info.key)
    last = found.last_of(records.workloads_of(info.key))
    if last is None:
        return {}
    said = {annotations.RESUME_COUNT: str(_count(found, info))}
    if last.path:
        said[annotations.RESUME_PATH] = last.path
    if last.step is not None:
        said[annotations.RESUME_STEP] = str(last.step)
    return said


def _count(found: Checkpoints, info: GangInfo) -> int:
    """Return how often the gang has gone on from a checkpoint, this time included."""
    there = max(map(_told_by, info.observed.with_node()), default=0)
    return there or found.resume_count + 1


def _told_by(pod: Pod) -> int:
    return pod.checkpoint.resume_count if pod.checkpoint is not None else 0
