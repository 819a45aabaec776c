"""Jobs and JobSets that ask for a gang in a place that their pods do not get it from."""

from collections.abc import Iterable, Iterator
from typing import Final

from gang_scheduler.api import annotations
from gang_scheduler.decode import keys
from gang_scheduler.decode.fields import field
from gang_scheduler.decode.gangs.gang_objects import MisplacedRequest
from gang_scheduler.decode.pods import membership
from gang_scheduler.model import gang_sources
from gang_scheduler.model.causes import InvalidInput
from gang_scheduler.model.problems import Problem, Reason
from gang_scheduler.model.refs import WorkloadRef
from gang_scheduler.wire import jobs
from gang_scheduler.wire.conditions import Condition
from gang_scheduler.wire.metadata import Metadata
from gang_scheduler.wire.pods import Pod, PodTemplate

OF_JOB: Final = "spec.template"
OF_JOB_SET: Final = "spec.replicatedJobs[].template.spec.template"
"""Where the pod template is."""
JOB_SET: Final = gang_sources.JOB_SET.object_kind
ENDED: Final = frozenset({"Complete", "Completed", "Failed"})
"""Conditions of Jobs and JobSets that run no pods any more."""


def of_job(source: jobs.Job) -> MisplacedRequest | None:
    """Return what a Job asks for in vain; None if its pods are a gang, or none is asked for."""
    if _makes_gangs(source.spec.template):
        return None
    metadata, status = source.metadata, source.status
    workload = WorkloadRef(gang_sources.JOB.object_kind, metadata.namespace, metadata.name)
    is_part = any(each.kind == JOB_SET for each in metadata.owner_references)
    templates = () if is_part or _has_ended(status.conditions) else (source.spec.template,)
    return _request(workload, _misplaced(metadata, OF_JOB, [source.spec.template]), templates)


def of_job_set(source: jobs.JobSet) -> MisplacedRequest | None:
    """Return the same of a JobSet; also if only the pods of some replicatedJobs are a gang."""
    templates = [each.template.spec.template for each in source.spec.replicated_jobs]
    alone = [each for each in templates if not _makes_gangs(each)]
    if not alone:
        return None
    metadata = source.metadata
    workload = WorkloadRef(JOB_SET, metadata.namespace, metadata.name)
    templates = [] if _has_ended(source.status.conditions) else alone
    return _request(workload, _misplaced(metadata, OF_JOB_SET, alone), templates)


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


def _misplaced(
    metadata: Metadata, template: str, templates: Iterable[PodTemplate]
) -> Iterator[str]:
    """Yield which keys of a workload's own metadata belong in its pod template.

    What a template says as well is not misplaced, whatever is wrong with it: the API server copies
    the labels of its template to a Job that has none.
    """
    key = annotations.JOB_GANG_LABEL
    places = ((metadata.labels, keys.label_field(key)), (metadata.annotations, field(key)))
    said = {each.metadata.labels.get(key) for each in templates} | {"false", None}
    for present, where in places:
        if present.get(key) not in said:
            yield f"{where} belongs in {template}.metadata.labels"
    key = annotations.NETWORK_TOPOLOGY_SPEC
    if key in metadata.annotations:
        yield f"{field(key)} belongs in {template}.metadata.annotations"


def _makes_gangs(template: PodTemplate) -> bool:
    """Return whether the pods of a template are members of a gang, whichever way they say it."""
    metadata = template.metadata
    if annotations.ask_for_gang(metadata.labels, metadata.annotations):
        return True
    return membership.gang_of(Pod(metadata, template.spec)).source != gang_sources.SINGLE.name
