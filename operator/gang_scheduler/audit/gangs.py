"""Which gang a pod is a member of, and how many members must be bound together.

Judged are gangs of PodGroups of all three APIs, of annotations on pods, of Jobs and JobSets, and of
some workloads of others: see `workloads`.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Final, NamedTuple

import msgspec

from gang_scheduler.api import annotations as keys
from gang_scheduler.audit import workloads
from gang_scheduler.audit.objects.kinds import Kind
from gang_scheduler.audit.objects.pods import Pod, mapping
from gang_scheduler.audit.stream.events import Object

if TYPE_CHECKING:
    from gang_scheduler.audit.world import World

NATIVE: Final = Kind("scheduling.k8s.io", "PodGroup")
OURS: Final = Kind("scheduling.sigs.k8s.io", "PodGroup")
SCHED_PLUGINS: Final = Kind("scheduling.x-k8s.io", "PodGroup")
JOB: Final = Kind("batch", "Job")
JOB_SET: Final = Kind("jobset.x-k8s.io", "JobSet")
ANNOTATED: Final = Kind("", "annotations")


class GangName(NamedTuple):
    """A gang, and the kind of what describes it. `part` is the replicatedJob of a JobSet."""

    kind: Kind
    namespace: str
    name: str
    part: str = ""

    @property
    def about(self) -> str:
        """The gang as findings name it."""
        return f"Gang {self.key}"

    @property
    def key(self) -> str:
        """`namespace/name`."""
        return f"{self.namespace}/{self.name}" + (f"-{self.part}" if self.part else "")


def gang_of(pod: Pod) -> GangName | None:
    """Return the gang that a pod says it is in; None for a gang of one."""
    native = mapping(pod.spec, "schedulingGroup").get("podGroupName")
    if native:
        return GangName(NATIVE, pod.namespace, str(native))
    for label in (keys.POD_GROUP_LABEL, keys.POD_GROUP_LABEL_SCHED_PLUGINS):
        if pod.labels.get(label):
            return GangName(OURS, pod.namespace, pod.labels[label])
    annotated = pod.annotations.get(keys.GANG_NAME) or pod.labels.get(keys.GANG_NAME_LABEL)
    if annotated:
        return GangName(ANNOTATED, pod.namespace, annotated)
    if (found := workloads.named(pod)) is not None:
        return GangName(found[0], pod.namespace, found[1])
    return _of_workload(pod)


def _of_workload(pod: Pod) -> GangName | None:
    if not keys.ask_for_gang(pod.labels, pod.annotations):
        return None
    job_set, part = pod.labels.get(keys.JOB_SET_LABEL), pod.labels.get(keys.REPLICATED_JOB_LABEL)
    if job_set and part:
        return GangName(JOB_SET, pod.namespace, job_set, part)
    if pod.controller.get("kind") == "Job":
        return GangName(JOB, pod.namespace, str(pod.controller.get("name") or ""))
    return None


def group_of(gang: GangName, world: "World") -> tuple[GangName, ...]:
    """Return the gangs that a PodGroup says are one group with it, in its namespace; sorted."""
    name = f"{gang.namespace}/{gang.name}"
    found = world.objects(OURS).latest(name) if gang.kind == OURS else None
    annotations = mapping(mapping(found or {}, "metadata"), "annotations")
    try:
        named = msgspec.json.decode(annotations.get(keys.GANG_GROUPS) or "[]", type=list[str])
    except (msgspec.DecodeError, RecursionError):
        named = []
    pairs = [each.partition("/") for each in named]
    mates = {GangName(OURS, space, own) for space, _, own in pairs if space == gang.namespace}
    return tuple(sorted({gang, *mates}))


def quorums(gang: GangName, world: "World", begin: float, end: float) -> set[int]:
    """Return the quorums that a gang had about a time; none if nothing says one."""
    if gang.kind == ANNOTATED:
        return set(_annotated(world.members(gang))) or {
            sum(minima(gang, world, begin, end).values())
        } - {0}
    if gang.kind in workloads.BY_DEFAULT:
        return _of_others(gang, world, begin, end)
    if gang.kind == JOB_SET:
        jobs = [each for each in world.objects(JOB) if _is_part(each, gang)]
        return {sum(filter(None, map(_of_job, jobs)))} if jobs else set()
    kinds = (OURS, SCHED_PLUGINS) if gang.kind == OURS else (gang.kind,)
    name = f"{gang.namespace}/{gang.name}"
    for kind in kinds:
        found = [each for each in world.objects(kind).between(name, begin, end) if each]
        if found:
            return {number for each in found if (number := _of_object(kind, each)) is not None}
    return set()


def minima(gang: GangName, world: "World", begin: float, end: float) -> Mapping[str, int]:
    """Return how many of each role must be bound together; {} without roles.

    {} also where that was changed about the time.
    """
    if gang.kind in workloads.KUBEFLOW:
        found = [workloads.minima_of(gang.kind, each) for each in _objects(gang, world, begin, end)]
    elif gang.kind == ANNOTATED:
        found = [_roles(each.annotations) for each in world.members(gang)]
    elif gang.kind == OURS:
        objects = _objects(gang, world, begin, end)
        found = [_roles(mapping(mapping(e, "metadata"), "annotations")) for e in objects]
    else:
        return {}
    return found[0] if found and all(each == found[0] for each in found) else {}


def _sum_of_roles(gang: GangName, world: "World", begin: float, end: float) -> set[int]:
    return {sum(minima(gang, world, begin, end).values())} - {0}


def _of_others(gang: GangName, world: "World", begin: float, end: float) -> set[int]:
    if gang.kind in workloads.KUBEFLOW:
        return _sum_of_roles(gang, world, begin, end)
    said = workloads.said_by(world.members(gang), gang.kind)
    return set() if said is None else {said}


def _objects(gang: GangName, world: "World", begin: float, end: float) -> list[Object]:
    """Return the versions of the object that describes a gang about a time."""
    name = f"{gang.namespace}/{gang.name}"
    for kind in (OURS, SCHED_PLUGINS) if gang.kind == OURS else (gang.kind,):
        if found := [each for each in world.objects(kind).between(name, begin, end) if each]:
            return found
    return []


def _roles(present: Mapping[str, str]) -> dict[str, int]:
    try:
        return msgspec.json.decode(present.get(keys.ROLES) or "{}", type=dict[str, int])
    except (msgspec.DecodeError, RecursionError):
        return {}


def _annotated(members: Iterable[Pod]) -> Iterator[int]:
    for pod in members:
        text = pod.annotations.get(keys.GANG_MIN_AVAILABLE)
        text = text or pod.labels.get(keys.GANG_MIN_AVAILABLE_LABEL)
        if text and text.isdecimal():
            yield int(text)


def _of_object(kind: Kind, found: Object) -> int | None:
    if kind == JOB:
        return _of_job(found)
    spec = mapping(found, "spec")
    policy = mapping(mapping(spec, "schedulingPolicy"), "gang")
    number = policy.get("minCount") if kind == NATIVE else spec.get("minMember")
    return number if isinstance(number, int) else None


def _of_job(job: Object) -> int | None:
    spec = mapping(job, "spec")
    parallelism, completions = spec.get("parallelism", 1), spec.get("completions")
    if completions is None:
        return int(parallelism)
    left = completions - (mapping(job, "status").get("succeeded") or 0)
    return int(min(parallelism, left))


def _is_part(job: Object, gang: GangName) -> bool:
    metadata = mapping(job, "metadata")
    labels = mapping(metadata, "labels")
    return (metadata.get("namespace"), labels.get(keys.JOB_SET_LABEL)) == (
        gang.namespace,
        gang.name,
    ) and labels.get(keys.REPLICATED_JOB_LABEL) == gang.part
