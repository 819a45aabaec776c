"""Why a preemption was given up."""

import enum
from dataclasses import dataclass

from gang_scheduler.model.problems import Cause


@dataclass(frozen=True, slots=True)
class PreemptionGivenUp(Cause):
    """A preemption was taken back."""

    cause: Cause


@dataclass(frozen=True, slots=True)
class SavesAwaited(Cause):
    """So many gangs that are to be evicted save their work first, until `until`, in seconds."""

    gangs: int
    until: int


@dataclass(frozen=True, slots=True)
class StepFailed(Cause):
    """A write of a preemption failed for good: which one, for which pod, and the answer."""

    step: str
    pod: str
    answer: str


@dataclass(frozen=True, slots=True)
class MemberGone(Cause):
    """A member for which room is made is gone."""

    pod: str


class NodeFault(enum.Enum):
    """Why there is no room on a node any more."""

    GONE = enum.auto()
    NOT_READY = enum.auto()
    UNSCHEDULABLE = enum.auto()
    FULL = enum.auto()


@dataclass(frozen=True, slots=True)
class NominationLost(Cause):
    """The room that was made on a node is not there any more."""

    node: str
    fault: NodeFault


@dataclass(frozen=True, slots=True)
class NominationUnused(Cause):
    """The API server refused so often to bind pods to the room on a node that it is given up."""

    node: str
    times: int


@dataclass(frozen=True, slots=True)
class NominationExpired(Cause):
    """The gang lacked members, or its group gangs, for so many seconds beside room on a node."""

    node: str
    seconds: int


@dataclass(frozen=True, slots=True)
class NominationTaken(Cause):
    """The room that was made on a node goes to `taker`, which has a higher priority."""

    node: str
    taker: str
