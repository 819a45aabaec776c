"""The form for trying a job: whether it would start now, and how to create it.

Nothing is created. The objects are the ones that `submit` would create, and the answer is
`explain`'s, for the cluster with these objects in it.
"""

import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, Final

from pydantic import ValidationError

from gang_scheduler.inspection.cluster import Cluster
from gang_scheduler.submit import objects, refusals
from gang_scheduler.submit.objects import Planned
from gang_scheduler.submit.refusals import Refused
from gang_scheduler.submit.training_job import TrainingJob
from gang_scheduler.submit.usable_names import UsableNames

MOST_MEMBERS: Final = 5000
LONGEST: Final = 4096
"""The longest text of a field, in characters."""
_NUMBER: Final = re.compile(r"[0-9]{1,6}")
_FIELDS: Final = {
    "resources": "gpus",
    "priority_class": "priority",
    "priorityClass": "priority",
    "must": "layer",
    "prefer": "layer",
}
"""The field of the form for each field of a job, if the names differ."""


@dataclass(frozen=True, slots=True)
class Form:
    """The fields of the form, as the user wrote them."""

    name: str = "my-job"
    namespace: str = "default"
    image: str = "pytorch/pytorch:2.8.0-cuda12.8-cudnn9-runtime"
    command: str = "torchrun train.py"
    nodes: str = "2"
    gpus: str = "8"
    queue: str = ""
    layer: str = ""
    gather: str = "must"
    priority: str = ""
    time: str = ""


@dataclass(frozen=True, slots=True)
class Tried:
    """A job to try, with the objects that it would become."""

    job: TrainingJob
    plan: Sequence[Planned]

    @property
    def text(self) -> str:
        """The objects as a file for `kubectl apply`."""
        return objects.as_yaml(self.plan)


def form_of(query: Mapping[str, str]) -> Form:
    """Return the form for the fields of an address; missing fields have their defaults."""
    given = {each.name: query[each.name].strip() for each in fields(Form) if each.name in query}
    return replace(Form(), **given)


def tried(form: Form, cluster: Cluster) -> tuple[Tried | None, dict[str, str]]:
    """Return the job of a form; else its faults, by field of the form."""
    too_long = [each.name for each in fields(Form) if len(getattr(form, each.name)) > LONGEST]
    if too_long:
        return None, {each: f"{each}: must have at most {LONGEST} characters" for each in too_long}
    try:
        return _tried(form, cluster), {}
    except ValidationError as error:
        names = (str(each["loc"][0]) if each["loc"] else "" for each in error.errors())
        lines = refusals.of_validation(error).lines
        return None, dict(zip(map(_field, names), lines, strict=True))
    except Refused as error:
        return None, {_field(error.field): str(error)}


def _tried(form: Form, cluster: Cluster) -> Tried:
    """Return the job of a form. Raises Refused and ValidationError."""
    job = TrainingJob(**_given(form, cluster))
    if job.bounds[1] > MOST_MEMBERS:
        raise Refused("nodes", form.nodes, f"must be at most {MOST_MEMBERS}")
    return Tried(job, objects.planned(job, _usable_names(cluster)))


def _given(form: Form, cluster: Cluster) -> dict[str, Any]:
    """Return the fields of the job that are not empty. Raises Refused."""
    try:
        words = tuple(shlex.split(form.command))
    except ValueError as error:
        raise Refused("command", form.command, "must have its quotes closed") from error
    if form.gather not in ("must", "prefer"):
        raise Refused("gather", form.gather, "must be must or prefer")
    if not form.namespace:
        raise Refused("namespace", None, "is required")
    return {
        "name": form.name,
        "namespace": form.namespace,
        "image": form.image,
        "command": words,
        "nodes": int(form.nodes) if _NUMBER.fullmatch(form.nodes) else form.nodes,
        "resources": {"gpu": form.gpus or 0},
        "gpu_resource": _gpu_resource(cluster),
        "queue": form.queue,
        form.gather: form.layer,
        "priority_class": form.priority,
        "time": form.time or None,
    }


def _field(name: str) -> str:
    """Return the field of the form for a field of a job."""
    return _FIELDS.get(name, name)


def _gpu_resource(cluster: Cluster) -> str:
    """Return the name of the GPU resource on the nodes of a cluster."""
    known = cluster.cache.node_usage.table().axis
    resources = cluster.policy.rules.queues.gpu_resources
    return next((each for each in resources if each in known), resources[0])


def _usable_names(cluster: Cluster) -> UsableNames:
    """Return the settings that matter here, with any names: `explain` finds missing ones."""
    rules = cluster.policy.rules
    managed = frozenset(each.value for each in rules.workloads.manage_jobs)
    return UsableNames(scheduler=rules.gangs.scheduler_names[0], managed=managed)


# The ways to create the job.


def as_command(job: TrainingJob) -> str:
    """Return the command that submits the job."""
    usual = job.gpu_resource == TrainingJob.model_fields["gpu_resource"].default
    flags = {
        "--name": job.name,
        "-n": job.namespace,
        "--image": job.image,
        "--nodes": str(job.nodes),
        "--gpus": str(job.resources.gpu or ""),
        "--gpu-resource": "" if usual or not job.resources.gpu else job.gpu_resource,
        "--queue": job.queue,
        "--must": job.must,
        "--prefer": job.prefer,
        "--priority-class": job.priority_class,
        "--time": job.time or "",
    }
    parts = [f"{flag} {shlex.quote(text)}" for flag, text in flags.items() if text]
    if job.command:
        parts.append(f"-- {shlex.join(job.command)}")
    return " \\\n  ".join(("kubectl gang submit", *parts))


def as_python(job: TrainingJob) -> str:
    """Return the lines of Python that submit the job."""
    given = {
        "name": job.name,
        "namespace": job.namespace,
        "image": job.image,
        "command": job.command,
        "nodes": job.nodes,
        "gpu_resource": job.gpu_resource,
        "queue": job.queue,
        "must": job.must,
        "prefer": job.prefer,
        "priority_class": job.priority_class,
        "time": job.time,
    }
    defaults = TrainingJob.model_fields
    lines = [f"    {key}={each!r}," for key, each in given.items() if each != defaults[key].default]
    if job.resources.gpu:
        lines.append(f"    resources=Resources(gpu={job.resources.gpu}),")
    return "\n".join(
        (
            "from gang_scheduler.sdk import Client, Resources, TrainingJob",
            "",
            "job = TrainingJob(",
            *lines,
            ")",
            "with Client() as client:",
            "    client.submit(job)",
        )
    )
