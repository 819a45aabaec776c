"""JobSets and TrainJobs: their gangs, and the Jobs that their controllers would create.

Each replicatedJob of a JobSet is a gang if its pod template says so. JobSets that a TrainJob owns
are gangs by default, unless their pod template says no.
"""

import hashlib
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Annotated, Any, Final

from msgspec import field

from gang_scheduler.api import annotations
from gang_scheduler.api.annotations import (
    JOB_GANG_LABEL,
    JOB_SET_LABEL,
    POD_GROUP_LABEL_SCHED_PLUGINS,
    REPLICATED_JOB_LABEL,
)
from gang_scheduler.api.kinds import JOB_SETS
from gang_scheduler.api.parsing import IS, InvalidField
from gang_scheduler.decode import fields
from gang_scheduler.decode.fields import group_of
from gang_scheduler.decode.gang_annotations import GangOptions
from gang_scheduler.decode.gangs.specs import (
    GangObject,
    GangSpec,
    with_elastic,
    with_foreign_marks,
    with_run_time,
    with_topology_request,
)
from gang_scheduler.decode.pods import membership
from gang_scheduler.decode.pods.membership import PodsOfKind
from gang_scheduler.decode.pods.pod_class import pod_requests
from gang_scheduler.decode.queues import naming
from gang_scheduler.decode.reader import Unreadable
from gang_scheduler.model import pods, refs
from gang_scheduler.model.gangs import OwnDomains
from gang_scheduler.model.refs import GangKey, GangSource
from gang_scheduler.wire.base import Condition, Count, Metadata, MetadataOnly, Wire, Words
from gang_scheduler.wire.jobs import JobTemplate
from gang_scheduler.wire.pods import Pod, PodTemplate
from gang_scheduler.workloads import controllers, exclusive_topology, misplaced_requests
from gang_scheduler.workloads.controllers import Source, is_active, part
from gang_scheduler.workloads.exclusive_topology import exclusive, in_domain
from gang_scheduler.workloads.kind import Body, IsLate, Kind, Owns, Suspend, served

# TrainJobs of Kubeflow Trainer: the JobSet of a TrainJob makes its pods, and declares its gangs.
# The pods have no mark of their TrainJob; it owns the JobSet. The scheduler reads a TrainJob itself
# only where it may wait suspended. It then has a JobSet too, which is suspended as well.

SOURCE: Final = GangSource("TrainJob", "JobSet")
API_GROUP: Final = "trainer.kubeflow.org"


class TrainJobSpec(Wire, frozen=True):
    """`spec` of a TrainJob."""

    suspend: bool = False
    managed_by: str = ""


class TrainJobStatus(Wire, frozen=True):
    """`status` of a TrainJob."""

    conditions: list[Condition] = field(default_factory=list)


class TrainJob(Wire, frozen=True):
    """A TrainJob."""

    metadata: Metadata
    spec: TrainJobSpec = TrainJobSpec()
    status: TrainJobStatus = TrainJobStatus()


def own(job_set: Metadata) -> bool:
    """Return whether a TrainJob owns a JobSet."""
    return any(
        each.kind == SOURCE.name and group_of(each.api_version) == API_GROUP
        for each in job_set.owner_references
    )


def read_train_job(body: Mapping[str, Any]) -> GangObject:
    """Return a TrainJob: it names the queue of its pods, but no gang. Raises InvalidField."""
    metadata = fields.read(body, MetadataOnly).metadata
    return GangObject(
        metadata.uid,
        workload=of_job_set(f"{metadata.namespace}/{metadata.name}"),
        queue_request=naming.request_of(metadata.labels, metadata.annotations),
    )


def of_job_set(job_set: str) -> str:
    """Return the text for the TrainJob of a JobSet (namespace/name): it has the same name."""
    return f"TrainJob {job_set}"


FIXED: Final = ", whose replicatedJobs cannot be changed"
"""Why the number of pods of a JobSet stays the same: its webhook refuses a change of them."""
INDEXES: Final = ("jobset.sigs.k8s.io/job-index", "batch.kubernetes.io/job-completion-index")
"""The keys of a pod's indexes. The index of the Job comes first, so that pods sort by Job."""

IN_ORDER: Final = "InOrder"
ALPHA_PREFIX: Final = "alpha.jobset.sigs.k8s.io/"


class ReplicatedJob(Wire, frozen=True):
    """`spec.replicatedJobs[]`."""

    name: str = ""
    replicas: Count = 1
    template: JobTemplate = JobTemplate()
    depends_on: list[dict[str, object]] = field(default_factory=list)


class StartupPolicy(Wire, frozen=True):
    """`spec.startupPolicy` of a JobSet."""

    startup_policy_order: Annotated[str, Words({"AnyOrder", IN_ORDER})] = ""


class JobSetSpec(Wire, frozen=True):
    """`spec` of a JobSet."""

    replicated_jobs: list[ReplicatedJob] = field(default_factory=list)
    startup_policy: StartupPolicy = StartupPolicy()
    suspend: bool = False
    managed_by: str = ""


class ReplicatedJobStatus(Wire, frozen=True):
    """`status.replicatedJobsStatus[]` of a JobSet: how many of the Jobs have succeeded."""

    name: str = ""
    succeeded: Count = 0


class JobSetStatus(Wire, frozen=True):
    """`status` of a JobSet."""

    replicated_jobs_status: list[ReplicatedJobStatus] = field(default_factory=list)
    conditions: list[Condition] = field(default_factory=list)


class JobSet(Wire, frozen=True):
    """A JobSet."""

    metadata: Metadata
    spec: JobSetSpec = JobSetSpec()
    status: JobSetStatus = JobSetStatus()


def name_of(metadata: Metadata) -> str:
    """Return the gang name of the pods of a replicatedJob; "" for any other pod."""
    job_set, job = metadata.labels.get(JOB_SET_LABEL), metadata.labels.get(REPLICATED_JOB_LABEL)
    return refs.job_set_gang(job_set, job) if job_set and job else ""


def read(body: Body) -> GangObject:
    """Return a JobSet. Raises InvalidField if it cannot be read."""
    source = fields.read(body, JobSet)
    metadata = source.metadata
    return GangObject(
        metadata.uid,
        _gang_specs(source, PodTemplate.asks_for_gang),
        misplaced=misplaced_requests.of_job_set(
            metadata,
            [each.template.spec.template for each in source.spec.replicated_jobs],
            source.status.conditions,
            _counted_in_vain(source),
        ),
        parts=_parts_of(source),
        by_default=_gang_specs(source, _may_be) if own(metadata) else None,
        in_order=_starts_in_order(source.spec),
        workload=f"{metadata.namespace}/{metadata.name}",
        queue_request=naming.request_of(metadata.labels, metadata.annotations),
    )


def _lateness(body: Body) -> IsLate:
    """Return which pods are created late: after other replicatedJobs, or after the first pod."""
    late = _late_jobs(fields.read(body, JobSet).spec)
    return lambda metadata: (
        metadata["labels"].get(REPLICATED_JOB_LABEL) in late
        or exclusive_topology.is_held_back(metadata["annotations"])
    )


def _late_jobs(spec: JobSetSpec) -> frozenset[str]:
    """Return the replicatedJobs that are created only once others run, or have succeeded."""
    in_order = spec.startup_policy.startup_policy_order == IN_ORDER
    return frozenset(
        each.name
        for place, each in enumerate(spec.replicated_jobs)
        if each.depends_on or (in_order and place)
    )


def _pod_count(body: Body) -> int:
    """Return how many Jobs and pods a JobSet has."""
    jobs = fields.read(body, JobSet).spec.replicated_jobs
    return sum(each.replicas * (1 + each.template.spec.at_once) for each in jobs)


def _counted_in_vain(source: JobSet) -> str:
    """Return coscheduling's PodGroup that counts all pods of an ordered TrainJob; "" for none."""
    name = source.metadata.name
    if not (own(source.metadata) and _starts_in_order(source.spec)):
        return ""
    templates = (each.template.spec.template for each in source.spec.replicated_jobs)
    named = {each.metadata.labels.get(POD_GROUP_LABEL_SCHED_PLUGINS) for each in templates}
    return name if name in named else ""


def _may_be(template: PodTemplate) -> bool:
    """Return whether the pods of a template may be a gang by default."""
    return template.asks_for_gang() or JOB_GANG_LABEL not in template.metadata.labels


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
        # Only the first gang names the group: it is enough if one of two gangs names the other, and
        # a JobSet may have thousands of replicatedJobs.
        options = GangOptions(groups=tuple(_key(source, each).called for each in jobs))
    return tuple(
        _replicated(source, each, GangOptions() if place else options)
        for place, each in enumerate(jobs)
    )


def _parts_of(source: JobSet) -> tuple[tuple[str, int], ...]:
    """Return each replicatedJob with the largest number of pods that its Jobs can have at once."""
    metadata = source.metadata
    return tuple(
        (
            refs.part_of(metadata.namespace, metadata.name, each.name),
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
    present = {**of_template, **source.metadata.annotations}
    spec = with_elastic(spec, present, refs.JOB_SET.name, FIXED)
    place = exclusive_topology.said_by(source.metadata, each.template.metadata)
    layer = exclusive_topology.layer_of(place)
    return _holding_back(spec, each, layer) if layer else spec


def _holding_back(spec: GangSpec, each: ReplicatedJob, layer: str) -> GangSpec:
    """Return the spec of a gang whose Jobs get their other pods once their first pod has a node."""
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
    """Return the gang of a replicatedJob; its quorum leaves out pods that cannot exist yet."""
    if described is None or not described.held_back:
        return described
    return exclusive_topology.without_held_back(described, members)


def _succeeded(source: JobSet, job: ReplicatedJob) -> int:
    """Return how many Jobs of a replicatedJob have succeeded; their pods may be gone."""
    return sum(
        each.succeeded for each in source.status.replicated_jobs_status if each.name == job.name
    )


def _key(source: JobSet, each: ReplicatedJob) -> GangKey:
    name = refs.job_set_gang(source.metadata.name, each.name)
    return GangKey(refs.JOB_SET.name, source.metadata.namespace, name)


def _starts_in_order(spec: JobSetSpec) -> bool:
    """Return whether some Jobs are created only after others run, so they cannot start together."""
    in_order = spec.startup_policy.startup_policy_order == IN_ORDER
    return in_order or any(each.depends_on for each in spec.replicated_jobs)


PODS: Final = PodsOfKind(
    refs.JOB_SET,
    lambda pod: name_of(pod.metadata),
    keys=frozenset({JOB_SET_LABEL}),
    rank_of=lambda metadata: membership.numbers(metadata, INDEXES),
    rank_keys=frozenset(INDEXES),
    prefixes=(ALPHA_PREFIX,),
)


# Jobs that the controller of JobSets would create.

PREFIX: Final = "jobset.sigs.k8s.io/"
DEFAULT_GROUP: Final = "default"
INDEXED: Final = "Indexed"
JOB_KEY: Final = f"{PREFIX}job-key"
PRIORITY: Final = f"{PREFIX}priority"
NAMESPACED_JOB: Final = "alpha.jobset.sigs.k8s.io/namespaced-job"
NO_SCHEDULE: Final = "alpha.jobset.sigs.k8s.io/no-schedule"

IN_ANY_NAMESPACE: Final[Body] = {"namespaceSelector": {}}


def job_set(source: Source) -> Iterator[Body]:
    """Yield the Jobs of a JobSet. Raises InvalidField that names the field and the value."""
    if not source.from_cluster:
        _check_first_pods(source.read(JobSet))
    return jobs_of(source.body)


def _check_first_pods(job_set: JobSet) -> None:
    """Raise InvalidField if pods must follow the first pod of their Job, and the Job has none."""
    for i, each in enumerate(job_set.spec.replicated_jobs):
        said = exclusive_topology.said_by(job_set.metadata, each.template.metadata)
        mode = each.template.spec.completion_mode
        if exclusive_topology.layer_of(said) and mode not in ("", INDEXED):
            field = f"spec.replicatedJobs[{i}].template.spec.completionMode"
            need = f"must be {INDEXED} with {annotations.EXCLUSIVE_TOPOLOGY}"
            raise InvalidField(field, mode, f"{need}, as JobSet refuses pods without an index", IS)


def train_job(source: Source) -> Iterator[Body]:
    """Yield nothing: the controller makes the JobSet of a TrainJob from its training runtime."""
    group = "jobset.x-k8s.io"
    if source.present.find("JobSet", group, source.namespace, source.name) is None:
        source.unknown.append(
            f"TrainJob {source.name} runs as a JobSet that its controller makes of its runtime: "
            f"the input has no JobSet {source.name}, so it has no pods here"
        )
    return iter(())


def jobs_of(job_set: Body) -> Iterator[Body]:
    """Yield the Jobs of a JobSet. Raises InvalidField that names the field and the value."""
    source = fields.read(job_set, JobSet)
    given = job_set.get("spec", {}).get("replicatedJobs", [])
    numbers = [each.replicas for each in source.spec.replicated_jobs]
    groups = [each.get("groupName", DEFAULT_GROUP) for each in given]
    in_group: Counter[str] = Counter()
    for group, number in zip(groups, numbers, strict=True):
        in_group[group] += number
    total, before, before_in_group = sum(numbers), 0, Counter[str]()
    for i, replicated in enumerate(given):
        where, number = f"spec.replicatedJobs[{i}]", numbers[i]
        if "name" not in replicated:
            raise InvalidField(f"{where}.name", None, "is required")
        if "template" not in replicated.get("template", {}).get("spec", {}):
            raise InvalidField(f"{where}.template.spec.template", None, "is required")
        controllers.check_number(number, f"{where}.replicas")
        group = groups[i]
        place = exclusive_topology.said_by(
            source.metadata, source.spec.replicated_jobs[i].template.metadata
        )
        for index in range(number):
            name = f"{job_set['metadata']['name']}-{replicated['name']}-{index}"
            labels = {
                JOB_SET_LABEL: job_set["metadata"]["name"],
                REPLICATED_JOB_LABEL: replicated["name"],
                f"{PREFIX}jobset-uid": controllers.uid_label(job_set),
                JOB_KEY: _sha1(f"{job_set['metadata']['namespace']}/{name}"),
                f"{PREFIX}replicatedjob-replicas": str(number),
                f"{PREFIX}job-index": str(index),
                f"{PREFIX}job-global-index": str(before + index),
                f"{PREFIX}global-replicas": str(total),
                f"{PREFIX}group-name": str(group),
                f"{PREFIX}group-replicas": str(in_group[group]),
                f"{PREFIX}job-group-index": str(before_in_group[group] + index),
                f"{PREFIX}restart-attempt": "0",
            }
            yield _job(job_set, replicated, name, labels, place)
        before += number
        before_in_group[group] += number


def admitted(source: Source, pods: Iterable[Body], present: Collection[Body]) -> Iterator[Body]:
    """Yield the pods of a Job that JobSet's webhook admits, with its changes.

    `present` are the pods that the Job has already. For a manifest, all pods are made together, and
    their affinity keeps the other pods in the domain of the first pod.
    """
    for pod in pods:
        own, key = pod["metadata"]["annotations"], pod["metadata"]["labels"].get(JOB_KEY)
        if not key or JOB_SET_LABEL not in own or annotations.NODE_SELECTOR_STRATEGY in own:
            yield pod
        elif (found := _admitted(source, pod, key, present)) is not None:
            yield found


def _admitted(source: Source, pod: Body, key: str, present: Collection[Body]) -> Body | None:
    own, priority = pod["metadata"]["annotations"], str(source.present.priority_of(pod["spec"]))
    pod = controllers.labelled(pod, {PRIORITY: priority})
    layer = exclusive_topology.layer_of(own)
    if not layer:
        return pod
    if exclusive_topology.is_first(own.get(exclusive_topology.INDEX, "")):
        return _alone(pod, layer, key, priority)
    domain = _domain_of_first(source, present, layer)
    if domain:
        return in_domain(pod, layer, domain)
    if source.from_cluster:
        return None
    return _alone(pod, layer, key, priority)


def _alone(pod: Body, layer: str, key: str, priority: str) -> Body:
    """Return a pod that shares its domain only with pods of its Job.

    Only pods of the same priority are kept out, so that other pods can be evicted for it.
    """
    alike = {"key": PRIORITY, "operator": "In", "values": [priority]}
    return exclusive(pod, layer, JOB_KEY, key, among=IN_ANY_NAMESPACE, others=(alike,))


def _domain_of_first(source: Source, present: Iterable[Body], layer: str) -> str:
    """Return the domain of the first pod of a Job; "" until that pod has a node."""
    for each in present:
        index = part(each, "metadata", "annotations").get(exclusive_topology.INDEX, "")
        if is_active(each) and exclusive_topology.is_first(index):
            node = part(each, "spec").get("nodeName")
            found = source.present.find("Node", "", "default", str(node)) if node else None
            return str(part(found or {}, "metadata", "labels").get(layer, ""))
    return ""


def _sha1(text: str) -> str:
    return hashlib.sha1(text.encode(), usedforsecurity=False).hexdigest()


def _job(
    job_set: Body,
    replicated: Body,
    name: str,
    labels: Mapping[str, str],
    place: Mapping[str, str],
) -> Body:
    template = replicated.get("template", {})
    spec = template.get("spec", {})
    pod = controllers.from_template(spec.get("template", {}), labels, {**labels, **place})
    metadata = controllers.merged(template.get("metadata", {}), labels, {**labels, **place})
    if annotations.NODE_SELECTOR_STRATEGY in place:
        pod = _on_nodes_labelled_for(pod, f"{job_set['metadata']['namespace']}_{name}")
    # JobSet's webhook fills this in; a Job without it is refused.
    restart = pod["spec"].get("restartPolicy") or "OnFailure"
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {**metadata, **controllers.owned(job_set, name)},
        # A JobSet that starts also starts its Jobs, even if the template says suspend.
        "spec": {
            "completionMode": INDEXED,
            **spec,
            "suspend": False,
            "template": {
                "metadata": pod["metadata"],
                "spec": {**pod["spec"], "restartPolicy": restart},
            },
        },
    }


def _on_nodes_labelled_for(pod: Body, job: str) -> dict[str, Any]:
    """Return a pod that needs nodes which an administrator has labelled and tainted for its Job."""
    spec = pod["spec"]
    selector = {**(spec.get("nodeSelector") or {}), NAMESPACED_JOB: job}
    toleration = {"key": NO_SCHEDULE, "operator": "Exists", "effect": "NoSchedule"}
    tolerations = [*(spec.get("tolerations") or ()), toleration]
    return {**pod, "spec": {**spec, "nodeSelector": selector, "tolerations": tolerations}}


JOB_SET: Final = Kind(
    name=refs.JOB_SET.name,
    versions=(JOB_SETS,),
    struct=JobSet,
    read=read,
    if_unreadable=Unreadable.KEEP,
    pods=PODS,
    by_members=by_members,
    creates=job_set,
    pod_count=_pod_count,
    lateness=_lateness,
    suspend=Suspend(),
    controller="jobset.sigs.k8s.io/jobset-controller",
)
TRAIN_JOB: Final = Kind(
    name=SOURCE.name,
    versions=served(f"trainjobs.{API_GROUP}", "v1alpha1"),
    struct=TrainJob,
    read=read_train_job,
    if_unreadable=Unreadable.KEEP,
    # Its pods do not name a gang of this kind: the gang belongs to the JobSet.
    pods=PodsOfKind(SOURCE, keys=frozenset({JOB_SET_LABEL}), by_default=True),
    creates=train_job,
    suspend=Suspend(),
    controller=f"{API_GROUP}/trainjob-controller",
    owns=Owns(refs.JOB_SET.name, declares_members=False),
)
