"""Stand-ins for the controllers of TrainJobs, JobSets and RayJobs, and manifests for them.

What matters of these: Trainer makes a JobSet of the name of a TrainJob also while that is
suspended, and lets it follow. A JobSet that runs has its Jobs, those that depend on another one
once that is ready. KubeRay makes a RayCluster of another name each time that a RayJob is started,
and deletes it when that is suspended.
"""

import itertools
from collections.abc import Iterator
from typing import Any

from e2e.support import gang_manifests, manifests
from e2e.support.manifests import Manifest
from e2e.support.namespaces import Namespace
from e2e.support.queues import QUEUE
from tools.controlplane import access
from tools.jobset import standin

TRAIN_JOB = {"apiVersion": "trainer.kubeflow.org/v1alpha1", "kind": "TrainJob"}
JOB_SET = {"apiVersion": "jobset.x-k8s.io/v1alpha2", "kind": "JobSet"}
RAY_JOB = {"apiVersion": "ray.io/v1", "kind": "RayJob"}
RAY_CLUSTER = {"apiVersion": "ray.io/v1", "kind": "RayCluster"}
JOB = {"apiVersion": "batch/v1", "kind": "Job"}
POD = {"apiVersion": "v1", "kind": "Pod"}
NODE_TYPE, GROUP = "ray.io/node-type", "ray.io/group"


def train_job(name: str, queue: str) -> Manifest:
    """Return a suspended TrainJob: one pod that fetches data, then two nodes."""
    metadata = {"name": name, "labels": {QUEUE: queue}}
    return {
        **TRAIN_JOB,
        "metadata": metadata,
        "spec": {"suspend": True, "runtimeRef": {"name": "r"}},
    }


def ray_job(name: str, queue: str, **pod_fields: Any) -> Manifest:
    """Return a suspended RayJob: a head and two workers."""
    template = {"spec": manifests.pod("any", **pod_fields)["spec"]}
    worker = {"groupName": "gpu", "replicas": 2, "minReplicas": 2, "template": template}
    cluster = {"headGroupSpec": {"template": template}, "workerGroupSpecs": [worker]}
    spec = {"suspend": True, "shutdownAfterJobFinishes": True, "rayClusterSpec": cluster}
    return {**RAY_JOB, "metadata": {"name": name, "labels": {QUEUE: queue}}, "spec": spec}


class Controllers:
    """Does what the controllers would do in a namespace, a step at a time.

    `pod_fields` are of all pods of TrainJobs, as their runtime would say.
    """

    def __init__(self, namespace: Namespace, **pod_fields: Any) -> None:
        self._namespace = namespace
        self._pod = {**manifests.pod("any", **pod_fields)["spec"], "restartPolicy": "Never"}
        self._numbers = itertools.count()

    def step(self) -> None:
        """Do what is to be done as things are now."""
        with access.Client(self._namespace.cluster.access) as client:
            for each in self.items(TRAIN_JOB):
                self._follow_train_job(client, each)
            for each in self.items(JOB_SET):
                self._follow_job_set(client, each)
            for each in self.items(RAY_JOB):
                self._follow_ray_job(client, each)

    def bound(self, prefix: str) -> int:
        """Return how many pods have a node whose names begin so, after a step."""
        self.step()
        return len(self._namespace.bound(prefix))

    def pods(self, prefix: str) -> int:
        """Return how many pods there are whose names begin so, after a step."""
        self.step()
        names = (each["metadata"]["name"] for each in self.items(POD))
        return sum(name.startswith(prefix) for name in names)

    def items(self, kind: Manifest) -> list[dict[str, Any]]:
        """Return all objects of a kind."""
        path = gang_manifests.path(self._namespace, kind)
        found: list[dict[str, Any]] = self._namespace.cluster.request("GET", path)["items"]
        return found

    def get(self, kind: Manifest, name: str) -> dict[str, Any]:
        """Return an object."""
        path = gang_manifests.path(self._namespace, kind, name)
        found: dict[str, Any] = self._namespace.cluster.request("GET", path)
        return found

    def suspended(self, kind: Manifest, name: str) -> bool:
        """Return whether a workload is to be suspended, after a step."""
        self.step()
        return bool(self.get(kind, name)["spec"]["suspend"])

    def _follow_train_job(self, client: access.Client, owner: dict[str, Any]) -> None:
        name, suspend = owner["metadata"]["name"], owner["spec"]["suspend"]
        known = [each for each in self.items(JOB_SET) if each["metadata"]["name"] == name]
        if not known:
            metadata = {"name": name, "ownerReferences": [_reference(TRAIN_JOB, owner)]}
            jobs = [self._job("data", 1), self._job("node", 2, dependsOn=[{"name": "data"}])]
            spec = {"suspend": suspend, "replicatedJobs": jobs}
            self._create(client, {**JOB_SET, "metadata": metadata, "spec": spec})
        elif known[0]["spec"]["suspend"] != suspend:
            known[0]["spec"]["suspend"] = suspend
            client.request("PUT", gang_manifests.path(self._namespace, JOB_SET, name), known[0])

    def _follow_job_set(self, client: access.Client, owner: dict[str, Any]) -> None:
        """Make Jobs of a JobSet that runs, and delete those of one that does not."""
        jobs = {each["metadata"]["name"]: each for each in self.items(JOB)}
        name, suspend = owner["metadata"]["name"], owner["spec"]["suspend"]
        waiting = {
            f"{name}-{each['name']}-0": f"{name}-{before['name']}-0"
            for each in owner["spec"]["replicatedJobs"]
            for before in each.get("dependsOn", [])
        }
        for job in standin.jobs(owner):
            called = job["metadata"]["name"]
            before = jobs.get(waiting.get(called, ""), {}).get("status", {})
            may_run = called not in waiting or before.get("ready")
            if suspend and called in jobs:
                self._delete(client, JOB, called)
            elif not suspend and may_run and called not in jobs:
                self._create(client, job)

    def _follow_ray_job(self, client: access.Client, owner: dict[str, Any]) -> None:
        clusters = [each for each in self.items(RAY_CLUSTER) if _is_of(each, owner)]
        if not owner["spec"]["suspend"] and not clusters:
            name = f"{owner['metadata']['name']}-{next(self._numbers)}"
            metadata = {
                "name": name,
                "labels": owner["metadata"]["labels"],
                "ownerReferences": [_reference(RAY_JOB, owner)],
            }
            spec = owner["spec"]["rayClusterSpec"]
            made = self._create(client, {**RAY_CLUSTER, "metadata": metadata, "spec": spec})
            for pod in _ray_pods(made):
                self._create(client, pod)
        for cluster in clusters if owner["spec"]["suspend"] else ():
            # Whether the garbage collector knows a kind that is this new is chance.
            for pod in self.items(POD):
                if _is_of(pod, cluster):
                    self._delete(client, POD, pod["metadata"]["name"])
            self._delete(client, RAY_CLUSTER, cluster["metadata"]["name"])

    def _job(self, name: str, pods: int, **more: Any) -> dict[str, Any]:
        spec = {
            "parallelism": pods,
            "completions": pods,
            "backoffLimit": 0,
            "template": {"spec": self._pod},
        }
        return {"name": name, "replicas": 1, "template": {"spec": spec}, **more}

    def _create(self, client: access.Client, document: Manifest) -> dict[str, Any]:
        path = gang_manifests.path(self._namespace, document)
        return client.request("POST", path, document).check().body

    def _delete(self, client: access.Client, kind: Manifest, name: str) -> None:
        path = gang_manifests.path(self._namespace, kind, name)
        client.request("DELETE", path, {"propagationPolicy": "Background"})


def _reference(kind: Manifest, owner: dict[str, Any]) -> dict[str, Any]:
    name, uid = owner["metadata"]["name"], owner["metadata"]["uid"]
    return {**kind, "name": name, "uid": uid, "controller": True}


def _is_of(found: dict[str, Any], owner: dict[str, Any]) -> bool:
    owners = found["metadata"].get("ownerReferences", [])
    return any(each["uid"] == owner["metadata"]["uid"] for each in owners)


def _ray_pods(cluster: dict[str, Any]) -> Iterator[Manifest]:
    name, spec = cluster["metadata"]["name"], cluster["spec"]
    (group,) = spec["workerGroupSpecs"]
    templates = {f"{name}-head": spec["headGroupSpec"]["template"]}
    templates |= {f"{name}-worker-{i}": group["template"] for i in range(group["replicas"])}
    for pod, template in templates.items():
        is_head = pod.endswith("-head")
        labels = {
            "ray.io/cluster": name,
            NODE_TYPE: "head" if is_head else "worker",
            GROUP: "headgroup" if is_head else group["groupName"],
        }
        metadata = {
            "name": pod,
            "labels": labels,
            "ownerReferences": [_reference(RAY_CLUSTER, cluster)],
        }
        yield {**POD, "metadata": metadata, "spec": template["spec"]}
