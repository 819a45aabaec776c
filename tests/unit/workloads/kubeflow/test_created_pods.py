"""Pods of the training operator's jobs are named, labelled and owned as it does it."""

from typing import Any

import pytest

from gang_scheduler.api.parsing import InvalidField
from support.expansion import (
    TEMPLATE,
    Body,
    labels_of,
    owned_by,
    owners_of,
    pod_named,
    pods_made,
    stored,
)

PREFIX = "training.kubeflow.org/"
FIELDS = {
    "PyTorchJob": "pytorchReplicaSpecs",
    "TFJob": "tfReplicaSpecs",
    "XGBoostJob": "xgbReplicaSpecs",
    "PaddleJob": "paddleReplicaSpecs",
    "JAXJob": "jaxReplicaSpecs",
}


def job(kind: str = "PyTorchJob", /, *, status: Body | None = None, **roles: Any) -> Body:
    """Return a job; a role is a number of replicas, or its spec."""
    specs = {
        role: {"template": TEMPLATE, "replicas": each} if isinstance(each, int) else each
        for role, each in roles.items()
    }
    return {
        "kind": kind,
        "apiVersion": "kubeflow.org/v1",
        "metadata": {"name": "a"},
        "spec": {FIELDS[kind]: specs},
        "status": status or {},
    }


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (job(Master=1, Worker=2), ["a-master-0", "a-worker-0", "a-worker-1"]),
        (job(Worker=2), ["a-worker-0", "a-worker-1"]),
        (job(worker=1, master=1), ["a-master-0", "a-worker-0"]),
        (job(Worker={"template": TEMPLATE}), ["a-worker-0"]),
        (
            job("TFJob", Evaluator=1, Worker=1, PS=2, Chief=1),
            ["a-chief-0", "a-ps-0", "a-ps-1", "a-worker-0", "a-evaluator-0"],
        ),
        (job("XGBoostJob", Master=1, Worker=1), ["a-master-0", "a-worker-0"]),
        (job("PaddleJob", Worker=1), ["a-worker-0"]),
        (job("JAXJob", Worker=2), ["a-worker-0", "a-worker-1"]),
    ],
)
def test_each_role_has_its_pods(body: Body, expected: list[str]) -> None:
    assert expected == [*pods_made(body)]


def test_pods_are_labelled_as_by_the_operator() -> None:
    pods = pods_made(job(Master=1, Worker=1))

    common = {"operator-name": "pytorchjob-controller", "job-name": "a", "replica-index": "0"}
    assert {**common, "replica-type": "master", "job-role": "master"} == labels_of(
        pods["a-master-0"], PREFIX
    )
    assert {**common, "replica-type": "worker"} == labels_of(pods["a-worker-0"], PREFIX)
    assert ("a", ["PyTorchJob a"]) == (
        pods["a-worker-0"]["metadata"]["labels"]["app"],
        owners_of(pods["a-worker-0"]),
    )


@pytest.mark.parametrize(
    ("body", "masters"),
    [
        (job(Worker=2), ["a-worker-0"]),
        (job("JAXJob", Worker=2), ["a-worker-0"]),
        (job("TFJob", Worker=2), ["a-worker-0"]),
        (job("TFJob", Chief=1, Worker=1), ["a-chief-0"]),
        (job("PaddleJob", Worker=2), []),
        (job("XGBoostJob", Worker=1, Master=1), ["a-master-0"]),
    ],
)
def test_the_master_is_marked(body: Body, masters: list[str]) -> None:
    role = f"{PREFIX}job-role"
    pods = pods_made(body)

    assert masters == [name for name, pod in pods.items() if role in pod["metadata"]["labels"]]


def test_workers_of_a_pytorch_job_wait_for_their_master() -> None:
    def waits(body: Body) -> list[str]:
        return [each["name"] for each in body["spec"].get("initContainers", ())]

    with_master, without = pods_made(job(Master=1, Worker=1)), pods_made(job(Worker=1))

    assert ["init-pytorch"] == waits(with_master["a-worker-0"])
    assert [[], []] == [waits(with_master["a-master-0"]), waits(without["a-worker-0"])]


def test_pods_that_are_there_are_not_made_again_whatever_they_do() -> None:
    known = stored(job(Master=1, Worker=2))
    pods = [
        owned_by(known, pod_named("a-master-0")),
        owned_by(known, pod_named("a-worker-1", phase="Failed")),
    ]

    assert ["a-worker-0"] == [*pods_made(known, *pods)]


@pytest.mark.parametrize(
    "body",
    [
        stored({**job(), "spec": {**job(Worker=1)["spec"], "runPolicy": {"suspend": True}}}),
        {**job(), "spec": {**job(Worker=1)["spec"], "runPolicy": {"managedBy": "x.io/other"}}},
        job(Worker=1, status={"conditions": [{"type": "Succeeded", "status": "True"}]}),
        stored(
            {
                **job(Worker=1),
                "metadata": {"name": "a", "deletionTimestamp": "2026-01-01T00:00:00Z"},
            }
        ),
    ],
)
def test_what_has_ended_or_waits_makes_nothing(body: Body) -> None:
    assert {} == pods_made(body)


@pytest.mark.parametrize(
    ("body", "problem"),
    [
        (job(Worker=-1), "spec.pytorchReplicaSpecs.Worker.replicas must be at least 0, not -1"),
        (job(Master=2), "spec.pytorchReplicaSpecs.Master.replicas must be 1, not 2"),
        (
            job(Leader=1),
            'a key of spec.pytorchReplicaSpecs must be Master or Worker, not "Leader"',
        ),
        (job(), "spec.pytorchReplicaSpecs is required"),
        ({**job(), "spec": [1]}, "spec must be an object, not [1]"),
        (
            job(Worker={"template": {"spec": {}}}),
            "spec.pytorchReplicaSpecs.Worker.template.spec.containers is required",
        ),
        (job(Worker="x"), 'spec.pytorchReplicaSpecs.Worker must be an object, not "x"'),
        (
            job(Worker=10**6),
            "spec.pytorchReplicaSpecs.Worker.replicas must be at most 100000 here, not 1000000",
        ),
    ],
)
def test_what_the_operator_refuses_is_refused_by_field(body: Body, problem: str) -> None:
    with pytest.raises(InvalidField) as caught:
        pods_made(body)

    assert problem == str(caught.value)
