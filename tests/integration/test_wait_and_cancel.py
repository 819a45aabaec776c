"""`wait` and `cancel`, and the SDK, on the embedded API server beside the operator."""

import asyncio
import subprocess
import sys
import time
from collections.abc import Iterator
from typing import Any

import pytest

from gang_scheduler.api.kinds import JOBS, NODES, PODS
from gang_scheduler.api.pod_group import Phase
from gang_scheduler.demo import cluster, world
from gang_scheduler.demo.cluster import Embedded
from gang_scheduler.sdk import AsyncClient, Client, Resources, TrainingJob, Waits
from gang_scheduler.submit.refusals import Refused
from tools.controlplane import nodes

ROOM = {"cpu": "32", "memory": "64Gi", "pods": "110", "nvidia.com/gpu": "8"}
BY_HAND = {
    "apiVersion": "batch/v1",
    "kind": "Job",
    "metadata": {"name": "by-hand", "namespace": "default"},
    "spec": {
        "template": {
            "metadata": {"labels": {"py-gang-scheduler.io/gang": "true"}},
            "spec": {
                "schedulerName": "py-gang-scheduler",
                "restartPolicy": "Never",
                "containers": [{"name": "main", "image": "i"}],
            },
        }
    },
}


@pytest.fixture(autouse=True)
def blocking_is_an_error() -> Iterator[None]:
    """Allow it: no loop of ours runs here."""
    return iter(())


@pytest.fixture(scope="module")
def server() -> Iterator[Embedded]:
    with cluster.embedded() as found:
        for each in world.definitions():
            cluster.create(found, each.gvr, each.body)
        for number in range(2):
            cluster.create(found, NODES, nodes.manifest(f"node-{number}", {}, ROOM))
        with cluster.operator(found.kubeconfig):
            yield found


@pytest.fixture
def where(server: Embedded) -> Iterator[Embedded]:
    """Give the server without jobs, before and after."""
    yield server
    for each in cluster.items(server, JOBS):
        path = JOBS.path("default", each["metadata"]["name"])
        server.request("DELETE", path, {"propagationPolicy": "Background"})
    deadline = time.monotonic() + 30
    while cluster.items(server, PODS):
        assert time.monotonic() < deadline, "pods are left"
        time.sleep(0.05)


@pytest.fixture
def client(where: Embedded) -> Iterator[Client]:
    with Client(str(where.kubeconfig)) as found:
        yield found


def job(**fields: Any) -> TrainingJob:
    whole = {"name": "llama", "image": "i", "nodes": 2, "resources": Resources(gpu=8), **fields}
    return TrainingJob.model_validate(whole)


def command(where: Embedded, *words: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [sys.executable, "-m", "gang_scheduler", *words, f"--kubeconfig={where.kubeconfig}"],
        capture_output=True,
        text=True,
        check=False,
        env=cluster.environment(),
    )


def test_a_job_is_submitted_and_waited_for(client: Client) -> None:
    run = client.submit(job(), predict=True)

    run.wait("Running", timeout="1m")

    assert "default/llama" in repr(run)
    assert run.created is not None
    assert "starts now" == run.created.prediction
    assert "<td>PodGroup</td>" in run._repr_html_()
    explained = run.explain()
    assert explained.summary.startswith("It runs")
    assert "RUNNING" in str(explained) or "members" in str(explained)
    assert "<table>" in explained._repr_html_()


def test_a_gang_that_waits_says_why(client: Client) -> None:
    run = client.submit(job(nodes=3))

    with pytest.raises(Waits) as caught:
        run.wait("Scheduled", timeout="3s")

    assert "Unschedulable" == caught.value.reason
    assert "It lacks room" in caught.value.explanation.summary


def test_a_job_that_ends_is_finished_or_failed(where: Embedded, client: Client) -> None:
    run = client.submit(job())
    run.wait("Running", timeout="1m")
    for each in cluster.items(where, PODS):
        path = f"{PODS.path('default', each['metadata']['name'])}/status"
        where.request("PUT", path, {**each, "status": {**each["status"], "phase": "Succeeded"}})

    run.wait("Finished", timeout="1m")

    assert run.state().is_over


def test_a_plan_creates_nothing(where: Embedded, client: Client) -> None:
    found = client.plan(job(nodes=3))

    assert ["Job", "Service", "PodGroup"] == [kind for kind, _, _ in found.objects]
    assert found.prediction.startswith("waits: ")
    assert [] == cluster.items(where, JOBS)


def test_what_submit_created_is_cancelled(where: Embedded, client: Client) -> None:
    run = client.submit(job())

    assert "jobs.batch/llama" == run.cancel()

    assert [] == cluster.items(where, JOBS)
    with pytest.raises(Refused, match="there is no such gang"):
        run.cancel()


def test_what_others_created_is_deleted_only_by_force(where: Embedded) -> None:
    cluster.create(where, JOBS, BY_HAND)

    refused = command(where, "cancel", "by-hand")
    shown = command(where, "cancel", "by-hand", "--dry-run")

    assert 2 == refused.returncode
    assert "was not created by submit: use --force" in refused.stderr
    assert "jobs.batch/by-hand would be deleted\n" == shown.stdout
    assert 1 == len(cluster.items(where, JOBS))
    assert 0 == command(where, "cancel", "by-hand", "--force").returncode
    assert [] == cluster.items(where, JOBS)


def test_commands_say_how_far_a_gang_is(where: Embedded, client: Client) -> None:
    client.submit(job(nodes=3))

    late = command(where, "wait", "llama", "--for=Running", "--timeout=1s")
    unknown = command(where, "wait", "lama")

    assert 1 == late.returncode
    assert late.stdout.startswith("llama: ")
    assert (3, True) == (unknown.returncode, "there is no such gang" in unknown.stderr)


def test_the_asynchronous_client_does_the_same(where: Embedded) -> None:
    async def submit() -> Phase:
        async with AsyncClient(str(where.kubeconfig)) as opened:
            run = await opened.submit(job())
            await run.wait("Scheduled", "1m")
            return (await opened.run("llama").state()).phase

    assert asyncio.run(submit()) in (Phase.SCHEDULED, Phase.RUNNING)


def test_a_closed_client_says_so() -> None:
    with pytest.raises(RuntimeError, match="with block"):
        Client().plan(job())
