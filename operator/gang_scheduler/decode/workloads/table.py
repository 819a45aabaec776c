"""The one table of kinds of workloads, in the order in which they count for a pod.

Which gang a pod is in, its role and rank, the objects that are watched and the chart's rights all
follow from it.
"""

from collections.abc import Collection, Mapping
from typing import Final

from gang_scheduler.decode.gangs import member_specs
from gang_scheduler.decode.pods.membership import Membership
from gang_scheduler.decode.workloads import (
    job_sets,
    jobs,
    kubeflow,
    kueue_pod_groups,
    leader_worker_sets,
    ray_clusters,
    ray_jobs,
    spark,
    stateful_sets,
    train_jobs,
    volcano_pod_groups,
)
from gang_scheduler.decode.workloads.kind import ByMembers, WorkloadKind
from gang_scheduler.model import gang_sources
from gang_scheduler.model.gang_sources import GangSource

KINDS: Final[tuple[WorkloadKind, ...]] = (
    volcano_pod_groups.KIND,
    job_sets.KIND,
    train_jobs.KIND,
    leader_worker_sets.KIND,
    *kubeflow.KINDS,
    ray_clusters.KIND,
    kueue_pod_groups.KIND,
    spark.KIND,
    stateful_sets.KIND,
    jobs.KIND,
)

BY_DEFAULT: Final = tuple(each.name for each in KINDS if each.pods.by_default)
"""The kinds of which pods are a gang without asking for it, unless the settings say otherwise."""

SOURCES: Final[tuple[GangSource, ...]] = (
    gang_sources.NATIVE,
    gang_sources.POD_GROUP,
    gang_sources.ANNOTATION,
    *(each.pods.source for each in KINDS),
    ray_jobs.SOURCE,
    gang_sources.SINGLE,
)
"""All ways in which gangs are named, in the order in which they count."""
BY_NAME: Final[Mapping[str, GangSource]] = {each.name: each for each in SOURCES}

BY_MEMBERS: Final[Mapping[str, ByMembers]] = {
    gang_sources.ANNOTATION.name: lambda key, members, _: member_specs.by_members(key, members),
    gang_sources.SINGLE.name: lambda key, members, _: member_specs.by_itself(key, members),
    **{each.name: each.by_members for each in KINDS if each.by_members is not None},
}
"""Where members describe the gang, and how."""

WITH_ROLES: Final = frozenset(each.name for each in KINDS if each.has_roles)
"""The kinds of which the object must be known where a PodGroup was made for it."""


def membership(by_default: Collection[str] = BY_DEFAULT) -> Membership:
    """Return what tells the gangs of pods, where pods of these kinds are gangs without asking."""
    return Membership((each.pods for each in KINDS), by_default)


MEMBERSHIP: Final = membership()
