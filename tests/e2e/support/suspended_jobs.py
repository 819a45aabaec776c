"""Jobs that wait suspended, and what tests ask of them."""

import contextlib
import json
from collections.abc import Collection, Iterable, Iterator
from pathlib import Path
from typing import Any

from e2e.support import manifests, preemption, queues
from e2e.support.manifests import Manifest
from e2e.support.namespaces import Namespace
from e2e.support.queues import GROUP, QUEUE
from tools import controlplane

ADMITTED_AT = f"{GROUP}/admitted-at"
ADMITTED_FROM = f"{GROUP}/admitted-from"
GANG = f"{GROUP}/gang"
FLAGS = ("--manage-job=Job",)
PODS_SECONDS = 8
"""How long pods are waited for."""


@contextlib.contextmanager
def control_plane(crds: Path, *more: Manifest) -> Iterator[controlplane.ControlPlane]:
    """Give a control plane of one module: no other operator may start what waits.

    It has our CRDs and `more`, priority classes for what evicts and what is evicted, and an audit
    log.
    """
    with controlplane.start(controlplane.Options(audit=True)) as started:
        started.kubectl("apply", f"--filename={crds}")
        if more:
            queues.install(started, *more)
        with preemption.priority_classes(started):
            yield started


@contextlib.contextmanager
def managing(
    plane: controlplane.ControlPlane, *kinds: str, flags: Iterable[str] = ()
) -> Iterator[controlplane.Scheduler]:
    """Run an operator that starts workloads of these kinds, and waits PODS_SECONDS for pods."""
    managed = (f"--manage-job={kind}" for kind in kinds)
    timeout = f"--pods-timeout-seconds={PODS_SECONDS}"
    with controlplane.Scheduler(plane, *managed, timeout, *flags) as started:
        yield started


@contextlib.contextmanager
def without_jobs_in_the_end(namespace: Namespace) -> Iterator[Namespace]:
    """Give a namespace in which no Job is left to make pods."""
    yield namespace
    for each in namespace.every("jobs"):
        namespace.delete("jobs", each["metadata"]["name"])


def job(
    name: str,
    queue: str,
    pods: int = 2,
    *,
    suspend: bool = True,
    labels: dict[str, str] | None = None,
    **pod_fields: Any,
) -> Manifest:
    """Return a Job whose pods are one gang. No failure is let pass: none may be counted."""
    spec = {**manifests.pod("any", **pod_fields)["spec"], "restartPolicy": "Never"}
    named = {QUEUE: queue} if queue else {}
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": name, "labels": {**named, **(labels or {})}},
        "spec": {
            "suspend": suspend,
            "parallelism": pods,
            "completions": pods,
            "completionMode": "Indexed",
            "backoffLimit": 0,
            "template": {"metadata": {"labels": {GANG: "true"}}, "spec": spec},
        },
    }


def pods(namespace: Namespace, name: str) -> list[dict[str, Any]]:
    """Return the pods of a Job, with a node or without."""
    found = namespace.every("pods")
    return [each for each in found if each["metadata"]["name"].startswith(f"{name}-")]


def is_suspended(namespace: Namespace, name: str) -> bool:
    """Return whether a Job is to be suspended."""
    return bool(namespace.get("jobs", name)["spec"]["suspend"])


def annotations(namespace: Namespace, name: str) -> dict[str, str]:
    """Return the annotations of a Job."""
    found: dict[str, str] = namespace.get("jobs", name)["metadata"].get("annotations", {})
    return found


def started(namespace: Namespace, names: Collection[str]) -> list[str]:
    """Return the Jobs that are not suspended, by name."""
    return sorted(each for each in names if not is_suspended(namespace, each))


def failures(namespace: Namespace, name: str) -> tuple[int, list[str]]:
    """Return how many pods of a Job have failed, and its conditions that say so."""
    status = namespace.get("jobs", name).get("status", {})
    conditions = (each["type"] for each in status.get("conditions", []) if each["status"] == "True")
    return status.get("failed", 0), [each for each in conditions if each.startswith("Fail")]


def patch(cluster: controlplane.Cluster, namespace: str, name: str, change: Any) -> None:
    """Patch a Job as its user."""
    where = f"--namespace={namespace}"
    cluster.kubectl("patch", "job", name, where, "--type=merge", f"--patch={json.dumps(change)}")


def no_pods(name: str = "none", *, but: int = 0) -> Manifest:
    """Return a ResourceQuota with which no more pods can be created than some."""
    return {
        "apiVersion": "v1",
        "kind": "ResourceQuota",
        "metadata": {"name": name},
        "spec": {"hard": {"pods": str(but)}},
    }
