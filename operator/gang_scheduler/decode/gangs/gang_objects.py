"""Objects that describe gangs, and PodGroups among them. `decode.workloads` has the others."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from gang_scheduler.decode.gangs import native_pod_groups, pod_groups
from gang_scheduler.decode.gangs.gang_specs import GangSpec
from gang_scheduler.decode.gangs.suspended_workloads import MadePart, Managed, SuspendedWorkload
from gang_scheduler.model.evictions import RunTime
from gang_scheduler.model.problems import Problem
from gang_scheduler.model.refs import GangKey, JobFailures, JobPods, QueueRequest, WorkloadRef

Body = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class MisplacedRequest:
    """What a workload asks for in the wrong place: `problem` is that of its pods in no gang.

    `schedulers` are the schedulers of these pods; none if the workload has ended, or is a part of a
    larger one.
    """

    workload: WorkloadRef
    problem: Problem
    schedulers: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class GangObject:
    """An object that describes gangs: none, one, or several that are a group.

    `misplaced` is what a workload asks for in the wrong place, `queue_request` what it says of the
    queue of its pods, and `workload` how these name it: by its uid, or by namespace/name. Of a Job,
    `pods` is how many it can have, `run_time` how long they run with what is wrong with that,
    `failures` what evictions mean for it, and `failed_gang` the gang of its pods if it has failed.
    Of a JobSet, `parts` are its replicatedJobs with how many pods each can have, and of one that a
    TrainJob owns, `by_default` are its gangs where pods of TrainJobs are gangs without asking;
    `in_order`: some of its pods are created only after others. `suspended` is a workload that waits
    in a queue without pods, `managed` one that was let start from there, and `part` is said of what
    such a workload has made. If it is not `readable`, all of these stay as they were known.
    """

    uid: str
    gang_specs: tuple[GangSpec, ...] = ()
    misplaced: MisplacedRequest | None = None
    pods: JobPods | None = None
    parts: tuple[tuple[str, int], ...] = ()
    by_default: tuple[GangSpec, ...] | None = None
    in_order: bool = False
    failures: JobFailures | None = None
    failed_gang: GangKey | None = None
    workload: str = ""
    queue_request: QueueRequest | None = None
    run_time: RunTime | None = None
    run_time_problem: Problem | None = None
    suspended: SuspendedWorkload | None = None
    managed: Managed | None = None
    part: MadePart | None = None
    readable: bool = True


def pod_group(body: Body) -> GangObject:
    """Return a PodGroup of scheduling.sigs.k8s.io or scheduling.x-k8s.io."""
    return _described(body, pod_groups.pod_group(body))


def native_pod_group(body: Body) -> GangObject:
    """Return a PodGroup of scheduling.k8s.io, in any served version."""
    return _described(body, native_pod_groups.native_pod_group(body))


def _described(body: Body, *specs: GangSpec) -> GangObject:
    return GangObject(body["metadata"]["uid"], specs)
