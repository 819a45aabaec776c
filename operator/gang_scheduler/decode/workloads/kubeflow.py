"""The training jobs of Kubeflow, of its training operator and of its MPI operator.

A job is one gang of several roles. A role of workers may start with fewer than it has.
"""

import functools
from collections.abc import Iterator, Mapping
from typing import Final, NamedTuple

from gang_scheduler.api import kinds
from gang_scheduler.api.kinds import GVR
from gang_scheduler.decode import durations, fields
from gang_scheduler.decode.gangs.gang_annotations import GangOptions
from gang_scheduler.decode.gangs.gang_objects import GangObject
from gang_scheduler.decode.gangs.gang_specs import GangSpec
from gang_scheduler.decode.pods import rank
from gang_scheduler.decode.pods.membership import PodsOfKind
from gang_scheduler.decode.pods.rank import Rank
from gang_scheduler.decode.queues import naming
from gang_scheduler.decode.workloads import role_templates
from gang_scheduler.decode.workloads.kind import Body, ObjectsOfKind, WorkloadKind
from gang_scheduler.model.gang_sources import GangSource
from gang_scheduler.model.gangs import Role
from gang_scheduler.model.refs import GangKey, QueueName, QueueNameKind, QueueRequest
from gang_scheduler.wire.metadata import Metadata
from gang_scheduler.wire.pods import Pod
from gang_scheduler.wire.workloads.kubeflow import SchedulingPolicy, TrainingJob, TrainingJobSpec

JOB_NAME: Final = "training.kubeflow.org/job-name"
OPERATOR: Final = "training.kubeflow.org/operator-name"
REPLICA_TYPE: Final = "training.kubeflow.org/replica-type"
REPLICA_INDEX: Final = "training.kubeflow.org/replica-index"
JOB_ROLE: Final = "training.kubeflow.org/job-role"
"""The MPI operator writes the role here; the training operator writes another word here."""
LAUNCHER, WORKER, EVALUATOR = "launcher", "worker", "evaluator"
ROLES: Final = ("chief", "master", LAUNCHER, "scheduler", "ps", "server", WORKER, EVALUATOR)
"""Replicas are counted from 0 in each role. Leading roles come first."""
SUCCEEDED: Final = ("Succeeded", "True")
LATE: Final = "WaitForWorkersReady"


class _Kind(NamedTuple):
    """A kind with the names of its operators in labels. `least_workers`: if its spec has none."""

    name: str
    operators: frozenset[str]
    versions: tuple[GVR, ...]
    least_workers: int = 1


_KINDS: Final = (
    _Kind("PyTorchJob", frozenset({"pytorchjob-controller"}), (kinds.PYTORCH_JOBS,)),
    _Kind("TFJob", frozenset({"tfjob-controller"}), (kinds.TF_JOBS,)),
    _Kind("XGBoostJob", frozenset({"xgboostjob-controller"}), (kinds.XGBOOST_JOBS,)),
    _Kind("PaddleJob", frozenset({"paddlejob-controller"}), (kinds.PADDLE_JOBS,)),
    _Kind("JAXJob", frozenset({"jaxjob-controller"}), (kinds.JAX_JOBS,)),
    _Kind("MPIJob", frozenset({"mpijob-controller", "mpi-operator"}), kinds.MPI_JOBS, 0),
)


def role_of(metadata: Metadata) -> str:
    """Return the role of a pod: its replica type, which the MPI operator calls otherwise."""
    return metadata.labels.get(REPLICA_TYPE) or metadata.labels.get(JOB_ROLE, "")


def rank_of(metadata: Metadata) -> Rank:
    """Return the place of a pod's role among the roles, and the index in it.

    Only a launcher may be without an index.
    """
    written, role = rank.numbers(metadata, (REPLICA_INDEX,)), role_of(metadata)
    has_place = role and (written or role == LAUNCHER)
    return (_place_of(role), *written) if has_place else written


def _place_of(role: str) -> int:
    return ROLES.index(role) if role in ROLES else len(ROLES)


def _read(kind: _Kind, body: Body) -> GangObject:
    """Return a training job. Raises InvalidField for what is none."""
    source = fields.read(body, TrainingJob)
    return GangObject(source.metadata.uid, (_gang_spec(kind, source),))


def _gang_spec(kind: _Kind, source: TrainingJob) -> GangSpec:
    metadata, spec, policy = source.metadata, source.spec, source.spec.run_policy.scheduling_policy
    counts = dict(_counts(kind, spec))
    roles = tuple(_roles(spec, counts))
    declared = GangSpec(
        key=GangKey(kind.name, metadata.namespace, metadata.name),
        uid=metadata.uid,
        gvr=_gvr(kind, source.api_version),
        created_at=fields.timestamp(metadata.creation_timestamp),
        min_member=max(1, sum(each.min_member for each in roles)),
        roles=roles,
        elastic_role=WORKER,
        min_resources=_min_resources(policy),
        completions=sum(counts.values()),
        finished=any((each.type, each.status) == SUCCEEDED for each in source.status.conditions),
        options=GangOptions(timeout_seconds=policy.schedule_timeout_seconds or None),
        queue_request=_queue_request(source),
        run_time=durations.run_time(
            spec.run_policy.active_deadline_seconds,
            {},
            {},
            fields.timestamp(source.status.start_time, "status.startTime"),
        ),
    )
    return role_templates.with_annotations(declared, metadata, _templates(spec))


def _counts(kind: _Kind, spec: TrainingJobSpec) -> Iterator[tuple[str, int]]:
    """Yield the roles that have pods, with how many, in rank order."""
    for name, each in sorted(spec.replica_specs.items(), key=lambda role: _place_of(role[0])):
        least = kind.least_workers if name == WORKER else 1
        if count := least if each.replicas is None else each.replicas:
            yield name, count


def _roles(spec: TrainingJobSpec, counts: Mapping[str, int]) -> Iterator[Role]:
    """Yield the roles with the least number of each that must start together."""
    is_late = spec.launcher_creation_policy == LATE
    for name, count in counts.items():
        if name == EVALUATOR or (name == LAUNCHER and is_late):
            # A late launcher is created when the workers run.
            yield Role(name, 0, count)
        else:
            yield Role(name, _least_workers(spec, counts) if name == WORKER else count, count)


def _least_workers(spec: TrainingJobSpec, counts: Mapping[str, int]) -> int:
    others = sum(number for name, number in counts.items() if name not in (WORKER, EVALUATOR))
    least = spec.elastic_policy.min_replicas
    if least is None and (in_all := spec.run_policy.scheduling_policy.min_available) is not None:
        least = in_all - others
    return counts[WORKER] if least is None else max(1, min(least, counts[WORKER]))


def _min_resources(policy: SchedulingPolicy) -> tuple[tuple[str, int], ...]:
    where = "spec.runPolicy.schedulingPolicy.minResources"
    return tuple(sorted(fields.amounts(policy.min_resources, where).items()))


def _queue_request(source: TrainingJob) -> QueueRequest | None:
    """Return what a job says of its queue: the field is a name for Volcano, and counts last."""
    name = source.spec.run_policy.scheduling_policy.queue
    own, *templates = (
        naming.request_of(each.labels, each.annotations)
        for each in (source.metadata, *_templates(source.spec))
    )
    if not name or any(each is not None and each.names for each in (own, *templates)):
        return own
    names = (QueueName(QueueNameKind.VOLCANO_QUEUE, name),)
    return QueueRequest(names, own.priority_class if own is not None else "")


def _templates(spec: TrainingJobSpec) -> list[Metadata]:
    return [each.template.metadata for each in spec.replica_specs.values()]


def _gvr(kind: _Kind, api_version: str) -> GVR:
    """Return the kind in the version that an object came in."""
    exact = (each for each in kind.versions if each.api_version == api_version)
    return next(exact, kind.versions[0])


def _name_of(kind: _Kind, source: Pod) -> str:
    labels = source.metadata.labels
    return labels.get(JOB_NAME, "") if labels.get(OPERATOR) in kind.operators else ""


def _row(kind: _Kind) -> WorkloadKind:
    pods = PodsOfKind(
        GangSource(kind.name, kind.name),
        functools.partial(_name_of, kind),
        keys=frozenset({OPERATOR, REPLICA_TYPE}),
        role_of=role_of,
        rank_of=rank_of,
        rank_keys=frozenset({REPLICA_INDEX, REPLICA_TYPE, JOB_ROLE}),
        by_default=True,
    )
    objects = ObjectsOfKind(kind.versions, functools.partial(_read, kind))
    return WorkloadKind(pods, objects, has_roles=True)


KINDS: Final = tuple(map(_row, _KINDS))
