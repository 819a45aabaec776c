"""A gang that is asked to save its work."""

from dataclasses import dataclass

from gang_scheduler.model.checkpoints import CheckpointPolicy, Request
from gang_scheduler.model.pods import Pod
from gang_scheduler.model.refs import GangKey


@dataclass(frozen=True, slots=True)
class AskedGang:
    """A gang with victims in `pods`, in rank order; `deadline` is in seconds since the epoch."""

    key: GangKey
    policy: CheckpointPolicy
    request: Request
    deadline: int
    pods: tuple[Pod, ...]
