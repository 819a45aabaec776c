"""Training jobs of Kubeflow, of its training operator and of its MPI operator.

A job is one gang of several roles. A role of workers may start with fewer workers than it has.
"""

import functools
from collections.abc import Callable, Iterator, Mapping
from typing import Annotated, Final, NamedTuple

from msgspec import field

from gang_scheduler.api import kinds
from gang_scheduler.api.kinds import GVR
from gang_scheduler.api.parsing import InvalidField
from gang_scheduler.decode import fields
from gang_scheduler.decode.elastic import WHERE
from gang_scheduler.decode.gang_annotations import GangOptions
from gang_scheduler.decode.gangs.specs import GangObject, GangSpec
from gang_scheduler.decode.pods import membership
from gang_scheduler.decode.pods.membership import PodsOfKind, Rank
from gang_scheduler.decode.queues import naming
from gang_scheduler.model.gangs import Role as GangsRole
from gang_scheduler.model.pods import Elastic
from gang_scheduler.model.refs import GangKey, GangSource, QueueName, QueueNameKind, QueueRequest
from gang_scheduler.wire.base import Condition, Count, Metadata, Quantities, Wire, Words
from gang_scheduler.wire.pods import Pod, PodTemplate
from gang_scheduler.workloads import controllers
from gang_scheduler.workloads import kind as workload_kind
from gang_scheduler.workloads.controllers import Source, Workload, is_ready, part, required
from gang_scheduler.workloads.kind import Body, IsLate, Kind, Path, ReplicaField, Suspend

PYTORCH_JOB, MPI_JOB = "PyTorchJob", "MPIJob"
TRAINING_OPERATOR, MPI_OPERATOR = "training-operator", "mpi-operator"
JOB_NAME: Final = "training.kubeflow.org/job-name"
OPERATOR: Final = "training.kubeflow.org/operator-name"
REPLICA_TYPE: Final = "training.kubeflow.org/replica-type"
REPLICA_INDEX: Final = "training.kubeflow.org/replica-index"
JOB_ROLE: Final = "training.kubeflow.org/job-role"
"""The label in which the MPI operator writes the role.

The training operator marks masters with it, and writes the role into REPLICA_TYPE.
"""
LAUNCHER, WORKER, EVALUATOR = "launcher", "worker", "evaluator"
ROLES: Final = ("chief", "master", LAUNCHER, "scheduler", "ps", "server", WORKER, EVALUATOR)
"""Replicas are counted from 0 in each role. Leading roles come first."""
SUCCEEDED: Final = ("Succeeded", "True")
AT_STARTUP: Final = "AtStartup"
LATE: Final = "WaitForWorkersReady"


class SchedulingPolicy(Wire, frozen=True):
    """`spec.runPolicy.schedulingPolicy`, which the operator copies to the PodGroup it makes."""

    min_available: Count | None = None
    queue: str = ""
    min_resources: Quantities = field(default_factory=dict)
    schedule_timeout_seconds: Count | None = None


class RunPolicy(Wire, frozen=True):
    """`spec.runPolicy`. `activeDeadlineSeconds` counts from `status.startTime`."""

    active_deadline_seconds: int | None = None
    scheduling_policy: SchedulingPolicy = SchedulingPolicy()
    suspend: bool = False
    managed_by: str = ""


class ElasticPolicy(Wire, frozen=True):
    """`spec.elasticPolicy` of a PyTorchJob or PaddleJob."""

    min_replicas: Count | None = None


class ReplicaSpec(Wire, frozen=True):
    """The pods of one role. The default number depends on the role."""

    replicas: Count | None = None
    template: PodTemplate = PodTemplate()


class TrainingJobSpec(Wire, frozen=True):
    """`spec` of a training job. Each kind has its own field for its roles."""

    run_policy: RunPolicy = RunPolicy()
    elastic_policy: ElasticPolicy = ElasticPolicy()
    launcher_creation_policy: Annotated[str, Words({AT_STARTUP, LATE})] = ""
    jax_replica_specs: dict[str, ReplicaSpec] = field(default_factory=dict)
    mpi_replica_specs: dict[str, ReplicaSpec] = field(default_factory=dict)
    paddle_replica_specs: dict[str, ReplicaSpec] = field(default_factory=dict)
    pytorch_replica_specs: dict[str, ReplicaSpec] = field(default_factory=dict)
    tf_replica_specs: dict[str, ReplicaSpec] = field(default_factory=dict)
    xgb_replica_specs: dict[str, ReplicaSpec] = field(default_factory=dict)

    @property
    def replica_specs(self) -> dict[str, ReplicaSpec]:
        """The roles by their names in lower case, as labels have them."""
        found = (
            self.jax_replica_specs
            or self.mpi_replica_specs
            or self.paddle_replica_specs
            or self.pytorch_replica_specs
            or self.tf_replica_specs
            or self.xgb_replica_specs
        )
        return {name.lower(): each for name, each in found.items()}


class TrainingJobStatus(Wire, frozen=True):
    """`status` of a training job."""

    start_time: str = ""
    conditions: list[Condition] = field(default_factory=list)


class TrainingJob(Wire, frozen=True):
    """A training job of any kind."""

    metadata: Metadata
    api_version: str = ""
    spec: TrainingJobSpec = TrainingJobSpec()
    status: TrainingJobStatus = TrainingJobStatus()


def role_of(metadata: Metadata) -> str:
    """Return the role of a pod: its replica type; for pods of the MPI operator, its job role."""
    return metadata.labels.get(REPLICA_TYPE) or metadata.labels.get(JOB_ROLE, "")


def rank_of(metadata: Metadata) -> Rank:
    """Return the place of a pod's role among the roles, and its index in the role.

    Only a launcher may have no index.
    """
    written, role = membership.numbers(metadata, (REPLICA_INDEX,)), role_of(metadata)
    has_place = role and (written or role == LAUNCHER)
    return (_place_of(role), *written) if has_place else written


def _place_of(role: str) -> int:
    return ROLES.index(role) if role in ROLES else len(ROLES)


class _Kind(NamedTuple):
    """A kind of training job, and how the training operator makes its pods.

    `operators` are its operators as labels name them. `field` of the spec has the templates of the
    `roles`. Pods of the `masters` are marked as masters. With `first_worker_else`, the first worker
    is marked if there is no master. `least_workers` is the number of workers if the spec has none.
    """

    name: str
    versions: tuple[GVR, ...]
    operators: tuple[str, ...]
    field: str
    roles: tuple[str, ...]
    masters: tuple[str, ...] = ()
    first_worker_else: bool = False
    least_workers: int = 1


def _read(kind: _Kind, body: Body) -> GangObject:
    """Return a training job. Raises InvalidField if the object is malformed."""
    source = fields.read(body, TrainingJob)
    return GangObject(source.metadata.uid, (_gang_spec(kind, source),))


def _gang_spec(kind: _Kind, source: TrainingJob) -> GangSpec:
    metadata, spec, policy = source.metadata, source.spec, source.spec.run_policy.scheduling_policy
    counts = dict(_counts(kind, spec))
    roles = tuple(_roles(spec, counts))
    declared = GangSpec(
        key=GangKey(kind.name, metadata.namespace, metadata.name),
        uid=metadata.uid,
        gvr=workload_kind.version_of(kind.versions, source.api_version),
        created_at=fields.timestamp(metadata.creation_timestamp),
        min_member=max(1, sum(each.min_member for each in roles)),
        roles=roles,
        elastic_role=WORKER,
        min_resources=_min_resources(policy),
        completions=sum(counts.values()),
        finished=any((each.type, each.status) == SUCCEEDED for each in source.status.conditions),
        options=GangOptions(timeout_seconds=policy.schedule_timeout_seconds or None),
        queue_request=_queue_request(source),
        run_time=fields.run_time(
            spec.run_policy.active_deadline_seconds,
            {},
            {},
            fields.timestamp(source.status.start_time, "status.startTime"),
        ),
    )
    return workload_kind.with_annotations(
        declared, metadata, _templates(spec), functools.partial(_in_replicas, kind, roles)
    )


def _in_replicas(kind: _Kind, roles: tuple[GangsRole, ...], found: Elastic) -> Elastic:
    """Return the elastic annotation of a job whose number of workers the scheduler changes.

    Raises InvalidField if it is for another role, or the job has no workers.
    """
    if (found.role or WORKER) != WORKER:
        raise InvalidField(f"{WHERE}.role", found.role, f"must be {WORKER} in mode Replicas")
    if WORKER not in {each.name for each in roles}:
        where = f"spec.{kind.field}.{WORKER_REPLICAS}"
        raise InvalidField(where, None, "must have replicas in mode Replicas")
    return found


def _replicas_path(kind: _Kind, body: Body, _: str) -> Path | None:
    """Return the path of the number of workers in a job; None if it has no workers."""
    specs = part(body, "spec", kind.field)
    name = next((each for each in specs if each.lower() == WORKER), None)
    return None if name is None else ("spec", kind.field, name, "replicas")


def _counts(kind: _Kind, spec: TrainingJobSpec) -> Iterator[tuple[str, int]]:
    """Yield the roles that have pods, with their numbers, in rank order."""
    for name, each in sorted(spec.replica_specs.items(), key=lambda role: _place_of(role[0])):
        least = kind.least_workers if name == WORKER else 1
        if count := least if each.replicas is None else each.replicas:
            yield name, count


def _roles(spec: TrainingJobSpec, counts: Mapping[str, int]) -> Iterator[GangsRole]:
    """Yield the roles with the smallest number of pods that must start together."""
    is_late = spec.launcher_creation_policy == LATE
    for name, count in counts.items():
        if name == EVALUATOR or (name == LAUNCHER and is_late):
            # The operator creates such a launcher only once the workers are ready.
            yield GangsRole(name, 0, count)
        else:
            yield GangsRole(name, _least_workers(spec, counts) if name == WORKER else count, count)


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
    """Return the queue of a job: from its labels, else from the field for a Volcano queue."""
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


def _name_of(kind: _Kind, source: Pod) -> str:
    labels = source.metadata.labels
    return labels.get(JOB_NAME, "") if labels.get(OPERATOR) in kind.operators else ""


# Pods that version 1.9 of the training operator would create.

MASTER, WORKER_REPLICAS, CHIEF, PS = "Master", "Worker", "Chief", "PS"
WAITS_FOR_MASTER: Final = controllers.added("init-pytorch")
"""The init container of workers of a PyTorchJob with a master."""


class Role(NamedTuple):
    """A role: its name as the operator writes it, its field, and the template of its pods."""

    name: str
    field: str
    replicas: Count | None
    template: Body


def job(kind: _Kind, source: Source) -> Iterator[Body]:
    """Yield the pods of a job of any of these kinds, masters first. Raises InvalidField."""
    roles = roles_of(source, kind.field, kind.roles)
    masters = {each.name for each in roles} & set(kind.masters)
    if kind.first_worker_else and not masters:
        masters = {WORKER_REPLICAS}
    waits_for_master = kind.name == PYTORCH_JOB and MASTER in masters
    for role in roles:
        _check_master(role, kind.masters)
        waits = role.name == WORKER_REPLICAS and waits_for_master
        number = 1 if role.replicas is None else role.replicas
        made = (
            _pod(
                source,
                role,
                i,
                master=role.name in masters and (role.name != WORKER_REPLICAS or not i),
            )
            for i in range(controllers.check_number(number, f"{role.field}.replicas"))
        )
        for each in source.absent(made):
            yield controllers.with_init_container(each, WAITS_FOR_MASTER) if waits else each


def roles_of(
    source: Source, field: str, known: tuple[str, ...], plain: Callable[[str], str] = str.lower
) -> list[Role]:
    """Return the roles in the order of `known`. Raises InvalidField for other roles, and for none.

    Names that `plain` makes equal are the same; the result has the operator's spelling.
    """
    spec = source.body.get("spec", {})
    if not isinstance(spec, Mapping):
        raise InvalidField("spec", spec, "must be an object")
    specs = spec.get(field)
    required(specs, f"spec.{field}")
    if not isinstance(specs, Mapping):
        raise InvalidField(f"spec.{field}", specs, "must be an object")
    names = {plain(each): each for each in known}
    found = []
    for name, spec in specs.items():
        if plain(name) not in names:
            must = f"must be {' or '.join(known)}"
            raise InvalidField(f"a key of spec.{field}", name, must)
        found.append(_role(names[plain(name)], f"spec.{field}.{name}", spec))
    return sorted(found, key=lambda each: known.index(each.name))


def _role(name: str, field: str, spec: object) -> Role:
    if not isinstance(spec, Mapping):
        raise InvalidField(field, spec, "must be an object")
    try:
        read = fields.read(spec, ReplicaSpec)
    except InvalidField as error:
        raise error.at(f"{field}.{error.field}") from error
    controllers.check_template(
        read.template, f"{field}.template", given=bool(read.template.spec.containers)
    )
    return Role(name, field, read.replicas, spec["template"])


def _check_master(role: Role, masters: tuple[str, ...]) -> None:
    if role.name in masters and role.replicas not in (None, 1):
        raise InvalidField(f"{role.field}.replicas", role.replicas, "must be 1")


def _pod(source: Source, role: Role, index: int, *, master: bool) -> Body:
    role_name = role.name.lower()
    labels = {
        OPERATOR: f"{source.body['kind'].lower()}-controller",
        JOB_NAME: source.name,
        REPLICA_TYPE: role_name,
        REPLICA_INDEX: str(index),
        **({JOB_ROLE: "master"} if master else {}),
    }
    return controllers.pod(source.body, role.template, f"{source.name}-{role_name}-{index}", labels)


# Pods that the MPI operator (v2beta1) and the training operator (v1) create for an MPIJob.

LAUNCHER_REPLICAS: Final = "Launcher"
DELIVERS_KUBECTL: Final = controllers.added("kubectl-delivery")
"""The init container of the training operator's launcher."""
RUN_POLICY: Final = ("backoffLimit", "activeDeadlineSeconds", "ttlSecondsAfterFinished")
"""The fields of `runPolicy` that are copied into the launcher's Job."""


def mpi_job(kind: _Kind, source: Source) -> Iterator[Body]:
    """Yield the workers, and the launcher: a Job in v2beta1, a pod in v1. Raises InvalidField."""
    of_operator = source.body["apiVersion"].endswith("/v2beta1")
    roles = roles_of(source, kind.field, kind.roles, str)
    launcher, workers = _checked(roles, workers_from=1 if of_operator else 0)
    return _v2beta1(source, launcher, workers) if of_operator else _v1(source, launcher, workers)


def _v2beta1(source: Source, launcher: Role, workers: Role | None) -> Iterator[Body]:
    name = f"{source.name}-launcher"
    job = source.present.find("Job", "batch", source.namespace, name)
    if job is not None and Source(job).read(Workload).has_ended:
        return
    labels = {OPERATOR: MPI_OPERATOR, JOB_NAME: source.name}
    yield from _workers(source, workers, {**labels, JOB_ROLE: "worker"})
    if not _waits(source, workers):
        yield _launcher_job(source, launcher, name, {**labels, JOB_ROLE: "launcher"})


def _v1(source: Source, launcher: Role, workers: Role | None) -> Iterator[Body]:
    labels = {OPERATOR: "mpijob-controller", JOB_NAME: source.name}
    own = {**labels, REPLICA_TYPE: "launcher", JOB_ROLE: "master"}
    made = controllers.pod(source.body, launcher.template, f"{source.name}-launcher", own)
    yield from source.absent([controllers.with_init_container(made, DELIVERS_KUBECTL)])
    yield from _workers(source, workers, {**labels, REPLICA_TYPE: "worker"})


def _workers(source: Source, role: Role | None, labels: Mapping[str, str]) -> Iterator[Body]:
    number = role.replicas or 0 if role else 0
    where = role.field if role else ""
    for i in range(controllers.check_number(number, f"{where}.replicas")):
        numbered = {**labels, REPLICA_INDEX: str(i)}
        template = role.template if role else {}
        made = controllers.pod(source.body, template, f"{source.name}-worker-{i}", numbered)
        yield from source.absent([made])


def _waits(source: Source, workers: Role | None) -> bool:
    """Return whether the launcher is created later, when all workers are ready."""
    spec = source.body["spec"]
    if not source.from_cluster or spec.get("launcherCreationPolicy") != LATE:
        return False
    number = workers.replicas or 0 if workers else 0
    pods = (source.pod(f"{source.name}-worker-{i}") for i in range(number))
    return not all(each is not None and is_ready(each) for each in pods)


def _launcher_job(source: Source, launcher: Role, name: str, labels: Mapping[str, str]) -> Body:
    policy = part(source.body, "spec", "runPolicy")
    template = controllers.from_template(launcher.template, labels, {})
    role = part(source.body, "spec", "mpiReplicaSpecs", LAUNCHER_REPLICAS)
    # The operator replaces the template's restartPolicy by the role's.
    restart = role.get("restartPolicy") or "OnFailure"
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {**controllers.owned(source.body, name), "labels": {"app": source.name}},
        "spec": {
            **{key: policy[key] for key in RUN_POLICY if key in policy},
            "template": {
                "metadata": template["metadata"],
                "spec": {**template["spec"], "restartPolicy": restart},
            },
        },
    }


def _checked(roles: list[Role], workers_from: int) -> tuple[Role, Role | None]:
    """Return the launcher and the workers.

    Raises InvalidField for a job that the operators would refuse.
    """
    by_name = {each.name: each for each in roles}
    launcher, workers = by_name.get(LAUNCHER_REPLICAS), by_name.get(WORKER_REPLICAS)
    if launcher is None:
        raise InvalidField(f"spec.mpiReplicaSpecs.{LAUNCHER_REPLICAS}", None, "is required")
    if launcher.replicas not in (None, 1):
        raise InvalidField(f"{launcher.field}.replicas", launcher.replicas, "must be 1")
    if workers is not None and (workers.replicas or 0) < workers_from:
        must = f"must be at least {workers_from}"
        raise InvalidField(f"{workers.field}.replicas", workers.replicas or 0, must)
    return launcher, workers


# The rows of all kinds.


def _row(kind: _Kind) -> Kind:
    return Kind(
        name=kind.name,
        versions=kind.versions,
        struct=TrainingJob,
        read=functools.partial(_read, kind),
        pods=PodsOfKind(
            GangSource(kind.name, kind.name),
            functools.partial(_name_of, kind),
            keys=frozenset({OPERATOR, REPLICA_TYPE}),
            role_of=role_of,
            rank_of=rank_of,
            rank_keys=frozenset({REPLICA_INDEX, REPLICA_TYPE, JOB_ROLE}),
            by_default=True,
        ),
        has_roles=True,
        creates=functools.partial(mpi_job if kind.name == MPI_JOB else job, kind),
        lateness=_lateness if kind.name == MPI_JOB else None,
        suspend=Suspend(("spec", "runPolicy", "suspend")),
        # Both operators delete the workers with the highest indexes.
        replicas=ReplicaField(functools.partial(_replicas_path, kind), lambda _: True),
        controller=f"kubeflow.org/{MPI_OPERATOR if kind.name == MPI_JOB else TRAINING_OPERATOR}",
        words=(
            *ROLES,
            *(each.capitalize() for each in ROLES),
            PS,
            TRAINING_OPERATOR,
            *kind.operators,
        ),
    )


def _lateness(body: Body) -> IsLate:
    """Return which pods are created later: the launcher, if it waits for the workers."""
    if part(body, "spec").get("launcherCreationPolicy") != LATE:
        return lambda _: False
    return lambda metadata: metadata["labels"].get(JOB_ROLE) == LAUNCHER


KINDS: Final = tuple(
    _row(each)
    for each in (
        _Kind(
            *(PYTORCH_JOB, (kinds.PYTORCH_JOBS,), ("pytorchjob-controller",)),
            field="pytorchReplicaSpecs",
            roles=(MASTER, WORKER_REPLICAS),
            masters=(MASTER,),
            first_worker_else=True,
        ),
        _Kind(
            *("TFJob", (kinds.TF_JOBS,), ("tfjob-controller",)),
            field="tfReplicaSpecs",
            roles=(CHIEF, MASTER, PS, WORKER_REPLICAS, "Evaluator"),
            masters=(CHIEF, MASTER),
            first_worker_else=True,
        ),
        _Kind(
            *("XGBoostJob", (kinds.XGBOOST_JOBS,), ("xgboostjob-controller",)),
            field="xgbReplicaSpecs",
            roles=(MASTER, WORKER_REPLICAS),
            masters=(MASTER,),
        ),
        _Kind(
            *("PaddleJob", (kinds.PADDLE_JOBS,), ("paddlejob-controller",)),
            field="paddleReplicaSpecs",
            roles=(MASTER, WORKER_REPLICAS),
            masters=(MASTER,),
        ),
        _Kind(
            *("JAXJob", (kinds.JAX_JOBS,), ("jaxjob-controller",)),
            field="jaxReplicaSpecs",
            roles=(WORKER_REPLICAS,),
            first_worker_else=True,
        ),
        _Kind(
            *(MPI_JOB, kinds.MPI_JOBS, ("mpijob-controller", MPI_OPERATOR)),
            field="mpiReplicaSpecs",
            roles=(LAUNCHER_REPLICAS, WORKER_REPLICAS),
            least_workers=0,
        ),
    )
)
