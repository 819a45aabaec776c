"""The scheduler changes the number of replicas of a Job, and the real controller follows."""

import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest

from e2e.support import gang_manifests, preemption, suspended_jobs
from e2e.support.manifests import Manifest
from e2e.support.namespaces import Namespace
from e2e.support.operator_health import is_unharmed
from e2e.support.preemption import high
from e2e.support.waiting import eventually, until
from tools import controlplane

pytestmark = pytest.mark.e2e

COOLDOWN: Final = 5
APART: Final = 30.0
"""No object is changed twice in so many seconds."""
PATIENCE: Final = 90.0
STATE: Final = "py-gang-scheduler.io/elastic-state"
INDEX: Final = "batch.kubernetes.io/job-completion-index"


@pytest.fixture(scope="module")
def plane(crds: Path) -> Iterator[controlplane.ControlPlane]:
    with suspended_jobs.control_plane(crds) as started:
        yield started


@pytest.fixture(scope="module")
def operator_process(plane: controlplane.ControlPlane) -> Iterator[controlplane.Scheduler]:
    with controlplane.Scheduler(
        plane, "--elastic-kind=Job", "--elastic-kind=StatefulSet"
    ) as started:
        yield started


@pytest.fixture
def home(namespace: Namespace) -> Iterator[Namespace]:
    with suspended_jobs.without_jobs_in_the_end(namespace):
        yield namespace


def test_a_job_grows_into_room_and_gives_way_and_each_change_is_written_once(
    home: Namespace, operator_process: controlplane.Scheduler
) -> None:
    with is_unharmed(operator_process):
        home.own_nodes(4, cpu=1)
        home.create(job(home, 4))
        eventually([0, 1, 2, 3], lambda: indexes(home), PATIENCE)
        assert 1 == generation(home)

        # One more is no whole step.
        home.own_nodes(1, cpu=1)
        time.sleep(COOLDOWN + 3)
        assert (4, 1) == (replicas(home), generation(home))
        home.own_nodes(1, cpu=1)
        eventually([0, 1, 2, 3, 4, 5], lambda: indexes(home), PATIENCE)
        spec = home.get("jobs", "train")["spec"]
        assert (6, 6, 2) == (spec["parallelism"], spec["completions"], generation(home))
        assert "py-gang-scheduler-elastic" == manager_of_the_field(home)
        assert [] == waiting(home)

        time.sleep(APART + 1)
        home.create(*high("urgent", 2, on=home.here))
        eventually(2, lambda: len(home.bound("urgent-")), PATIENCE)
        eventually([0, 1, 2, 3], lambda: indexes(home), PATIENCE)
        time.sleep(3)
        assert ([], 4, 3) == (waiting(home), replicas(home), generation(home))
        state = json.loads(home.get("jobs", "train")["metadata"]["annotations"][STATE])
        assert (4, "Preempted") == (state["workers"], state["why"])
        assert (0, []) == suspended_jobs.failures(home, "train")
        assert until(lambda: home.notes("train", "ReplicasChanged"))


def test_a_users_number_stands_and_an_autoscaler_ends_the_changes(
    home: Namespace, operator_process: controlplane.Scheduler
) -> None:
    with is_unharmed(operator_process):
        home.own_nodes(4, cpu=1)
        home.create(job(home, 2))
        eventually([0, 1, 2, 3], lambda: indexes(home), PATIENCE)
        suspended_jobs.patch(
            home.cluster, home.name, "train", {"spec": {"parallelism": 3, "completions": 3}}
        )
        eventually([0, 1, 2], lambda: indexes(home), PATIENCE)
        gang_manifests.create(home, autoscaler())
        home.own_nodes(3, cpu=1)

        (note,) = until(lambda: home.notes("train", "ElasticStopped"), PATIENCE)
        assert note.endswith("HorizontalPodAutoscaler load scales it")
        time.sleep(COOLDOWN + 3)
        assert (3, 3) == (replicas(home), generation(home))


def test_a_kill_between_the_change_and_the_pods_heals(
    home: Namespace, operator_process: controlplane.Scheduler
) -> None:
    home.own_nodes(4, cpu=1)
    home.create(job(home, 2))
    eventually(4, lambda: replicas(home), PATIENCE)
    operator_process.kill()
    operator_process.start()

    eventually([0, 1, 2, 3], lambda: indexes(home), PATIENCE)
    assert (4, 2) == (replicas(home), generation(home))


def test_a_stateful_set_grows_into_room_and_gives_way(
    namespace: Namespace, operator_process: controlplane.Scheduler
) -> None:
    with is_unharmed(operator_process):
        namespace.own_nodes(4, cpu=1)
        made = stateful_set(namespace, 2)
        gang_manifests.create(namespace, made)
        eventually(4, lambda: len(namespace.bound("train-")), PATIENCE)
        time.sleep(APART + 1)
        namespace.create(*high("urgent", 2, on=namespace.here))
        eventually({"train-0", "train-1"}, lambda: set(namespace.bound("train-")), PATIENCE)
        eventually(2, lambda: len(namespace.bound("urgent-")), PATIENCE)
        time.sleep(3)
        found = json.loads(namespace.kubectl("get", "statefulset", "train", "--output=json"))
        assert (2, 3) == (found["spec"]["replicas"], found["metadata"]["generation"])
        assert [] == waiting(namespace)
        namespace.kubectl("delete", "statefulset", "train")


def stateful_set(namespace: Namespace, pods: int) -> Manifest:
    """Return an elastic StatefulSet of two to eight workers."""
    made = job(namespace, pods)
    template = made["spec"]["template"]
    labels = {**template["metadata"]["labels"], "app": "train"}
    spec = {each: value for each, value in template["spec"].items() if each != "restartPolicy"}
    return {
        "apiVersion": "apps/v1",
        "kind": "StatefulSet",
        "metadata": made["metadata"],
        "spec": {
            "replicas": pods,
            "podManagementPolicy": "Parallel",
            "serviceName": "train",
            "selector": {"matchLabels": {"app": "train"}},
            "template": {"metadata": {"labels": labels}, "spec": spec},
        },
    }


def job(namespace: Namespace, pods: int) -> Manifest:
    """Return an elastic Job of two to eight workers, for which no failure is let pass."""
    policy = {"scaleUpCooldown": f"{COOLDOWN}s", "scaleUpStep": 2, "scaleDownStep": 2}
    said = {"minWorkers": 2, "maxWorkers": 8, "scalePolicy": policy, "mode": "Replicas"}
    made = gang_manifests.evictable_job(
        "train", pods, priorityClassName=preemption.LOW, on=namespace.here
    )
    made["metadata"]["annotations"] = {"py-gang-scheduler.io/elastic": json.dumps(said)}
    return made


def autoscaler() -> Manifest:
    """Return a HorizontalPodAutoscaler that targets the Job."""
    target = {"apiVersion": "batch/v1", "kind": "Job", "name": "train"}
    return {
        "apiVersion": "autoscaling/v2",
        "kind": "HorizontalPodAutoscaler",
        "metadata": {"name": "load"},
        "spec": {"scaleTargetRef": target, "minReplicas": 1, "maxReplicas": 9},
    }


def replicas(namespace: Namespace) -> int:
    found: int = namespace.get("jobs", "train")["spec"]["parallelism"]
    return found


def generation(namespace: Namespace) -> int:
    """Return how often the spec was written."""
    found: int = namespace.get("jobs", "train")["metadata"]["generation"]
    return found


def manager_of_the_field(namespace: Namespace) -> str:
    text = namespace.kubectl("get", "job", "train", "--show-managed-fields", "--output=json")
    notes: list[dict[str, Any]] = json.loads(text)["metadata"]["managedFields"]
    (owner,) = (each for each in notes if "f:parallelism" in each["fieldsV1"].get("f:spec", {}))
    name: str = owner["manager"]
    return name


def workers(namespace: Namespace) -> list[Manifest]:
    pods = (each for each in suspended_jobs.pods(namespace, "train"))
    return [each for each in pods if "deletionTimestamp" not in each["metadata"]]


def indexes(namespace: Namespace) -> list[int]:
    """Return the indexes of the workers that have a node."""
    there = (each for each in workers(namespace) if "nodeName" in each["spec"])
    return sorted(int(each["metadata"]["annotations"][INDEX]) for each in there)


def waiting(namespace: Namespace) -> list[str]:
    """Return the workers without a node."""
    pods = (each for each in workers(namespace) if "nodeName" not in each["spec"])
    return [each["metadata"]["name"] for each in pods]
