"""The words for what is wrong with, or missing from, what describes a gang."""

from collections.abc import Mapping
from typing import Final

from gang_scheduler.api.annotations import GANG_GROUPS, ROLE, ROLES
from gang_scheduler.decode import keys
from gang_scheduler.decode.fields import field
from gang_scheduler.decode.workloads import volcano_pod_groups
from gang_scheduler.model import gang_sources
from gang_scheduler.model.causes.specs import (
    ClassDiffers,
    FieldsUnsupported,
    GangMissing,
    InvalidInput,
    MinMemberAboveJobs,
    ObjectMissing,
    ObjectTwice,
    OneSided,
    PriorityClassMissing,
    PriorityDiffers,
    RoleUnknown,
)
from gang_scheduler.model.problems import Cause
from gang_scheduler.report.texts.causes.entries import Text, entry

ALWAYS_READ: Final = frozenset({"PodGroup", "Job"})
"""Kinds of objects without which the scheduler does not start."""


def _missing(it: ObjectMissing) -> str:
    of = " of scheduling.volcano.sh" if it.gang.source == volcano_pod_groups.SOURCE.name else ""
    # The rights may not cover kinds that came with a later release, or not any more.
    or_else = "" if it.kind in ALWAYS_READ else ", or may not be read"
    return f'{it.kind}{of} "{it.gang.namespace}/{_object_of(it)}" does not exist{or_else}'


def _object_of(it: ObjectMissing) -> str:
    """Return the name of the object: a JobSet describes a gang for each of its replicatedJobs."""
    name = it.gang.name
    return name.partition("/")[0] if it.kind == gang_sources.JOB_SET.object_kind else name


def _fields_unsupported(cause: FieldsUnsupported) -> str:
    of = f"pod {cause.pod}: " if cause.pod else ""
    meant = {each: keys.near_podset(each) for each in cause.fields}
    said = [f"{each} is unknown; did you mean {near}?" for each, near in meant.items() if near]
    others = ", ".join(each for each, near in meant.items() if not near)
    said += [f"{others} cannot be honoured by this scheduler yet"] if others else []
    return f"{of}{'; '.join(said)}"


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


TEXTS: Final[Mapping[type[Cause], Text]] = dict(
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
