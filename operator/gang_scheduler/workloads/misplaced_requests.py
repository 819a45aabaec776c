"""Workloads that request a gang in a field from which their pods do not get it."""

from collections.abc import Collection, Iterable, Iterator
from typing import Final

from msgspec.structs import replace

from gang_scheduler.api import annotations
from gang_scheduler.decode import foreign_marks, known_keys
from gang_scheduler.decode.gangs.specs import MisplacedRequest
from gang_scheduler.decode.pods.membership import named_gang_of
from gang_scheduler.decode.queues import naming
from gang_scheduler.model import refs, similar_names
from gang_scheduler.model.causes.specs import InvalidInput
from gang_scheduler.model.reasons import Problem, Reason
from gang_scheduler.model.refs import WorkloadRef
from gang_scheduler.model.wording import field, label_field
from gang_scheduler.wire.base import Condition, Metadata
from gang_scheduler.wire.pods import Pod, PodTemplate

OF_JOB: Final = "spec.template"
OF_JOB_SET: Final = "spec.replicatedJobs[].template.spec.template"
"""The path of the pod template."""
STATEFUL_SET: Final = "StatefulSet"
JOB_SET: Final = refs.JOB_SET.object_kind
ENDED: Final = frozenset({"Complete", "Completed", "Failed"})
"""Conditions of Jobs and JobSets that run no more pods."""


_LABELS: Final = known_keys.POD_GROUP_NAMES | known_keys.POD_GROUP_LABELS | {annotations.ROLE}
_ANNOTATIONS: Final = (
    known_keys.OPTIONS
    | annotations.PODSET_KEYS
    | {
        annotations.GANG_NAME,
        annotations.GANG_MIN_AVAILABLE,
        annotations.NETWORK_TOPOLOGY_SPEC,
        annotations.NETWORK_TOPOLOGY_INDEX,
    }
)
"""Annotations that are read only on pods, so they belong in the pod template."""
_NAMING: Final = _LABELS | {annotations.JOB_GANG_LABEL, *known_keys.FOREIGN}
_NAMING_IN_ANNOTATIONS: Final = _NAMING | {annotations.GANG_NAME, annotations.GANG_MIN_AVAILABLE}
"""Keys that make pods a gang, if pods have them.

On a workload itself they do nothing, and are no fault if its template makes its pods a gang.
"""


def of_job(
    metadata: Metadata, template: PodTemplate, conditions: Iterable[Condition]
) -> MisplacedRequest | None:
    """Return the gang request that a Job has where it has no effect; None without one."""
    workload = WorkloadRef(refs.JOB.object_kind, metadata.namespace, metadata.name)
    is_part = any(each.kind == JOB_SET for each in metadata.owner_references)
    is_gang = _makes_gangs(template)
    asked = _asked(metadata, [template])
    faults = _misplaced(asked, OF_JOB, is_gang=is_gang, options=_options_belong(OF_JOB, [template]))
    ended = is_part or _has_ended(conditions)
    return _request(workload, faults, () if ended else (template,))


def of_job_set(
    metadata: Metadata,
    templates: Collection[PodTemplate],
    conditions: Iterable[Condition],
    counted_in_vain: str = "",
) -> MisplacedRequest | None:
    """Return the gang request that a JobSet has where it has no effect; None without one.

    Also return a request if only the pods of some replicatedJobs are a gang. `counted_in_vain` is
    the PodGroup that counts all pods of a JobSet if these can never exist together.
    """
    alone = [each for each in templates if not _makes_gangs(each)]
    workload = WorkloadRef(JOB_SET, metadata.namespace, metadata.name)
    asked = _asked(metadata, alone or templates)
    options = _options_belong(OF_JOB_SET, templates)
    faults = [*_misplaced(asked, OF_JOB_SET, is_gang=not alone, options=options)]
    if counted_in_vain:
        where = label_field(annotations.POD_GROUP_LABEL_SCHED_PLUGINS)
        text = "counts pods that come one after the other: each replicatedJob is a gang of its own"
        faults.append(f"PodGroup {counted_in_vain} of {where} {text}")
    return _request(workload, faults, () if _has_ended(conditions) else (alone or templates))


def of_stateful_set(metadata: Metadata, template: PodTemplate) -> MisplacedRequest | None:
    """Return the gang request that a StatefulSet has where it has no effect; None without one."""
    workload = WorkloadRef(STATEFUL_SET, metadata.namespace, metadata.name)
    asked = _asked(metadata, [template])
    return _request(workload, _misplaced(asked, OF_JOB, is_gang=_makes_gangs(template)), [template])


def beside_template(metadata: Metadata) -> str:
    """Return the misplaced gang request outside of a workload's one pod template; "" for none."""
    return "; ".join(_misplaced(metadata, OF_JOB, is_gang=False))


def _request(
    workload: WorkloadRef, faults: Iterable[str], templates: Iterable[PodTemplate]
) -> MisplacedRequest | None:
    found = "; ".join(faults)
    if not found:
        return None
    kind, namespace, name = workload
    text = f"{kind} {namespace}/{name}: {found}"
    return MisplacedRequest(
        workload,
        Problem(Reason.INVALID_SPEC, InvalidInput(text)),
        frozenset(each.spec.scheduler_name for each in templates),
    )


def _has_ended(conditions: Iterable[Condition]) -> bool:
    return any(each.type in ENDED and each.status == "True" for each in conditions)


def _asked(metadata: Metadata, templates: Iterable[PodTemplate]) -> Metadata:
    """Return the metadata of a workload without the labels that its templates have, too.

    Such labels are not misplaced: the API server copies the labels of the template to a Job that
    has no labels.
    """
    said = {pair for each in templates for pair in each.metadata.labels.items()}
    labels = {key: text for key, text in metadata.labels.items() if (key, text) not in said}
    return replace(metadata, labels=labels)


def _options_belong(template: str, templates: Iterable[PodTemplate]) -> str:
    """Return where options of gangs belong: on the template, unless an object declares the gang."""
    by_members = refs.ANNOTATION.name
    named = [
        (named_gang_of(Pod(each.metadata, each.spec)), each.asks_for_gang()) for each in templates
    ]
    if any(gang.source != by_members if gang else by_kind for gang, by_kind in named):
        return known_keys.ON_A_POD_GROUP
    return f"belongs in {template}.metadata.annotations"


def _misplaced(
    asked: Metadata, template: str, *, is_gang: bool, options: str = ""
) -> Iterator[str]:
    """Yield the faults in the metadata of a workload itself.

    If its template already makes its pods a gang, the keys that would do so are no fault here.
    `options` says where options of gangs belong; by default it is the template.
    """
    labels = {key for key, text in asked.labels.items() if _asks_for_gang(key, text)}
    present = {key for key, text in asked.annotations.items() if _asks_for_gang(key, text)}
    if is_gang:
        labels, present = labels - _NAMING, present - _NAMING_IN_ANNOTATIONS
    else:
        present = present - {annotations.MIN_RUNTIME}
    yield from _in_labels(labels, template)
    yield from _in_annotations(present, template, options)
    if queue := naming.misplaced(asked.labels, asked.annotations):
        yield str(queue)
    for where, product in known_keys.foreign(labels, present):
        yield f"{where} is for {product}, and makes no gang here"
    yield from map(str, foreign_marks.refused(asked.labels, asked.annotations))


def _asks_for_gang(key: str, text: str) -> bool:
    return (key, text) != (annotations.JOB_GANG_LABEL, "false")


def _in_labels(labels: Collection[str], template: str) -> Iterator[str]:
    for key in sorted(labels):
        if key == annotations.JOB_GANG_LABEL or key in _LABELS:
            yield f"{label_field(key)} belongs in {template}.metadata.labels"
    yield from map(str, known_keys.unknown_labels(labels))
    yield from map(str, known_keys.not_read(_without(labels, _LABELS), ()))


def _in_annotations(present: Collection[str], template: str, options: str) -> Iterator[str]:
    podsets = 0
    for key in sorted(present):
        podsets += key.startswith(annotations.KUEUE_PODSET_PREFIX)
        if key == annotations.JOB_GANG_LABEL or key in _LABELS:
            yield f"{field(key)} belongs in {template}.metadata.labels"
        elif options and (key in known_keys.OPTIONS or key == annotations.MIN_RUNTIME):
            yield f"{field(key)} {options}"
        elif key in _ANNOTATIONS:
            yield f"{field(key)} belongs in {template}.metadata.annotations"
        elif (
            podsets <= known_keys.MOST_HINTED
            and key.startswith(annotations.KUEUE_PODSET_PREFIX)
            and (near := similar_names.near_podset(field(key)))
        ):
            yield f"{field(key)} is unknown; did you mean {near}?"
    rest = _without(present, _LABELS | {annotations.JOB_GANG_LABEL, annotations.QUEUE})
    yield from map(str, known_keys.unknown_annotations(rest))
    yield from map(str, known_keys.not_read((), rest))


def _without(present: Collection[str], known: Collection[str]) -> list[str]:
    return [key for key in present if key not in known]


def _makes_gangs(template: PodTemplate) -> bool:
    """Return whether the pods of a template are members of any gang."""
    return (
        template.asks_for_gang() or named_gang_of(Pod(template.metadata, template.spec)) is not None
    )
