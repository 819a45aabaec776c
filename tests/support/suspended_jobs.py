"""Workloads that wait suspended in a queue, and a cluster of a cache that lets them start."""

from collections.abc import Mapping
from typing import Any

from gang_scheduler import from_settings
from gang_scheduler.api.annotations import ADMITTED_AT
from gang_scheduler.model.api_words import ManagedKind
from gang_scheduler.model.plan import Placed, Plan
from gang_scheduler.model.pods import Pod
from gang_scheduler.model.suspended import Admission, Suspension
from gang_scheduler.scheduler.cycle import schedule
from gang_scheduler.settings.policy import Policy
from gang_scheduler.state.cache import Cache
from gang_scheduler.state.changes import Changes
from support import cache_feeding
from support.api_objects import node_body
from support.applying import WritesNothing, take_in
from support.builders import SCHEDULER

Body = dict[str, Any]
OF_QUEUE = "py-gang-scheduler.io/queue"
START = "2026-01-01T12:00:00Z"
NOW = 1767268800
"""The same moment, in seconds since the epoch."""


def template(cpu: int = 1, *, memory: str = "", gang: bool = True, **spec: Any) -> Body:
    """Return a pod template of our scheduler."""
    requests = {"cpu": str(cpu), **({"memory": memory} if memory else {})}
    container = {"name": "c", "image": "i", "resources": {"requests": requests}}
    labels = {"py-gang-scheduler.io/gang": "true"} if gang else {}
    return {
        "metadata": {"labels": labels},
        "spec": {"schedulerName": SCHEDULER, "containers": [container], **spec},
    }


def job(
    name: str = "job",
    pods: int = 2,
    *,
    queue: str = "q",
    of: Body | None = None,
    suspend: bool = True,
    admitted_at: str = "",
    **fields: Any,
) -> Body:
    """Return an indexed Job. `fields` are more ones of its metadata."""
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {
            "name": name,
            "namespace": "default",
            "uid": f"uid-{name}",
            "resourceVersion": "1",
            "creationTimestamp": START,
            "labels": {OF_QUEUE: queue} if queue else {},
            "annotations": {ADMITTED_AT: admitted_at} if admitted_at else {},
            **fields,
        },
        "spec": {
            "suspend": suspend,
            "parallelism": pods,
            "completions": pods,
            "completionMode": "Indexed",
            "template": of or template(),
        },
    }


def changed(of: Body, version: int = 2, **spec: Any) -> Body:
    """Return a workload with fields of its spec as a user has changed them."""
    metadata = {**of["metadata"], "resourceVersion": str(version)}
    return {**of, "metadata": metadata, "spec": {**of["spec"], **spec}}


def started(of: Body, version: int = 2, **spec: Any) -> Body:
    """Return a Job as the API server has it once it was let start at START."""
    found = changed(of, version, suspend=False, **spec)
    return {**found, "metadata": {**found["metadata"], "annotations": {ADMITTED_AT: START}}}


def pod_of(owner: Body, index: int, suffix: str = "abcde") -> Body:
    """Return the pod of an index that the controller of Jobs makes."""
    metadata = owner["metadata"]
    made = owner["spec"]["template"]
    number = {"batch.kubernetes.io/job-completion-index": str(index)}
    reference = {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "name": metadata["name"],
        "uid": metadata["uid"],
        "controller": True,
    }
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": f"{metadata['name']}-{index}-{suffix}",
            "namespace": metadata["namespace"],
            "uid": f"{metadata['uid']}-{index}-{suffix}",
            "creationTimestamp": START,
            "labels": {**made["metadata"].get("labels", {}), **number},
            "annotations": number,
            "ownerReferences": [reference],
        },
        "spec": made["spec"],
        "status": {"phase": "Pending"},
    }


def our_queue(name: str = "q", cpu: int = 8, **spec: Any) -> Body:
    """Return a Queue of ours with so much quota."""
    return {
        "apiVersion": "py-gang-scheduler.io/v1alpha1",
        "kind": "Queue",
        "metadata": {"name": name, "uid": f"queue-{name}", "creationTimestamp": START},
        "spec": {"quota": {"soft": {"cpu": str(cpu)}}, **spec},
    }


class Starts(WritesNothing):
    """Writers that note what they are given."""

    def __init__(self) -> None:
        self.admissions: list[Admission] = []
        self.suspensions: list[Suspension] = []
        self.bound: list[Placed] = []

    def bind(self, together: Any) -> None:
        """Note what is bound."""
        self.bound += together

    def admit(self, admission: Admission) -> None:
        """Note what is started."""
        self.admissions.append(admission)

    def suspend(self, suspension: Suspension) -> None:
        """Note what is suspended."""
        self.suspensions.append(suspension)


class Cluster:
    """A cache that knows nodes and a queue, with cycles on it. `writes` are what they decided."""

    def __init__(self, nodes: Mapping[str, int] | None = None, **settings: Any) -> None:
        managed = settings.pop("manage_jobs", tuple(ManagedKind))
        self.policy = Policy(manage_jobs=managed, **settings)
        self.cache: Cache = from_settings.cache(self.policy, Changes())
        self.cache.gang_queue.expect_nothing()
        self.handlers = cache_feeding.event_handlers(self.cache)
        self.writes = Starts()
        for name, cpu in (nodes or {"n1": 8}).items():
            self.see(node_body(name, allocatable={"cpu": str(cpu), "pods": "100"}))

    def see(self, *bodies: Body) -> None:
        """Let objects be seen as they are now."""
        for each in bodies:
            cache_feeding.tell(self.handlers, "ADDED", each)

    def gone(self, *bodies: Body) -> None:
        """Let objects be gone."""
        for each in bodies:
            cache_feeding.tell(self.handlers, "DELETED", each)

    def cycle(self, now: int = NOW) -> Plan:
        """Decide once, and take that in."""
        plan = schedule(self.cache.snapshot(now), from_settings.profile(self.policy))
        take_in(self.cache, plan, now, self.writes)
        return plan

    @property
    def admitted(self) -> list[str]:
        """The names of the workloads that were let start, in order."""
        return [each.workload.name for each in self.writes.admissions]

    @property
    def waiting(self) -> dict[str, str]:
        """Why gangs wait, by name."""
        infos = self.cache.gang_queue.infos
        refusals = ((key.name, info.verdict.refusal) for key, info in infos.items())
        return {name: each.reason.value for name, each in refusals if each is not None}

    @property
    def charged(self) -> int:
        """How many CPUs all queues are charged."""
        state = self.cache.queue_state(NOW)
        found = state.usage.charged.values() if state is not None else ()
        return sum(amount for each in found for amount in each.values()) // 1000

    def nominated(self) -> dict[str, str]:
        """Return the nodes that pods are nominated to, by the names of pods."""
        found: list[Pod] = [each for each in self.cache.pods() if each.nominated]
        return {each.name: each.nominated for each in found}
