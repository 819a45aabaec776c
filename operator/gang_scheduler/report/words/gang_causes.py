"""Words for causes in the gang itself, by subject, as in `model/causes/gangs`."""

from collections.abc import Iterable, Mapping
from typing import Final

from gang_scheduler.api.annotations import (
    EXCLUSIVE_TOPOLOGY,
    GANG_GROUPS,
    NETWORK_TOPOLOGY_SPEC,
    PODSET_GROUP,
    ROLE,
    ROLES,
)
from gang_scheduler.api.conditions import rfc3339
from gang_scheduler.decode import keys
from gang_scheduler.decode.fields import field
from gang_scheduler.model import refs
from gang_scheduler.model.causes.gangs import (
    ApiAnswer,
    BeyondMaxWorkers,
    ClaimFailed,
    ClaimFault,
    ClaimNotWritten,
    ClaimsUnbound,
    ClassDiffers,
    CoolingDown,
    DecisionTooLong,
    DomainsTooSmall,
    FieldsUnsupported,
    GangMissing,
    GangRequestMisplaced,
    GangsRequestsDiffer,
    HeldForPodGone,
    HeldNodeGone,
    InternalError,
    InvalidInput,
    InvalidSlice,
    LayersApart,
    MemberGone,
    MembersMissing,
    MinMemberAboveJobs,
    MultipleDoesNotDivide,
    MultipleNeedsMore,
    NodeFault,
    NominationExpired,
    NominationLost,
    NominationTaken,
    NominationUnused,
    NotLeading,
    NotTriedYet,
    ObjectMissing,
    ObjectTwice,
    OneSided,
    OthersAwaitVolumes,
    PodRequestBesideGang,
    PodsetsDiffer,
    PreemptionPolicyDiffers,
    PriorityClassMissing,
    PriorityDiffers,
    ResourcesMissing,
    RoleFull,
    RoleUnknown,
    SavesAwaited,
    Scattered,
    SliceFault,
    StepFailed,
    StepIncomplete,
    SurplusNotTried,
    UnknownLayers,
)
from gang_scheduler.model.gangs import RoleCount
from gang_scheduler.model.reasons import Cause
from gang_scheduler.report.words.text import Text, counted, entry
from gang_scheduler.state.gangs.set_aside import SHARE_SECONDS
from gang_scheduler.workloads import volcano

BINDING_TEXTS: Final[Mapping[type[Cause], Text]] = dict(
    (
        entry(ApiAnswer, lambda it: it.text),
        entry(
            HeldForPodGone,
            lambda it: f"pod {it.pod} is gone, for which room was held",
        ),
        entry(
            HeldNodeGone,
            lambda it: f"node {it.node} is gone, where room was held",
        ),
        entry(NotLeading, lambda _: "this replica does not lead any more"),
    )
)

_CLAIM_FAULTS: Final = {
    ClaimFault.NOT_FOUND: 'persistentvolumeclaim "{name}" not found',
    ClaimFault.DELETING: 'persistentvolumeclaim "{name}" is being deleted',
    ClaimFault.NOT_PROVISIONED: 'provisioning failed for PVC "{name}"',
    ClaimFault.NO_PROVISIONER: 'no provisioner makes a volume for persistentvolumeclaim "{name}"',
    ClaimFault.VOLUME_NOT_FOUND: 'persistentvolume "{name}" not found',
    ClaimFault.VOLUME_TAKEN_BACK: 'ClaimRef got reset for pv "{name}"',
    ClaimFault.VOLUME_OUT_OF_REACH: 'pv "{name}" node affinity doesn\'t match node "{node}"',
}


def _claims_unbound(cause: ClaimsUnbound) -> str:
    claims = "a claim is" if cause.of == 1 else f"{cause.number} of {cause.of} claims are"
    more = f" and {cause.number - 1} more" if cause.number > 1 else ""
    claim, storage_class = cause.first
    return f"{claims} not bound yet: {claim} (StorageClass {storage_class}){more}"


def _claim_not_written(cause: ClaimNotWritten) -> str:
    what = f"volume {cause.volume}" if cause.volume else f"node {cause.node}"
    return f"{what} for claim {cause.claim} cannot be written: {cause.answer}"


CLAIM_TEXTS: Final[Mapping[type[Cause], Text]] = dict(
    (
        entry(ClaimsUnbound, _claims_unbound),
        entry(
            ClaimFailed,
            lambda it: _CLAIM_FAULTS[it.fault].format(name=it.name, node=it.node),
        ),
        entry(ClaimNotWritten, _claim_not_written),
    )
)

ERROR_TEXTS: Final[Mapping[type[Cause], Text]] = dict(
    (
        entry(InternalError, lambda it: f"an error in the scheduler: {it.kind}: {it.text}"),
        entry(
            DecisionTooLong,
            lambda it: (
                f"to decide on it took the scheduler {it.seconds:.1f} s, more than its share of "
                f"{SHARE_SECONDS:.0f} s: it is tried again at {rfc3339(it.until)}, after all others"
            ),
        ),
    )
)


def _members_missing(cause: MembersMissing) -> str:
    if cause.roles:
        return f"members are missing: {role_counts(cause.roles)}"
    return f"{cause.present} of minMember {cause.min_member} members exist"


def role_counts(roles: Iterable[RoleCount]) -> str:
    """Return how many of each role there are, as in "0 of 1 master, 1 of 2 worker"."""
    return ", ".join(f"{each.present} of {each.needed} {each.role}" for each in roles)


def _domains_too_small(cause: DomainsTooSmall) -> str:
    asked = cause.asked
    pods = counted(asked.pods, "pod")
    jobs = f"a Job of {pods}" if asked.many == 1 else f"{asked.many} Jobs of {pods} each"
    domains = "1 domain has" if cause.found == 1 else f"{cause.found} domains have"
    return (
        f"{jobs} must have a domain of {asked.label} alone; "
        f"{domains} room for a whole Job ({EXCLUSIVE_TOPOLOGY})"
    )


def _surplus_not_tried(cause: SurplusNotTried) -> str:
    number = cause.members
    members = "1 more member has" if number == 1 else f"{number} more members have"
    return f"gang {cause.gang} has a place; {members} none yet, and will be tried again."


MEMBER_TEXTS: Final[Mapping[type[Cause], Text]] = dict(
    (
        entry(MembersMissing, _members_missing),
        entry(
            RoleFull,
            lambda it: (
                f"the gang has {it.max_member} members of role {it.role}, and may have no more"
            ),
        ),
        entry(
            ResourcesMissing,
            lambda it: (
                f"the cluster has not enough {', '.join(it.resources)} free (spec.minResources)"
            ),
        ),
        entry(DomainsTooSmall, _domains_too_small),
        entry(
            NotTriedYet,
            lambda it: f"gang {it.gang} was not tried yet: others come before it",
        ),
        entry(SurplusNotTried, _surplus_not_tried),
        entry(
            BeyondMaxWorkers,
            lambda it: f"gang {it.gang} has all {it.most} workers that it asks for (maxWorkers)",
        ),
        entry(
            StepIncomplete,
            lambda it: (
                f"gang {it.gang} waits for more workers: it grows by {it.step} at once "
                "(scaleUpStep)"
            ),
        ),
        entry(
            CoolingDown,
            lambda it: f"gang {it.gang} may grow again at {rfc3339(it.until)} (scaleUpCooldown)",
        ),
        entry(
            OthersAwaitVolumes,
            lambda it: f"gang {it.gang} waits for the claims of other members",
        ),
    )
)

_NODE_FAULTS: Final = {
    NodeFault.GONE: "node {node} is gone",
    NodeFault.NOT_READY: "node {node} is not ready",
    NodeFault.UNSCHEDULABLE: "node {node} takes no more pods",
    NodeFault.FULL: "the room on {node} was taken",
}
PREEMPTION_TEXTS: Final[Mapping[type[Cause], Text]] = dict(
    (
        entry(
            SavesAwaited,
            lambda it: (
                f"{counted(it.gangs, 'gang')} that make room for it may save their work until "
                f"{rfc3339(it.until)}"
            ),
        ),
        entry(StepFailed, lambda it: f"{it.step} {it.pod}: {it.answer}"),
        entry(MemberGone, lambda it: f"pod {it.pod} is gone"),
        entry(NominationLost, lambda it: _NODE_FAULTS[it.fault].format(node=it.node)),
        entry(
            NominationUnused,
            lambda it: f"the API server refused {it.times} times to bind to the room on {it.node}",
        ),
        entry(
            NominationExpired,
            lambda it: f"what it waits for did not come in {it.seconds} s, with room on {it.node}",
        ),
        entry(
            NominationTaken,
            lambda it: f"the room on {it.node} goes to {it.taker}, which has a higher priority",
        ),
    )
)

ALWAYS_READ: Final = frozenset({"PodGroup", "Job"})
"""Kinds of objects without which the scheduler does not start."""


def _missing(it: ObjectMissing) -> str:
    of = " of scheduling.volcano.sh" if it.gang.source == volcano.SOURCE.name else ""
    # The rights may not cover kinds that came with a later release, or not any more.
    or_else = "" if it.kind in ALWAYS_READ else ", or may not be read"
    return f'{it.kind}{of} "{it.gang.namespace}/{_object_of(it)}" does not exist{or_else}'


def _object_of(it: ObjectMissing) -> str:
    """Return the name of the object: a JobSet describes a gang for each of its replicatedJobs."""
    name = it.gang.name
    return name.partition("/")[0] if it.kind == refs.JOB_SET.object_kind else name


def _fields_unsupported(cause: FieldsUnsupported) -> str:
    of = f"pod {cause.pod}: " if cause.pod else ""
    meant = {each: keys.near_podset(each) for each in cause.fields}
    said = [f"{each} is unknown; did you mean {near}?" for each, near in meant.items() if near]
    others = ", ".join(each for each, near in meant.items() if not near)
    said += [f"{others} cannot be honoured by this scheduler yet"] if others else []
    return f"{of}{'; '.join(said)}"


def _policy_differs(cause: PreemptionPolicyDiffers) -> str:
    names = "Never", "PreemptLowerPriority"
    of_pod, of_gang = names[cause.preempts], names[not cause.preempts]
    return (
        f"pod {cause.pod} has preemptionPolicy {of_pod}, and spec.preemptionPolicy of its PodGroup "
        f"is {of_gang}: both must have one PriorityClass"
    )


def _role_unknown(cause: RoleUnknown) -> str:
    if not cause.known:
        return (
            f'pod {cause.pod} has role "{cause.role}", and its gang has none: the PodGroup '
            f"declares them in {field(ROLES)}"
        )
    known = f"its gang has {', '.join(cause.known)}"
    if not cause.role:
        return f"pod {cause.pod} has no role in {keys.label_field(ROLE)}: {known}"
    return f'pod {cause.pod} has role "{cause.role}": {known}'


SPEC_TEXTS: Final[Mapping[type[Cause], Text]] = dict(
    (
        entry(InvalidInput, lambda it: it.text),
        entry(FieldsUnsupported, _fields_unsupported),
        entry(ObjectMissing, _missing),
        entry(
            ObjectTwice,
            lambda it: (
                f'PodGroup "{it.gang}" exists twice, in {" and ".join(it.api_groups)}: delete one'
            ),
        ),
        entry(
            MinMemberAboveJobs,
            lambda it: (
                f"{it.present} of minMember {it.min_member} members exist; Job "
                f"{', '.join(it.jobs)} can have {it.most} at once: other pods must come, or "
                f"minMember be lowered to {it.most}"
            ),
        ),
        entry(
            GangMissing,
            lambda it: (
                f"gang {it.name}, which {it.named_by} names as one of its group, does not exist"
            ),
        ),
        entry(
            OneSided,
            lambda it: (
                f"{field(GANG_GROUPS)} of {it.gang} names {it.name}, which is in another namespace "
                f"and does not name {it.gang} in turn"
            ),
        ),
        entry(RoleUnknown, _role_unknown),
        entry(
            PriorityDiffers,
            lambda it: (
                f"pod {it.pod} has priority {it.priority}, and spec.priority of its PodGroup is "
                f"{it.of_gang}: both must have one PriorityClass"
            ),
        ),
        entry(PreemptionPolicyDiffers, _policy_differs),
        entry(
            ClassDiffers,
            lambda it: (
                f"spec.priorityClassName of its PodGroup is {it.of_gang}, and no member has that "
                f"PriorityClass: pod {it.pod} has {it.of_pod or 'none'}. Set priorityClassName of "
                "the pods: the priority of a gang is that of its pods"
            ),
        ),
        entry(
            PriorityClassMissing,
            lambda it: f"WorkloadPriorityClass {it.name} does not exist",
        ),
    )
)

_SLICE_FAULTS: Final = {
    SliceFault.NOT_BELOW_OTHER_SLICES: "must be below the layer of the slices before it",
    SliceFault.ABOVE_GATHERING: "is above the layer that the members gather in",
}


def _quoted(names: Iterable[str], between: str) -> str:
    return between.join(f'"{name}"' for name in names)


def _unknown_layers(cause: UnknownLayers) -> str:
    unknown = f"layer {_quoted(cause.layers, ' and ')} is unknown"
    if not cause.known:
        return f"{unknown}: there is no topology"
    near = f"; did you mean {cause.near}?" if cause.near else ""
    return f"{unknown}: the layers are {', '.join(cause.known)}{near}"


def _requests_differ(cause: GangsRequestsDiffer) -> str:
    (gang, other), (own, others) = cause.gangs, cause.fields
    return f"{own} of {gang} and {others} of {other} must be the same: they are of one gang group"


TOPOLOGY_TEXTS: Final[Mapping[type[Cause], Text]] = dict(
    (
        entry(UnknownLayers, _unknown_layers),
        entry(
            LayersApart,
            lambda it: f"the layers {_quoted(it.layers, ', ')} are not all in one topology",
        ),
        entry(
            InvalidSlice,
            lambda it: f'the slice layer "{it.layer}" {_SLICE_FAULTS[it.fault]}',
        ),
        entry(
            MultipleDoesNotDivide,
            lambda it: f"podCountMultiple {it.multiple} does not divide the {it.members} members",
        ),
        entry(
            MultipleNeedsMore,
            lambda it: (
                f"{it.members} members exist, and podCountMultiple needs {it.quorum} at once"
            ),
        ),
        entry(
            Scattered,
            lambda it: (
                f"members are bound in {it.number} domains, {', '.join(map(str, it.some))}: "
                f"the others join those in {it.home}"
            ),
        ),
        entry(
            PodRequestBesideGang,
            lambda it: (
                f"pod {it.pod}: {it.field} must be absent beside {it.of_gang} of its gang or group"
            ),
        ),
        entry(
            GangRequestMisplaced,
            lambda it: (
                f"pod {it.pod}: {field(NETWORK_TOPOLOGY_SPEC)} must be absent, or the same as on "
                "the PodGroup"
            ),
        ),
        entry(
            PodsetsDiffer,
            lambda it: (
                f"pods {' and '.join(it.pods)} must ask for the same topology: both have "
                f'{field(PODSET_GROUP)} "{it.group}"'
            ),
        ),
        entry(GangsRequestsDiffer, _requests_differ),
    )
)
