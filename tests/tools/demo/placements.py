"""Which pod is where, in which gang and of which rank: as the API server tells it."""

import math
import re
from collections.abc import Callable, Mapping
from typing import Any

from gang_scheduler.demo.cluster import Cluster

INDEXES = (
    "gang.scheduling.koordinator.sh/network-topology-index",
    "batch.kubernetes.io/job-completion-index",
)
"""Annotations that say a pod's rank: the first that is there counts."""
TOPOLOGY = "kueue.x-k8s.io/podset-"
"""How the annotations begin that make a gang of a Job's pods."""

Pod = Mapping[str, Any]


def pods(where: Cluster, namespace: str) -> list[dict[str, Any]]:
    """Return all pods of a namespace."""
    return items(where, f"api/v1/namespaces/{namespace}/pods")


def labels_of_nodes(where: Cluster) -> dict[str, dict[str, str]]:
    """Return the labels of all nodes, by name."""
    nodes = items(where, "api/v1/nodes")
    return {each["metadata"]["name"]: each["metadata"]["labels"] for each in nodes}


def items(where: Cluster, path: str) -> list[dict[str, Any]]:
    """Return all objects of a kind."""
    found: list[dict[str, Any]] = where.request("GET", f"/{path}")["items"]
    return found


def rank_of(pod: Pod) -> tuple[float, list[tuple[int, str]]]:
    """Return a sort key: the rank that an annotation says, then the name in natural order."""
    said = (_annotations(pod).get(key) for key in INDEXES)
    index = next((float(text) for text in said if text), math.inf)
    # Text comes out at even places and numbers at odd ones.
    parts = re.split(r"(\d+)", pod["metadata"]["name"])
    return index, [(int(part), "") if part.isdigit() else (0, part) for part in parts]


def gang_of(pod: Pod) -> str:
    """Return the name of a pod's gang; a pod that is in none is its own.

    The first that has one of: scheduling group, labels, annotation, PyTorchJob and its kin,
    LeaderWorkerSet, JobSet, Job.
    """
    return next(name for name in (found(pod) for found in GANG_NAMES) if name)


def _scheduling_group(pod: Pod) -> str:
    return str(pod["spec"].get("schedulingGroup", {}).get("podGroupName", ""))


def _label(*keys: str) -> Callable[[Pod], str]:
    return lambda pod: next((_labels(pod)[key] for key in keys if _labels(pod).get(key)), "")


def _annotation(pod: Pod) -> str:
    return _annotations(pod).get("gang.scheduling.koordinator.sh/name", "")


def _leader_worker_set(pod: Pod) -> str:
    names = (f"leaderworkerset.sigs.k8s.io/{each}" for each in ("name", "group-index"))
    parts = [_labels(pod).get(name, "") for name in names]
    return "/".join(parts) if all(parts) else ""


def _job_set(pod: Pod) -> str:
    names = (f"jobset.sigs.k8s.io/{each}-name" for each in ("jobset", "replicatedjob"))
    parts = [_labels(pod).get(name, "") for name in names]
    return "/".join(parts) if _is_of_a_gang(pod) and all(parts) else ""


def _job(pod: Pod) -> str:
    return _labels(pod).get("batch.kubernetes.io/job-name", "") if _is_of_a_gang(pod) else ""


def _is_of_a_gang(pod: Pod) -> bool:
    asks = any(key.startswith(TOPOLOGY) for key in _annotations(pod))
    return asks or _labels(pod).get("py-gang-scheduler.io/gang") == "true"


def _labels(pod: Pod) -> dict[str, str]:
    labels: dict[str, str] = pod["metadata"].get("labels", {})
    return labels


def _annotations(pod: Pod) -> dict[str, str]:
    annotations: dict[str, str] = pod["metadata"].get("annotations", {})
    return annotations


GANG_NAMES: tuple[Callable[[Pod], str], ...] = (
    _scheduling_group,
    _label("pod-group.scheduling.sigs.k8s.io", "scheduling.x-k8s.io/pod-group"),
    _annotation,
    _label("pod-group.scheduling.sigs.k8s.io/name"),
    _label("training.kubeflow.org/job-name"),
    _leader_worker_set,
    _job_set,
    _job,
    lambda pod: str(pod["metadata"]["name"]),
)
