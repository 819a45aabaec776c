"""The scheduler changes how many workers a job has, and the job's own controller follows."""

import json
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import pytest

from e2e.support import gang_manifests, manifests, preemption, suspended_jobs
from e2e.support.manifests import Manifest
from e2e.support.namespaces import Namespace
from e2e.support.operator_health import is_unharmed
from e2e.support.preemption import high
from e2e.support.waiting import eventually, until
from tools import controllers, controlplane

pytestmark = pytest.mark.e2e

CRDS: Final = Path(__file__).parents[2] / "crds"
COOLDOWN: Final = 5
APART: Final = 30.0
"""No object is changed twice in so many seconds."""
PATIENCE: Final = 120.0
ELASTIC: Final = "py-gang-scheduler.io/elastic"
STATE: Final = "py-gang-scheduler.io/elastic-state"


@dataclass(frozen=True)
class Elastic:
    """A kind of job with one leader, which has no surplus, and workers, which may have some."""

    controller: str
    api_version: str
    kind: str
    container: str
    """What its controller wants the container to be called."""
    workers: str
    """What the names of its workers begin with."""
    spec: Callable[[Manifest, int], Manifest]
    """Returns the spec, for a template of pods and a number of workers."""
    field: Callable[[Manifest], Manifest]
    """Returns what in a spec has the field `replicas` of the workers."""


def of_roles(specs: str, leader: str, **api: str) -> Elastic:
    """Return a kind of Kubeflow's, with a map of roles in its spec."""

    def spec(template: Manifest, workers: int) -> Manifest:
        role = {"restartPolicy": "Never", "template": template}
        return {specs: {leader: {**role, "replicas": 1}, "Worker": {**role, "replicas": workers}}}

    return Elastic(
        **api, workers="train-worker-", spec=spec, field=lambda made: made[specs]["Worker"]
    )


def ray_cluster(template: Manifest, workers: int) -> Manifest:
    """Return the spec of a RayCluster."""
    group = {"groupName": "gpu", "replicas": workers, "minReplicas": 0, "maxReplicas": 8}
    each = {"rayStartParams": {}, "template": template}
    return {"headGroupSpec": each, "workerGroupSpecs": [{**group, **each}]}


PYTORCH: Final = of_roles(
    "pytorchReplicaSpecs",
    "Master",
    controller="training-operator",
    api_version="kubeflow.org/v1",
    kind="PyTorchJob",
    container="pytorch",
)
MPI: Final = of_roles(
    "mpiReplicaSpecs",
    "Launcher",
    controller="mpi-operator",
    api_version="kubeflow.org/v2beta1",
    kind="MPIJob",
    container="mpi",
)
RAY: Final = Elastic(
    controller="kuberay",
    api_version="ray.io/v1",
    kind="RayCluster",
    container="ray",
    workers="train-gpu-worker-",
    spec=ray_cluster,
    field=lambda made: made["workerGroupSpecs"][0],
)


class Job:
    """A job of one kind in a namespace, which goes with its pods in the end."""

    def __init__(self, namespace: Namespace, of: Elastic) -> None:
        self._namespace = namespace
        self._of = of
        self._head = {"apiVersion": of.api_version, "kind": of.kind}

    def create(self, workers: int) -> None:
        """Create it: two to eight workers, which come and go by two."""
        policy = {"scaleUpCooldown": f"{COOLDOWN}s", "scaleUpStep": 2, "scaleDownStep": 2}
        said = {"minWorkers": 2, "maxWorkers": 8, "scalePolicy": policy, "mode": "Replicas"}
        pod = manifests.pod("any", priorityClassName=preemption.LOW, on=self._namespace.here)
        (container,) = pod["spec"]["containers"]
        container["name"] = self._of.container
        made = {
            **self._head,
            "metadata": {"name": "train", "annotations": {ELASTIC: json.dumps(said)}},
            "spec": self._of.spec({"spec": pod["spec"]}, workers),
        }
        gang_manifests.create(self._namespace, made)

    def delete(self) -> None:
        """Delete it, and wait until its controller makes no more pods."""
        self._namespace.kubectl("delete", self._of.kind, "train", "--ignore-not-found")

    def found(self) -> Manifest:
        """Return it as it is."""
        path = gang_manifests.path(self._namespace, self._head, "train")
        found: Manifest = self._namespace.cluster.request("GET", path)
        return found

    def replicas(self) -> int:
        """Return how many workers it asks for."""
        number: int = self._of.field(self.found()["spec"])["replicas"]
        return number

    def set_replicas(self, workers: int) -> None:
        """Write another number, as its user would."""
        spec = self._of.spec({}, workers)
        for role in next(iter(spec.values())).values():
            del role["template"], role["restartPolicy"]
        self._namespace.kubectl(
            "patch", self._of.kind, "train", "--type=merge", f"--patch={json.dumps({'spec': spec})}"
        )

    def state(self) -> dict[str, Any]:
        """Return what the scheduler has written beside the number."""
        found: dict[str, Any] = json.loads(self.found()["metadata"]["annotations"][STATE])
        return found

    def running(self) -> dict[str, str]:
        """Return the name of every worker on a node, by its uid."""
        return {
            each["metadata"]["uid"]: each["metadata"]["name"]
            for each in self._pods(self._of.workers)
            if "nodeName" in each["spec"]
        }

    def waiting(self) -> list[str]:
        """Return its pods without a node."""
        pods = (each for each in self._pods("train-") if "nodeName" not in each["spec"])
        return [each["metadata"]["name"] for each in pods]

    def _pods(self, prefix: str) -> Iterator[Manifest]:
        for each in self._namespace.every("pods"):
            metadata = each["metadata"]
            if metadata["name"].startswith(prefix) and "deletionTimestamp" not in metadata:
                yield each


@pytest.fixture(scope="module")
def plane() -> Iterator[controlplane.ControlPlane]:
    with suspended_jobs.control_plane(CRDS) as started:
        yield started


@pytest.fixture(scope="module")
def operator_process(plane: controlplane.ControlPlane) -> Iterator[controlplane.Scheduler]:
    flags = (f"--elastic-kind={each.kind}" for each in (PYTORCH, MPI, RAY))
    with controlplane.Scheduler(plane, *flags) as started:
        yield started


@pytest.fixture(scope="module", params=[PYTORCH, MPI, RAY], ids=lambda each: each.kind)
def elastic(plane: controlplane.ControlPlane, request: pytest.FixtureRequest) -> Iterator[Elastic]:
    """Give a kind, beside its controller."""
    with controllers.running(plane, request.param.controller) as started:
        yield request.param
        started.remove_crds()


@pytest.fixture
def job(elastic: Elastic, namespace: Namespace) -> Iterator[Job]:
    """Give a job that is not yet created."""
    made = Job(namespace, elastic)
    yield made
    made.delete()


def test_a_job_grows_into_room_and_gives_way_and_no_other_worker_ends(
    job: Job, namespace: Namespace, operator_process: controlplane.Scheduler
) -> None:
    with is_unharmed(operator_process):
        namespace.own_nodes(5, cpu=1)
        job.create(workers=2)
        eventually(4, lambda: len(job.running()), PATIENCE)
        first = set(job.running())
        assert (4, "RoomFree", []) == (job.replicas(), job.state()["why"], job.waiting())

        # One more is no whole step.
        namespace.own_nodes(1, cpu=1)
        time.sleep(APART + COOLDOWN)
        assert (4, first) == (job.replicas(), set(job.running()))
        namespace.own_nodes(1, cpu=1)
        eventually(6, lambda: len(job.running()), PATIENCE)
        assert (True, []) == (first < set(job.running()), job.waiting())

        time.sleep(APART + 1)
        before = set(job.running())
        namespace.create(*high("urgent", 2, on=namespace.here))
        eventually(2, lambda: len(namespace.bound("urgent-")), PATIENCE)
        eventually(4, job.replicas, PATIENCE)
        time.sleep(COOLDOWN)
        assert (True, 4, []) == (set(job.running()) < before, len(job.running()), job.waiting())
        assert (4, "Preempted") == (job.state()["workers"], job.state()["why"])


def test_a_kill_between_the_change_and_the_pods_heals(
    job: Job, namespace: Namespace, operator_process: controlplane.Scheduler
) -> None:
    namespace.own_nodes(5, cpu=1)
    job.create(workers=2)
    eventually(4, job.replicas, PATIENCE)
    operator_process.kill()
    operator_process.start()

    eventually(4, lambda: len(job.running()), PATIENCE)
    assert (4, []) == (job.replicas(), job.waiting())


@pytest.mark.parametrize("elastic", [PYTORCH], indirect=True, ids=["PyTorchJob"])
def test_a_users_number_stands_and_an_autoscaler_ends_the_changes(
    job: Job, namespace: Namespace, operator_process: controlplane.Scheduler
) -> None:
    with is_unharmed(operator_process):
        namespace.own_nodes(5, cpu=1)
        job.create(workers=2)
        eventually(4, lambda: len(job.running()), PATIENCE)
        job.set_replicas(3)
        eventually(3, lambda: len(job.running()), PATIENCE)
        gang_manifests.create(namespace, autoscaler())
        namespace.own_nodes(3, cpu=1)

        (note,) = until(lambda: namespace.notes("train", "ElasticStopped"), PATIENCE)
        assert note.endswith("HorizontalPodAutoscaler load scales it")
        time.sleep(COOLDOWN + 3)
        assert (3, 3) == (job.replicas(), len(job.running()))


def autoscaler() -> Manifest:
    """Return a HorizontalPodAutoscaler that targets the job."""
    target = {"apiVersion": PYTORCH.api_version, "kind": PYTORCH.kind, "name": "train"}
    return {
        "apiVersion": "autoscaling/v2",
        "kind": "HorizontalPodAutoscaler",
        "metadata": {"name": "load"},
        "spec": {"scaleTargetRef": target, "minReplicas": 1, "maxReplicas": 9},
    }
