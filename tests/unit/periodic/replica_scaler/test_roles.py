"""Workers of Kubeflow and Ray in mode `Replicas`: the replicas of one role are changed."""

from typing import Any

import pytest

from gang_scheduler.api.kinds import AUTOSCALERS
from gang_scheduler.scheduler.elastic_pace import VAIN_SECONDS
from gang_scheduler.workloads import table
from support.in_memory_cluster import group_body
from support.replicas import ReplicasCluster, asked
from support.replicas_of_roles import LEADERS, SPECS, field_of, kubeflow_job, ray_cluster

pytestmark = pytest.mark.looptime


def of_kubeflow(kind: str, cpu: int = 7, workers: int = 4) -> ReplicasCluster:
    """Return a job of 2 to 8 workers that runs. `cpu` is the room for workers."""
    made = ReplicasCluster(cpu + (LEADERS.get(kind, "Master") is not None))
    made.start(kubeflow_job(kind, workers, asked(2, 8, up=60, step=2)))
    return made


def of_ray(cpu: int = 7, workers: int = 4, **group: Any) -> ReplicasCluster:
    """Return a RayCluster of 2 to 8 workers that runs. `cpu` is the room for workers."""
    made = ReplicasCluster(cpu + 1)
    made.start(ray_cluster(workers, asked(2, 8, up=60, step=2), **group))
    return made


@pytest.mark.parametrize("kind", SPECS)
async def test_the_workers_of_a_job_grow_by_their_replicas(kind: str) -> None:
    town = of_kubeflow(kind)

    assert 4 == await town.look(later=30)
    assert 6 == await town.look(later=40)
    assert [0, 1, 2, 3, 4, 5] == town.running
    (patch,) = town.patches()
    assert {SPECS[kind]: {"Worker": {"replicas": 6}}} == patch["spec"]
    assert 6 == await town.look(later=70)


@pytest.mark.parametrize("kind", ["PyTorchJob", "MPIJob"])
async def test_workers_of_a_job_that_wait_in_vain_go(kind: str) -> None:
    town = of_kubeflow(kind, cpu=5, workers=8)

    assert 5 == await town.look(later=VAIN_SECONDS + 10)
    assert ([0, 1, 2, 3, 4], 0, 1) == (town.running, town.waiting, len(town.patches()))


async def test_workers_that_a_preemption_has_taken_are_not_created_again() -> None:
    town = of_kubeflow("PyTorchJob", cpu=6, workers=6)
    town.cycle(later=60)
    town.pod("urgent-0", spec={"priority": 10})
    town.cycle()

    assert 4 == await town.look(later=5)
    assert ([0, 1, 2, 3], 0) == (town.running, town.waiting)


def test_a_role_is_known_in_any_spelling() -> None:
    body = kubeflow_job("PyTorchJob", 4, asked(2, 8, step=2))
    roles = body["spec"]["pytorchReplicaSpecs"]
    body["spec"]["pytorchReplicaSpecs"] = {"Master": roles["Master"], "worker": roles["Worker"]}
    path = table.BY_REPLICAS["PyTorchJob"].path(body, "worker")

    assert ("spec", "pytorchReplicaSpecs", "worker", "replicas") == path


async def test_an_autoscaler_of_a_job_ends_all_changes() -> None:
    town = of_kubeflow("PyTorchJob")
    target = {"apiVersion": "kubeflow.org/v1", "kind": "PyTorchJob", "name": "train"}
    metadata = {"name": "train", "namespace": "default"}
    town.api.cluster.put(AUTOSCALERS, {"metadata": metadata, "spec": {"scaleTargetRef": target}})

    assert 4 == await town.look(later=70)
    ((reason, note),) = town.said.notes
    assert "ElasticStopped" == reason
    assert note.startswith("spec.pytorchReplicaSpecs.Worker.replicas is not changed until")


async def test_a_suspended_job_is_left_alone() -> None:
    town = of_kubeflow("PyTorchJob")
    town.edit(runPolicy={"suspend": True})

    assert 4 == await town.look(later=70)
    assert [] == town.patches()


async def test_the_workers_of_a_ray_group_grow() -> None:
    town = of_ray()

    assert 4 == await town.look(later=30)
    assert 6 == await town.look(later=40)
    assert (6, 0) == (len(town.running), town.waiting)
    (patch,) = town.patches()
    assert ["workerGroupSpecs"] == [*patch["spec"]]
    assert "scaleStrategy" not in field_of(town.now_of_job)


async def test_ray_workers_that_wait_in_vain_end_and_no_other() -> None:
    town = of_ray(cpu=5, workers=8)
    waiting, running = set(town.names_waiting), _running(town)
    assert (3, 5) == (len(waiting), len(running))

    assert 5 == await town.look(later=VAIN_SECONDS + 10)
    named = field_of(town.now_of_job)["scaleStrategy"]["workersToDelete"]
    assert waiting == set(named)
    assert (running, 0) == (_running(town), town.waiting)

    town.room(9)
    assert 5 == await town.look(later=30)
    assert 7 == await town.look(later=70)
    assert [] == field_of(town.now_of_job)["scaleStrategy"]["workersToDelete"]


async def test_ray_workers_that_a_preemption_has_taken_are_not_created_again() -> None:
    town = of_ray(cpu=6, workers=6)
    town.cycle(later=60)
    town.pod("urgent-0", spec={"priority": 10})
    town.cycle()
    running = _running(town)

    assert 4 == await town.look(later=5)
    assert (running, 4, 0) == (_running(town), len(running), town.waiting)


async def test_the_replicas_of_a_ray_group_are_at_least_its_minimum_as_kuberay_counts_them() -> (
    None
):
    town = of_ray(workers=0, minReplicas=2)

    assert 4 == await town.look(later=70)
    assert (4, ["ReplicasChanged"]) == (len(_running(town)), [each for each, _ in town.said.notes])


def _running(town: ReplicasCluster) -> set[str]:
    """Return the names of the workers that have a node."""
    mine = {name for (_, name), pod in town.pods.items() if pod["spec"].get("nodeName")}
    return {name for name in mine if "-worker-" in name}


@pytest.mark.parametrize(
    ("group", "cluster", "said"),
    [
        (
            {},
            {"enableInTreeAutoscaling": True},
            "spec.enableInTreeAutoscaling must be false in mode Replicas: Ray changes",
        ),
        (
            {"numOfHosts": 2},
            {},
            "spec.workerGroupSpecs[0].numOfHosts must be 1 in mode Replicas, not 2",
        ),
        (
            {"minReplicas": 3},
            {},
            "minWorkers must be at least 3, the minReplicas of group gpu, not 2",
        ),
        (
            {"maxReplicas": 7},
            {},
            "maxWorkers must be at most 7, the maxReplicas of group gpu, not 8",
        ),
        ({}, {"workerGroupSpecs": []}, "needs a worker group in mode Replicas"),
    ],
)
def test_a_ray_cluster_whose_numbers_are_not_ours_is_refused_by_name(
    group: dict[str, Any], cluster: dict[str, Any], said: str
) -> None:
    town = ReplicasCluster(8)
    body = ray_cluster(4, asked(2, 8), **group)
    body["spec"].update(cluster)
    town.control_as(body)

    reason, message = town.waits("train", later=5)
    assert "UnsupportedFeature" == reason
    assert said in message


def test_a_job_is_refused_whose_elastic_role_are_not_its_workers() -> None:
    town = ReplicasCluster(8)
    town.control_as(kubeflow_job("PyTorchJob", 4, asked(2, 8, role="master")))

    reason, message = town.waits("train", later=5)
    assert "UnsupportedFeature" == reason
    assert "role must be worker in mode Replicas, not" in message


def test_a_job_without_workers_is_refused() -> None:
    town = ReplicasCluster(8)
    body = kubeflow_job("PyTorchJob", 4, asked(2, 8))
    del body["spec"]["pytorchReplicaSpecs"]["Worker"]
    town.gvr = None  # type: ignore[assignment] # Nothing controls it.
    town.put({**body, "metadata": {**body["metadata"], "uid": "u"}})
    labels = {"job-name": "train", "operator-name": "pytorchjob-controller"}
    labels |= {"replica-type": "master", "replica-index": "0"}
    town.pod("m", labels={f"training.kubeflow.org/{each}": labels[each] for each in labels})

    reason, message = town.waits("train", later=5)
    assert "UnsupportedFeature" == reason
    assert "spec.pytorchReplicaSpecs.Worker" in message


def test_a_job_with_a_pod_group_of_its_operator_is_refused_with_advice() -> None:
    town = ReplicasCluster(8)
    body = kubeflow_job("PyTorchJob", 4, asked(2, 8))
    town.controlled = False
    town.control_as(body)
    owner = {"apiVersion": "kubeflow.org/v1", "kind": "PyTorchJob", "name": "train"}
    uid = town.now_of_job["metadata"]["uid"]
    group = group_body("train", 5)
    group["metadata"]["ownerReferences"] = [{**owner, "uid": uid, "controller": True}]
    town.put(group)
    for index in range(5):
        role, number = ("worker", index - 1) if index else ("master", 0)
        labels = {"job-name": "train", "operator-name": "pytorchjob-controller"}
        labels |= {"replica-type": role, "replica-index": str(number)}
        of_role = {f"training.kubeflow.org/{each}": labels[each] for each in labels}
        owners = group["metadata"]["ownerReferences"]
        town.pod(f"train-{index}", "train", labels=of_role, ownerReferences=owners)

    reason, message = town.waits("train", later=5)
    assert "UnsupportedFeature" == reason
    assert "only for workloads without a PodGroup" in message
