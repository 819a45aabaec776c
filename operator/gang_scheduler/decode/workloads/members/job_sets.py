"""The Jobs that the controller of JobSets would create."""

import hashlib
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any, Final

from gang_scheduler.api import annotations
from gang_scheduler.api.annotations import JOB_SET_LABEL, REPLICATED_JOB_LABEL
from gang_scheduler.api.parsing import InvalidField
from gang_scheduler.decode import fields
from gang_scheduler.decode.workloads import exclusive_topology
from gang_scheduler.decode.workloads.members import bodies
from gang_scheduler.decode.workloads.members.exclusive import exclusive, in_domain
from gang_scheduler.decode.workloads.members.present import part
from gang_scheduler.decode.workloads.members.source import Source, is_active
from gang_scheduler.wire.workloads.jobs import JobSet

PREFIX: Final = "jobset.sigs.k8s.io/"
DEFAULT_GROUP: Final = "default"
JOB_KEY: Final = f"{PREFIX}job-key"
NAMESPACED_JOB: Final = "alpha.jobset.sigs.k8s.io/namespaced-job"
NO_SCHEDULE: Final = "alpha.jobset.sigs.k8s.io/no-schedule"

Body = Mapping[str, Any]
IN_ANY_NAMESPACE: Final[Body] = {"namespaceSelector": {}}


def job_set(source: Source) -> Iterator[Body]:
    """Yield the Jobs of a JobSet. Raises InvalidField that names the field and the value."""
    return jobs_of(source.body)


def train_job(source: Source) -> Iterator[Body]:
    """Yield nothing: what a TrainJob runs is in its runtime, of which its JobSet is made."""
    group = "jobset.x-k8s.io"
    if source.present.find("JobSet", group, source.namespace, source.name) is None:
        source.unknown.append(
            f"TrainJob {source.name} runs as a JobSet that its controller makes of its runtime: "
            f"the input has no JobSet {source.name}, so it has no pods here"
        )
    return iter(())


def jobs_of(job_set: Body) -> Iterator[Body]:
    """Yield the Jobs of a JobSet. Raises InvalidField that names the field and the value."""
    source = fields.read(job_set, JobSet)
    given = job_set.get("spec", {}).get("replicatedJobs", [])
    numbers = [each.replicas for each in source.spec.replicated_jobs]
    groups = [each.get("groupName", DEFAULT_GROUP) for each in given]
    for i, replicated in enumerate(given):
        where, number = f"spec.replicatedJobs[{i}]", numbers[i]
        if "name" not in replicated:
            raise InvalidField(f"{where}.name", None, "is required")
        if "template" not in replicated.get("template", {}).get("spec", {}):
            raise InvalidField(f"{where}.template.spec.template", None, "is required")
        bodies.check_number(number, f"{where}.replicas")
        mates = [
            each if group == groups[i] else 0 for each, group in zip(numbers, groups, strict=True)
        ]
        place = exclusive_topology.said_by(
            source.metadata, source.spec.replicated_jobs[i].template.metadata
        )
        for index in range(number):
            name = f"{job_set['metadata']['name']}-{replicated['name']}-{index}"
            labels = {
                JOB_SET_LABEL: job_set["metadata"]["name"],
                REPLICATED_JOB_LABEL: replicated["name"],
                f"{PREFIX}jobset-uid": bodies.uid_label(job_set),
                JOB_KEY: _sha1(f"{job_set['metadata']['namespace']}/{name}"),
                f"{PREFIX}replicatedjob-replicas": str(number),
                f"{PREFIX}job-index": str(index),
                f"{PREFIX}job-global-index": str(sum(numbers[:i]) + index),
                f"{PREFIX}global-replicas": str(sum(numbers)),
                f"{PREFIX}group-name": str(groups[i]),
                f"{PREFIX}group-replicas": str(sum(mates)),
                f"{PREFIX}job-group-index": str(sum(mates[:i]) + index),
                f"{PREFIX}restart-attempt": "0",
            }
            yield _job(job_set, replicated, name, labels, place)


def admitted(source: Source, pod: Body, present: Collection[Body]) -> Body | None:
    """Return a pod of a Job as the webhook of JobSet admits it; None for one that it refuses.

    `present` are the pods that the Job has. Of a manifest those that follow the first one are made
    with it, and its own affinity holds them to its domain.
    """
    own, key = pod["metadata"]["annotations"], pod["metadata"]["labels"].get(JOB_KEY)
    layer = exclusive_topology.layer_of(own)
    if not layer or not key or JOB_SET_LABEL not in own:
        return pod
    if exclusive_topology.is_first(own.get(exclusive_topology.INDEX, "")):
        return exclusive(pod, layer, JOB_KEY, key, IN_ANY_NAMESPACE)
    domain = _domain_of_first(source, present, layer)
    if domain:
        return in_domain(pod, layer, domain)
    if source.from_cluster:
        return None
    return exclusive(pod, layer, JOB_KEY, key, IN_ANY_NAMESPACE)


def _domain_of_first(source: Source, present: Iterable[Body], layer: str) -> str:
    """Return the domain that the first pod of a Job is in; "" as long as it has no node."""
    for each in present:
        index = part(each, "metadata", "annotations").get(exclusive_topology.INDEX, "")
        if is_active(each) and exclusive_topology.is_first(index):
            node = part(each, "spec").get("nodeName")
            found = source.present.find("Node", "", "default", str(node)) if node else None
            return str(part(found or {}, "metadata", "labels").get(layer, ""))
    return ""


def _sha1(text: str) -> str:
    return hashlib.sha1(text.encode(), usedforsecurity=False).hexdigest()


def _job(
    job_set: Body,
    replicated: Body,
    name: str,
    labels: Mapping[str, str],
    place: Mapping[str, str],
) -> Body:
    template = replicated.get("template", {})
    spec = template.get("spec", {})
    pod = bodies.from_template(spec.get("template", {}), labels, {**labels, **place})
    metadata = bodies.merged(template.get("metadata", {}), labels, {**labels, **place})
    if annotations.NODE_SELECTOR_STRATEGY in place:
        pod = _on_nodes_labelled_for(pod, f"{job_set['metadata']['namespace']}_{name}")
    # As by its webhook: a Job itself must say it.
    restart = pod["spec"].get("restartPolicy") or "OnFailure"
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {**metadata, **bodies.owned(job_set, name)},
        # A JobSet that is started starts its Jobs, whatever the template says.
        "spec": {
            "completionMode": "Indexed",
            **spec,
            "suspend": False,
            "template": {
                "metadata": pod["metadata"],
                "spec": {**pod["spec"], "restartPolicy": restart},
            },
        },
    }


def _on_nodes_labelled_for(pod: Body, job: str) -> dict[str, Any]:
    """Return a pod for nodes that their administrator has labelled and tainted for its Job."""
    spec = pod["spec"]
    selector = {**(spec.get("nodeSelector") or {}), NAMESPACED_JOB: job}
    toleration = {"key": NO_SCHEDULE, "operator": "Exists", "effect": "NoSchedule"}
    tolerations = [*(spec.get("tolerations") or ()), toleration]
    return {**pod, "spec": {**spec, "nodeSelector": selector, "tolerations": tolerations}}
