"""Objects that describe gangs: PodGroups, Jobs and JobSets."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from gang_scheduler.decode.gangs import gang_specs, workloads
from gang_scheduler.decode.gangs.gang_specs import GangSpec
from gang_scheduler.model.problems import Problem
from gang_scheduler.model.refs import GangKey, JobFailures, JobPods
from gang_scheduler.wire.jobs import Job

Body = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class GangObject:
    """An object that describes gangs: none, one, or several that are a group.

    Of a Job, if `tells_pods`: `pods` is how many it can have, `misplaced` what keeps those of its
    pods waiting that are in no gang, `failures` what evictions mean for it, and `failed_gang` the
    gang of its pods if it has failed.
    """

    uid: str
    gang_specs: tuple[GangSpec, ...] = ()
    pods: JobPods | None = None
    misplaced: Problem | None = None
    tells_pods: bool = False
    failures: JobFailures | None = None
    failed_gang: GangKey | None = None


def pod_group(body: Body) -> GangObject:
    """Return a PodGroup of scheduling.sigs.k8s.io or scheduling.x-k8s.io."""
    return _described(body, gang_specs.pod_group(body))


def native_pod_group(body: Body) -> GangObject:
    """Return a PodGroup of scheduling.k8s.io, in any served version."""
    return _described(body, gang_specs.native_pod_group(body))


def job(source: Job) -> GangObject:
    """Return a Job. Raises InvalidField for an invalid time."""
    specs, pods = workloads.job(source), workloads.pods_of(source)
    return GangObject(
        source.metadata.uid, specs, pods, workloads.misplaced(source), tells_pods=True
    )


def job_set(body: Body) -> GangObject:
    """Return a JobSet. Raises InvalidField for what is no JobSet."""
    return _described(body, *workloads.job_set(body))


def _described(body: Body, *specs: GangSpec) -> GangObject:
    return GangObject(body["metadata"]["uid"], specs)
