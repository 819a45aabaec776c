"""A suspended workload in a manifest: in a queue it waits as one gang, else it is started."""

import json
from collections.abc import Iterator, Mapping
from typing import Any

import pytest
from click.testing import CliRunner, Result

from gang_scheduler import queue_figures
from gang_scheduler.cli import main
from gang_scheduler.inspection import cluster as inspection_cluster
from gang_scheduler.inspection.cluster import Source
from gang_scheduler.inspection.listing import gangs
from gang_scheduler.inspection.listing.decisions_now import Decisions
from support import yaml_texts
from support.suspended_jobs import NOW, Cluster, job, our_queue

Body = dict[str, Any]
OURS, KUEUES = "py-gang-scheduler.io/queue", "kueue.x-k8s.io/queue-name"
NODE: Body = {
    "apiVersion": "v1",
    "kind": "Node",
    "metadata": {"name": "oak"},
    "status": {"allocatable": {"cpu": "8", "memory": "8Gi", "pods": "110"}},
}
QUEUE: Body = {
    "apiVersion": "py-gang-scheduler.io/v1alpha1",
    "kind": "Queue",
    "metadata": {"name": "night"},
    "spec": {"quota": {"soft": {"cpu": "8"}}},
}


def template(labels: Mapping[str, str]) -> Body:
    container = {"name": "c", "image": "i", "resources": {"requests": {"cpu": "1"}}}
    spec = {
        "schedulerName": "py-gang-scheduler",
        "restartPolicy": "Never",
        "containers": [container],
    }
    return {"metadata": {"labels": dict(labels)}, "spec": spec}


def workload(kind: str, labels: Mapping[str, str], of_pods: Mapping[str, str]) -> Body:
    """Return a workload of a kind that is suspended, and would have two pods."""
    made = template(of_pods)
    job = {"parallelism": 2, "completions": 2, "template": made}
    replicas = {"replicas": 2, "template": made}
    specs: dict[str, tuple[str, Body]] = {
        "Job": ("batch/v1", {"suspend": True, **job}),
        "JobSet": (
            "jobset.x-k8s.io/v1alpha2",
            {"suspend": True, "replicatedJobs": [{"name": "w", "template": {"spec": job}}]},
        ),
        "PyTorchJob": (
            "kubeflow.org/v1",
            {"runPolicy": {"suspend": True}, "pytorchReplicaSpecs": {"Worker": replicas}},
        ),
        "TFJob": (
            "kubeflow.org/v1",
            {"runPolicy": {"suspend": True}, "tfReplicaSpecs": {"Worker": replicas}},
        ),
        "XGBoostJob": (
            "kubeflow.org/v1",
            {
                "runPolicy": {"suspend": True},
                "xgbReplicaSpecs": {
                    "Master": {"replicas": 1, "template": made},
                    "Worker": {"replicas": 1, "template": made},
                },
            },
        ),
        "RayCluster": (
            "ray.io/v1",
            {
                "suspend": True,
                "headGroupSpec": {"template": made},
                "workerGroupSpecs": [{"groupName": "w", "replicas": 1, "template": made}],
            },
        ),
    }
    version, spec = specs[kind]
    metadata = {"name": "duo", "labels": dict(labels)}
    return {"apiVersion": version, "kind": kind, "metadata": metadata, "spec": spec}


def simulated(*bodies: Body, output: str = "json") -> Result:
    command = ["simulate", "-f", "-", "-o", output, "--fail-on-unschedulable"]
    return CliRunner().invoke(main, command, input=yaml_texts.written_all([NODE, *bodies]))


KINDS = ("Job", "JobSet", "PyTorchJob", "TFJob", "XGBoostJob", "RayCluster")
GANG = {"py-gang-scheduler.io/gang": "true"}


@pytest.mark.parametrize("of_pods", [{}, GANG], ids=["plain", "gang"])
@pytest.mark.parametrize("kind", KINDS)
def test_a_label_of_kueue_alone_keeps_nothing_from_starting(
    kind: str, of_pods: Mapping[str, str]
) -> None:
    found = simulated(workload(kind, {KUEUES: "mornings"}, of_pods))

    assert 0 == found.exit_code
    assert 2 == len(json.loads(found.stdout)["bindings"])
    assert "0 of minMember" not in found.stdout


def test_the_label_may_be_on_the_template() -> None:
    found = simulated(workload("Job", {}, {KUEUES: "mornings"}))

    assert 2 == len(json.loads(found.stdout)["bindings"])


def test_beside_objects_of_kueue_the_label_names_a_queue() -> None:
    local: Body = {
        "apiVersion": "kueue.x-k8s.io/v1beta1",
        "kind": "LocalQueue",
        "metadata": {"name": "evenings", "namespace": "default"},
        "spec": {"clusterQueue": "all"},
    }
    found = simulated(workload("Job", {KUEUES: "mornings"}, GANG), local)
    document = json.loads(found.stdout)

    assert 1 == found.exit_code
    assert [] == document["bindings"]
    assert ["QueueNotFound"] == [each["reason"] for each in document["unschedulable"]]


def in_queue() -> Iterator[Any]:
    for kind in KINDS:
        yield pytest.param(workload(kind, {OURS: "night"}, {}), id=f"{kind}-plain")
        yield pytest.param(workload(kind, {OURS: "night"}, GANG), id=f"{kind}-gang")


@pytest.mark.parametrize("body", [*in_queue()])
def test_one_that_may_start_is_one_gang_and_is_reported_once(body: Body) -> None:
    found = simulated(body, QUEUE)
    document = json.loads(found.stdout)
    (admission,) = document["admissions"]

    assert 0 == found.exit_code
    assert [] == document["unschedulable"]
    assert [2] == [each["members"] for each in document["gangs"]]
    assert [{"node": "oak", "pods": 2}] == admission["nodes"]
    assert [(1, [])] * 2 == [(each["running"], each["pending"]) for each in document["queues"]]


def test_the_report_says_where_the_room_is_kept() -> None:
    lines = simulated(workload("Job", {OURS: "night"}, GANG), QUEUE, output="table").stdout

    assert "Job default/duo  night  2 pods on 1 node: oak (2)" in lines
    assert ["default/duo", "night", "0", "Starting", "0/2"] == lines.splitlines()[1].split()[:5]


def test_one_that_was_started_is_listed_as_starting_until_its_pods_are_there() -> None:
    cluster = Cluster()
    cluster.see(our_queue(), job())
    cluster.cycle()
    cache = cluster.cache
    seen = inspection_cluster.Cluster(cache, cluster.policy, NOW, Source.FILES)
    figures = queue_figures.figures_of(cache, seen.profile.rules, NOW)

    assert ["Starting"] == [each.state for each in gangs.gang_rows(seen, Decisions())]
    assert [(1, ())] * 2 == [(each.running, each.pending) for each in figures]


@pytest.mark.parametrize("suspend", [True, False])
def test_a_train_job_without_its_job_set_is_not_passed(*, suspend: bool) -> None:
    body: Body = {
        "apiVersion": "trainer.kubeflow.org/v1alpha1",
        "kind": "TrainJob",
        "metadata": {"name": "poem"},
        "spec": {"runtimeRef": {"name": "torch"}, "trainer": {"numNodes": 3}, "suspend": suspend},
    }
    found = simulated(body)

    assert 1 == found.exit_code
    assert "TrainJob poem runs as a JobSet" in found.stderr
    owner = {**body, "metadata": {"name": "poem", "uid": "t"}}
    job_set = workload("JobSet", {}, {})
    job_set["metadata"]["name"] = "poem"
    job_set["spec"]["suspend"] = False
    assert 0 == simulated(owner, job_set).exit_code
