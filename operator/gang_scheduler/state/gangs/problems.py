"""The problems of a gang: faults of the object that describes it, and of its members.

None of them depends on the time.
"""

from collections.abc import Iterable, Sequence

from gang_scheduler.api import annotations
from gang_scheduler.decode import elastic as elastic_annotation
from gang_scheduler.decode import known_keys
from gang_scheduler.model.causes.specs import (
    BothInvalid,
    ClassDiffers,
    GangRequestMisplaced,
    InvalidInput,
    ObjectMissing,
    ObjectTwice,
    PreemptionPolicyDiffers,
    PriorityDiffers,
    RoleUnknown,
)
from gang_scheduler.model.gangs import Role
from gang_scheduler.model.pods import Pod, one_of_each, rank_key
from gang_scheduler.model.reasons import Problem, Reason
from gang_scheduler.model.topology_request import TopologyRequest
from gang_scheduler.model.wording import field
from gang_scheduler.state.gangs.observed import NO_SPEC, Observed
from gang_scheduler.workloads import exclusive_topology, table


def of_gang(observed: Observed, pending: Sequence[Pod]) -> Problem | None:
    """Return the problem of a gang: its object's, a member's, or both at once."""
    of_spec, of_member = _of_objects(observed), _of_members(observed, pending)
    if of_spec is None or of_member is None:
        return of_spec or of_member
    if isinstance(of_spec.cause, InvalidInput) and isinstance(of_member.cause, InvalidInput):
        return Problem(of_spec.reason, BothInvalid(of_spec.cause, of_member.cause))
    return of_spec


def _of_members(observed: Observed, pending: Sequence[Pod]) -> Problem | None:
    """Return the problem of the first member that has one."""
    summary, members = observed.summary, one_of_each(pending)
    problem = None
    if summary.with_problem:
        problem = next((pod.problem for pod in members if pod.problem is not None), None)
    if summary.of_gang and problem is None:
        annotated = [each.gang_annotations for each in members if each.gang_annotations is not None]
        problem = next((each.elastic_problem for each in annotated if each.elastic_problem), None)
        problem = problem or _other_options(observed, members)
    least = observed.min_member
    if problem is None and len(observed.living) < least:
        problem = exclusive_topology.never_whole(observed.key, members, least)
    if problem is None and table.BY_NAME[observed.key.source].object_kind == "PodGroup":
        if summary.with_gang_request:
            problem = _misplaced(pending, observed.topology_request)
        problem = problem or _contradicted(observed) or _other_priority(observed)
        problem = problem or _other_policy(observed) or _other_class(observed)
    roles = (observed.spec or NO_SPEC).roles
    return problem or (_strange_role(pending, roles) if roles or summary.with_role else None)


def _other_options(observed: Observed, members: Iterable[Pod]) -> Problem | None:
    """Return a problem if a member sets options that belong on the object of its gang."""
    spec = observed.spec
    elsewhere = known_keys.OPTIONS_BELONG.get(observed.key.source)
    if spec is None or spec.problem is not None or elsewhere is None:
        return None
    for pod in members:
        annotated = pod.gang_annotations
        if annotated is None:
            continue
        if annotated.options_problem is not None:
            return annotated.options_problem
        others = [
            key for key, name, value in annotated.options if getattr(spec.options, name) != value
        ]
        if others:
            cause = InvalidInput.misplaced(pod.key, map(field, others), elsewhere)
            return Problem(Reason.INVALID_SPEC, cause)
    return None


def _contradicted(observed: Observed) -> Problem | None:
    """Return a problem if a PodGroup contradicts the way in which its members let the gang grow."""
    spec = observed.spec
    if spec is None or spec.each_alone:
        return None
    elastic, least = observed.elastic, spec.min_member
    wrong = elastic_annotation.contradiction(elastic, spec.roles, least, "spec.minMember")
    return Problem(Reason.INVALID_SPEC, InvalidInput(str(wrong))) if wrong else None


def _other_priority(observed: Observed) -> Problem | None:
    """Return a problem if a member has another priority than its PodGroup.

    Kubernetes refuses both together, too (KEP-5710), since either may be meant.
    """
    spec, pod = observed.spec, observed.differs
    if spec is None or spec.priority is None or pod is None:
        return None
    cause = PriorityDiffers(pod.key, pod.priority, spec.priority)
    return Problem(Reason.INVALID_SPEC, cause)


def _other_policy(observed: Observed) -> Problem | None:
    """Return a problem if a member has another preemptionPolicy than its PodGroup.

    Kubernetes refuses both together, too.
    """
    said = (observed.spec or NO_SPEC).preempts
    pods = () if said is None else one_of_each(observed.living)
    first = min((each for each in pods if each.preempts != said), key=rank_key, default=None)
    if first is None:
        return None
    cause = PreemptionPolicyDiffers(first.key, first.preempts)
    return Problem(Reason.INVALID_SPEC, cause)


def _other_class(observed: Observed) -> Problem | None:
    """Return a problem if no member has the PriorityClass that the PodGroup names.

    A ResourceQuota limits only the priority classes of pods. So a PodGroup never lifts pods above
    their own.
    """
    wanted = (observed.spec or NO_SPEC).priority_class
    pods = one_of_each(observed.living) if wanted else ()
    if not pods or any(each.priority_class == wanted for each in pods):
        return None
    first = min(pods, key=rank_key)
    cause = ClassDiffers(first.key, first.priority_class, wanted)
    return Problem(Reason.INVALID_SPEC, cause)


def _of_objects(observed: Observed) -> Problem | None:
    """Return the problem of the objects that describe the gang, or of their absence."""
    kind = table.BY_NAME[observed.key.source].object_kind
    gang_spec = observed.spec
    if gang_spec is None:
        if not kind:
            return None
        return Problem(Reason.POD_GROUP_NOT_FOUND, ObjectMissing(kind, observed.key))
    specs = observed.specs.values()
    groups = sorted({each.gvr.group for each in specs if each.gvr})
    if len(groups) > 1:
        return Problem(Reason.INVALID_SPEC, ObjectTwice(observed.key, tuple(groups)))
    workload = observed.missing_workload
    if gang_spec.problem is None and workload is not None:
        return Problem(Reason.POD_GROUP_NOT_FOUND, ObjectMissing(workload.source, workload))
    return gang_spec.problem


def _strange_role(members: Sequence[Pod], roles: Sequence[Role]) -> Problem | None:
    """Return a problem if a member has an unknown role, or no role although the gang has some."""
    known = tuple(each.name for each in roles)
    for pod in one_of_each(members):
        if not known and not pod.role:
            continue
        # The names that a controller gives to its pods make no roles unless the gang declares
        # roles.
        if pod.role not in known if known else annotations.ROLE in pod.labels:
            return Problem(Reason.INVALID_SPEC, RoleUnknown(pod.key, pod.role, known))
    return None


def _misplaced(members: Sequence[Pod], topology_request: TopologyRequest | None) -> Problem | None:
    """Return a problem if a member has a request that differs from its PodGroup's.

    The request belongs on the PodGroup.
    """
    for pod in one_of_each(members):
        asked = pod.gang_request
        if asked is not None and (asked.problem or asked.topology_request != topology_request):
            return Problem(Reason.INVALID_SPEC, GangRequestMisplaced(pod.key))
    return None
