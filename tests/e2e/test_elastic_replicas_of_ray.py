"""The scheduler changes the replicas of a worker group of a RayCluster, and a stand-in follows."""

import itertools
import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest

from e2e.support import gang_manifests, manifests, preemption, suspended_jobs
from e2e.support.manifests import Manifest
from e2e.support.namespaces import Namespace
from e2e.support.operator_health import is_unharmed
from e2e.support.preemption import high
from e2e.support.waiting import eventually, until
from e2e.support.workload_makers import GROUP, NODE_TYPE, RAY_CLUSTER
from tools import controlplane, foreign_crds

pytestmark = pytest.mark.e2e

APART: Final = 30.0
PATIENCE: Final = 90.0
ELASTIC: Final = "py-gang-scheduler.io/elastic"


@pytest.fixture(scope="module")
def plane(crds: Path) -> Iterator[controlplane.ControlPlane]:
    made = suspended_jobs.control_plane(crds, *foreign_crds.of_workload_makers())
    with made as started:
        yield started


@pytest.fixture(scope="module")
def operator_process(plane: controlplane.ControlPlane) -> Iterator[controlplane.Scheduler]:
    with controlplane.Scheduler(plane, "--elastic-kind=RayCluster") as started:
        yield started


class KubeRay:
    """Does what KubeRay does for a RayCluster, a step at a time.

    It ends the workers that are named, and then those that run, which is the worst that it may do.
    """

    def __init__(self, namespace: Namespace) -> None:
        self._namespace = namespace
        self._numbers = itertools.count()

    def step(self) -> None:
        """Do what is to be done as things are now."""
        found = self.cluster()
        (group,) = found["spec"]["workerGroupSpecs"]
        pods = {each["metadata"]["name"]: each for each in self._pods()}
        if "train-head" not in pods:
            self._create(found, "train-head", "head", "headgroup")
        named = set(group.get("scaleStrategy", {}).get("workersToDelete", []))
        workers = {name: pod for name, pod in pods.items() if name != "train-head"}
        going = named & workers.keys()
        left = sorted(
            workers.keys() - going, key=lambda name: "nodeName" not in workers[name]["spec"]
        )
        going.update(left[: max(0, len(left) - group["replicas"])])
        self._namespace.delete("pods", *sorted(going))
        for _ in range(group["replicas"] - len(left)):
            self._create(found, f"train-gpu-worker-{next(self._numbers):03}", "worker", "gpu")

    def cluster(self) -> dict[str, Any]:
        """Return the RayCluster."""
        path = gang_manifests.path(self._namespace, RAY_CLUSTER, "train")
        found: dict[str, Any] = self._namespace.cluster.request("GET", path)
        return found

    def running(self) -> list[str]:
        """Return the workers that have a node, after a step."""
        self.step()
        return sorted(self._namespace.bound("train-gpu-"))

    def waiting(self) -> list[str]:
        """Return the pods without a node."""
        pods = (each for each in self._pods() if "nodeName" not in each["spec"])
        return [each["metadata"]["name"] for each in pods]

    def _pods(self) -> list[dict[str, Any]]:
        mine = (
            each
            for each in self._namespace.every("pods")
            if each["metadata"]["name"].startswith("train-")
        )
        return [each for each in mine if "deletionTimestamp" not in each["metadata"]]

    def _create(self, owner: dict[str, Any], name: str, node_type: str, group: str) -> None:
        reference = {"name": "train", "uid": owner["metadata"]["uid"], "controller": True}
        labels = {"ray.io/cluster": "train", NODE_TYPE: node_type, GROUP: group}
        metadata = {
            "name": name,
            "labels": labels,
            "ownerReferences": [{**RAY_CLUSTER, **reference}],
        }
        spec = owner["spec"]["headGroupSpec"]["template"]["spec"]
        gang_manifests.create(
            self._namespace,
            {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec},
        )


def test_a_group_of_workers_grows_into_room_and_gives_way_and_no_other_pod_ends(
    namespace: Namespace, operator_process: controlplane.Scheduler
) -> None:
    kuberay = KubeRay(namespace)
    with is_unharmed(operator_process):
        namespace.own_nodes(5, cpu=1)
        gang_manifests.create(namespace, ray_cluster(namespace, 2))
        eventually(4, lambda: len(kuberay.running()), PATIENCE)
        first = set(kuberay.running())
        assert (4, 2) == (replicas(kuberay), generation(kuberay))

        until(lambda: "scaleStrategy" not in group_of(kuberay))
        namespace.own_nodes(2, cpu=1)
        eventually(6, lambda: len(kuberay.running()), PATIENCE)
        before = set(kuberay.running())
        assert (first < before, []) == (True, kuberay.waiting())

        time.sleep(APART + 1)
        namespace.create(*high("urgent", 2, on=namespace.here))
        eventually(2, lambda: len([*kuberay.running(), *namespace.bound("urgent-")]) - 4, PATIENCE)
        eventually(4, lambda: len(kuberay.running()), PATIENCE)
        named = group_of(kuberay)["scaleStrategy"]["workersToDelete"]
        assert (before - set(named), 2) == (set(kuberay.running()), len(named))
        assert (4, 4, []) == (replicas(kuberay), generation(kuberay), kuberay.waiting())


def test_a_cluster_that_ray_scales_is_refused_by_name(
    namespace: Namespace, operator_process: controlplane.Scheduler
) -> None:
    kuberay = KubeRay(namespace)
    namespace.own_nodes(5, cpu=1)
    made = ray_cluster(namespace, 2)
    made["spec"]["enableInTreeAutoscaling"] = True
    with is_unharmed(operator_process):
        gang_manifests.create(namespace, made)
        kuberay.step()

        (note, *_) = until(lambda: namespace.notes("train", "InvalidGang"), PATIENCE)
        assert "spec.enableInTreeAutoscaling must be false in mode Replicas" in note
        assert 1 == generation(kuberay)


def ray_cluster(namespace: Namespace, workers: int) -> Manifest:
    """Return a RayCluster of a head and two to eight workers, which grow by two."""
    policy = {"scaleUpCooldown": "5s", "scaleUpStep": 2, "scaleDownStep": 2}
    said = {"minWorkers": 2, "maxWorkers": 8, "scalePolicy": policy, "mode": "Replicas"}
    pod = manifests.pod("any", priorityClassName=preemption.LOW, on=namespace.here)
    template = {"spec": pod["spec"]}
    group = {
        "groupName": "gpu",
        "replicas": workers,
        "minReplicas": 0,
        "maxReplicas": 8,
        "template": template,
    }
    return {
        **RAY_CLUSTER,
        "metadata": {"name": "train", "annotations": {ELASTIC: json.dumps(said)}},
        "spec": {"headGroupSpec": {"template": template}, "workerGroupSpecs": [group]},
    }


def group_of(kuberay: KubeRay) -> dict[str, Any]:
    found: dict[str, Any] = kuberay.cluster()["spec"]["workerGroupSpecs"][0]
    return found


def replicas(kuberay: KubeRay) -> int:
    found: int = group_of(kuberay)["replicas"]
    return found


def generation(kuberay: KubeRay) -> int:
    """Return how often the spec was written."""
    found: int = kuberay.cluster()["metadata"]["generation"]
    return found
