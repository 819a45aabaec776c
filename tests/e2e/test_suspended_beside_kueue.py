"""Suspended Jobs that name queues of ours alone, where Kueue decides and manages all Jobs."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from e2e.support import queues
from e2e.support.manifests import Manifest
from e2e.support.namespaces import Namespace
from e2e.support.queues import Objects, queue
from e2e.support.suspended_jobs import FLAGS, annotations, is_suspended, job
from e2e.support.waiting import eventually, until
from tools import controlplane, foreign_crds
from tools.controlplane import access

pytestmark = [pytest.mark.e2e, pytest.mark.usefixtures("scheduler")]

WORKLOADS = "/apis/kueue.x-k8s.io/v1beta1/namespaces/{}/workloads"
WORKLOAD = "job-theirs-1a2b3"


@pytest.fixture(scope="module")
def plane(crds: Path) -> Iterator[controlplane.ControlPlane]:
    """Give a control plane with Kueue's CRDs."""
    with controlplane.start() as started:
        started.kubectl("apply", f"--filename={crds}")
        queues.install(started, *foreign_crds.queues_of_kueue("workloads", current="v1beta1"))
        yield started


@pytest.fixture(scope="module")
def operator_process(plane: controlplane.ControlPlane) -> Iterator[controlplane.Scheduler]:
    with controlplane.Scheduler(plane, *FLAGS, "--kueue=ignore") as started:
        yield started


def test_a_job_is_started_only_once_kueue_has_no_workload_for_it(
    namespace: Namespace, objects: Objects
) -> None:
    namespace.own_nodes(1)
    objects.create_and_wait(queue("team-kueue", 2))
    # It is managed before there is room for it.
    namespace.create(job("first", "team-kueue", on=namespace.here))
    eventually(2, lambda: len(namespace.bound("first-")))
    namespace.create(job("theirs", "team-kueue", on=namespace.here))
    workload = kueue_workload(namespace.get("jobs", "theirs"))
    namespace.cluster.request("POST", WORKLOADS.format(namespace.name), workload)

    namespace.delete("jobs", "first")

    until(lambda: namespace.notes("theirs", "AdmissionFailed"))
    (note,) = set(namespace.notes("theirs", "AdmissionFailed"))
    assert f"its Workload {WORKLOAD}" in note
    assert is_suspended(namespace, "theirs")
    assert {} == annotations(namespace, "theirs")

    with access.Client(namespace.cluster.access) as client:
        client.request("DELETE", f"{WORKLOADS.format(namespace.name)}/{WORKLOAD}").check()

    eventually(2, lambda: len(namespace.bound("theirs-")))


def kueue_workload(owner: Manifest) -> Manifest:
    """Return the object by which Kueue manages a Job."""
    metadata = owner["metadata"]
    pod_set = {"name": "main", "count": 2, "template": owner["spec"]["template"]}
    return {
        "apiVersion": "kueue.x-k8s.io/v1beta1",
        "kind": "Workload",
        "metadata": {"name": WORKLOAD, "labels": {"kueue.x-k8s.io/job-uid": metadata["uid"]}},
        "spec": {"podSets": [pod_set]},
    }
