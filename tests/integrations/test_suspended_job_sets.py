"""JobSets that wait suspended, beside their real controller and webhook."""

import functools
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from e2e.support import gang_manifests, manifests, preemption, queues
from e2e.support.manifests import Manifest
from e2e.support.namespaces import Namespace
from e2e.support.preemption import HIGH, LOW
from e2e.support.queues import FLAVORS, QUEUE, Objects, queue, resource_flavor
from e2e.support.suspended_jobs import ADMITTED_AT
from e2e.support.waiting import eventually, until
from tools import controllers, controlplane

pytestmark = [
    pytest.mark.e2e,
    pytest.mark.jobset,
    pytest.mark.usefixtures("scheduler", "controller"),
]

CRDS = Path(__file__).parents[2] / "crds"
POOL = "example.com/pool"
VERSION = "jobset.x-k8s.io/v1alpha2"


@pytest.fixture(scope="module")
def plane() -> Iterator[controlplane.ControlPlane]:
    """Give a control plane of its own: the operator starts JobSets here."""
    with controlplane.start() as started:
        started.kubectl("apply", f"--filename={CRDS}")
        with preemption.priority_classes(started):
            yield started


@pytest.fixture(scope="module")
def controller(plane: controlplane.ControlPlane) -> Iterator[controllers.Controller]:
    """Give the controller of JobSets."""
    with controllers.running(plane, "jobset") as started:
        yield started


@pytest.fixture(scope="module")
def operator_process(
    plane: controlplane.ControlPlane, controller: controllers.Controller
) -> Iterator[controlplane.Scheduler]:
    assert controller.name
    with controlplane.Scheduler(plane, "--manage-job=JobSet") as started:
        yield started


@pytest.fixture
def objects(plane: controlplane.ControlPlane) -> Iterator[Objects]:
    """Give what creates objects without a namespace, for the test alone."""
    with queues.objects(plane) as made:
        yield made


def job_set(name: str, team: str, **pod_fields: Any) -> Manifest:
    """Return a suspended JobSet: a leader, and two Jobs of two workers."""
    pod = {**manifests.pod("any", **pod_fields)["spec"], "restartPolicy": "Never"}

    def part(called: str, replicas: int, pods: int) -> dict[str, Any]:
        labels = {"py-gang-scheduler.io/gang": "true"}
        template = {"metadata": {"labels": labels}, "spec": pod}
        spec = {"parallelism": pods, "completions": pods, "backoffLimit": 0, "template": template}
        return {"name": called, "replicas": replicas, "template": {"spec": spec}}

    return {
        "apiVersion": VERSION,
        "kind": "JobSet",
        "metadata": {"name": name, "labels": {QUEUE: team}},
        "spec": {
            "suspend": True,
            "replicatedJobs": [part("leader", 1, 1), part("worker", 2, 2)],
        },
    }


def read(namespace: Namespace, name: str) -> dict[str, Any]:
    """Return a JobSet."""
    path = gang_manifests.path(namespace, {"apiVersion": VERSION, "kind": "JobSet"})
    found: dict[str, Any] = namespace.cluster.request("GET", f"{path}/{name}")
    return found


def selectors(namespace: Namespace, name: str) -> list[str | None]:
    """Return which pool each template of a JobSet asks for."""
    jobs = read(namespace, name)["spec"]["replicatedJobs"]
    pods = (each["template"]["spec"]["template"]["spec"] for each in jobs)
    return [each.get("nodeSelector", {}).get(POOL) for each in pods]


def test_a_job_set_waits_without_pods_and_is_suspended_to_evict_it(
    namespace: Namespace, objects: Objects
) -> None:
    pools = ("firm", "spot")
    for name in pools:
        namespace.own_nodes(1, cpu=5, labels={POOL: name})
        objects.create(resource_flavor(name, {POOL: name}))
    flavors = [{"name": name, "quota": {"soft": {"cpu": "5"}}} for name in pools]
    objects.create_and_wait(queue("team-sets", flavors=flavors))
    blocks = ("first", "second")
    on = namespace.here
    for name in blocks:
        urgent = queues.gang(name, 5, "team-sets", on=on, priorityClassName=HIGH)
        namespace.create(*urgent)
        eventually(5, functools.partial(_bound, namespace, name))
    gang_manifests.create(namespace, job_set("set", "team-sets", on=on, priorityClassName=LOW))
    until(lambda: read(namespace, "set").get("status", {}).get("conditions"))
    assert {} == namespace.bound("set-")
    assert [] == [e for e in namespace.every("pods") if e["metadata"]["name"].startswith("set-")]

    namespace.delete_gangs("first")
    eventually(5, lambda: len(namespace.bound("set-")))
    assert ["firm"] * 2 == selectors(namespace, "set")
    assert '{"cpu":"firm"}' == read(namespace, "set")["metadata"]["annotations"][FLAVORS]

    firm = {**on, POOL: "firm"}
    namespace.create(*queues.gang("again", 5, "team-sets", on=firm, priorityClassName=HIGH))
    eventually(5, lambda: len(namespace.bound("again-")))
    assert read(namespace, "set")["spec"]["suspend"] is True
    # What was added to the templates is gone at once.
    assert [None] * 2 == selectors(namespace, "set")
    assert ADMITTED_AT not in read(namespace, "set")["metadata"].get("annotations", {})

    namespace.delete_gangs("second")
    eventually(5, lambda: len(namespace.bound("set-")))
    assert ["spot"] * 2 == selectors(namespace, "set")
    nodes = set(namespace.bound("set-").values())
    assert nodes == {f"{namespace.name}-1"}
    failed = [each.get("status", {}).get("failed", 0) for each in namespace.every("jobs")]
    assert [0, 0, 0] == failed
    assert 0 == read(namespace, "set")["status"].get("restarts", 0)


def _bound(namespace: Namespace, name: str) -> int:
    return len(namespace.bound(f"{name}-"))
