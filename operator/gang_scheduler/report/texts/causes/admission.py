"""The words for queues that do not admit a gang, or not yet."""

from collections.abc import Mapping
from typing import Final

from gang_scheduler.api.conditions import rfc3339
from gang_scheduler.model.causes.admission import (
    AbovePotential,
    AdmissionLimit,
    AwaitsEvicted,
    BehindGang,
    ChecksUnanswered,
    DelaysReserved,
    FlavorFault,
    FlavorsUnsuitable,
    JobLimit,
    LimitMissed,
    QueueOnHold,
    QuotaShort,
)
from gang_scheduler.model.problems import Cause
from gang_scheduler.model.queues import DEFAULT_FLAVOR
from gang_scheduler.model.resources import quantity_of
from gang_scheduler.report.texts.causes.entries import Text, entry

_NO_QUEUE: Final = "gangs without a queue"

_ADMISSION_LIMITS: Final = {
    AdmissionLimit.GPUS_PER_JOB: (
        "the members ask for {value} GPUs, and queue {queue} admits {limit} a gang "
        "(admissionControl.maxGPUsPerJob)"
    ),
    AdmissionLimit.LOWEST_PRIORITY: (
        "the priority is {value}, and queue {queue} admits none below {limit} "
        "(admissionControl.priorityRange.min)"
    ),
    AdmissionLimit.HIGHEST_PRIORITY: (
        "the priority is {value}, and queue {queue} admits none above {limit} "
        "(admissionControl.priorityRange.max)"
    ),
}


_FLAVOR_FAULTS: Final = {
    FlavorFault.NOT_DECLARED: "{flavor} does not exist",
    FlavorFault.LABELS_DIFFER: "{flavor} has other node labels than the pod selects",
    FlavorFault.TAINT_NOT_TOLERATED: "{flavor} has a taint that the pod does not tolerate: {of}",
    FlavorFault.TOLERATION_NOT_ADDED: (
        "{flavor} tolerates a taint of its nodes, but tolerations are not added to pods: {of}"
    ),
    FlavorFault.OTHER_TOPOLOGY: "{flavor} is in another topology",
}


def _flavors_unsuitable(cause: FlavorsUnsuitable) -> str:
    faults = "; ".join(
        _FLAVOR_FAULTS[fault].format(flavor=flavor, of=of) for flavor, fault, of in cause.flavors
    )
    why = f": {faults}" if faults else ""
    return f"no flavor of queue {cause.queue} suits pod {cause.pod}{why}"


def _above_potential(cause: AbovePotential) -> str:
    if not cause.flavor:
        return f"queue {cause.queue} covers no {cause.resource}"
    asked, most = (quantity_of(cause.resource, each) for each in (cause.asked, cause.potential))
    return f"needs {asked} {_resource(cause)}, and queue {cause.queue} can have {most} at most"


def _quota_short(cause: QuotaShort) -> str:
    asked = quantity_of(cause.resource, cause.asked)
    # Negative where more is used than there is now.
    left = quantity_of(cause.resource, max(0, cause.available))
    queue = f"queue {cause.queue} has" if cause.queue else f"{_NO_QUEUE} have"
    # Names first.
    borrowers = [
        *filter(None, cause.borrowers),
        *(_NO_QUEUE for each in cause.borrowers if not each),
    ]
    borrowed = f"; borrowed by {', '.join(borrowers)}" if borrowers else ""
    return f"needs {asked} {_resource(cause)}, and {queue} {left} left{borrowed}"


def _delays_reserved(cause: DelaysReserved) -> str:
    gang = f"gang {cause.gang}" if cause.gang else "a gang of another namespace"
    when = f" at {rfc3339(cause.start)}" if cause.start is not None else ""
    return f"it would delay {gang} of queue {cause.queue}, which is promised a start{when}"


def _resource(cause: AbovePotential | QuotaShort) -> str:
    if cause.flavor == DEFAULT_FLAVOR:
        return cause.resource
    return f"{cause.resource} of flavor {cause.flavor}"


TEXTS: Final[Mapping[type[Cause], Text]] = dict(
    (
        entry(QueueOnHold, lambda it: f"queue {it.queue} has stopPolicy {it.policy}"),
        entry(
            LimitMissed,
            lambda it: _ADMISSION_LIMITS[it.field].format(
                queue=it.queue, limit=it.limit, value=it.value
            ),
        ),
        entry(FlavorsUnsuitable, _flavors_unsuitable),
        entry(AbovePotential, _above_potential),
        entry(
            JobLimit,
            lambda it: (
                f"{it.most} {'gang' if it.most == 1 else 'gangs'} of queue {it.queue} "
                f"{'holds' if it.most == 1 else 'hold'} quota, as many as may at once"
            ),
        ),
        entry(QuotaShort, _quota_short),
        entry(
            AwaitsEvicted,
            lambda it: (
                f"{it.most} gangs of queue {it.queue} hold quota, as many as may at once, and some "
                "of them are evicted: it is tried again once they have ended"
            ),
        ),
        entry(
            BehindGang,
            lambda it: f"gang {it.gang} comes first: queue {it.queue} keeps its order",
        ),
        entry(DelaysReserved, _delays_reserved),
        entry(
            ChecksUnanswered,
            lambda it: (
                f"queue {it.queue} has admission checks that another controller answers: "
                f"{', '.join(it.checks)}"
            ),
        ),
    )
)
