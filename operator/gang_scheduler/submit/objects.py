"""The objects that a job becomes, in the order in which they are created."""

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Final

import yaml

from gang_scheduler.api import annotations
from gang_scheduler.api.kinds import (
    CONFIG_MAPS,
    GVR,
    JAX_JOBS,
    JOB_SETS,
    JOBS,
    MPI_JOBS,
    PADDLE_JOBS,
    POD_GROUPS,
    PYTORCH_JOBS,
    SERVICES,
    TF_JOBS,
    XGBOOST_JOBS,
)
from gang_scheduler.submit import batch_script, members
from gang_scheduler.submit.members import Body, Part, Rendezvous, common_labels
from gang_scheduler.submit.refusals import Refused
from gang_scheduler.submit.training_job import JobType, TrainingJob, seconds_of
from gang_scheduler.submit.usable_names import UsableNames

RESOURCES: Final[Mapping[JobType, GVR]] = {
    JobType.JOB: JOBS,
    JobType.JOB_SET: JOB_SETS,
    JobType.PYTORCH_JOB: PYTORCH_JOBS,
    JobType.TF_JOB: TF_JOBS,
    JobType.XGBOOST_JOB: XGBOOST_JOBS,
    JobType.PADDLE_JOB: PADDLE_JOBS,
    JobType.MPI_JOB: MPI_JOBS[0],
    JobType.JAX_JOB: JAX_JOBS,
}
INSTALL: Final = {
    JobType.JOB_SET: "install JobSet: https://jobset.sigs.k8s.io/docs/installation",
    JobType.MPI_JOB: "install mpi-operator: https://github.com/kubeflow/mpi-operator",
}
INSTALL_TRAINING: Final = (
    "install the training operator: https://github.com/kubeflow/training-operator"
)
EVICTED: Final = 143
"""The exit code of a container that ends after SIGTERM."""
OF_FAILURES: Final[Body] = {
    # An evicted member comes back at once, and a member that fails twice by itself ends the Job.
    "backoffLimitPerIndex": 1,
    "maxFailedIndexes": 0,
    "podFailurePolicy": {
        "rules": [
            {
                "action": "Ignore",
                "onPodConditions": [{"type": "DisruptionTarget", "status": "True"}],
            },
            # Members that end because others were evicted.
            {"action": "Ignore", "onExitCodes": {"operator": "In", "values": [EVICTED]}},
        ]
    },
}
"""The fields of a Job that say which failures of its pods count."""


@dataclass(frozen=True, slots=True)
class Planned:
    """An object to create, and its purpose. The first object of a plan owns all others."""

    gvr: GVR
    body: Body
    what: str

    @property
    def kind(self) -> str:
        """The kind of the object."""
        return str(self.body["kind"])

    @property
    def name(self) -> str:
        """The name of the object."""
        return str(self.body["metadata"]["name"])


def as_yaml(plan: Iterable[Planned]) -> str:
    """Return objects as a file for `kubectl apply`."""
    bodies = [each.body for each in plan]
    return yaml.safe_dump_all(bodies, sort_keys=False, allow_unicode=True)


def planned(job: TrainingJob, usable: UsableNames) -> list[Planned]:
    """Return the objects of a job, the owner of the others first. Raises Refused."""
    _check(job, usable)
    if job.job_type is JobType.JOB:
        return _job(job, usable)
    if job.job_type is JobType.JOB_SET:
        return _job_set(job, usable)
    return [_training(job, usable)]


def _check(job: TrainingJob, usable: UsableNames) -> None:
    """Raise Refused for names that the cluster does not have, and for a job without a command."""
    if usable.kinds is not None and job.job_type not in usable.kinds:
        help_text = INSTALL.get(job.job_type, INSTALL_TRAINING)
        raise Refused("jobType", job.job_type.value, f"is not served by the cluster; {help_text}")
    if job.queue and usable.queues is not None and job.queue not in usable.queues:
        known = ", ".join(sorted(usable.queues)) or "none"
        left = ": leave it out with --ignore partition, or give --queue" if job.script else ""
        raise Refused("queue", job.queue, f"does not exist; known queues: {known}{left}")
    for each in members.parts(job):
        containers = (job.template.get("spec") or {}).get("containers") or ()
        if not each.image and not any(one.get("image") for one in containers):
            raise Refused("image", None, "is required")
    if job.is_elastic and job.job_type not in (JobType.JOB, JobType.PYTORCH_JOB):
        raise Refused(
            "nodes", job.nodes, (f"is a range, which a {job.job_type.value} does not support")
        )
    if not job.gang_scheduling and job.job_type is not JobType.JOB:
        text = f"is not possible: the pods of a {job.job_type.value} are a gang"
        raise Refused("gangScheduling", "false", text)


def is_managed(job: TrainingJob, usable: UsableNames) -> bool:
    """Return whether the scheduler starts the job itself, once its gang fits."""
    return bool(job.queue) and job.job_type.value in usable.managed


def _object(
    gvr: GVR, kind: str, name: str, job: TrainingJob, marks: Mapping[str, str] | None = None
) -> Body:
    metadata: Body = {"name": name, "namespace": job.namespace, "labels": common_labels(job)}
    if marks:
        metadata["annotations"] = dict(marks)
    return {"apiVersion": gvr.api_version, "kind": kind, "metadata": metadata}


# A Job, and the objects that it owns.


def _job(job: TrainingJob, usable: UsableNames) -> list[Planned]:
    (part,) = members.parts(job)
    hosts = _hosts(job, part.nodes)
    labels = {annotations.POD_GROUP_LABEL: job.name} if job.gang_scheduling else {}
    template = members.template(
        job, part, usable, rendezvous=Rendezvous(tuple(hosts)), labels=labels
    )
    spec: Body = {
        "completionMode": "Indexed",
        "completions": part.nodes,
        "parallelism": part.nodes,
        **OF_FAILURES,
        "template": template,
    }
    if job.is_elastic:
        # Otherwise members without a node would start after the others have done the work.
        spec["successPolicy"] = {"rules": [{"succeededIndexes": "0"}]}
    if is_managed(job, usable):
        spec["suspend"] = True
    made = [Planned(JOBS, {**_object(JOBS, "Job", job.name, job), "spec": spec}, _size(job, part))]
    if job.script is not None:
        script = _object(CONFIG_MAPS, "ConfigMap", job.name, job)
        said = "the script, srun and scontrol"
        made.append(Planned(CONFIG_MAPS, {**script, "data": batch_script.data(job)}, said))
    if part.nodes > 1:
        service = {
            "clusterIP": "None",
            "publishNotReadyAddresses": True,
            "selector": {"batch.kubernetes.io/job-name": job.name},
        }
        body = {**_object(SERVICES, "Service", job.name, job), "spec": service}
        made.append(Planned(SERVICES, body, f"names of members: {hosts[0]} is the first"))
    if job.gang_scheduling:
        made.append(_pod_group(job, job.name, job.bounds[0], members.elastic_mark(job)))
    return made


def _hosts(job: TrainingJob, nodes: int) -> list[str]:
    if nodes == 1:
        return ["localhost"]
    return [f"{job.name}-{index}.{job.name}" for index in range(nodes)]


def _size(job: TrainingJob, part: Part) -> str:
    least, most = (part.nodes, part.nodes) if part.name else job.bounds
    number = str(most) if least == most else f"{least} to {most}"
    asked: dict[str, str | int | None] = {
        job.gpu_resource: part.resources.gpu or None,
        "cpu": part.resources.cpu,
        "memory": part.resources.memory,
    }
    said = ", ".join(f"{value} {key}" for key, value in asked.items() if value is not None)
    return f"{number} member{'s' * (number != '1')}" + (f" with {said} each" if said else "")


def _pod_group(
    job: TrainingJob, name: str, least: int, marks: Mapping[str, str], group: Iterable[str] = ()
) -> Planned:
    of_gang = members.marks(job).items()
    found = {key: each for key, each in of_gang if key not in annotations.PODSET_KEYS}
    found |= marks
    others = sorted(f"{job.namespace}/{each}" for each in group)
    if others:
        found[annotations.GANG_GROUPS] = json.dumps(others)
    spec: Body = {"minMember": least}
    if job.max_wait_time is not None:
        spec["scheduleTimeoutSeconds"] = seconds_of(job.max_wait_time)
    body = {**_object(POD_GROUPS, "PodGroup", name, job, found), "spec": spec}
    together = "all start together" if least == job.bounds[1] else f"{least} start together"
    words = [f"{least} start together" if job.roles else together]
    if job.must or job.prefer:
        words.append(f"in one {job.must}" if job.must else f"in one {job.prefer} if possible")
    if others:
        words.append(f"with {', '.join(others)}")
    return Planned(POD_GROUPS, body, ", ".join(words))


# A JobSet: a PodGroup for each role, all of them in one group.


def _job_set(job: TrainingJob, usable: UsableNames) -> list[Planned]:
    parts = members.parts(job)
    names = {each.name: f"{job.name}-{each.name}" for each in parts}
    jobs = [_replicated(job, each, usable, names[each.name]) for each in parts]
    spec: Body = {"replicatedJobs": jobs}
    if is_managed(job, usable):
        spec["suspend"] = True
    said = "; ".join(f"{each.name}: {_size(job, each)}" for each in parts)
    made = [Planned(JOB_SETS, {**_object(JOB_SETS, "JobSet", job.name, job), "spec": spec}, said)]
    for each in parts:
        others = [name for name in names.values() if name != names[each.name]]
        made.append(_pod_group(job, names[each.name], each.nodes, {}, others))
    return made


def _replicated(job: TrainingJob, part: Part, usable: UsableNames, group: str) -> Body:
    hosts = tuple(f"{job.name}-{part.name}-0-{index}.{job.name}" for index in range(part.nodes))
    template = members.template(
        *(job, part, usable),
        rendezvous=Rendezvous(hosts),
        labels={annotations.POD_GROUP_LABEL: group},
    )
    # The JobSet names the service of its pods itself.
    template["spec"].pop("subdomain", None)
    spec = {
        "completionMode": "Indexed",
        "completions": part.nodes,
        "parallelism": part.nodes,
        **OF_FAILURES,
        "template": template,
    }
    return {"name": part.name, "replicas": 1, "template": {"spec": spec}}


# Training jobs of Kubeflow: one object, whose operator tells members how to find each other.


@dataclass(frozen=True, slots=True)
class _Kind:
    """A kind of Kubeflow: the field of its roles, the name of its container, and its roles.

    The role `first` has one member, and the last role has the others.
    """

    field: str
    container: str
    roles: tuple[str, ...]
    first: str = ""
    beside: bool = False


_KINDS: Final[Mapping[JobType, _Kind]] = {
    JobType.PYTORCH_JOB: _Kind(
        "pytorchReplicaSpecs", "pytorch", ("Master", "Worker"), first="Master"
    ),
    JobType.TF_JOB: _Kind(
        "tfReplicaSpecs", "tensorflow", ("Chief", "Master", "PS", "Worker", "Evaluator")
    ),
    JobType.XGBOOST_JOB: _Kind("xgbReplicaSpecs", "xgboost", ("Master", "Worker"), first="Master"),
    JobType.PADDLE_JOB: _Kind("paddleReplicaSpecs", "paddle", ("Master", "Worker")),
    JobType.JAX_JOB: _Kind("jaxReplicaSpecs", "jax", ("Worker",)),
    JobType.MPI_JOB: _Kind(
        "mpiReplicaSpecs", "main", ("Launcher", "Worker"), first="Launcher", beside=True
    ),
}


def _training(job: TrainingJob, usable: UsableNames) -> Planned:
    kind, gvr = _KINDS[job.job_type], RESOURCES[job.job_type]
    specs = {
        role: {"replicas": each.nodes, "restartPolicy": "Never", "template": made}
        for role, each, made in _roles(job, kind, usable)
    }
    policy: Body = {"cleanPodPolicy": "Running"}
    if is_managed(job, usable):
        policy["suspend"] = True
    if job.max_wait_time is not None:
        policy["schedulingPolicy"] = {"scheduleTimeoutSeconds": seconds_of(job.max_wait_time)}
    spec: Body = {"runPolicy": policy, kind.field: specs}
    if job.is_elastic:
        least, most = job.bounds
        spec["elasticPolicy"] = {
            "minReplicas": least,
            "maxReplicas": most,
            "rdzvBackend": "c10d",
        }
    marks = members.elastic_mark(job, "worker")
    body = {**_object(gvr, job.job_type.value, job.name, job, marks), "spec": spec}
    said = "; ".join(f"{role}: {each['replicas']}" for role, each in specs.items())
    return Planned(gvr, body, f"{said}; {_size(job, members.parts(job)[0])}" if said else "")


def _roles(job: TrainingJob, kind: _Kind, usable: UsableNames) -> Iterable[tuple[str, Part, Body]]:
    known: Callable[[str], str | None] = {each.lower(): each for each in kind.roles}.get
    for each in members.parts(job):
        for role, part in _split(job, kind, each):
            named = known(role.lower())
            if named is None:
                text = f"is no role of a {job.job_type.value}: {', '.join(kind.roles)}"
                raise Refused("roles", role, text)
            yield (
                *(named, part),
                members.template(job, part, usable, container=kind.container),
            )


def _split(job: TrainingJob, kind: _Kind, part: Part) -> Iterable[tuple[str, Part]]:
    """Yield the roles of a part of a job; without roles, it gets the usual ones of the kind."""
    if part.name:
        return [(part.name, part)]
    last = kind.roles[-1] if job.job_type is not JobType.TF_JOB else "Worker"
    if not kind.first or job.is_elastic:
        return [(last, part)]
    first = Part(kind.first, 1, part.image, part.command, part.args, part.resources, part.env)
    if kind.beside:
        return [(kind.first, _without_gpu(first)), (last, _waiting(part))]
    rest = part.nodes - 1
    return [(kind.first, first), *([(last, _of(part, rest))] if rest else [])]


def _of(part: Part, nodes: int) -> Part:
    return Part("", nodes, part.image, part.command, part.args, part.resources, part.env)


def _without_gpu(part: Part) -> Part:
    """Return the launcher of an MPI job, without GPUs, since it computes nothing."""
    asked = part.resources.model_copy(update={"gpu": 0, "cpu": None, "memory": None})
    return Part(part.name, 1, part.image, part.command, part.args, asked, part.env)


def _waiting(part: Part) -> Part:
    """Return the workers of an MPI job: they run the image's default command, which is sshd."""
    return Part("", part.nodes, part.image, (), (), part.resources, part.env)
