"""The form that tries a job: what would happen to it now, and how to create it.

Nothing is created. The answer is that of `explain` on the cluster with the objects of the job in
it, as `simulate` makes them.
"""

import json
import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, Final

import yaml

from gang_scheduler.api import annotations
from gang_scheduler.api.kinds import JOBS, POD_GROUPS
from gang_scheduler.api.parsing import InvalidField
from gang_scheduler.inspection.cluster import Cluster
from gang_scheduler.inspection.explaining.answers import Answer, answer_for
from gang_scheduler.inspection.explaining.document import Question

MOST_NODES: Final = 5000
MOST_GPUS: Final = 1024
LONGEST: Final = 4096
"""The longest text of a field, in characters."""
_NAME: Final = re.compile(r"[a-z0-9]([-a-z0-9]{0,50}[a-z0-9])?")
_TIME: Final = re.compile(r"([0-9]{1,6})([mhd])")
_SIZES: Final = {"m": 60, "h": 3600, "d": 86_400}

Body = dict[str, Any]


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
class Job:
    """A job to try: so many members, a node each, with so many GPUs each."""

    form: Form
    nodes: int
    gpus: int
    seconds: int
    words: tuple[str, ...]
    gpu: str
    scheduler: str


def form_of(query: Mapping[str, str]) -> Form:
    """Return the form as an address has it; fields that it lacks have their defaults."""
    given = {each.name: query[each.name].strip() for each in fields(Form) if each.name in query}
    return replace(Form(), **given)


def job_of(form: Form, cluster: Cluster) -> tuple[Job | None, dict[str, str]]:
    """Return the job of a form; else what is wrong with it, by field."""
    wrong: dict[str, str] = {}

    def read(field: str, reader: Any) -> Any:  # noqa: ANN401 - what a field says.
        try:
            return reader(field, _short(field, getattr(form, field)))
        except InvalidField as error:
            wrong[field] = str(error)
            return None

    for field in ("queue", "layer", "priority"):
        read(field, _plain)
    read("gather", _gather)
    for field in ("name", "namespace"):
        read(field, _label)
    read("image", _image)
    nodes = read("nodes", _count(1, MOST_NODES))
    gpus = read("gpus", _count(0, MOST_GPUS))
    words, seconds = read("command", _words), read("time", _seconds)
    if wrong:
        return None, wrong
    rules = cluster.policy.rules
    known = cluster.cache.node_usage.table().axis
    offered = [each for each in rules.queues.gpu_resources if each in known]
    gpu = (offered or rules.queues.gpu_resources)[0]
    scheduler = rules.gangs.scheduler_names[0]
    return Job(form, nodes, gpus, seconds, words, gpu, scheduler), {}


def _short(field: str, text: str) -> str:
    if len(text) > LONGEST:
        raise InvalidField(field, text, f"must have at most {LONGEST} characters")
    return text


def _plain(field: str, text: str) -> str:
    if any(each.isspace() or not each.isprintable() for each in text):
        raise InvalidField(field, text, "must be a name")
    return text


def _gather(field: str, text: str) -> str:
    if text not in ("must", "prefer"):
        raise InvalidField(field, text, "must be must or prefer")
    return text


def _label(field: str, text: str) -> str:
    if not _NAME.fullmatch(text):
        rule = "must be 1 to 52 lower case letters, digits and -, and begin and end with no -"
        raise InvalidField(field, text, rule)
    return text


def _image(field: str, text: str) -> str:
    if not text or any(each.isspace() for each in text):
        raise InvalidField(field, text, "must be the name of an image")
    return text


def _count(least: int, most: int) -> Any:  # noqa: ANN401 - a reader of a field.
    def count(field: str, text: str) -> int:
        if not re.fullmatch(r"[0-9]{1,6}", text) or not least <= int(text) <= most:
            raise InvalidField(field, text, f"must be {least} to {most}")
        return int(text)

    return count


def _words(field: str, text: str) -> tuple[str, ...]:
    try:
        return tuple(shlex.split(text))
    except ValueError as error:
        raise InvalidField(field, text, "must have its quotes closed") from error


def _seconds(field: str, text: str) -> int:
    found = _TIME.fullmatch(text)
    if text and found is None:
        raise InvalidField(field, text, "must be a time such as 90m, 12h or 2d")
    return int(found[1]) * _SIZES[found[2]] if found else 0


def manifests(job: Job) -> list[Body]:
    """Return the objects of a job: a PodGroup, and a Job whose pods are its members."""
    form = job.form
    metadata = {"name": form.name, "namespace": form.namespace}
    pod_group = {
        "apiVersion": POD_GROUPS.api_version,
        "kind": "PodGroup",
        "metadata": {**metadata, **_asked(form)},
        "spec": {"minMember": job.nodes},
    }
    of_job = {
        "apiVersion": JOBS.api_version,
        "kind": "Job",
        "metadata": metadata,
        "spec": {
            "completionMode": "Indexed",
            "completions": job.nodes,
            "parallelism": job.nodes,
            # An evicted pod is created again, and does not count as one that failed.
            "podFailurePolicy": {
                "rules": [{"action": "Ignore", "onPodConditions": [{"type": "DisruptionTarget"}]}]
            },
            "template": {
                "metadata": {"labels": {annotations.POD_GROUP_LABEL: form.name}},
                "spec": _pod(job),
            },
        },
    }
    return [pod_group, of_job]


def _asked(form: Form) -> Body:
    """Return the label of the queue and the annotation of the network."""
    found: Body = {}
    if form.queue:
        found["labels"] = {annotations.QUEUE: form.queue}
    if form.layer:
        strategy = "MustGather" if form.gather == "must" else "PreferGather"
        gather = {"gatherStrategy": [{"layer": form.layer, "strategy": strategy}]}
        found["annotations"] = {annotations.NETWORK_TOPOLOGY_SPEC: json.dumps(gather)}
    return found


def _pod(job: Job) -> Body:
    container: Body = {"name": "main", "image": job.form.image}
    if job.words:
        container["command"] = list(job.words)
    if job.gpus:
        container["resources"] = {"limits": {job.gpu: str(job.gpus)}}
    spec: Body = {"schedulerName": job.scheduler, "restartPolicy": "Never"}
    if job.form.priority:
        spec["priorityClassName"] = job.form.priority
    if job.seconds:
        # Of the pods: the clock of the Job would run while it waits.
        spec["activeDeadlineSeconds"] = job.seconds
    return {**spec, "containers": [container]}


def as_yaml(bodies: Sequence[Body]) -> str:
    """Return objects as a file for `kubectl apply`."""
    return yaml.safe_dump_all(bodies, sort_keys=False, allow_unicode=True)


def as_commands(form: Form) -> str:
    """Return the commands that create a job from its file, and ask about it."""
    file = f"{form.name}.yaml"
    return (
        f"kubectl apply -f {file}\n"
        f"kubectl gang explain {form.name} -n {form.namespace}\n"
        f"kubectl -n {form.namespace} logs -f job/{form.name}\n"
    )


def answer(job: Job, cluster: Cluster) -> Answer:
    """Return what `explain` says of the job in a cluster that has its objects."""
    return answer_for(f"podgroup/{job.form.name}", job.form.namespace, Question(cluster))
