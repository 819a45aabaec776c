"""Whether a gang asks for nodes now, waits, or has asked often enough."""

import enum
from collections.abc import Iterable
from typing import NamedTuple

from gang_scheduler.model.causes.provisioning import (
    AskedAgain,
    NodesAwaited,
    NotProvisioned,
    RequestLeaves,
)
from gang_scheduler.model.gangs import Gang
from gang_scheduler.model.problems import Cause
from gang_scheduler.model.provisioning import ProvisioningRequest
from gang_scheduler.model.provisioning_rules import Retry


class Step(enum.Enum):
    """What is to be done for a gang."""

    ASK = enum.auto()
    STAND = enum.auto()
    """A request stands: nodes are being bought, or are there."""
    WAIT = enum.auto()
    """No request stands, and another one is made later."""
    GIVE_UP = enum.auto()


class Judgement(NamedTuple):
    """What is to be done, and why the gang waits meanwhile.

    `attempt` is the number of the new request, `request` the last one that asked for the same.
    """

    step: Step
    cause: Cause | None = None
    attempt: int = 1
    request: ProvisioningRequest | None = None


def judge(
    gang: Gang, digest: str, known: Iterable[ProvisioningRequest], retry: Retry, now: int
) -> Judgement:
    """Return what to do for a gang that lacks room, by all requests that there are for it.

    One request is made at a time: none while another one stands or is being deleted, whatever that
    asks for. `now` is in seconds.
    """
    known = tuple(known)
    same = [each for each in known if (each.digest, each.gang_uid) == (digest, gang.object_uid)]
    last = max(same, key=lambda each: each.attempt, default=None)
    for other in known:
        if other is not last and (other.stands or other.deleting):
            return Judgement(Step.WAIT, RequestLeaves(other.name), request=last)
    if last is None:
        return Judgement(Step.ASK)
    if last.deleting:
        return Judgement(Step.WAIT, RequestLeaves(last.name), request=last)
    if last.stands:
        return Judgement(Step.STAND, awaited(last), last.attempt, last)
    return _after(last, retry, now)


def _after(last: ProvisioningRequest, retry: Retry, now: int) -> Judgement:
    """Return what to do once a request came to nothing."""
    number = last.attempt
    if number > retry.times:
        cause = NotProvisioned(number, last.came, last.message)
        return Judgement(Step.GIVE_UP, cause, number, last)
    until = last.since + retry.pause(number)
    if now < until:
        cause_of_wait = AskedAgain(number, last.came, last.message, until)
        return Judgement(Step.WAIT, cause_of_wait, number, last)
    return Judgement(Step.ASK, attempt=number + 1, request=last)


def awaited(request: ProvisioningRequest) -> NodesAwaited:
    """Return why a gang waits for which a request stands."""
    return NodesAwaited(request.name, request.class_name, request.came, request.message)
