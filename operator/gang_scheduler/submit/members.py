"""The pod template of members: container, resources, variables, and keys for the scheduler."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from gang_scheduler.api import annotations
from gang_scheduler.submit import batch_script
from gang_scheduler.submit.refusals import Refused
from gang_scheduler.submit.training_job import Resources, Role, TrainingJob, seconds_of
from gang_scheduler.submit.usable_names import UsableNames

Body = dict[str, Any]
INDEX: Final = "metadata.annotations['batch.kubernetes.io/job-completion-index']"
JOB_UID: Final = "metadata.labels['batch.kubernetes.io/controller-uid']"
PORT: Final = 29500
RENDEZVOUS_PORT: Final = 29400
GPU_PRODUCT: Final = "nvidia.com/gpu.product"
RESUMED: Final = {
    "RESUME_FROM": annotations.RESUME_PATH,
    "RESUME_STEP": annotations.RESUME_STEP,
    "RESUME_COUNT": annotations.RESUME_COUNT,
}
"""Variables for `gang_scheduler.checkpoint`, and the annotations that they are read from."""


@dataclass(frozen=True, slots=True)
class Part:
    """One role of a job, with the fields of the job in place of fields that the role leaves out."""

    name: str
    nodes: int
    image: str
    command: tuple[str, ...]
    args: tuple[str, ...]
    resources: Resources
    env: Mapping[str, str]


def parts(job: TrainingJob) -> list[Part]:
    """Return the roles of a job, or its one part without a name."""
    if not job.roles:
        most = job.bounds[1]
        return [Part("", most, job.image, job.command, job.args, job.resources, job.env)]
    return [_part(job, each) for each in job.roles]


def _part(job: TrainingJob, role: Role) -> Part:
    return Part(
        name=role.name,
        nodes=role.nodes,
        image=role.image or job.image,
        command=job.command if role.command is None else role.command,
        args=job.args if role.args is None else role.args,
        resources=role.resources or job.resources,
        env={**job.env, **role.env},
    )


@dataclass(frozen=True, slots=True)
class Rendezvous:
    """How members find each other: their host names by rank.

    Empty if their controller provides it.
    """

    hosts: tuple[str, ...] = ()
    indexed: bool = True


def template(
    job: TrainingJob,
    part: Part,
    usable: UsableNames,
    *,
    container: str = "main",
    restart: str = "Never",
    rendezvous: Rendezvous = Rendezvous(),
    labels: Mapping[str, str] | None = None,
) -> Body:
    """Return the pod template of a role: the job's fields, merged over its own `template`."""
    metadata: Body = {"labels": {**common_labels(job), **(labels or {})}}
    notes = marks(job)
    if labels:
        # Other annotations are on the PodGroup, for all of its members.
        notes = {key: each for key, each in notes.items() if key in annotations.PODSET_KEYS}
    if notes:
        metadata["annotations"] = notes
    spec: Body = {
        "schedulerName": usable.scheduler,
        "restartPolicy": restart,
        "containers": [_container(job, part, container, rendezvous)],
        **_selected(job, usable),
        **_priority(job, usable),
    }
    if rendezvous.hosts and len(rendezvous.hosts) > 1:
        spec["subdomain"] = job.name
    if job.checkpoint is not None and job.checkpoint.mode == "Signal" and job.checkpoint.timeout:
        # A member has this time from SIGTERM on to save its work.
        spec["terminationGracePeriodSeconds"] = seconds_of(job.checkpoint.timeout)
    if job.time is not None:
        spec["activeDeadlineSeconds"] = seconds_of(job.time)
    volumes = [{"name": each.name, **each.sources} for each in job.volumes]
    if job.script is not None:
        volumes.append(batch_script.volume(job.name))
    if volumes:
        spec["volumes"] = volumes
    made: Body = {"metadata": metadata, "spec": spec}
    return merged(job.template, made) if job.template else made


def common_labels(job: TrainingJob) -> dict[str, str]:
    """Return the labels of all objects of a job."""
    found = {annotations.SUBMITTED: "true"}
    if job.user:
        found[annotations.USER] = job.user
    if job.queue:
        found[annotations.QUEUE] = job.queue
    return found


def marks(job: TrainingJob) -> dict[str, str]:
    """Return the annotations for the scheduler: placement, expected run time, and checkpoints."""
    found: dict[str, str] = {}
    layer, must = (job.must, True) if job.must else (job.prefer, False)
    if layer and ("/" in layer or "." in layer):
        found[annotations.PODSET_REQUIRED if must else annotations.PODSET_PREFERRED] = layer
    elif layer:
        strategy = "MustGather" if must else "PreferGather"
        gathers = {"gatherStrategy": [{"layer": layer, "strategy": strategy}]}
        found[annotations.NETWORK_TOPOLOGY_SPEC] = json.dumps(gathers)
    if job.expected_duration is not None:
        found[annotations.EXPECTED_DURATION] = job.expected_duration
    if job.checkpoint is not None:
        saves = job.checkpoint
        found[annotations.CHECKPOINT] = saves.mode
        for key, value in (
            (annotations.CHECKPOINT_TIMEOUT, saves.timeout),
            (annotations.CHECKPOINT_PORT, saves.port),
            (annotations.CHECKPOINT_PATH, saves.path),
        ):
            if value is not None:
                found[key] = str(value)
    return found


def elastic_mark(job: TrainingJob, role: str = "") -> dict[str, str]:
    """Return the annotation of an elastic job; {} for any other job."""
    if not job.is_elastic:
        return {}
    least, most = job.bounds
    bounds: Body = {"minWorkers": least, "maxWorkers": most}
    if job.elastic is not None:
        pace = job.elastic.scale_policy.model_dump(by_alias=True, exclude_none=True)
        bounds |= {"scalePolicy": pace} if pace else {}
    return {annotations.ELASTIC: json.dumps(bounds | ({"role": role} if role else {}))}


def priority_class(job: TrainingJob, usable: UsableNames) -> str:
    """Return the PriorityClass of a job, "" for none. Raises Refused if none suits the job."""
    known = usable.priority_classes
    if known is None:
        if job.priority is not None:
            raise Refused(
                *("priority", job.priority),
                "needs a list of PriorityClasses, which cannot be read: name a priorityClass",
            )
        return job.priority_class
    shown = ", ".join(f"{each.name} ({each.value})" for each in known) or "none"
    named = [each for each in known if job.priority_class == each.name]
    if job.priority_class and not named:
        raise Refused(
            "priorityClass", job.priority_class, f"is no PriorityClass; known ones: {shown}"
        )
    if job.priority is not None:
        named = [each for each in known if each.value == job.priority]
        if not named:
            text = f"is the value of no PriorityClass; known ones: {shown}"
            raise Refused("priority", job.priority, text)
    if job.preemption_policy is None:
        return named[0].name if named else ""
    if not named and job.preemption_policy == "PreemptLower":
        return ""
    never = job.preemption_policy == "Never"
    fitting = [each.name for each in named if each.never is never]
    if not fitting:
        text = (
            "is not the preemption policy of the PriorityClass that the job names: the class "
            "decides this"
        )
        raise Refused("preemptionPolicy", job.preemption_policy.value, text)
    return fitting[0]


def _priority(job: TrainingJob, usable: UsableNames) -> Body:
    name = priority_class(job, usable)
    return {"priorityClassName": name} if name else {}


def _selected(job: TrainingJob, usable: UsableNames) -> Body:
    """Return the node selector for the type of GPU. Raises Refused if no node has that type."""
    if not job.gpu_type:
        return {}
    flavor = (usable.flavors or {}).get(job.gpu_type)
    if flavor:
        return {"nodeSelector": dict(flavor)}
    if usable.gpu_types is not None and job.gpu_type not in usable.gpu_types:
        known = sorted({*usable.gpu_types, *(usable.flavors or {})})
        text = f"is the type of no node; known types: {', '.join(known) or 'none'}"
        raise Refused("gpuType", job.gpu_type, text)
    return {"nodeSelector": {GPU_PRODUCT: job.gpu_type}}


def _container(job: TrainingJob, part: Part, name: str, rendezvous: Rendezvous) -> Body:
    found: Body = {"name": name}
    if part.image:
        found["image"] = part.image
    command = batch_script.command(job) if job.script is not None else list(part.command)
    if command:
        found["command"] = command
    if part.args:
        found["args"] = list(part.args)
    env = [*_variables(job, part, rendezvous), *_resumed(job, part), *_named(part.env)]
    if env:
        found["env"] = env
    if asked := _asked(job, part.resources):
        found["resources"] = {"requests": asked, "limits": dict(asked)}
    mounts = [_mount(each.model_dump(by_alias=True)) for each in job.volumes]
    if job.script is not None:
        mounts.append(batch_script.mount())
    return found | ({"volumeMounts": mounts} if mounts else {})


def _mount(volume: Mapping[str, Any]) -> Body:
    kept = ("name", "mountPath", "subPath", "readOnly")
    return {key: volume[key] for key in kept if volume[key]}


def _asked(job: TrainingJob, resources: Resources) -> Body:
    found: Body = {}
    if resources.cpu is not None:
        found["cpu"] = str(resources.cpu)
    if resources.memory is not None:
        found["memory"] = str(resources.memory)
    if resources.gpu:
        found[job.gpu_resource] = str(resources.gpu)
    return found


def _named(variables: Mapping[str, str]) -> list[Body]:
    return [{"name": name, "value": value} for name, value in variables.items()]


def _from_field(name: str, path: str) -> Body:
    return {"name": name, "valueFrom": {"fieldRef": {"fieldPath": path}}}


def _resumed(job: TrainingJob, part: Part) -> list[Body]:
    """Return the variables that name the checkpoint to continue from; they are empty at first."""
    if not job.gang_scheduling:
        return []
    found = RESUMED.items()
    return [
        _from_field(name, f"metadata.annotations['{key}']")
        for name, key in found
        if name not in part.env
    ]


def _variables(job: TrainingJob, part: Part, rendezvous: Rendezvous) -> list[Body]:
    """Return the variables by which members find each other, also those of torchrun."""
    if not rendezvous.hosts:
        return []
    least, most = job.bounds if not part.name else (part.nodes, part.nodes)
    first = rendezvous.hosts[0]
    made = {
        "MASTER_ADDR": first,
        "MASTER_PORT": str(PORT),
        "NNODES": str(most),
        "PET_NNODES": f"{least}:{most}" if least != most else str(most),
        "PET_NPROC_PER_NODE": str(part.resources.gpu or 1),
        "PET_MASTER_ADDR": first,
        "PET_MASTER_PORT": str(PORT),
    }
    if least != most:
        made |= {
            "PET_RDZV_BACKEND": "c10d",
            "PET_RDZV_ENDPOINT": f"{first}:{RENDEZVOUS_PORT}",
            "PET_RDZV_ID": job.name,
        }
    ranks = ["NODE_RANK", "PET_NODE_RANK"]
    if job.script is not None:
        made |= batch_script.variables(job, list(rendezvous.hosts))
        ranks += ["SLURM_NODEID", "SLURM_PROCID"]
    found = [*_named(made), *(_from_field(name, INDEX) for name in ranks)]
    return [*found, _from_field("SLURM_JOB_ID", JOB_UID)] if job.script is not None else found


def merged(below: Mapping[str, Any], above: Mapping[str, Any]) -> Body:
    """Return two templates as one; `above` wins. Lists of named items are merged by name."""
    found = dict(below)
    for key, value in above.items():
        found[key] = _merged_value(found[key], value) if key in found else value
    return found


def _merged_value(below: object, above: object) -> object:
    if isinstance(below, Mapping) and isinstance(above, Mapping):
        return merged(below, above)
    if not isinstance(below, list) or not isinstance(above, list):
        return above
    if not all(isinstance(each, Mapping) and "name" in each for each in (*below, *above)):
        return [*below, *above]
    by_name = {each["name"]: each for each in below}
    for each in above:
        by_name[each["name"]] = merged(by_name.get(each["name"], {}), each)
    return list(by_name.values())
