"""What has to happen to the claims of a pod before it can be bound to its node."""

import enum
from dataclasses import dataclass

from gang_scheduler.model.causes import ClaimFailed, UnboundClaim
from gang_scheduler.model.refs import ClaimRef, VolumeRef


@dataclass(frozen=True, slots=True)
class ClaimStep:
    """A claim that must be bound first.

    With a `volume`, that one is to be reserved for the claim; without, the claim is to select the
    `node`, so that one is made there.
    """

    claim: ClaimRef
    node: str
    volume: VolumeRef | None = None


class Stage(enum.StrEnum):
    """How far the claims of a pod have come."""

    BOUND = "bound"
    WAITING = "waiting"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class Progress:
    """How far the claims of a pod have come; `problem` says why they never will be bound so.

    `waiting` are those that are not bound yet.
    """

    stage: Stage
    problem: ClaimFailed | None = None
    waiting: tuple[UnboundClaim, ...] = ()
