"""How gangs save their work before they are evicted, and what is known of what they saved.

All times are in seconds since the epoch.
"""

import enum
from collections.abc import Collection
from dataclasses import dataclass
from typing import Final, NamedTuple

from gang_scheduler.model.values import CheckpointOutcome

LONGEST_PATH: Final = 1024
"""How many characters the name of a checkpoint may have."""
GREATEST_STEP: Final = 2**53 - 1
"""The last step that every reader of JSON takes for a whole number."""


class CheckpointMode(enum.StrEnum):
    """How a gang is told to save its work."""

    SIGNAL = "Signal"
    """By the deletion of its pods: the kubelet sends SIGTERM."""
    ANNOTATION = "Annotation"
    """By annotations of its members."""
    HTTP = "HTTP"
    """By a request to its first member."""


@dataclass(frozen=True, slots=True)
class CheckpointPolicy:
    """What a gang says of it. `timeout_seconds` is None where the queue or the setting decides.

    `port` and `path` are those of the requests in mode HTTP; port 0: none is said.
    """

    mode: CheckpointMode = CheckpointMode.SIGNAL
    timeout_seconds: int | None = None
    port: int = 0
    path: str = "/"


BY_SIGNAL: Final = CheckpointPolicy()
"""That of gangs that say nothing."""


class Request(NamedTuple):
    """That a gang is asked to save its work: the id of the request, and since when it stands."""

    id: str
    at: int


class Save(NamedTuple):
    """Work that was saved, at `done_at`. `request_id` is "" where the gang was not asked.

    `step` is None and `path` "" where the gang does not tell. `workload_uid` is that of the
    workload whose pods saved it, "" where it is not known.
    """

    done_at: int
    step: int | None = None
    path: str = ""
    request_id: str = ""
    workload_uid: str = ""

    def is_like(self, other: "Save") -> bool:
        """Return whether both are the same work, told by several members or at several times."""
        tells = self.step is not None or bool(self.path)
        return tells and (self.step, self.path) == (other.step, other.path)

    def again(self, later: "Save") -> "Save | None":
        """Return what both tell if it is the same work, told more of; None if it is other work."""
        if not later.is_like(self) and later.done_at != self.done_at:
            return None
        step = self.step if later.step is None else later.step
        return later._replace(
            step=step,
            path=later.path or self.path,
            workload_uid=later.workload_uid or self.workload_uid,
        )


class Requested(NamedTuple):
    """The last request to a gang. `outcome` is None while it is not answered."""

    request: Request
    outcome: CheckpointOutcome | None = None


@dataclass(frozen=True, slots=True)
class PodCheckpoint:
    """What a pod says of checkpoints. Pods that say nothing have none of these.

    `policy` is what its template says, `request` the one that stands on it, and `save` what it
    reports. `resume_count` is what its binding says: how often its gang went on from a checkpoint.
    `unreadable` is what is wrong with a report that a container left behind, "" for nothing.
    """

    policy: CheckpointPolicy | None = None
    request: Request | None = None
    save: Save | None = None
    resume_count: int = 0
    unreadable: str = ""


@dataclass(frozen=True, slots=True)
class Checkpoints:
    """What is remembered of a gang: its `saves`, the newest first, and the last request.

    `resume_count` is how often it was bound to go on from one of these.
    """

    saves: tuple[Save, ...] = ()
    requested: Requested | None = None
    resume_count: int = 0

    @property
    def last(self) -> Save | None:
        """The newest save."""
        return self.saves[0] if self.saves else None

    def last_of(self, workloads: Collection[str]) -> Save | None:
        """Return the newest save of one of these workloads, by uid; where none is known, of any."""
        return next((each for each in self.saves if _is_of(each.workload_uid, workloads)), None)


def _is_of(uid: str, workloads: Collection[str]) -> bool:
    return not (uid and workloads) or uid in workloads


NO_CHECKPOINTS: Final = Checkpoints()


class News(NamedTuple):
    """What users should be told: that a gang was asked (no outcome), or what came of it.

    `save` is what it saved, if that is what it is about. `by` is the gang that room is made for, as
    the namespace may know it, and `seconds` how long the gang may take; "" and 0 of a gang that
    was not asked. `why` is what went wrong, where it did. `evicted`: it is to be
    evicted.
    """

    outcome: CheckpointOutcome | None
    save: Save | None = None
    by: str = ""
    seconds: int = 0
    why: str = ""
    evicted: bool = True
