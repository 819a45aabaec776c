"""How gangs save their work before they are evicted, and the known checkpoints.

All times are in seconds since the epoch.
"""

import enum
from collections.abc import Collection
from dataclasses import dataclass
from typing import Final, NamedTuple

from gang_scheduler.model.api_words import CheckpointOutcome

LONGEST_PATH: Final = 1024
"""How many characters the name of a checkpoint may have."""
GREATEST_STEP: Final = 2**53 - 1
"""The last step: JSON readers that use floating point lose precision above it."""


class CheckpointMode(enum.StrEnum):
    """How a gang is asked to save its work."""

    SIGNAL = "Signal"
    """By the deletion of its pods: the kubelet sends SIGTERM."""
    ANNOTATION = "Annotation"
    """By annotations of its members."""
    HTTP = "HTTP"
    """By a request to its first member."""


@dataclass(frozen=True, slots=True)
class CheckpointPolicy:
    """The policy that a gang declares. `timeout_seconds` is None if the queue or setting decides.

    `port` and `path` are for the requests in mode HTTP; port 0: no port is declared.
    """

    mode: CheckpointMode = CheckpointMode.SIGNAL
    timeout_seconds: int | None = None
    port: int = 0
    path: str = "/"


BY_SIGNAL: Final = CheckpointPolicy()
"""The policy of gangs that declare none."""


class Request(NamedTuple):
    """A request to a gang to save its work: its id, and since when it is pending."""

    id: str
    at: int


class Save(NamedTuple):
    """Work that was saved at `done_at`.

    `request_id` is "" if the scheduler did not request the save. `step` is None and `path` "" if
    the gang does not report them. `workload_uid` is the workload whose pods saved the work, "" if
    unknown.
    """

    done_at: int
    step: int | None = None
    path: str = ""
    request_id: str = ""
    workload_uid: str = ""

    def is_like(self, other: "Save") -> bool:
        """Return whether both report the same save, by several members or repeatedly."""
        tells = self.step is not None or bool(self.path)
        return tells and (self.step, self.path) == (other.step, other.path)

    def again(self, later: "Save") -> "Save | None":
        """Merge two reports of one checkpoint; None if they are of different ones."""
        if not later.is_like(self) and later.done_at != self.done_at:
            return None
        step = self.step if later.step is None else later.step
        return later._replace(
            step=step,
            path=later.path or self.path,
            workload_uid=later.workload_uid or self.workload_uid,
        )


class Requested(NamedTuple):
    """The last request to a gang. `outcome` is None until it is answered."""

    request: Request
    outcome: CheckpointOutcome | None = None


@dataclass(frozen=True, slots=True)
class PodCheckpoint:
    """The checkpoint fields of a pod. Most pods have none.

    `policy` comes from its template, `request` is pending on it, and `save` is its report.
    `resume_count` comes from its binding: how often its gang continued from a checkpoint.
    `unreadable` is the fault of a report that a container left behind, "" for none.
    """

    policy: CheckpointPolicy | None = None
    request: Request | None = None
    save: Save | None = None
    resume_count: int = 0
    unreadable: str = ""


@dataclass(frozen=True, slots=True)
class Checkpoints:
    """The stored facts about a gang: its `saves`, newest first, and the last request.

    `resume_count` is how often the gang was bound again to continue from a checkpoint.
    """

    saves: tuple[Save, ...] = ()
    requested: Requested | None = None
    resume_count: int = 0

    @property
    def last(self) -> Save | None:
        """The newest save."""
        return self.saves[0] if self.saves else None

    def last_of(self, workloads: Collection[str]) -> Save | None:
        """Return the newest save of one of these workloads, by uid; of any, if none is given."""
        return next((each for each in self.saves if _is_of(each.workload_uid, workloads)), None)


def _is_of(uid: str, workloads: Collection[str]) -> bool:
    return not (uid and workloads) or uid in workloads


NO_CHECKPOINTS: Final = Checkpoints()


class CheckpointReport(NamedTuple):
    """A report for users: a gang was asked to save its work (no outcome), or the outcome is known.

    `save` is the saved work, None without any. `by` is the gang that needs the room, as far as the
    namespace may know its name, and `seconds` how long the gang may take to save; "" and 0 if the
    gang was not asked. `why` is the reason of a failure. `evicted`: the gang is about to be
    evicted.
    """

    outcome: CheckpointOutcome | None
    save: Save | None = None
    by: str = ""
    seconds: int = 0
    why: str = ""
    evicted: bool = True
