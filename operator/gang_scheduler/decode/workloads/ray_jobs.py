"""RayJobs that wait suspended. Once one is started, its RayCluster says what its gang is.

KubeRay gives the RayCluster another name each time: until it is there, the members are a gang of
the RayJob's own name.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

from gang_scheduler.api.kinds import GVR, RAY_JOBS
from gang_scheduler.api.parsing import without_nulls
from gang_scheduler.decode.gangs.gang_objects import GangObject
from gang_scheduler.decode.gangs.gang_specs import GangSpec
from gang_scheduler.decode.workloads import ray_clusters
from gang_scheduler.decode.workloads.members import ray
from gang_scheduler.decode.workloads.members.present import part
from gang_scheduler.decode.workloads.members.source import Source
from gang_scheduler.model.gang_sources import GangSource
from gang_scheduler.model.refs import GangKey

Body = Mapping[str, Any]
SOURCE: Final = GangSource("RayJob", "RayJob")


def read(body: Body) -> GangObject:
    """Return a RayJob, with its gang as long as it is suspended. Raises InvalidField."""
    uid = body["metadata"]["uid"]
    if part(body, "spec").get("suspend") is not True:
        return GangObject(uid)
    typed = without_nulls({"apiVersion": RAY_JOBS[0].api_version, "kind": SOURCE.name, **body})
    clusters = ray.ray_job(Source(typed))
    return GangObject(uid, tuple(_gang_of(typed, each) for each in clusters))


def _gang_of(body: Body, cluster: Body) -> GangSpec:
    """Return the gang of the RayCluster that is made once the RayJob is started."""
    (found,) = ray_clusters.read(cluster).gang_specs
    metadata = body["metadata"]
    key = GangKey(SOURCE.name, metadata["namespace"], metadata["name"])
    return replace(found, key=key, uid=metadata["uid"], gvr=_gvr(str(body.get("apiVersion"))))


def _gvr(api_version: str) -> GVR:
    """Return the kind in the version that an object came in."""
    exact = (each for each in RAY_JOBS if each.api_version == api_version)
    return next(exact, RAY_JOBS[0])
