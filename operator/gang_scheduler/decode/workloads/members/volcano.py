"""The PodGroup and the pods that Volcano's controller creates of its Jobs."""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from msgspec import field

from gang_scheduler.api.parsing import InvalidField
from gang_scheduler.decode.workloads.members import bodies
from gang_scheduler.decode.workloads.members.present import part
from gang_scheduler.decode.workloads.members.source import Source, required
from gang_scheduler.decode.workloads.volcano_pod_groups import TASK
from gang_scheduler.wire.pods import PodTemplate
from gang_scheduler.wire.structs import Count, Wire

PREFIX: Final = "volcano.sh/"
TASK_INDEX: Final = f"{PREFIX}task-index"
JOB, JOB_NAMESPACE, QUEUE = f"{PREFIX}job-name", f"{PREFIX}job-namespace", f"{PREFIX}queue-name"
PARTITION: Final = f"{PREFIX}partition-id"
GROUP_NAME: Final = "scheduling.k8s.io/group-name"
PASSED_ON: Final = ("volcano.sh/preemptable", "volcano.sh/cooldown-time")
"""Labels and annotations of a Job that its pods have, too."""
ALSO_ANNOTATED: Final = ("volcano.sh/revocable-zone",)
DEFAULT_SCHEDULER, DEFAULT_QUEUE, DEFAULT_TASK = "volcano", "default", "default"

Body = Mapping[str, Any]


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


class _Spec(Wire, frozen=True):
    tasks: list[_Task] = field(default_factory=list)
    scheduler_name: str = ""
    min_available: Count = 0
    queue: str = ""
    priority_class_name: str = ""


class _Job(Wire, frozen=True):
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
    templates = (each.get("template", {}) for each in source.body["spec"]["tasks"])
    for (name, task), template in zip(tasks.items(), templates, strict=True):
        made = (
            _pod(source, spec, task, template, name=name, index=i, group=group)
            for i in range(task.replicas)
        )
        yield from source.absent(made)


def _group_name(source: Source) -> str | None:
    """Return the name of the PodGroup that the Job has already."""
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
        "metadata": {**bodies.merged(metadata, {}, {}), **bodies.owned(source.body, name)},
        "spec": {
            "minMember": spec.min_available or sum(least.values()),
            "minTaskMember": least,
            "queue": spec.queue or DEFAULT_QUEUE,
            **{key: value for key, value in optional.items() if value},
        },
    }


def _sub_groups(tasks: Mapping[str, _Task]) -> Iterator[Body]:
    """Yield a policy for each task with partitions, each of which starts whole."""
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
    made = bodies.pod(source.body, template, f"{source.name}-{name}-{index}", labels, annotations)
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
        raise InvalidField("spec.tasks[].name", twice, "must differ from task to task")
    for i, task in enumerate(spec.tasks):
        where = f"spec.tasks[{i}]"
        bodies.check_number(task.replicas, f"{where}.replicas")
        given = bool(task.template.spec.containers)
        bodies.check_template(task.template, f"{where}.template", given=given)
        if (task.min_available or 0) > task.replicas:
            must = f"must be at most the replicas, {task.replicas}"
            raise InvalidField(f"{where}.minAvailable", task.min_available, must)
    most = sum(each.replicas for each in spec.tasks)
    if spec.min_available > most:
        must = f"must be at most the replicas of all tasks, {most}"
        raise InvalidField("spec.minAvailable", spec.min_available, must)
