"""An MPIJob has a launcher and workers; which operator runs it is told by its version."""

from typing import Any

import pytest

from gang_scheduler.api.parsing import InvalidField
from support.expansion import (
    TEMPLATE,
    Body,
    expanded,
    labels_of,
    owned_by,
    owners_of,
    pod_named,
    pods_made,
    stored,
)

PREFIX = "training.kubeflow.org/"


def job(version: str = "v2beta1", launcher: int | None = 1, workers: int = 2, **spec: Any) -> Body:
    roles = {} if launcher is None else {"Launcher": {"replicas": launcher, "template": TEMPLATE}}
    return {
        "kind": "MPIJob",
        "apiVersion": f"kubeflow.org/{version}",
        "metadata": {"name": "a"},
        "spec": {
            "mpiReplicaSpecs": {**roles, "Worker": {"replicas": workers, "template": TEMPLATE}},
            **spec,
        },
    }


def test_the_mpi_operator_starts_its_launcher_by_a_job() -> None:
    made = {each["metadata"]["name"]: each for each in expanded(job(runPolicy={"backoffLimit": 3}))}

    assert ["a-worker-0", "a-worker-1", "a-launcher", "a-launcher-0"] == [*made]
    assert [["MPIJob a"], ["MPIJob a"], ["Job a-launcher"]] == [
        owners_of(made[each]) for each in ("a-worker-0", "a-launcher", "a-launcher-0")
    ]
    common = {"operator-name": "mpi-operator", "job-name": "a"}
    assert {**common, "job-role": "launcher"} == labels_of(made["a-launcher-0"], PREFIX)
    assert {**common, "job-role": "worker", "replica-index": "1"} == labels_of(
        made["a-worker-1"], PREFIX
    )
    assert 3 == made["a-launcher"]["spec"]["backoffLimit"]


def test_the_launcher_of_the_training_operator_is_a_pod() -> None:
    made = {each["metadata"]["name"]: each for each in expanded(job("v1"))}

    assert ["a-launcher", "a-worker-0", "a-worker-1"] == [*made]
    common = {"operator-name": "mpijob-controller", "job-name": "a"}
    assert {**common, "job-role": "master", "replica-type": "launcher"} == labels_of(
        made["a-launcher"], PREFIX
    )
    assert {**common, "replica-type": "worker", "replica-index": "0"} == labels_of(
        made["a-worker-0"], PREFIX
    )
    assert ["kubectl-delivery"] == [
        each["name"] for each in made["a-launcher"]["spec"]["initContainers"]
    ]


@pytest.mark.parametrize(("ready", "expected"), [(False, []), (True, ["a-launcher-0"])])
def test_on_a_cluster_the_launcher_waits_for_workers_if_asked(
    ready: bool,  # noqa: FBT001 - a row of a table.
    expected: list[str],
) -> None:
    waits = job(launcherCreationPolicy="WaitForWorkersReady")
    known = stored(waits)
    workers = [owned_by(known, pod_named(f"a-worker-{i}", ready=ready)) for i in range(2)]

    assert expected == [*pods_made(known, *workers)]
    assert 3 == len(pods_made(waits))


def test_a_launcher_that_has_ended_ends_the_job() -> None:
    known = stored(job())
    launcher = {
        "kind": "Job",
        "apiVersion": "batch/v1",
        "metadata": {"name": "a-launcher", "uid": "l"},
        "spec": {"template": TEMPLATE},
        "status": {"conditions": [{"type": "Complete", "status": "True"}]},
    }

    assert {} == pods_made(known, owned_by(known, launcher))


@pytest.mark.parametrize(
    ("body", "problem"),
    [
        (job(launcher=None), "spec.mpiReplicaSpecs.Launcher is required"),
        (job(launcher=2), "spec.mpiReplicaSpecs.Launcher.replicas must be 1, not 2"),
        (job(workers=0), "spec.mpiReplicaSpecs.Worker.replicas must be at least 1, not 0"),
    ],
)
def test_what_the_operator_refuses_is_refused_by_field(body: Body, problem: str) -> None:
    with pytest.raises(InvalidField) as caught:
        pods_made(body)

    assert problem == str(caught.value)


def test_workers_may_be_none_for_the_training_operator() -> None:
    assert ["a-launcher"] == [*pods_made(job("v1", workers=0))]
