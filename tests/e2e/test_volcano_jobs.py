"""Jobs of Volcano with our schedulerName, beside a stand-in for the controller that makes pods.

Volcano's own is no Go module that can be had. What matters of it: it makes a PodGroup of a Job, and
creates the pods when the phase of the PodGroup is past `Pending`.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from e2e.support import gang_manifests, manifests, queues
from e2e.support.manifests import Manifest
from e2e.support.namespaces import Namespace
from e2e.support.queues import Objects
from e2e.support.waiting import eventually, until
from tools import controlplane, foreign_crds

pytestmark = [pytest.mark.e2e, pytest.mark.usefixtures("scheduler")]

PENDING = {"", "Pending"}
TASKS = {"master": 1, "worker": 2}


@pytest.fixture(scope="module")
def plane(crds: Path) -> Iterator[controlplane.ControlPlane]:
    """Give a control plane with the CRDs of Volcano."""
    with controlplane.start() as started:
        started.kubectl("apply", f"--filename={crds}")
        queues.install(started, *foreign_crds.of_volcano())
        yield started


@pytest.fixture(scope="module")
def operator_process(plane: controlplane.ControlPlane) -> Iterator[controlplane.Scheduler]:
    with controlplane.Scheduler(plane, "--volcano-jobs") as started:
        yield started


class VolcanoController:
    """Does what Volcano's controller does for Jobs, a step at a time."""

    def __init__(self, namespace: Namespace) -> None:
        self._namespace = namespace

    def step(self) -> None:
        """Make PodGroups of Jobs, and their pods when the PodGroup may go on."""
        for job in self._items("batch.volcano.sh/v1alpha1", "Job"):
            group = self.group_of(job["metadata"]["name"])
            if group is None:
                gang_manifests.create(self._namespace, _pod_group(job))
            elif group.get("status", {}).get("phase", "") not in PENDING:
                self._make_pods(job)

    def group_of(self, name: str) -> dict[str, Any] | None:
        """Return the PodGroup of a Job, if it has one."""
        found = self._items("scheduling.volcano.sh/v1beta1", "PodGroup")
        return next((each for each in found if each["metadata"]["name"] == f"{name}-pg"), None)

    def phase_of(self, name: str) -> str | None:
        """Return the phase of the PodGroup of a Job, after a step."""
        self.step()
        group = self.group_of(name)
        return None if group is None else group.get("status", {}).get("phase", "")

    def bound(self, name: str) -> int:
        """Return how many pods of a Job have a node, after a step."""
        self.step()
        return len(self._namespace.bound(f"{name}-"))

    def _make_pods(self, job: Manifest) -> None:
        there = {each["metadata"]["name"] for each in self._namespace.every("pods")}
        pods = [each for each in _pods(job) if each["metadata"]["name"] not in there]
        if pods:
            self._namespace.create(*pods)

    def _items(self, version: str, kind: str) -> list[dict[str, Any]]:
        path = gang_manifests.path(self._namespace, {"apiVersion": version, "kind": kind})
        found: list[dict[str, Any]] = self._namespace.cluster.request("GET", path)["items"]
        return found


def test_a_job_starts_whole_once_it_may_have_its_pods(namespace: Namespace) -> None:
    controller = VolcanoController(namespace)
    namespace.own_nodes(1, cpu=2)
    gang_manifests.create(namespace, volcano_job("job", namespace))

    eventually("Inqueue", lambda: controller.phase_of("job"))
    until(lambda: controller.bound("job") == 0 and len(namespace.every("pods")) == 3)
    namespace.own_nodes(1, cpu=1)

    eventually(3, lambda: controller.bound("job"))


def test_a_job_waits_for_quota_before_its_pods_exist(
    namespace: Namespace, objects: Objects
) -> None:
    controller = VolcanoController(namespace)
    namespace.own_nodes(2)
    small = volcano_queue(4)
    objects.create(small)
    gang_manifests.create(namespace, volcano_job("first", namespace, queue="small"))
    eventually(3, lambda: controller.bound("first"))

    gang_manifests.create(namespace, volcano_job("second", namespace, queue="small"))
    until(lambda: controller.phase_of("second") in PENDING and namespace.events("second-pg"))
    assert {"WaitingForQuota"} == {each["reason"] for each in namespace.events("second-pg")}
    assert {} == namespace.bound("second-")

    objects.change(small, capability={"cpu": "6"})
    eventually(3, lambda: controller.bound("second"))


def test_the_job_of_another_scheduler_is_left_to_that(namespace: Namespace) -> None:
    controller = VolcanoController(namespace)
    theirs = volcano_job("theirs", namespace)
    theirs["spec"]["schedulerName"] = "volcano"
    gang_manifests.create(namespace, theirs, volcano_job("ours", namespace))

    eventually("Inqueue", lambda: controller.phase_of("ours"))
    assert controller.phase_of("theirs") in PENDING


def volcano_queue(cpu: int) -> Manifest:
    """Return a Queue that may have so many CPUs."""
    return {
        "apiVersion": "scheduling.volcano.sh/v1beta1",
        "kind": "Queue",
        "metadata": {"name": "small"},
        "spec": {"weight": 1, "capability": {"cpu": str(cpu)}},
    }


def volcano_job(name: str, namespace: Namespace, *, queue: str = "") -> Manifest:
    """Return a Job of one master and two workers of one CPU each, on nodes of the namespace."""
    template = {"spec": manifests.pod("any", on=namespace.here)["spec"]}
    return {
        "apiVersion": "batch.volcano.sh/v1alpha1",
        "kind": "Job",
        "metadata": {"name": name},
        "spec": {
            "schedulerName": manifests.SCHEDULER,
            "minAvailable": sum(TASKS.values()),
            "queue": queue,
            "tasks": [
                {"name": task, "replicas": count, "template": template}
                for task, count in TASKS.items()
            ],
        },
    }


def _owner(job: Manifest) -> dict[str, Any]:
    uid, name = job["metadata"]["uid"], job["metadata"]["name"]
    version = "batch.volcano.sh/v1alpha1"
    return {"apiVersion": version, "kind": "Job", "name": name, "uid": uid, "controller": True}


def _pod_group(job: Manifest) -> Manifest:
    """Return the PodGroup of a Job: with what a ResourceQuota counts, as Volcano writes it."""
    cpu = str(sum(TASKS.values()))
    return {
        "apiVersion": "scheduling.volcano.sh/v1beta1",
        "kind": "PodGroup",
        "metadata": {"name": f"{job['metadata']['name']}-pg", "ownerReferences": [_owner(job)]},
        "spec": {
            "minMember": job["spec"]["minAvailable"],
            "minTaskMember": TASKS,
            "queue": job["spec"]["queue"],
            "minResources": {"cpu": cpu, "requests.cpu": cpu, "count/pods": cpu, "pods": cpu},
        },
    }


def _pods(job: Manifest) -> Iterator[Manifest]:
    name = job["metadata"]["name"]
    for task, count in TASKS.items():
        for index in range(count):
            pod = manifests.pod(f"{name}-{task}-{index}")
            pod["metadata"] = {
                "name": f"{name}-{task}-{index}",
                "ownerReferences": [_owner(job)],
                "labels": {"volcano.sh/task-spec": task, "volcano.sh/job-name": name},
                "annotations": {"scheduling.k8s.io/group-name": f"{name}-pg"},
            }
            pod["spec"] = job["spec"]["tasks"][0]["template"]["spec"]
            yield pod
