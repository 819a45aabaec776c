"""Skipped input: unknown kinds that may make pods, and requests in fields without effect."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from gang_scheduler.api import annotations
from gang_scheduler.api.parsing import InvalidField
from gang_scheduler.decode import fields
from gang_scheduler.decode.fields import group_of
from gang_scheduler.decode.pods.membership import named_gang_of
from gang_scheduler.decode.queues import naming
from gang_scheduler.model.wording import label_field
from gang_scheduler.simulation.documents import Document
from gang_scheduler.wire.base import MetadataOnly
from gang_scheduler.wire.jobs import Job
from gang_scheduler.wire.pods import Pod, PodTemplate
from gang_scheduler.workloads import misplaced_requests, table

MAKERS: Final = frozenset(
    {
        ("ScheduledSparkApplication", "sparkoperator.k8s.io"),
        *((kind, "argoproj.io") for kind in ("Workflow", "CronWorkflow")),
        *((kind, "tekton.dev") for kind in ("TaskRun", "PipelineRun")),
        *(("InferenceService", "serving.kserve.io"), ("LLMInferenceService", "serving.kserve.io")),
        *(("DynamoGraphDeployment", "nvidia.com"), ("NIMService", "apps.nvidia.com")),
        *(("JobFlow", "flow.volcano.sh"), ("SlurmJob", "slinky.slurm.net")),
    }
)
"""Kinds whose controllers make pods, although their objects have no pod template."""
NO_MAKERS: Final = frozenset(
    {
        *((kind, "") for kind in ("PodTemplate", "ConfigMap", "Secret")),
        *((f"{scope}TrainingRuntime", "trainer.kubeflow.org") for scope in ("", "Cluster")),
        *((f"{scope}ServingRuntime", "serving.kserve.io") for scope in ("", "Cluster")),
        *((f"{scope}WorkflowTemplate", "argoproj.io") for scope in ("", "Cluster")),
        ("JobTemplate", "flow.volcano.sh"),
    }
)
"""Kinds with a pod template that make no pods from it."""
SETTINGS: Final = ("Configuration", "Config", "Policy")
"""Endings of the names of kinds that have containers or schedulers, but make no pods."""
ONE_CONTAINER: Final = ("container", "mainContainer")
SCHEDULERS: Final = ("schedulerName", "batchScheduler")
"""Fields of workloads that name the scheduler of their pods."""


@dataclass(slots=True)
class _Alike:
    """Objects of one kind in one file: the first object, and their number."""

    first: Document
    has_pods: bool
    number: int = 0


class Skipped:
    """Counts skipped objects, by file and kind.

    A workload of a manifest would have pods that are missing here; the pods of a workload from a
    cluster are in the input themselves.
    """

    def __init__(self) -> None:
        self._alike: dict[tuple[object, ...], _Alike] = {}
        self.not_expanded = 0

    def add(self, document: Document) -> None:
        """Record a document of an unknown kind."""
        body = document.body
        has_pods = not document.is_from_cluster and makes_pods(body)
        key = document.file, body["kind"], body["apiVersion"], has_pods
        self._alike.setdefault(key, _Alike(document, has_pods)).number += 1
        self.not_expanded += has_pods

    def lines(self) -> list[str]:
        """Return a line for each kind in each file."""
        return [_line(each) for each in self._alike.values()]


def makes_pods(body: Mapping[str, Any]) -> bool:
    """Return whether a controller seems to make pods from an object.

    Signs are containers, a field that names the scheduler of pods, or a kind that is known to make
    pods.
    """
    kind, group = body["kind"], group_of(body["apiVersion"])
    if (kind, group) in MAKERS:
        return True
    return (kind, group) not in NO_MAKERS and not kind.endswith(SETTINGS) and _has_pods(body)


def _has_pods(value: object) -> bool:
    """Return whether a value contains a pod spec, or a part of one."""
    if isinstance(value, Mapping):
        if isinstance(value.get("containers"), list):
            return True
        if any(isinstance(value.get(key), Mapping) for key in ONE_CONTAINER):
            return True
        if any(isinstance(value.get(key), str) and value[key] for key in SCHEDULERS):
            return True
        return any(map(_has_pods, value.values()))
    return isinstance(value, list) and any(map(_has_pods, value))


def _line(alike: _Alike) -> str:
    body = alike.first.body
    others = f" and {alike.number - 1} more" if alike.number > 1 else ""
    name = f"{alike.first.place}{others}: {body['kind']} ({body['apiVersion']})"
    if alike.has_pods:
        return f"{name} makes pods, and they are not made here; skipped"
    return f"{name} is not needed; skipped"


# Requests in fields of workloads without effect. On a cluster nothing would report them.

KINDS: Final = {
    **dict.fromkeys(("Deployment", "ReplicaSet", "DaemonSet"), ("apps/", "spec.template")),
    "CronJob": ("batch/", "spec.jobTemplate"),
}
"""Kinds that are not read themselves. Only the objects made from their templates are read."""


def note_in_vain(document: Document) -> str:
    """Return a note on gang settings outside of a workload's pod template; "" without any."""
    body = document.body
    group, template = KINDS.get(body["kind"], ("", ""))
    if not group or not body["apiVersion"].startswith(group):
        return ""
    try:
        metadata = fields.read(body, MetadataOnly).metadata
    except InvalidField:
        return ""  # The fault is reported where the workload is read.
    found = [misplaced_requests.beside_template(metadata)]
    if body["kind"] not in {each.name for each in table.WATCHED}:
        found += (
            f"{label_field(key)} belongs in {template}.metadata.labels"
            for key in naming.LABELS
            if key in metadata.labels
        )
    faults = "; ".join(filter(None, found))
    named = f"{body['kind']} {metadata.name}"
    return f"{document.place}: {named}, which is not read on a cluster: {faults}" if faults else ""


def apart(document: Document) -> str:
    """Return a note on a Job whose pods start singly here, but as a gang in Kueue; "" for others.

    Kueue treats the Job as a gang because of its queue label. Here the label makes no gang: a
    single pod does not show how many pods there will be.
    """
    body = document.body
    if (body["kind"], body["apiVersion"]) != ("Job", "batch/v1"):
        return ""
    try:
        job = fields.read(body, Job)
    except InvalidField:
        return ""  # The fault is reported where the workload is read.
    template = job.spec.template
    is_one = job.spec.at_once <= 1 or job.spec.suspend or job.left <= 0
    if is_one or annotations.KUEUE_QUEUE not in job.metadata.labels or _says(template):
        return ""
    gang = label_field(annotations.JOB_GANG_LABEL)
    return (
        f"{document.place}: Job {job.metadata.name}: each of its {job.spec.at_once} pods starts by "
        f"itself, where Kueue would admit the Job whole. spec.template.{gang} says whether they "
        'start together: "true" or "false"'
    )


def _says(template: PodTemplate) -> bool:
    """Return whether a pod template declares its pods a gang, or no gang."""
    metadata = template.metadata
    return (
        annotations.JOB_GANG_LABEL in metadata.labels
        or annotations.KUEUE_POD_GROUP in metadata.labels
        or template.asks_for_gang()
        or named_gang_of(Pod(metadata, template.spec)) is not None
    )
