"""Manifests of gangs in every way in which one can be written, and what all tests ask of them."""

import json
from pathlib import Path
from typing import Any

from e2e.support import manifests
from e2e.support.gang_watcher import GangWatcher
from e2e.support.manifests import Manifest
from e2e.support.namespaces import Namespace
from e2e.support.waiting import eventually
from tools import controlplane
from tools.controlplane import access, components

PREFIX = "gang.scheduling.koordinator.sh"
CRDS = Path(__file__).parents[3] / "crds"
SCHED_PLUGINS = "scheduling.x-k8s.io/v1alpha1"
JOB_LABEL = {"py-gang-scheduler.io/gang": "true"}
DISRUPTED = {"type": "DisruptionTarget", "status": "True"}
IGNORES_DISRUPTIONS = {"action": "Ignore", "onPodConditions": [DISRUPTED]}
NO_EVICTION_ENDS_IT = {
    "backoffLimitPerIndex": 0,
    "podFailurePolicy": {"rules": [IGNORES_DISRUPTIONS]},
}


def create(namespace: Namespace, *documents: Manifest) -> None:
    """Create objects of any API group, one after the other."""
    with access.Client(namespace.cluster.access) as client:
        for document in documents:
            client.request("POST", path(namespace, document), document).check()


def path(namespace: Namespace, document: Manifest, name: str = "") -> str:
    """Return the path of a kind, or of one of its objects."""
    version = document["apiVersion"]
    root = f"/api/{version}" if version == "v1" else f"/apis/{version}"
    plural = f"{root}/namespaces/{namespace.name}/{document['kind'].lower()}s"
    return f"{plural}/{name}" if name else plural


def labelled(name: str, count: int, label: str, **pod_fields: Any) -> list[Manifest]:
    """Return pods that carry the gang's name in a label."""
    return [_changed(each, labels={label: name}) for each in _pods(name, count, pod_fields)]


def annotated(
    name: str, count: int, more: dict[str, str] | None = None, **pod_fields: Any
) -> list[Manifest]:
    """Return the pods of an annotation gang."""
    own = {f"{PREFIX}/name": name, f"{PREFIX}/min-available": str(count), **(more or {})}
    return [_changed(each, annotations=own) for each in _pods(name, count, pod_fields)]


def light(name: str, count: int, **pod_fields: Any) -> list[Manifest]:
    """Return the pods of a gang that is told by labels alone."""
    prefix = "pod-group.scheduling.sigs.k8s.io"
    own = {f"{prefix}/name": name, f"{prefix}/min-available": str(count)}
    return [_changed(each, labels=own) for each in _pods(name, count, pod_fields)]


def native_gang(name: str, count: int, **pod_fields: Any) -> list[Manifest]:
    """Return a PodGroup of Kubernetes itself, and its pods."""
    policy = {"gang": {"minCount": count}}
    return [native_pod_group(name, policy), *native_members(name, count, **pod_fields)]


def native_pod_group(name: str, policy: Manifest) -> Manifest:
    """Return a PodGroup of Kubernetes itself."""
    spec = {"schedulingPolicy": policy}
    version = f"scheduling.k8s.io/{components.version_of_native_pod_groups()}"
    return {"apiVersion": version, "kind": "PodGroup", "metadata": {"name": name}, "spec": spec}


def native_members(name: str, count: int, **pod_fields: Any) -> list[Manifest]:
    """Return pods of a PodGroup of Kubernetes itself."""
    return _pods(name, count, {"schedulingGroup": {"podGroupName": name}, **pod_fields})


def job(name: str, count: int, labels: dict[str, str] = JOB_LABEL, **pod_fields: Any) -> Manifest:
    """Return a Job whose pod template has labels, by default the one that makes it a gang."""
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": name},
        "spec": _job_spec(count, labels, pod_fields),
    }


def evictable_job(
    name: str, count: int, labels: dict[str, str] = JOB_LABEL, **pod_fields: Any
) -> Manifest:
    """Return a Job that evictions never end; a failure of a pod's own ends its index.

    Else the Job would wait before it makes new pods: minutes, once many have ended.
    """
    made = job(name, count, labels, **pod_fields)
    made["spec"] |= NO_EVICTION_ENDS_IT
    return made


def job_set(name: str, jobs: dict[str, tuple[int, int]], **pod_fields: Any) -> Manifest:
    """Return a JobSet of gangs; `jobs` are replicas and pods a replica, by replicatedJob."""
    replicated = [
        {
            "name": each,
            "replicas": replicas,
            "template": {"spec": _job_spec(count, JOB_LABEL, pod_fields)},
        }
        for each, (replicas, count) in jobs.items()
    ]
    return {
        "apiVersion": "jobset.x-k8s.io/v1alpha2",
        "kind": "JobSet",
        "metadata": {"name": name},
        "spec": {"replicatedJobs": replicated},
    }


def evictable_job_set(name: str, jobs: dict[str, tuple[int, int]], **pod_fields: Any) -> Manifest:
    """Return a JobSet of gangs that evictions never end."""
    made = job_set(name, jobs, **pod_fields)
    for each in made["spec"]["replicatedJobs"]:
        each["template"]["spec"] |= NO_EVICTION_ENDS_IT
    return made


def grouped(group: Manifest, *names: str) -> Manifest:
    """Return a PodGroup that names others as its gang group."""
    return annotated_group(group, "groups", json.dumps(names))


def annotated_group(group: Manifest, key: str, value: str) -> Manifest:
    """Return a PodGroup with one of our annotations more."""
    return _changed(group, annotations={f"{PREFIX}/{key}": value})


def must_be_bound_whole_or_not_at_all(
    namespace: Namespace, documents: list[Manifest], gangs: dict[str, int]
) -> None:
    """Create gangs of pods of one CPU where room for one is missing, then add that."""
    total = sum(gangs.values())
    namespace.own_nodes(1, cpu=total - 1)
    with GangWatcher(namespace.cluster, namespace.name) as watcher:
        create(namespace, *documents)
        eventually({"Unschedulable"}, lambda: reasons(namespace, total))
        assert all("Insufficient cpu" in each for each in messages(namespace))
        assert not any(watcher.ever_bound(gang) for gang in gangs)
        namespace.own_nodes(1, cpu=1)
        eventually(total, lambda: len(namespace.bound()))
        eventually(gangs, lambda: {gang: len(watcher.bound(gang)) for gang in gangs})
        assert [] == watcher.partial_gangs(gangs)


def reasons(namespace: Namespace, at_least: int = 1) -> set[str]:
    """Return why pods are not scheduled; nothing while there are too few pods."""
    found = [_unscheduled(each) for each in namespace.every("pods")]
    return {each.get("reason", "") for each in found} if len(found) >= at_least else set()


def messages(namespace: Namespace) -> list[str]:
    """Return what pods say of why they are not scheduled."""
    return [_unscheduled(each).get("message", "") for each in namespace.every("pods")]


def errors_of(scheduler: controlplane.Scheduler) -> list[str]:
    """Return the lines in the operator's log that tell of an error."""
    lines = scheduler.log.read_text().splitlines()
    logged = [(json.loads(line), line) for line in lines if line.startswith("{")]
    return [line for fields, line in logged if fields.get("level") in ("error", "critical")]


def _unscheduled(pod: Manifest) -> dict[str, str]:
    conditions = pod["status"].get("conditions", [])
    return next((each for each in conditions if each["type"] == "PodScheduled"), {})


def _pods(name: str, count: int, pod_fields: dict[str, Any]) -> list[Manifest]:
    return [manifests.pod(f"{name}-{index}", **pod_fields) for index in range(count)]


def _job_spec(count: int, labels: dict[str, str], pod_fields: dict[str, Any]) -> Manifest:
    spec = manifests.pod("any", restartPolicy="Never", **pod_fields)["spec"]
    return {
        "completionMode": "Indexed",
        "completions": count,
        "parallelism": count,
        "template": {"metadata": {"labels": labels}, "spec": spec},
    }


def _changed(document: Manifest, **metadata: dict[str, str]) -> Manifest:
    merged = {key: {**document["metadata"].get(key, {}), **new} for key, new in metadata.items()}
    return {**document, "metadata": {**document["metadata"], **merged}}
