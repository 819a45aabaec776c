"""What people read of each kind of cause: one line a kind."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final, TypeVar

from gang_scheduler.api.annotations import (
    DEFAULT_QUEUE,
    GANG_GROUPS,
    NETWORK_TOPOLOGY_SPEC,
    PODSET_GROUP,
    QUEUE,
)
from gang_scheduler.api.conditions import rfc3339
from gang_scheduler.decode import keys
from gang_scheduler.decode.fields import field
from gang_scheduler.model import causes
from gang_scheduler.model.causes import (
    AdmissionLimit,
    ClaimFault,
    FlavorFault,
    NodeFault,
    QueueDefault,
    QueueFault,
    SliceFault,
)
from gang_scheduler.model.problems import Cause
from gang_scheduler.model.queues import DEFAULT_FLAVOR
from gang_scheduler.model.resources import quantity_of

C = TypeVar("C", bound=Cause)
Text = Callable[[Any], str]

_SLICE_FAULTS: Final = {
    SliceFault.NOT_BELOW_OTHER_SLICES: "must be below the layer of the slices before it",
    SliceFault.ABOVE_GATHERING: "is above the layer that the members gather in",
}
_CLAIM_FAULTS: Final = {
    ClaimFault.NOT_FOUND: 'persistentvolumeclaim "{name}" not found',
    ClaimFault.DELETING: 'persistentvolumeclaim "{name}" is being deleted',
    ClaimFault.NOT_PROVISIONED: 'provisioning failed for PVC "{name}"',
    ClaimFault.NO_PROVISIONER: 'no provisioner makes a volume for persistentvolumeclaim "{name}"',
    ClaimFault.VOLUME_NOT_FOUND: 'persistentvolume "{name}" not found',
    ClaimFault.VOLUME_TAKEN_BACK: 'ClaimRef got reset for pv "{name}"',
    ClaimFault.VOLUME_OUT_OF_REACH: 'pv "{name}" node affinity doesn\'t match node "{node}"',
}
_NODE_FAULTS: Final = {
    NodeFault.GONE: "node {node} is gone",
    NodeFault.NOT_READY: "node {node} is not ready",
    NodeFault.UNSCHEDULABLE: "node {node} takes no more pods",
    NodeFault.FULL: "the room on {node} was taken",
}
_INACTIVITIES: Final = {
    causes.Inactivity.PARENT_NOT_FOUND: '{field} is "{value}", and no such queue exists',
    causes.Inactivity.CYCLE: '{field} is "{value}", and the way up from there leads back to it',
    causes.Inactivity.FLAVOR_NOT_FOUND: '{field} has "{value}", and no such ResourceFlavor exists',
}
_QUEUE_FAULTS: Final = {
    QueueFault.NOT_FOUND: "{kind} {queue} does not exist",
    QueueFault.NO_LEAF: "{kind} {queue} takes no gangs: it has queues below it",
    QueueFault.NOT_FOR_NAMESPACE: "{kind} {queue} is not for namespace {namespace}",
}
_QUEUE_DEFAULTS: Final = {
    QueueDefault.OF_NAMESPACE: f"annotation {DEFAULT_QUEUE} of namespace {{namespace}}",
    QueueDefault.OF_SETTINGS: "setting defaultQueue",
}
_NO_QUEUE: Final = "gangs without a queue"
_NAME_A_QUEUE: Final = f"label {QUEUE}"

_ADMISSION_LIMITS: Final = {
    AdmissionLimit.GPUS_PER_JOB: (
        "admissionControl.maxGPUsPerJob of queue {} is {}, and the members ask for {}"
    ),
    AdmissionLimit.LOWEST_PRIORITY: (
        "admissionControl.priorityRange.min of queue {} is {}, and the priority is {}"
    ),
    AdmissionLimit.HIGHEST_PRIORITY: (
        "admissionControl.priorityRange.max of queue {} is {}, and the priority is {}"
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


def text_of(cause: Cause) -> str:
    """Return what people read of a cause. Raises KeyError for a kind that has no text."""
    return TEXTS[type(cause)](cause)


def text_if_any(cause: Cause | None) -> str:
    """Return what people read of a cause; "" where there is none."""
    return text_of(cause) if cause is not None else ""


def _text(kind: type[C], text: Callable[[C], str]) -> tuple[type[Cause], Text]:
    """Return an entry of the table, with a text that is made of this kind of cause alone."""
    return kind, text


def _quoted(names: Iterable[str], between: str) -> str:
    return between.join(f'"{name}"' for name in names)


def _named(name: tuple[str, str]) -> str:
    """Return the kind and the name of an object."""
    return " ".join(name)


def _fields_unsupported(cause: causes.FieldsUnsupported) -> str:
    of = f"pod {cause.pod}: " if cause.pod else ""
    meant = {each: keys.near_podset(each) for each in cause.fields}
    said = [f"{each} is unknown; did you mean {near}?" for each, near in meant.items() if near]
    others = ", ".join(each for each, near in meant.items() if not near)
    said += [f"{others} cannot be honoured by this scheduler yet"] if others else []
    return f"{of}{'; '.join(said)}"


def _surplus_not_tried(cause: causes.SurplusNotTried) -> str:
    number = cause.members
    members = "1 more member has" if number == 1 else f"{number} more members have"
    return f"gang {cause.gang} has a place; {members} none yet, and will be tried again."


def _unknown_layers(cause: causes.UnknownLayers) -> str:
    unknown = f"layer {_quoted(cause.layers, ' and ')} is unknown"
    if not cause.known:
        return f"{unknown}: there is no topology"
    near = f"; did you mean {cause.near}?" if cause.near else ""
    return f"{unknown}: the layers are {', '.join(cause.known)}{near}"


def _requests_differ(cause: causes.GangsRequestsDiffer) -> str:
    (gang, other), (own, others) = cause.gangs, cause.fields
    return f"{own} of {gang} and {others} of {other} must be the same: they are of one gang group"


def _claims_unbound(cause: causes.ClaimsUnbound) -> str:
    claims = "a claim is" if cause.of == 1 else f"{cause.number} of {cause.of} claims are"
    more = f" and {cause.number - 1} more" if cause.number > 1 else ""
    claim, storage_class = cause.first
    return f"{claims} not bound yet: {claim} (StorageClass {storage_class}){more}"


def _claim_not_written(cause: causes.ClaimNotWritten) -> str:
    what = f"volume {cause.volume}" if cause.volume else f"node {cause.node}"
    return f"{what} for claim {cause.claim} cannot be written: {cause.answer}"


def _queue_unusable(cause: causes.QueueUnusable) -> str:
    names = {"kind": cause.kind, "queue": cause.queue, "namespace": cause.namespace}
    words = _QUEUE_FAULTS[cause.fault].format(**names)
    if cause.default is None:
        return words
    return f"{words}; it is the default by {_QUEUE_DEFAULTS[cause.default].format(**names)}"


def _fault_of_queue(inactive: causes.QueueInactive) -> str:
    cause, words = inactive.cause, _INACTIVITIES.get(inactive.fault)
    if words is None or not isinstance(cause, causes.FieldRefused):
        return text_of(cause)
    return words.format(field=cause.field, value=cause.value)


def _flavors_unsuitable(cause: causes.FlavorsUnsuitable) -> str:
    faults = "; ".join(
        _FLAVOR_FAULTS[fault].format(flavor=flavor, of=of) for flavor, fault, of in cause.flavors
    )
    why = f": {faults}" if faults else ""
    return f"no flavor of queue {cause.queue} suits pod {cause.pod}{why}"


def _above_potential(cause: causes.AbovePotential) -> str:
    if not cause.flavor:
        return f"queue {cause.queue} covers no {cause.resource}"
    asked, most = (quantity_of(cause.resource, each) for each in (cause.asked, cause.potential))
    return f"{_resource(cause)}: {asked} asked for, and queue {cause.queue} can have {most} at most"


def _quota_short(cause: causes.QuotaShort) -> str:
    asked, left = (quantity_of(cause.resource, each) for each in (cause.asked, cause.available))
    queue = f"queue {cause.queue}" if cause.queue else _NO_QUEUE
    # Names first.
    borrowers = [
        *filter(None, cause.borrowers),
        *(_NO_QUEUE for each in cause.borrowers if not each),
    ]
    borrowed = f"; borrowed by {', '.join(borrowers)}" if borrowers else ""
    return f"{_resource(cause)}: {asked} asked for, and {left} left for {queue}{borrowed}"


def _delays_reserved(cause: causes.DelaysReserved) -> str:
    gang = f"gang {cause.gang}" if cause.gang else "a gang of another namespace"
    when = f" at {rfc3339(cause.start)}" if cause.start is not None else ""
    return f"it would delay {gang} of queue {cause.queue}, which is promised a start{when}"


def _resource(cause: causes.AbovePotential | causes.QuotaShort) -> str:
    if cause.flavor == DEFAULT_FLAVOR:
        return cause.resource
    return f"{cause.resource} of flavor {cause.flavor}"


TEXTS: Final[Mapping[type[Cause], Text]] = dict(
    (
        # What is written of a gang, or of its members.
        _text(causes.InvalidInput, lambda it: it.text),
        _text(causes.FieldsUnsupported, _fields_unsupported),
        _text(causes.ObjectMissing, lambda it: f'{it.kind} "{it.gang}" does not exist'),
        _text(
            causes.ObjectTwice,
            lambda it: (
                f'PodGroup "{it.gang}" exists twice, in {" and ".join(it.api_groups)}: delete one'
            ),
        ),
        _text(
            causes.MinMemberAboveJobs,
            lambda it: (
                f"{it.present} of minMember {it.min_member} members exist; Job "
                f"{', '.join(it.jobs)} can have {it.most} at once: other pods must come, or "
                "minMember be lowered"
            ),
        ),
        # The group of a gang.
        _text(
            causes.GangMissing,
            lambda it: (
                f"gang {it.name}, which {it.named_by} names as one of its group, does not exist"
            ),
        ),
        _text(
            causes.OneSided,
            lambda it: (
                f"{field(GANG_GROUPS)} of {it.gang} names {it.name}, which is in another namespace "
                f"and does not name {it.gang} in turn"
            ),
        ),
        _text(
            causes.MateCannotStart,
            lambda it: f"gang {it.gang} of the same group cannot start: {text_of(it.cause)}",
        ),
        # Members.
        _text(
            causes.MembersMissing,
            lambda it: f"{it.present} of minMember {it.min_member} members exist",
        ),
        _text(
            causes.ResourcesMissing,
            lambda it: (
                f"spec.minResources: the cluster has not enough {', '.join(it.resources)} free"
            ),
        ),
        _text(
            causes.NotTriedYet,
            lambda it: f"gang {it.gang} was not tried yet: others come before it",
        ),
        _text(causes.SurplusNotTried, _surplus_not_tried),
        _text(
            causes.OthersAwaitVolumes,
            lambda it: f"gang {it.gang} waits for the claims of other members",
        ),
        # The network.
        _text(causes.Requested, lambda it: f"{it.field}: {text_of(it.cause)}"),
        _text(causes.UnknownLayers, _unknown_layers),
        _text(
            causes.LayersApart,
            lambda it: f"the layers {_quoted(it.layers, ', ')} are not all in one topology",
        ),
        _text(
            causes.InvalidSlice,
            lambda it: f'the slice layer "{it.layer}" {_SLICE_FAULTS[it.fault]}',
        ),
        _text(
            causes.MultipleDoesNotDivide,
            lambda it: f"podCountMultiple {it.multiple} does not divide the {it.members} members",
        ),
        _text(
            causes.MultipleNeedsMore,
            lambda it: (
                f"{it.members} members exist, and podCountMultiple needs {it.quorum} at once"
            ),
        ),
        _text(
            causes.Scattered,
            lambda it: (
                f"members are bound in {it.number} domains, {', '.join(map(str, it.some))}: "
                f"the others join those in {it.home}"
            ),
        ),
        _text(
            causes.PodRequestBesideGang,
            lambda it: (
                f"pod {it.pod}: {it.field} must be absent beside {it.of_gang} of its gang or group"
            ),
        ),
        _text(
            causes.GangRequestMisplaced,
            lambda it: (
                f"pod {it.pod}: {field(NETWORK_TOPOLOGY_SPEC)} must be absent, or the same as on "
                "the PodGroup"
            ),
        ),
        _text(
            causes.PodsetsDiffer,
            lambda it: (
                f"pods {' and '.join(it.pods)} must ask for the same topology: both have "
                f'{field(PODSET_GROUP)} "{it.group}"'
            ),
        ),
        _text(causes.GangsRequestsDiffer, _requests_differ),
        # Bindings.
        _text(
            causes.BindingFailed,
            lambda it: (
                f"binding failed for {it.failed} of {it.of} members: {text_if_any(it.cause)}"
            ),
        ),
        _text(causes.ApiAnswer, lambda it: it.text),
        # Claims.
        _text(causes.ClaimsUnbound, _claims_unbound),
        _text(
            causes.ClaimFailed,
            lambda it: _CLAIM_FAULTS[it.fault].format(name=it.name, node=it.node),
        ),
        _text(causes.PodsClaimFailed, lambda it: f"claims of pod {it.pod}: {text_of(it.cause)}"),
        _text(causes.ClaimNotWritten, _claim_not_written),
        _text(
            causes.HeldForPodGone,
            lambda it: f"pod {it.pod} is gone, for which room was held",
        ),
        _text(
            causes.HeldNodeGone,
            lambda it: f"node {it.node} is gone, where room was held",
        ),
        _text(causes.NotLeading, lambda _: "this replica does not lead any more"),
        _text(
            causes.HoldEnded,
            lambda it: f"given up after {it.seconds:g} s: {text_if_any(it.cause)}",
        ),
        # Preemptions.
        _text(
            causes.PreemptionGivenUp,
            lambda it: f"preemption: given up, {text_of(it.cause)}",
        ),
        _text(causes.StepFailed, lambda it: f"{it.step} {it.pod}: {it.answer}"),
        _text(causes.MemberGone, lambda it: f"pod {it.pod} is gone"),
        _text(causes.NominationLost, lambda it: _NODE_FAULTS[it.fault].format(node=it.node)),
        _text(
            causes.NominationTaken,
            lambda it: f"the room on {it.node} goes to {it.taker}, which has a higher priority",
        ),
        # Queues.
        _text(
            causes.QueueUnusable,
            _queue_unusable,
        ),
        _text(causes.FieldRefused, lambda it: f'{it.field} cannot be "{it.value}"'),
        _text(
            causes.QueueInactive,
            lambda it: f"queue {it.queue} is not active ({it.fault}): {_fault_of_queue(it)}",
        ),
        # The queue of a gang.
        _text(
            causes.QueueNotNamed,
            lambda it: f"gangs of namespace {it.namespace} must name a queue: {_NAME_A_QUEUE}",
        ),
        _text(
            causes.LocalQueueStopped,
            lambda it: f"LocalQueue {it.name} is stopped: it takes no new gangs",
        ),
        _text(
            causes.QueueNamesDiffer,
            lambda it: f"{_named(it.first)} and {_named(it.second)} are named: name one queue only",
        ),
        _text(
            causes.GangsQueuesDiffer,
            lambda it: (
                f"gangs {it.gangs[0]} and {it.gangs[1]} of one group are in queues "
                f"{it.queues[0]} and {it.queues[1]}: they must be in one"
            ),
        ),
        _text(
            causes.PriorityClassMissing,
            lambda it: f"WorkloadPriorityClass {it.name} does not exist",
        ),
        # Turns.
        _text(causes.QueueOnHold, lambda it: f"queue {it.queue} is stopped: {it.policy}"),
        _text(
            causes.LimitMissed,
            lambda it: _ADMISSION_LIMITS[it.field].format(it.queue, it.limit, it.value),
        ),
        _text(causes.FlavorsUnsuitable, _flavors_unsuitable),
        _text(causes.AbovePotential, _above_potential),
        _text(
            causes.JobLimit,
            lambda it: (
                f"{it.most} {'gang' if it.most == 1 else 'gangs'} of queue {it.queue} "
                f"{'holds' if it.most == 1 else 'hold'} quota, as many as may at once"
            ),
        ),
        _text(causes.QuotaShort, _quota_short),
        _text(
            causes.BehindGang,
            lambda it: f"gang {it.gang} comes first: queue {it.queue} keeps its order",
        ),
        _text(
            causes.BeyondFirst,
            lambda it: f"{it.number} gangs of queue {it.queue} are tried first",
        ),
        _text(causes.DelaysReserved, _delays_reserved),
        _text(
            causes.ChecksUnanswered,
            lambda it: (
                f"queue {it.queue} has admission checks that another controller answers: "
                f"{', '.join(it.checks)}"
            ),
        ),
        # Errors of ours.
        _text(causes.InternalError, lambda it: f"{it.kind}: {it.text}"),
    )
)
