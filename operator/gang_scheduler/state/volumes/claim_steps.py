"""What has to happen to the claims of a pod before it can be bound to its node."""

import enum
from dataclasses import dataclass

from gang_scheduler.model.causes.claims import ClaimFailed, UnboundClaim
from gang_scheduler.model.refs import ClaimRef, VolumeRef


@dataclass(frozen=True, slots=True)
class ClaimStep:
    """A claim that must be bound before its pod.

    A `volume` is to be reserved for the claim. Without one, the claim is to select the `node`, and
    a volume is made there.
    """

    claim: ClaimRef
    node: str
    volume: VolumeRef | None = None


class Stage(enum.StrEnum):
    """The state of the claims of a pod."""

    BOUND = "bound"
    WAITING = "waiting"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class Progress:
    """The state of the claims of a pod; `problem` is why they cannot be bound.

    `waiting` are the claims that are not bound yet.
    """

    stage: Stage
    problem: ClaimFailed | None = None
    waiting: tuple[UnboundClaim, ...] = ()
