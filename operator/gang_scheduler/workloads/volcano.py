"""PodGroups and Jobs of Volcano. Its controllers create PodGroups for Jobs and other workloads."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any, Final

from msgspec import field

from gang_scheduler.api.kinds import VOLCANO_JOBS, VOLCANO_POD_GROUPS
from gang_scheduler.api.parsing import IS, InvalidField
from gang_scheduler.decode import fields, known_keys
from gang_scheduler.decode.gangs.specs import GangObject, GangSpec
from gang_scheduler.decode.pods.membership import PodsOfKind
from gang_scheduler.decode.queues import naming
from gang_scheduler.model import refs
from gang_scheduler.model.causes.specs import FieldsUnsupported
from gang_scheduler.model.gangs import Role
from gang_scheduler.model.reasons import Problem, Reason
from gang_scheduler.model.refs import GangKey, QueueName, QueueNameKind, QueueRequest
from gang_scheduler.model.topology_request import LayerRef, TopologyRequest
from gang_scheduler.wire.base import Count, Int32, Metadata, OwnerReference, Quantities, Wire
from gang_scheduler.wire.pods import Pod, PodTemplate
from gang_scheduler.workloads import controllers, kind, ray
from gang_scheduler.workloads.controllers import Phase, Source, part, required
from gang_scheduler.workloads.kind import Body, Kind

SOURCE: Final = refs.VOLCANO_POD_GROUP
VOLCANO_JOB: Final = "VolcanoJob"
"""A Job of Volcano. Only its PodGroup declares its gang."""
TASK: Final = "volcano.sh/task-spec"
REQUESTS: Final = "requests."
OF_QUOTAS: Final = ("limits.", "count/")
PREEMPTABLE: Final = "volcano.sh/preemptable"
HARD: Final = "hard"
TOPOLOGY: Final = "spec.networkTopology"
TIER: Final = f"{TOPOLOGY}.highestTierAllowed"
TIER_NAME: Final = f"{TOPOLOGY}.highestTierName"


class NetworkTopology(Wire, frozen=True):
    """`spec.networkTopology`: hard, or soft."""

    mode: str = "hard"
    highest_tier_allowed: Int32 | None = None
    highest_tier_name: str = ""


NO_TOPOLOGY = NetworkTopology(mode="")


class PodGroupSpec(Wire, frozen=True):
    """`spec` of a PodGroup."""

    min_member: Count = 0
    min_task_member: dict[str, Count] = field(default_factory=dict)
    min_resources: Quantities = field(default_factory=dict)
    queue: str = ""
    priority_class_name: str = ""
    preemptable: bool | None = None
    network_topology: NetworkTopology = NO_TOPOLOGY
    sub_group_policy: list[Any] = field(default_factory=list)


class PodGroupStatus(Wire, frozen=True):
    """`status` of a PodGroup."""

    phase: str = ""


class PodGroup(Wire, frozen=True):
    """A PodGroup."""

    metadata: Metadata
    spec: PodGroupSpec = PodGroupSpec()
    status: PodGroupStatus = PodGroupStatus()


def name_of(source: Pod) -> str:
    """Return the name of the PodGroup that a pod names in an annotation; "" for none."""
    present = source.metadata.annotations
    return next(filter(None, (present.get(key) for key in known_keys.VOLCANO_GROUPS)), "")


def role_of(metadata: Metadata) -> str:
    """Return the role of a pod: its task in a Job of Volcano."""
    return metadata.labels.get(TASK) or metadata.annotations.get(TASK, "")


def read(body: Body) -> GangObject:
    """Return a PodGroup of Volcano. Raises InvalidField if it cannot be read."""
    source = fields.read(body, PodGroup)
    metadata, spec = source.metadata, source.spec
    declared = GangSpec(
        key=GangKey(SOURCE.name, metadata.namespace, metadata.name),
        uid=metadata.uid,
        gvr=VOLCANO_POD_GROUPS,
        created_at=fields.timestamp(metadata.creation_timestamp),
        min_member=max(1, spec.min_member),
        roles=_roles(spec),
        priority_class=spec.priority_class_name,
        preemptable=_is_preemptable(source),
        min_resources=_min_resources(spec),
        queue_request=_queue_request(source),
        made_for=_job_of(metadata) or _ray_cluster_of(metadata),
        status={"phase": source.status.phase},
    )
    found = kind.with_annotations(declared, metadata, ())
    unsupported = tuple(_unsupported(spec))
    if found.problem is None and unsupported:
        cause = FieldsUnsupported(unsupported)
        found = replace(found, problem=Problem(Reason.UNSUPPORTED_FEATURE, cause))
    if found.topology_request is None:
        found = replace(found, topology_request=_topology_request(spec.network_topology))
    return GangObject(metadata.uid, (found,))


def _roles(spec: PodGroupSpec) -> tuple[Role, ...]:
    """Return the tasks with the least number of each; none if Volcano only counts the total."""
    least = {task: number for task, number in spec.min_task_member.items() if number > 0}
    if not least or sum(least.values()) != spec.min_member:
        return ()
    return tuple(Role(task, number) for task, number in spec.min_task_member.items())


def _min_resources(spec: PodGroupSpec) -> tuple[tuple[str, int], ...]:
    """Return the resources that the quorum needs, without names that only ResourceQuotas count."""
    asked = {
        name.removeprefix(REQUESTS): amount
        for name, amount in spec.min_resources.items()
        if not name.startswith(OF_QUOTAS)
    }
    return tuple(sorted(fields.amounts(asked, "spec.minResources").items()))


def _is_preemptable(source: PodGroup) -> bool:
    """Return whether pods may be preempted: by the field, else by the older annotation or label."""
    if source.spec.preemptable is not None:
        return source.spec.preemptable
    metadata = source.metadata
    return "false" not in (metadata.annotations.get(PREEMPTABLE), metadata.labels.get(PREEMPTABLE))


def _job_of(metadata: Metadata) -> GangKey | None:
    """Return the Job of Volcano for which a PodGroup was made; None for any other PodGroup."""
    owners = metadata.owner_references
    jobs = (each for each in owners if (each.kind, _group(each)) == ("Job", VOLCANO_JOBS.group))
    found = next(jobs, None)
    return None if found is None else GangKey(VOLCANO_JOB, metadata.namespace, found.name)


def _ray_cluster_of(metadata: Metadata) -> GangKey | None:
    """Return the RayCluster for which a PodGroup was made; None for any other PodGroup.

    KubeRay writes minMember only once. If Ray or a user scales the RayCluster later, minMember
    stays the same, and only the RayCluster shows how many pods there will be.
    """
    owner = metadata.controller
    if (owner.kind, _group(owner)) != ray.CLUSTER_KIND.key:
        return None
    return GangKey(ray.SOURCE.name, metadata.namespace, owner.name)


def _group(owner: OwnerReference) -> str:
    return owner.api_version.partition("/")[0]


def _unsupported(spec: PodGroupSpec) -> Iterator[str]:
    """Yield the fields that the scheduler cannot honour, and must not ignore."""
    if sum(spec.min_task_member.values()) < spec.min_member and spec.min_task_member:
        yield "spec.minMember above the sum of spec.minTaskMember"
    if spec.network_topology.mode == HARD and not spec.network_topology.highest_tier_name:
        yield f"{TIER} without {TIER_NAME}, the name of a layer,"
    if spec.sub_group_policy:
        yield "spec.subGroupPolicy"


def _topology_request(asked: NetworkTopology) -> TopologyRequest | None:
    """Return the request to gather in the tier: the tier's name is the name of a layer."""
    name = asked.highest_tier_name
    if not name:
        return None
    layers = (LayerRef(name),)
    if asked.mode == HARD:
        return TopologyRequest(must=layers, where=TIER_NAME)
    return TopologyRequest(prefer=layers, where=TIER_NAME)


def _queue_request(source: PodGroup) -> QueueRequest | None:
    """Return the queue that a PodGroup names: by a label, else by its own field."""
    own = naming.request_of(source.metadata.labels, source.metadata.annotations)
    if not source.spec.queue or (own is not None and own.names):
        return own
    names = (QueueName(QueueNameKind.VOLCANO_QUEUE, source.spec.queue),)
    return QueueRequest(names, own.priority_class if own is not None else "")


# The PodGroup and the pods that Volcano's controller creates for a Job of Volcano.

PREFIX: Final = "volcano.sh/"
TASK_INDEX: Final = f"{PREFIX}task-index"
JOB, JOB_NAMESPACE, QUEUE = f"{PREFIX}job-name", f"{PREFIX}job-namespace", f"{PREFIX}queue-name"
PARTITION: Final = f"{PREFIX}partition-id"
GROUP_NAME: Final = "scheduling.k8s.io/group-name"
PASSED_ON: Final = ("volcano.sh/preemptable", "volcano.sh/cooldown-time")
"""Labels and annotations of a Job that its pods have, too."""
ALSO_ANNOTATED: Final = ("volcano.sh/revocable-zone",)
DEFAULT_SCHEDULER, DEFAULT_QUEUE, DEFAULT_TASK = "volcano", "default", "default"


class _Partitions(Wire, frozen=True):
    partition_size: Count = 0
    min_partitions: Count = 0
    network_topology: dict[str, Any] | None = None


class _Task(Wire, frozen=True):
    name: str = ""
    replicas: Count = 0
    min_available: Count | None = None
    template: PodTemplate = PodTemplate()
    partition_policy: _Partitions | None = None

    @property
    def least(self) -> int:
        """How many pods of the task must run."""
        policy = self.partition_policy
        if self.min_available is not None:
            return self.min_available
        return (policy.min_partitions * policy.partition_size if policy else 0) or self.replicas


class JobSpec(Wire, frozen=True):
    """`spec` of a Job."""

    scheduler_name: str = ""


class Job(Wire, frozen=True):
    """A Job of Volcano."""

    metadata: Metadata
    spec: JobSpec = JobSpec()


class _Spec(JobSpec, frozen=True):
    tasks: list[_Task] = field(default_factory=list)
    min_available: Count = 0
    queue: str = ""
    priority_class_name: str = ""


class _Job(Job, frozen=True):
    spec: _Spec = _Spec()


def job(source: Source) -> Iterator[Body]:
    """Yield the PodGroup of a Job, and its pods, task by task. Raises InvalidField."""
    spec = source.read(_Job).spec
    tasks = {task.name or f"{DEFAULT_TASK}{i}": task for i, task in enumerate(spec.tasks)}
    _check(spec, tasks)
    group = _group_name(source)
    if group is None:
        group = f"{source.name}-{source.body['metadata']['uid']}".replace("/", "-")
        yield _pod_group(source, spec, tasks, group)
        source.notes.extend(_ignored(source, spec, tasks))
    templates = (each.get("template", {}) for each in source.body["spec"]["tasks"])
    for (name, task), template in zip(tasks.items(), templates, strict=True):
        made = (
            _pod(source, spec, task, template, name=name, index=i, group=group)
            for i in range(task.replicas)
        )
        yield from source.absent(made)


def _ignored(source: Source, spec: _Spec, tasks: Mapping[str, _Task]) -> Iterator[str]:
    """Yield a note if the Job's minAvailable is below its tasks' minima, which are ignored."""
    least = sum(each.least for each in tasks.values())
    if 0 < spec.min_available < least and any(each.min_available for each in tasks.values()):
        yield (
            f"Job {source.name}: minAvailable {spec.min_available} is below that of its tasks, "
            f"{least}: as with Volcano, that of the tasks is ignored, and the Job starts with "
            f"{spec.min_available} of its pods, of whatever task"
        )


def _group_name(source: Source) -> str | None:
    """Return the name of the PodGroup that the Job already has."""
    return next((each["metadata"]["name"] for each in source.owned("PodGroup")), None)


def _pod_group(source: Source, spec: _Spec, tasks: Mapping[str, _Task], name: str) -> Body:
    metadata = source.body["metadata"]
    given = source.body["spec"]
    least = {task: each.least for task, each in tasks.items()}
    optional = {
        "priorityClassName": spec.priority_class_name,
        "networkTopology": given.get("networkTopology"),
        "subGroupPolicy": [*_sub_groups(tasks)],
    }
    return {
        "apiVersion": "scheduling.volcano.sh/v1beta1",
        "kind": "PodGroup",
        "metadata": {
            **controllers.merged(metadata, {}, {}),
            **controllers.owned(source.body, name),
        },
        "spec": {
            "minMember": spec.min_available or sum(least.values()),
            "minTaskMember": least,
            "queue": spec.queue or DEFAULT_QUEUE,
            **{key: value for key, value in optional.items() if value},
        },
    }


def _sub_groups(tasks: Mapping[str, _Task]) -> Iterator[Body]:
    """Yield a policy for each task with partitions. Each partition starts as a whole."""
    for name, task in tasks.items():
        policy = task.partition_policy
        if policy is not None:
            gathers = policy.network_topology
            yield {
                "name": name,
                "subGroupSize": policy.partition_size,
                "minSubGroups": policy.min_partitions,
                "labelSelector": {"matchLabels": {TASK: name}},
                "matchLabelKeys": [PARTITION],
                **({"networkTopology": gathers} if gathers else {}),
            }


def _pod(
    source: Source, spec: _Spec, task: _Task, template: Body, *, name: str, index: int, group: str
) -> Body:
    given = source.body["metadata"]
    queue = spec.queue or DEFAULT_QUEUE
    known = {TASK_INDEX: str(index), TASK: name, JOB: source.name, QUEUE: queue}
    labels = {**_passed_on(given, "labels", PASSED_ON), **known, JOB_NAMESPACE: source.namespace}
    policy = task.partition_policy
    if policy is not None:
        labels[PARTITION] = str(index // (policy.partition_size or index + 1))
    annotations = {
        **_passed_on(given, "annotations", (*PASSED_ON, *ALSO_ANNOTATED)),
        **known,
        GROUP_NAME: group,
        "volcano.sh/template-uid": f"{source.name}-{name}",
        "volcano.sh/job-version": "0",
        "volcano.sh/job-retry-count": "0",
    }
    made = controllers.pod(
        source.body, template, f"{source.name}-{name}-{index}", labels, annotations
    )
    defaults = {
        "schedulerName": spec.scheduler_name or DEFAULT_SCHEDULER,
        "priorityClassName": spec.priority_class_name,
    }
    own = {key: value for key, value in made["spec"].items() if value or key not in defaults}
    return {**made, "spec": {**{key: each for key, each in defaults.items() if each}, **own}}


def _passed_on(metadata: Body, where: str, keys: tuple[str, ...]) -> dict[str, str]:
    given = part(metadata, where)
    return {key: given[key] for key in keys if key in given}


def _check(spec: _Spec, tasks: Mapping[str, _Task]) -> None:
    required(spec.tasks, "spec.tasks")
    if len(tasks) < len(spec.tasks):
        names = [each.name for each in spec.tasks]
        twice = next(each for each in names if names.count(each) > 1)
        raise InvalidField("spec.tasks[].name", twice, "must differ from task to task", IS)
    for i, task in enumerate(spec.tasks):
        where = f"spec.tasks[{i}]"
        controllers.check_number(task.replicas, f"{where}.replicas")
        given = bool(task.template.spec.containers)
        controllers.check_template(task.template, f"{where}.template", given=given)
        if (task.min_available or 0) > task.replicas:
            must = f"must be at most the replicas ({task.replicas})"
            raise InvalidField(f"{where}.minAvailable", task.min_available, must)
    most = sum(each.replicas for each in spec.tasks)
    if spec.min_available > most:
        must = f"must be at most the replicas of all tasks ({most})"
        raise InvalidField("spec.minAvailable", spec.min_available, must)


POD_GROUP: Final = Kind(
    name=SOURCE.object_kind,
    versions=(VOLCANO_POD_GROUPS,),
    struct=PodGroup,
    read=read,
    pods=PodsOfKind(
        SOURCE,
        name_of,
        keys=frozenset(known_keys.VOLCANO_GROUPS),
        role_of=role_of,
        role_keys=frozenset({TASK}),
        by_default=True,
    ),
)
JOB_KIND: Final = Kind(
    name="Job",
    versions=(VOLCANO_JOBS,),
    creates=job,
    phase=Phase.until(
        *("state.phase", "Completing", "Completed", "Aborting", "Aborted"),
        *("Terminating", "Terminated", "Failed"),
    ),
)
