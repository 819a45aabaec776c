"""A gang that waits: who is in it, and how many must start together."""

import enum
from dataclasses import dataclass
from typing import NamedTuple

from gang_scheduler.model.pods import Pod


class GangKey(NamedTuple):
    """What tells one gang from another. `source` is the name of a membership source."""

    source: str
    namespace: str
    name: str

    def __str__(self) -> str:
        return f"{self.namespace}/{self.name}"


class Reason(enum.StrEnum):
    """Why a gang waits: the closed list of behaviour that conditions and Events use."""

    UNSCHEDULABLE = "Unschedulable"
    WAITING_FOR_MEMBERS = "WaitingForMembers"
    POD_GROUP_NOT_FOUND = "PodGroupNotFound"
    INVALID_SPEC = "InvalidSpec"
    UNSUPPORTED_FEATURE = "UnsupportedFeature"


@dataclass(frozen=True, slots=True)
class Problem:
    """Why a gang cannot even be tried; the message names the field and the value."""

    reason: Reason
    message: str


@dataclass(frozen=True, slots=True)
class Gang:
    """A gang with at least one pending member.

    `pending` is in rank order; `bound` counts living members that have a node. `satisfied` says
    that the gang was whole once: from then on every member is placed by itself.
    `created_at` is in seconds since the epoch; `priority` is the lowest of the members'.
    """

    key: GangKey
    uid: str
    created_at: int
    priority: int
    min_member: int
    pending: tuple[Pod, ...]
    bound: int = 0
    satisfied: bool = False
    problem: Problem | None = None

    @property
    def quorum(self) -> int:
        """How many pending members must be placed together, or none."""
        return 1 if self.satisfied else max(1, self.min_member - self.bound)
