"""The table of kinds of jobs, and everything derived from its rows.

The gang, role and rank of a pod, the watched objects, the fields that a snapshot contains, the pods
that `simulate` creates, and the rights in the chart all follow from it.
"""

from collections.abc import Collection, Iterator, Mapping
from typing import Any, Final

from gang_scheduler.api.parsing import InvalidField, without_nulls
from gang_scheduler.decode.fields import group_of
from gang_scheduler.decode.gangs import specs
from gang_scheduler.decode.pods.membership import Membership
from gang_scheduler.model import refs
from gang_scheduler.model.refs import GangSource
from gang_scheduler.workloads import (
    apps,
    controllers,
    job_sets,
    jobs,
    kubeflow,
    kueue_pod_groups,
    leader_worker_sets,
    ray,
    spark,
    volcano,
    wrappers,
)
from gang_scheduler.workloads.controllers import Source, controller
from gang_scheduler.workloads.kind import ByMembers, Kind, ReplicaField, Suspend

Body = Mapping[str, Any]

KINDS: Final[tuple[Kind, ...]] = (
    volcano.POD_GROUP,
    job_sets.JOB_SET,
    job_sets.TRAIN_JOB,
    leader_worker_sets.KIND,
    *kubeflow.KINDS,
    ray.CLUSTER_KIND,
    kueue_pod_groups.KIND,
    spark.KIND,
    apps.STATEFUL_SET,
    jobs.JOB,
    ray.JOB_KIND,
    ray.SERVICE_KIND,
    apps.DEPLOYMENT,
    apps.REPLICA_SET,
    jobs.CRON_JOB,
    volcano.JOB_KIND,
    wrappers.KIND,
)
"""All kinds. If several fit a pod or a name, the first one counts."""

WATCHED: Final = tuple(each for each in KINDS if each.read is not None)
"""The kinds that are read from the cluster. Other kinds exist only in the input of `simulate`."""
PODS: Final = tuple(each.pods for each in KINDS if each.pods is not None)
BY_DEFAULT: Final = tuple(each.source.name for each in PODS if each.by_default)
"""The kinds whose pods are gangs by default; a setting can change that."""

SOURCES: Final[tuple[GangSource, ...]] = (
    refs.NATIVE,
    refs.POD_GROUP,
    refs.ANNOTATION,
    *(each.gang_source for each in KINDS if each.gang_source is not None),
    refs.SINGLE,
)
"""All sources of a gang's name. If a pod has several, the first one counts."""
BY_NAME: Final[Mapping[str, GangSource]] = {each.name: each for each in SOURCES}
JOB_TYPES: Final = tuple(dict.fromkeys(each.object_kind or each.name for each in SOURCES))
"""The kinds of objects that describe gangs; with `annotation` and `Pod`, only pods do."""

BY_MEMBERS: Final[Mapping[str, ByMembers]] = {
    refs.ANNOTATION.name: lambda key, members, _: specs.by_members(key, members),
    refs.SINGLE.name: lambda key, members, _: specs.by_itself(key, members),
    **{
        each.gang_source.name: each.by_members
        for each in KINDS
        if each.gang_source is not None and each.by_members is not None
    },
}
"""For kinds whose members describe their gang: the function that makes a gang from members."""

WITH_ROLES: Final = frozenset(
    each.gang_source.name for each in KINDS if each.gang_source is not None and each.has_roles
)
"""The kinds whose object must be read even if a PodGroup was made for it."""


def membership(by_default: Collection[str] = BY_DEFAULT) -> Membership:
    """Return the function that finds the gang of a pod; `by_default` are kinds, by name."""
    return Membership(PODS, by_default)


MEMBERSHIP: Final = membership()

SUSPENDABLE: Final[Mapping[str, Kind]] = {
    each.name: each for each in KINDS if each.suspend is not None
}
"""The kinds that can wait suspended. A setting selects those that the scheduler manages."""
SUSPENSIONS: Final[Mapping[str, Suspend]] = {
    each.name: each.suspend for each in KINDS if each.suspend is not None
}
"""The field by which each of these kinds is suspended."""
BY_REPLICAS: Final[Mapping[str, ReplicaField]] = {
    each.name: each.replicas for each in KINDS if each.replicas is not None
}
"""The kinds whose number of replicas can be changed, and by which field."""
PATCHED: Final[Mapping[str, Kind]] = {
    each.name: each for each in KINDS if each.suspend is not None or each.replicas is not None
}
"""The kinds that the scheduler may patch."""
LEAVING_SUSPENDED: Final = frozenset(each.name for each in KINDS if not each.starts_owned)
"""The kinds whose controllers create workloads suspended and leave them so.

Controllers of other kinds start the workloads that they create.
"""
CONTROLLERS: Final = frozenset(each.controller for each in KINDS if each.controller)
"""The controllers that a workload can name in `managedBy`, and that are emulated here."""

# Owners are workloads that can wait suspended, and whose controller creates another workload that
# can. The controller starts and suspends the owned workload, so the scheduler never does. An owner
# is read only if the settings say that the scheduler manages its kind. Otherwise the owned workload
# says all there is to know.

OWNERS: Final[Mapping[str, Kind]] = {each.name: each for each in KINDS if each.owns is not None}
DECLARING_NO_MEMBERS: Final = frozenset(
    each.name for each in KINDS if each.owns is not None and not each.owns.declares_members
)
"""The owners whose members only the owned workload declares."""
OWNED: Final = {each.name: each.owns.kind for each in KINDS if each.owns is not None}
"""The kind of the owned workload, by the kind of its owner."""
OWNED_BY_LABEL: Final[Mapping[str, str]] = {
    label: each.name
    for each in KINDS
    if each.name in OWNED.values() and each.pods is not None
    for label in each.pods.keys
}
"""The labels by which pods name an owned workload, each with the workload's kind."""


def owner_of(kind: str, body: Body) -> tuple[str, Kind] | None:
    """Return the uid and the kind of the owner of an object of a kind; None if it has none."""
    named = controller(body)
    group = group_of(str(named.get("apiVersion")))
    found = OWNERS.get(str(named.get("kind")))
    if found is None or found.key[1] != group or OWNED[found.name] != kind:
        return None
    return str(named.get("uid", "")), found


# Objects that the controllers of workloads create.

_BY_KEY: Final = {each.key: each for each in KINDS if each.versions}


def _kind_of(body: Body) -> Kind | None:
    return _BY_KEY.get((body["kind"], group_of(body["apiVersion"])))


def pods_of(body: Body, most: int) -> Iterator[Body]:
    """Yield the pods of a workload that is started now, as if none of them existed yet.

    Raises InvalidField for a workload that would be refused, or that creates more than `most` pods.
    """
    left = most
    for each in _created(Source(body)):
        left -= 1  # A Job without pods counts, too: a JobSet can have any number of them.
        _check_left(left, most)
        if each["kind"] == "Pod":
            yield each
            continue
        for pod in pods_of(each, most):
            left -= 1
            _check_left(left, most)
            yield pod


def check_number(body: Body, most: int) -> None:
    """Raise InvalidField for a workload of too many members, before any of them is created."""
    kind = _kind_of(body)
    if kind is not None and kind.pod_count is not None and kind.pod_count(body) > most:
        raise _too_many(most)


def _check_left(left: int, most: int) -> None:
    if left < 0:
        raise _too_many(most)


def _too_many(most: int) -> InvalidField:
    problem = f"must describe at most {most} pods and Jobs while it is suspended"
    return InvalidField("spec", None, problem)


def _created(source: Source) -> Iterator[Body]:
    kind = _kind_of(source.body)
    return iter(()) if kind is None or kind.creates is None else kind.creates(source)


def has_ended(body: Body) -> bool:
    """Return whether a workload has ended, by the phase in its status."""
    kind = _kind_of(body)
    return kind is not None and kind.phase.has_ended(body)


def missing(source: Source) -> list[Body]:
    """Return the objects that a workload's controller would still create; none for other kinds.

    Raises InvalidField, also for a workload that does not start.
    """
    kind = _kind_of(source.body)
    if kind is None or kind.creates is None:
        return []
    given = without_nulls(source.body)
    plain = Source(
        given, source.present, source.from_cluster, source.uid, source.notes, source.unknown
    )
    created = list(kind.creates(plain))
    return created if controllers.is_started(plain, kind.phase, CONTROLLERS) else []
