"""Workloads of Kubeflow and Ray in mode `Replicas`, and stand-ins for their controllers."""

import itertools
import json
from collections.abc import Mapping, Sequence
from typing import Any, Final

from gang_scheduler.api.kinds import GVR
from gang_scheduler.client.fake.cluster import Document
from gang_scheduler.model.wording import rfc3339
from gang_scheduler.workloads import table
from support import builders
from support.in_memory_cluster import InMemoryCluster

SPECS: Final = {
    "JAXJob": "jaxReplicaSpecs",
    "MPIJob": "mpiReplicaSpecs",
    "PaddleJob": "paddleReplicaSpecs",
    "PyTorchJob": "pytorchReplicaSpecs",
    "TFJob": "tfReplicaSpecs",
    "XGBoostJob": "xgbReplicaSpecs",
}
LEADERS: Final = {"JAXJob": None, "MPIJob": "Launcher", "TFJob": "Chief"}
"""The role beside the workers, Master for all others."""
OF_KIND: Final[Mapping[str, GVR]] = {
    kind: table.PATCHED[kind].versions[0] for kind in (*SPECS, "RayCluster")
}
SERVED: Final = tuple(OF_KIND.values())
ELASTIC: Final = "py-gang-scheduler.io/elastic"
KUBEFLOW, RAY = "training.kubeflow.org/", "ray.io/"
_NUMBERS: Final = itertools.count()
TEMPLATE: Final = {
    "spec": {
        "schedulerName": builders.SCHEDULER,
        "containers": [{"name": "c", "image": "i", "resources": {"requests": {"cpu": "1"}}}],
    }
}


def kubeflow_job(kind: str, workers: int, annotation: str) -> Document:
    """Return a job of a leader, where the kind has one, and workers of one CPU each."""
    leader = LEADERS.get(kind, "Master")
    leaders = {leader: {"replicas": 1, "template": TEMPLATE}} if leader else {}
    roles = {**leaders, "Worker": {"replicas": workers, "template": TEMPLATE}}
    return {
        "apiVersion": OF_KIND[kind].api_version,
        "kind": kind,
        "metadata": _metadata(annotation),
        "spec": {SPECS[kind]: roles},
    }


def ray_cluster(workers: int, annotation: str, **group: Any) -> Document:
    """Return a RayCluster of a head and a group of workers, of one CPU each."""
    of_group = {"groupName": "gpu", "minReplicas": 0, "maxReplicas": 20, "template": TEMPLATE}
    return {
        "apiVersion": "ray.io/v1",
        "kind": "RayCluster",
        "metadata": _metadata(annotation),
        "spec": {
            "headGroupSpec": {"template": TEMPLATE},
            "workerGroupSpecs": [{**of_group, "replicas": workers, **group}],
        },
    }


def _metadata(annotation: str) -> Document:
    return {"name": "train", "namespace": "default", "annotations": {ELASTIC: annotation}}


def field_of(body: Document) -> Document:
    """Return the object that has the field `replicas` of the workers."""
    spec = body["spec"]
    found: Document = (
        spec["workerGroupSpecs"][0]
        if body["kind"] == "RayCluster"
        else spec[SPECS[body["kind"]]]["Worker"]
    )
    return found


def replicas(body: Document) -> int:
    """Return how many workers a workload has by its spec."""
    found: int = field_of(body)["replicas"]
    return found


def is_leader(pod: Any) -> bool:
    """Return whether a pod is the head of a RayCluster, or of the role beside the workers."""
    labels = pod["metadata"].get("labels") or {}
    role = labels.get(f"{KUBEFLOW}replica-type", "worker")
    return role != "worker" or labels.get(f"{RAY}node-type") == "head"


def index_of(pod: Any) -> int | None:
    """Return the index of a worker of Kubeflow; None for any other pod."""
    found = (pod["metadata"].get("labels") or {}).get(f"{KUBEFLOW}replica-index")
    return None if found is None else int(found)


def control(town: InMemoryCluster, body: Document, now: int) -> None:
    """Do what the operator does at once: end what is too much, create what lacks."""
    if body["kind"] == "RayCluster":
        _control_ray(town, body, now)
        return
    kind, leader = body["kind"], LEADERS.get(body["kind"], "Master")
    wanted = [(leader.lower(), 0)] if leader else []
    wanted += [("worker", index) for index in range(replicas(body))]
    names = {f"train-{role}-{index}": (role, index) for role, index in wanted}
    for name in [name for name, pod in _of(town, body) if name not in names]:
        town.gone(name)
    there = {name for name, _ in _of(town, body)}
    for name, (role, index) in names.items():
        if name not in there:
            _create(town, body, name, _kubeflow_labels(kind, role, index), now)


def _control_ray(town: InMemoryCluster, body: Document, now: int) -> None:
    """Do what KubeRay does: those that are named end, and then whichever it likes.

    It likes those that run best, which is the worst that it may do.
    """
    groups = body["spec"]["workerGroupSpecs"]
    group = {"replicas": 0, **(groups[0] if groups else {})}
    wanted = max(group["replicas"], group.get("minReplicas", 0))
    named = group.get("scaleStrategy", {}).get("workersToDelete", [])
    for name in [name for name, _ in _of(town, body) if name in named]:
        town.gone(name)
    pods = dict(_of(town, body))
    workers = {name: pod for name, pod in pods.items() if not is_leader(pod)}
    running = sorted(workers, key=lambda name: (not workers[name]["spec"].get("nodeName"), name))
    for name in running[: max(0, len(running) - wanted)]:
        town.gone(name)
    if len(workers) == len(pods):
        _create(town, body, "train-head", _ray_labels("head", "headgroup"), now)
    for _ in range(wanted - len(workers)):
        name = f"train-gpu-worker-{next(_NUMBERS):05}"
        _create(town, body, name, _ray_labels("worker", "gpu"), now)


def worker_labels(kind: str, index: int) -> dict[str, str]:
    """Return the labels of a worker, as its operator writes them."""
    if kind == "RayCluster":
        return _ray_labels("worker", "gpu")
    return _kubeflow_labels(kind, "worker", index)


def ended(body: Document, names: Sequence[str]) -> list[str]:
    """Return which of these workers, in the order of their indexes, the controller ends.

    KubeRay ends those that are named, and then those that come first.
    """
    if body["kind"] != "RayCluster":
        return [*names[replicas(body) :]]
    named = field_of(body).get("scaleStrategy", {}).get("workersToDelete", [])
    others = [name for name in names if name not in named]
    return [*named, *others[: max(0, len(others) - replicas(body))]]


def _kubeflow_labels(kind: str, role: str, index: int) -> dict[str, str]:
    operator = "mpi-operator" if kind == "MPIJob" else f"{kind.lower()}-controller"
    labels = {"job-name": "train", "operator-name": operator}
    labels |= {"replica-type": role, "replica-index": str(index)}
    return {f"{KUBEFLOW}{key}": value for key, value in labels.items()}


def _ray_labels(node_type: str, group: str) -> dict[str, str]:
    return {f"{RAY}cluster": "train", f"{RAY}node-type": node_type, f"{RAY}group": group}


def _of(town: InMemoryCluster, body: Document) -> list[tuple[str, Any]]:
    uid = body["metadata"]["uid"]
    return [
        (name, pod)
        for (_, name), pod in town.pods.items()
        if any(each["uid"] == uid for each in pod["metadata"].get("ownerReferences") or ())
    ]


def _create(
    town: InMemoryCluster, body: Document, name: str, labels: dict[str, str], now: int
) -> None:
    owner = {"apiVersion": body["apiVersion"], "kind": body["kind"], "controller": True}
    town.pod(
        name,
        labels=labels,
        ownerReferences=[{**owner, "name": "train", "uid": body["metadata"]["uid"]}],
        creationTimestamp=rfc3339(now),
        spec=json.loads(json.dumps(TEMPLATE["spec"])),
    )
