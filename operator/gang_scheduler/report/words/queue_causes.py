"""Words for causes in queues, admissions and provisioning, as in `model/causes/queues`."""

from collections.abc import Mapping
from typing import Final

from gang_scheduler.api.annotations import DEFAULT_QUEUE, QUEUE
from gang_scheduler.api.conditions import rfc3339
from gang_scheduler.model.causes.queues import (
    AbovePotential,
    AdmissionLimit,
    AskedAgain,
    AwaitsEvicted,
    BehindGang,
    ChecksUnanswered,
    DelaysReserved,
    FieldRefused,
    FlavorFault,
    FlavorsUnsuitable,
    GangShared,
    GangsQueuesDiffer,
    JobLimit,
    KueueManages,
    LimitMissed,
    LocalQueueStopped,
    MostOutstanding,
    NodesAwaited,
    NotProvisioned,
    PatchForbidden,
    QueueDefault,
    QueueFault,
    QueueNamesDiffer,
    QueueNotNamed,
    QueueOnHold,
    QueueUnusable,
    QuotaShort,
    RequestLeaves,
    TemplateGone,
    TooManyPodSets,
    WorkloadChanged,
    WorkloadGone,
)
from gang_scheduler.model.provisioning import Came
from gang_scheduler.model.queues import DEFAULT_FLAVOR
from gang_scheduler.model.reasons import Cause
from gang_scheduler.model.resources import quantity_of
from gang_scheduler.report.words.text import Text, entry

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


ADMISSION_TEXTS: Final[Mapping[type[Cause], Text]] = dict(
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

SUSPENDED_TEXTS: Final[Mapping[type[Cause], Text]] = dict(
    (
        entry(WorkloadChanged, lambda _: "it was changed meanwhile, and is decided on anew"),
        entry(WorkloadGone, lambda _: "it was deleted"),
        entry(TemplateGone, lambda it: f"it has no pod template at {it.path} any more"),
        entry(GangShared, lambda it: f"{it.first} and {it.second} wait suspended in the same gang"),
        entry(
            KueueManages,
            lambda it: (
                f"Kueue manages it, by its Workload {it.name}, and decides when it starts: take it "
                "from Kueue, or name a LocalQueue in place of this queue"
            ),
        ),
        entry(
            PatchForbidden,
            lambda it: (
                f"py-gang-scheduler may not patch {it.kind}: the ClusterRole of the chart allows "
                "it for the kinds in settings.manageJobs"
            ),
        ),
    )
)

_CAME: Final = {
    Came.ASKED: "no answer yet",
    Came.ACCEPTED: "accepted",
    Came.PROVISIONED: "provisioned, and the gang does not fit yet",
    Came.FAILED: "failed",
    Came.REVOKED: "the capacity was revoked",
    Came.EXPIRED: "the booking expired",
    Came.REFUSED: "not taken by the API server",
}


def came_text(came: Came, message: str) -> str:
    """Return what came of a request, with what the autoscaler says of it."""
    return f"{_CAME[came]}: {message}" if message else _CAME[came]


def _times(number: int) -> str:
    return "once" if number == 1 else f"{number} times"


PROVISIONING_TEXTS: Final[Mapping[type[Cause], Text]] = dict(
    (
        entry(
            NodesAwaited,
            lambda it: (
                f"nodes are asked for by ProvisioningRequest {it.request} of class "
                f"{it.class_name}: {came_text(it.came, it.message)}"
            ),
        ),
        entry(
            AskedAgain,
            lambda it: (
                f"nodes were asked for {_times(it.number)}: {came_text(it.came, it.message)}; "
                f"asked again at {rfc3339(it.until)}"
            ),
        ),
        entry(
            RequestLeaves,
            lambda it: f"ProvisioningRequest {it.request} asks for other nodes, and is deleted",
        ),
        entry(
            MostOutstanding,
            lambda it: (
                f"{it.number} ProvisioningRequests of "
                f"{f'queue {it.queue}' if it.queue else 'gangs without a queue'} stand, as many "
                "as a namespace may have at once"
            ),
        ),
        entry(
            NotProvisioned,
            lambda it: (
                f"nodes were asked for {_times(it.number)}, the last time: "
                f"{came_text(it.came, it.message)}"
            ),
        ),
        entry(
            TooManyPodSets,
            lambda it: (
                f"no nodes are asked for: members ask for nodes in {it.number} ways, and a "
                f"ProvisioningRequest can say {it.most}"
            ),
        ),
    )
)

_QUEUE_FAULTS: Final = {
    QueueFault.NOT_FOUND: "{kind} {queue} does not exist",
    QueueFault.NO_LEAF: "{kind} {queue} takes no gangs: it has queues below it",
    QueueFault.NOT_FOR_NAMESPACE: "{kind} {queue} is not for namespace {namespace}",
}


_QUEUE_DEFAULTS: Final = {
    QueueDefault.OF_NAMESPACE: f"annotation {DEFAULT_QUEUE} of namespace {{namespace}}",
    QueueDefault.OF_SETTINGS: "setting defaultQueue",
}


_NAME_A_QUEUE: Final = f"label {QUEUE}"


def _named(name: tuple[str, str]) -> str:
    """Return the kind and the name of an object."""
    return " ".join(name)


def _queue_unusable(cause: QueueUnusable) -> str:
    names = {"kind": cause.kind, "queue": cause.queue, "namespace": cause.namespace}
    words = _QUEUE_FAULTS[cause.fault].format(**names)
    if cause.default is None:
        return words
    return f"{words}; it is the default by {_QUEUE_DEFAULTS[cause.default].format(**names)}"


QUEUE_TEXTS: Final[Mapping[type[Cause], Text]] = dict(
    (
        entry(
            QueueUnusable,
            _queue_unusable,
        ),
        entry(FieldRefused, lambda it: f'{it.field} cannot be "{it.value}"'),
        entry(
            QueueNotNamed,
            lambda it: f"gangs of namespace {it.namespace} must name a queue: {_NAME_A_QUEUE}",
        ),
        entry(
            LocalQueueStopped,
            lambda it: f"LocalQueue {it.name} is stopped: it takes no new gangs",
        ),
        entry(
            QueueNamesDiffer,
            lambda it: f"{_named(it.first)} and {_named(it.second)} are named: name one queue only",
        ),
        entry(
            GangsQueuesDiffer,
            lambda it: (
                f"gangs {it.gangs[0]} and {it.gangs[1]} of one group are in queues "
                f"{it.queues[0]} and {it.queues[1]}: they must be in one"
            ),
        ),
    )
)
