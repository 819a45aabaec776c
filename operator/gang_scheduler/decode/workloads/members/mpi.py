"""The pods that the MPI operator (v2beta1) and the training operator (v1) create of an MPIJob."""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from gang_scheduler.api.parsing import InvalidField
from gang_scheduler.decode.workloads.kubeflow import (
    JOB_NAME,
    JOB_ROLE,
    OPERATOR,
    REPLICA_INDEX,
    REPLICA_TYPE,
)
from gang_scheduler.decode.workloads.members import bodies, kubeflow
from gang_scheduler.decode.workloads.members.kubeflow import WORKER, Role
from gang_scheduler.decode.workloads.members.lifecycle import Workload
from gang_scheduler.decode.workloads.members.present import part
from gang_scheduler.decode.workloads.members.source import Source, is_ready

LAUNCHER: Final = "Launcher"
DELIVERS_KUBECTL: Final = bodies.added("kubectl-delivery")
"""What the launcher of the training operator runs first."""
WHEN_READY: Final = "WaitForWorkersReady"
RUN_POLICY: Final = ("backoffLimit", "activeDeadlineSeconds", "ttlSecondsAfterFinished")
"""What of `runPolicy` goes into the Job of the launcher."""

Body = Mapping[str, Any]


def mpi_job(source: Source) -> Iterator[Body]:
    """Yield the workers, and the launcher: a Job in v2beta1, a pod in v1. Raises InvalidField."""
    of_operator = source.body["apiVersion"].endswith("/v2beta1")
    roles = kubeflow.roles_of(source, "mpiReplicaSpecs", (LAUNCHER, WORKER), str)
    launcher, workers = _checked(roles, workers_from=1 if of_operator else 0)
    return _v2beta1(source, launcher, workers) if of_operator else _v1(source, launcher, workers)


def _v2beta1(source: Source, launcher: Role, workers: Role | None) -> Iterator[Body]:
    name = f"{source.name}-launcher"
    job = source.present.find("Job", "batch", source.namespace, name)
    if job is not None and Source(job).read(Workload).has_ended:
        return
    labels = {OPERATOR: "mpi-operator", JOB_NAME: source.name}
    yield from _workers(source, workers, {**labels, JOB_ROLE: "worker"})
    if not _waits(source, workers):
        yield _launcher_job(source, launcher, name, {**labels, JOB_ROLE: "launcher"})


def _v1(source: Source, launcher: Role, workers: Role | None) -> Iterator[Body]:
    labels = {OPERATOR: "mpijob-controller", JOB_NAME: source.name}
    own = {**labels, REPLICA_TYPE: "launcher", JOB_ROLE: "master"}
    made = bodies.pod(source.body, launcher.template, f"{source.name}-launcher", own)
    yield from source.absent([bodies.with_init_container(made, DELIVERS_KUBECTL)])
    yield from _workers(source, workers, {**labels, REPLICA_TYPE: "worker"})


def _workers(source: Source, role: Role | None, labels: Mapping[str, str]) -> Iterator[Body]:
    number = role.replicas or 0 if role else 0
    where = role.field if role else ""
    for i in range(bodies.check_number(number, f"{where}.replicas")):
        numbered = {**labels, REPLICA_INDEX: str(i)}
        template = role.template if role else {}
        made = bodies.pod(source.body, template, f"{source.name}-worker-{i}", numbered)
        yield from source.absent([made])


def _waits(source: Source, workers: Role | None) -> bool:
    """Return whether the launcher comes later, when all workers are ready."""
    spec = source.body["spec"]
    if not source.from_cluster or spec.get("launcherCreationPolicy") != WHEN_READY:
        return False
    number = workers.replicas or 0 if workers else 0
    pods = (source.pod(f"{source.name}-worker-{i}") for i in range(number))
    return not all(each is not None and is_ready(each) for each in pods)


def _launcher_job(source: Source, launcher: Role, name: str, labels: Mapping[str, str]) -> Body:
    policy = part(source.body, "spec", "runPolicy")
    template = bodies.from_template(launcher.template, labels, {})
    role = part(source.body, "spec", "mpiReplicaSpecs", LAUNCHER)
    # The operator writes that of the role over that of its template.
    restart = role.get("restartPolicy") or "OnFailure"
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {**bodies.owned(source.body, name), "labels": {"app": source.name}},
        "spec": {
            **{key: policy[key] for key in RUN_POLICY if key in policy},
            "template": {
                "metadata": template["metadata"],
                "spec": {**template["spec"], "restartPolicy": restart},
            },
        },
    }


def _checked(roles: list[Role], workers_from: int) -> tuple[Role, Role | None]:
    """Return the launcher and the workers. Raises InvalidField as the operators refuse them."""
    by_name = {each.name: each for each in roles}
    launcher, workers = by_name.get(LAUNCHER), by_name.get(WORKER)
    if launcher is None:
        raise InvalidField(f"spec.mpiReplicaSpecs.{LAUNCHER}", None, "is required")
    if launcher.replicas not in (None, 1):
        raise InvalidField(f"{launcher.field}.replicas", launcher.replicas, "must be 1")
    if workers is not None and (workers.replicas or 0) < workers_from:
        must = f"must be at least {workers_from}"
        raise InvalidField(f"{workers.field}.replicas", workers.replicas or 0, must)
    return launcher, workers
