"""TrainJobs and RayJobs that wait suspended: another workload has their pods.

Beside stand-ins for their controllers, on a real control plane.
"""

import functools
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from e2e.support import gang_manifests, queues, suspended_jobs
from e2e.support.admission_policies import rendered
from e2e.support.namespaces import Namespace
from e2e.support.preemption import HIGH, LOW
from e2e.support.queues import Objects, queue, resource_flavor
from e2e.support.suspended_jobs import ADMITTED_AT
from e2e.support.waiting import eventually, until
from e2e.support.workload_makers import (
    JOB,
    JOB_SET,
    RAY_CLUSTER,
    RAY_JOB,
    TRAIN_JOB,
    Controllers,
    ray_job,
    train_job,
)
from tools import controlplane, foreign_crds
from tools.controlplane import access
from tools.jobset import standin

pytestmark = [pytest.mark.e2e, pytest.mark.usefixtures("scheduler")]

POOL = "example.com/pool"


@pytest.fixture(scope="module")
def plane(crds: Path) -> Iterator[controlplane.ControlPlane]:
    job_sets = yaml.safe_load(standin.CRD.read_text())
    made = suspended_jobs.control_plane(crds, job_sets, *foreign_crds.of_workload_makers())
    with made as started:
        yield started


@pytest.fixture(scope="module")
def operator_process(plane: controlplane.ControlPlane) -> Iterator[controlplane.Scheduler]:
    with suspended_jobs.managing(plane, "JobSet", "RayCluster", "RayJob", "TrainJob") as started:
        yield started


def admitted_at(controllers: Controllers, kind: dict[str, Any], name: str) -> str | None:
    found = controllers.get(kind, name)["metadata"].get("annotations", {})
    return None if found is None else found.get(ADMITTED_AT)


def test_a_train_job_starts_where_all_it_will_have_fits(
    namespace: Namespace, objects: Objects
) -> None:
    controllers = Controllers(namespace, on=namespace.here)
    namespace.own_nodes(1, cpu=2)
    objects.create_and_wait(queue("team-train", 8))
    gang_manifests.create(namespace, train_job("train", "team-train"))
    controllers.step()
    blocked = queues.gang("blocked", 3, "team-train", on=namespace.here)
    namespace.create(*blocked)
    # Both have had a turn by now: there is no room for three.
    until(lambda: queues.reason(namespace, "blocked"))
    assert controllers.suspended(TRAIN_JOB, "train")
    assert [] == controllers.items(JOB)
    namespace.delete_gangs("blocked")

    namespace.own_nodes(1, cpu=1)

    # Pods of nodes are made only once that of the data is ready.
    eventually(1, lambda: controllers.bound("train-data"))
    eventually(2, lambda: controllers.bound("train-node"))
    assert admitted_at(controllers, TRAIN_JOB, "train")
    assert admitted_at(controllers, JOB_SET, "train") is None
    assert ["team-train"] == sorted({queue for queue, _ in queues.charged_to(namespace, "train")})


def test_a_train_job_is_suspended_to_evict_it(namespace: Namespace, objects: Objects) -> None:
    controllers = Controllers(namespace, on=namespace.here, priorityClassName=LOW)
    namespace.own_nodes(1, cpu=3)
    objects.create_and_wait(queue("team-evict", 3))
    gang_manifests.create(namespace, train_job("train", "team-evict"))
    eventually(2, lambda: controllers.bound("train-node"))

    namespace.create(
        *queues.gang("urgent", 3, "team-evict", on=namespace.here, priorityClassName=HIGH)
    )
    until(lambda: controllers.suspended(TRAIN_JOB, "train"))
    eventually(0, lambda: controllers.pods("train-"))
    eventually(3, lambda: len(namespace.bound("urgent-")))
    assert admitted_at(controllers, TRAIN_JOB, "train") is None

    namespace.delete_gangs("urgent")
    eventually(2, lambda: controllers.bound("train-node"))


def test_a_ray_job_starts_and_comes_back_to_another_flavor(
    namespace: Namespace, objects: Objects
) -> None:
    controllers = Controllers(namespace)
    for name in ("firm", "spot"):
        namespace.own_nodes(1, cpu=3, labels={POOL: name})
        objects.create(resource_flavor(name, {POOL: name}))
    flavors = [{"name": name, "quota": {"soft": {"cpu": "3"}}} for name in ("firm", "spot")]
    objects.create_and_wait(queue("team-ray", flavors=flavors))
    ray = ray_job("ray", "team-ray", on=namespace.here, priorityClassName=LOW)
    gang_manifests.create(namespace, ray)
    eventually(3, lambda: controllers.bound("ray-"))
    assert ["firm"] * 2 == selectors(controllers)
    assert [None] == [
        admitted_at(controllers, RAY_CLUSTER, each["metadata"]["name"])
        for each in controllers.items(RAY_CLUSTER)
    ]

    firm = {**namespace.here, POOL: "firm"}
    namespace.create(*queues.gang("urgent", 3, "team-ray", on=firm, priorityClassName=HIGH))
    eventually({f"{namespace.name}-1"}, functools.partial(_nodes, controllers, namespace))
    assert ["spot"] * 2 == selectors(controllers)
    eventually(3, lambda: len(namespace.bound("urgent-")))


def test_policies_look_after_what_is_ours(
    plane: controlplane.ControlPlane, namespace: Namespace
) -> None:
    made = rendered(plane, namespace.name, "RayJob", "TrainJob")
    plane.kubectl("apply", "--server-side", "--filename=-", input=made)
    train, ray = (dry(each) for each in (train_job("train", "a"), ray_job("ray", "a")))
    # The API server compiles policies in its own time.
    for each in (train, ray):
        until(functools.partial(_dry_run, namespace, each))
    theirs = dry(ray_job("theirs", "a", scheduler="default-scheduler"))
    assert not _dry_run(namespace, theirs)
    queueless = dry(train_job("queueless", "a"))
    queueless["metadata"]["labels"] = {"kueue.x-k8s.io/queue-name": "a"}
    assert not _dry_run(namespace, queueless)
    queueless = dry(ray_job("queueless", "a"))
    queueless["metadata"]["labels"] = {}
    until(lambda: "a queue must be named" in _refusal(namespace, queueless))
    plane.kubectl("delete", "--filename=-", input=made)


def dry(workload: dict[str, Any]) -> dict[str, Any]:
    """Return a workload that is not suspended by its user."""
    return {**workload, "spec": {**workload["spec"], "suspend": False}}


def _dry_run(namespace: Namespace, workload: dict[str, Any]) -> bool:
    """Return whether the API server would make a workload a suspended one."""
    path = f"{gang_manifests.path(namespace, workload)}?dryRun=All"
    return bool(namespace.cluster.request("POST", path, workload)["spec"]["suspend"])


def _refusal(namespace: Namespace, workload: dict[str, Any]) -> str:
    """Return why the API server would not have a workload; "" if it would."""
    try:
        _dry_run(namespace, workload)
    except access.RefusedError as error:
        return str(error)
    return ""


def selectors(controllers: Controllers) -> list[str | None]:
    """Return which pool each template of the RayJob asks for."""
    spec = controllers.get(RAY_JOB, "ray")["spec"]["rayClusterSpec"]
    parts = (spec["headGroupSpec"], *spec["workerGroupSpecs"])
    return [each["template"]["spec"].get("nodeSelector", {}).get(POOL) for each in parts]


def _nodes(controllers: Controllers, namespace: Namespace) -> set[str]:
    """Return the nodes of all pods of the RayJob, once all three have one."""
    found = namespace.bound("ray-") if controllers.bound("ray-") == 3 else {}
    return set(found.values())
