"""What people read of each kind of cause: one line a kind."""

from collections.abc import Mapping
from typing import Final

from gang_scheduler.api.parsing import message
from gang_scheduler.model.causes.gangs import (
    BindingFailed,
    BothInvalid,
    HoldEnded,
    MateCannotStart,
    PodsClaimFailed,
    PreemptionGivenUp,
    Requested,
)
from gang_scheduler.model.causes.queues import FieldRefused, Inactivity, QueueInactive
from gang_scheduler.model.reasons import Cause
from gang_scheduler.report.words import gang_causes, queue_causes
from gang_scheduler.report.words.text import Text, entry


def text_of(cause: Cause) -> str:
    """Return what people read of a cause. Raises KeyError for a kind that has no text."""
    return message(TEXTS[type(cause)](cause))


def text_if_any(cause: Cause | None) -> str:
    """Return what people read of a cause; "" where there is none."""
    return text_of(cause) if cause is not None else ""


def _because(cause: Cause | None) -> str:
    return f": {text_of(cause)}" if cause is not None else ""


_INACTIVITIES: Final = {
    Inactivity.PARENT_NOT_FOUND: '{field} is "{value}", and no such queue exists',
    Inactivity.CYCLE: '{field} is "{value}", and the way up from there leads back to it',
    Inactivity.FLAVOR_NOT_FOUND: '{field} has "{value}", and no such ResourceFlavor exists',
}


def _fault_of_queue(inactive: QueueInactive) -> str:
    cause, words = inactive.cause, _INACTIVITIES.get(inactive.fault)
    if words is None or not isinstance(cause, FieldRefused):
        return text_of(cause)
    return words.format(field=cause.field, value=cause.value)


_OF_OTHERS: Final[Mapping[type[Cause], Text]] = dict(
    (
        entry(
            BothInvalid,
            lambda it: "; ".join(dict.fromkeys((text_of(it.described), text_of(it.said)))),
        ),
        entry(
            MateCannotStart,
            lambda it: f"gang {it.gang} of the same group cannot start: {text_of(it.cause)}",
        ),
        entry(Requested, lambda it: f"{it.field}: {text_of(it.cause)}"),
        entry(
            BindingFailed,
            lambda it: f"binding failed for {it.failed} of {it.of} members{_because(it.cause)}",
        ),
        entry(PodsClaimFailed, lambda it: f"claims of pod {it.pod}: {text_of(it.cause)}"),
        entry(
            HoldEnded,
            lambda it: f"given up after {it.seconds:g} s{_because(it.cause)}",
        ),
        entry(
            PreemptionGivenUp,
            lambda it: f"preemption: given up, {text_of(it.cause)}",
        ),
        entry(
            QueueInactive,
            lambda it: f"queue {it.queue} is not active ({it.fault}): {_fault_of_queue(it)}",
        ),
    )
)
"""The words for causes that are made of another one."""

TEXTS: Final[Mapping[type[Cause], Text]] = {
    **_OF_OTHERS,
    **gang_causes.SPEC_TEXTS,
    **gang_causes.MEMBER_TEXTS,
    **gang_causes.TOPOLOGY_TEXTS,
    **gang_causes.BINDING_TEXTS,
    **gang_causes.CLAIM_TEXTS,
    **gang_causes.PREEMPTION_TEXTS,
    **queue_causes.QUEUE_TEXTS,
    **queue_causes.ADMISSION_TEXTS,
    **queue_causes.PROVISIONING_TEXTS,
    **queue_causes.SUSPENDED_TEXTS,
    **gang_causes.ERROR_TEXTS,
}
