"""JobSets. Each replicatedJob is a gang if its pod template asks for it.

Those that a TrainJob owns are gangs without asking, unless their pod template refuses it.
"""

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Final

from gang_scheduler.api.annotations import (
    JOB_GANG_LABEL,
    JOB_SET_LABEL,
    POD_GROUP_LABEL_SCHED_PLUGINS,
    REPLICATED_JOB_LABEL,
)
from gang_scheduler.api.kinds import JOB_SETS
from gang_scheduler.decode import fields
from gang_scheduler.decode.gangs.gang_annotations import GangOptions
from gang_scheduler.decode.gangs.gang_objects import GangObject
from gang_scheduler.decode.gangs.gang_specs import (
    GangSpec,
    with_elastic,
    with_foreign_marks,
    with_run_time,
    with_topology_request,
)
from gang_scheduler.decode.pods import rank
from gang_scheduler.decode.pods.membership import PodsOfKind
from gang_scheduler.decode.pods.requests import pod_requests
from gang_scheduler.decode.queues import naming
from gang_scheduler.decode.reader import Unreadable
from gang_scheduler.decode.workloads import exclusive_topology, misplaced_requests, train_jobs
from gang_scheduler.decode.workloads.kind import Body, ObjectsOfKind, WorkloadKind, asks
from gang_scheduler.model import gang_sources, pods
from gang_scheduler.model.gangs import OwnDomains
from gang_scheduler.model.refs import GangKey
from gang_scheduler.wire.metadata import Metadata
from gang_scheduler.wire.pods import Pod, PodTemplate
from gang_scheduler.wire.workloads.jobs import JobSet, JobSetSpec, ReplicatedJob

INDEXES: Final = ("jobset.sigs.k8s.io/job-index", "batch.kubernetes.io/job-completion-index")
"""Where the indexes of a pod are, the coarse one first: pods of two Jobs must not alternate."""

IN_ORDER: Final = "InOrder"
ALPHA_PREFIX: Final = "alpha.jobset.sigs.k8s.io/"


def name_of(metadata: Metadata) -> str:
    """Return the name of the gang of the pods of a replicatedJob; "" for any other pod."""
    job_set, job = metadata.labels.get(JOB_SET_LABEL), metadata.labels.get(REPLICATED_JOB_LABEL)
    return gang_sources.job_set_gang(job_set, job) if job_set and job else ""


def read(body: Body) -> GangObject:
    """Return a JobSet. Raises InvalidField for what is no JobSet."""
    source = fields.read(body, JobSet)
    metadata = source.metadata
    return GangObject(
        metadata.uid,
        _gang_specs(source, asks),
        misplaced=misplaced_requests.of_job_set(source, _counted_in_vain(source)),
        parts=_parts_of(source),
        by_default=_gang_specs(source, _may_be) if train_jobs.own(metadata) else None,
        in_order=_starts_in_order(source.spec),
        workload=f"{metadata.namespace}/{metadata.name}",
        queue_request=naming.request_of(metadata.labels, metadata.annotations),
    )


def late_parts(body: Body) -> frozenset[str]:
    """Return the replicatedJobs that are created only after others run, or have run."""
    spec = fields.read(body, JobSet).spec
    in_order = spec.startup_policy.startup_policy_order == IN_ORDER
    return frozenset(
        each.name
        for place, each in enumerate(spec.replicated_jobs)
        if each.depends_on or (in_order and place)
    )


def _counted_in_vain(source: JobSet) -> str:
    """Return the PodGroup of coscheduling that counts all pods of a TrainJob that has an order."""
    name = source.metadata.name
    if not (train_jobs.own(source.metadata) and _starts_in_order(source.spec)):
        return ""
    templates = (each.template.spec.template for each in source.spec.replicated_jobs)
    named = {each.metadata.labels.get(POD_GROUP_LABEL_SCHED_PLUGINS) for each in templates}
    return name if name in named else ""


def _may_be(template: PodTemplate) -> bool:
    """Return whether the pods of a template are a gang without asking for it."""
    return asks(template) or JOB_GANG_LABEL not in template.metadata.labels


def _gang_specs(source: JobSet, is_gang: Callable[[PodTemplate], bool]) -> tuple[GangSpec, ...]:
    """Return the gangs among the replicatedJobs, in one group if all start together.

    Raises InvalidField for an invalid time.
    """
    jobs = [
        each
        for each in source.spec.replicated_jobs
        if is_gang(each.template.spec.template) and each.replicas * each.template.spec.at_once
    ]
    options = GangOptions()
    if not _starts_in_order(source.spec):
        options = GangOptions(groups=tuple(_key(source, each).called for each in jobs))
    return tuple(_replicated(source, each, options) for each in jobs)


def _parts_of(source: JobSet) -> tuple[tuple[str, int], ...]:
    """Return the replicatedJobs with how many pods the Jobs of each can have at once."""
    metadata = source.metadata
    return tuple(
        (
            gang_sources.part_of(metadata.namespace, metadata.name, each.name),
            each.replicas * each.template.spec.at_once,
        )
        for each in source.spec.replicated_jobs
    )


def _replicated(source: JobSet, each: ReplicatedJob, options: GangOptions) -> GangSpec:
    job = each.template.spec
    spec = GangSpec(
        key=_key(source, each),
        uid=source.metadata.uid,
        gvr=JOB_SETS,
        created_at=fields.timestamp(source.metadata.creation_timestamp),
        min_member=max(1, each.replicas * job.at_once),
        completions=each.replicas * job.all_completions,
        finished=_succeeded(source, each) >= each.replicas,
        options=options,
        queue_request=naming.request_of(source.metadata.labels, source.metadata.annotations),
    )
    of_template = job.template.metadata.annotations
    spec = with_topology_request(spec, of_template)
    spec = with_run_time(spec, source.metadata)
    spec = with_foreign_marks(spec, source.metadata)
    spec = with_elastic(spec, {**of_template, **source.metadata.annotations})
    place = exclusive_topology.said_by(source.metadata, each.template.metadata)
    layer = exclusive_topology.layer_of(place)
    return _holding_back(spec, each, layer) if layer else spec


def _holding_back(spec: GangSpec, each: ReplicatedJob, layer: str) -> GangSpec:
    """Return the gang of Jobs of which all pods but the first come once that has a node."""
    job = each.template.spec
    needed = pod_requests(Pod(job.template.metadata, job.template.spec))
    number = each.replicas * job.at_once
    return replace(
        spec,
        held_back=job.at_once - 1,
        own_domains=OwnDomains(layer, each.replicas, job.at_once, tuple(sorted(needed.items()))),
        min_resources=tuple(sorted((name, amount * number) for name, amount in needed.items())),
    )


def by_members(
    _: GangKey, members: Iterable[pods.Pod], described: GangSpec | None
) -> GangSpec | None:
    """Return the gang of a replicatedJob without the pods that cannot be there yet."""
    if described is None or not described.held_back:
        return described
    return exclusive_topology.without_held_back(described, members)


def _succeeded(source: JobSet, job: ReplicatedJob) -> int:
    """Return how many Jobs of a replicatedJob have succeeded, whose pods may be gone."""
    return sum(
        each.succeeded for each in source.status.replicated_jobs_status if each.name == job.name
    )


def _key(source: JobSet, each: ReplicatedJob) -> GangKey:
    name = gang_sources.job_set_gang(source.metadata.name, each.name)
    return GangKey(gang_sources.JOB_SET.name, source.metadata.namespace, name)


def _starts_in_order(spec: JobSetSpec) -> bool:
    """Return whether some Jobs are created only after other Jobs run: no common start then."""
    in_order = spec.startup_policy.startup_policy_order == IN_ORDER
    return in_order or any(each.depends_on for each in spec.replicated_jobs)


KIND: Final = WorkloadKind(
    PodsOfKind(
        gang_sources.JOB_SET,
        lambda pod: name_of(pod.metadata),
        keys=frozenset({JOB_SET_LABEL}),
        rank_of=lambda metadata: rank.numbers(metadata, INDEXES),
        rank_keys=frozenset(INDEXES),
        prefixes=(ALPHA_PREFIX,),
    ),
    ObjectsOfKind((JOB_SETS,), read, Unreadable.KEEP),
    by_members,
)
