"""`submit` on the embedded API server: to running pods, and what a client leaves that is killed."""

import asyncio
import time
from collections.abc import Iterator
from typing import Any

import pytest

from gang_scheduler.api.kinds import GVR, JOBS, NODES, POD_GROUPS, PODS, PRIORITY_CLASSES, QUEUES
from gang_scheduler.demo import cluster, world
from gang_scheduler.demo.cluster import Embedded
from gang_scheduler.inspection import servers
from gang_scheduler.inspection.servers import Server
from gang_scheduler.submit import submission
from gang_scheduler.submit.refusals import Refused
from gang_scheduler.submit.submission import Submission
from gang_scheduler.submit.training_job import TrainingJob
from support.killed_clients import Killed, Mortal
from tools.controlplane import nodes

SERVICES = GVR("", "v1", "services")
CONFIG_MAPS = GVR("", "v1", "configmaps")
KINDS = (JOBS, PODS, SERVICES, CONFIG_MAPS, POD_GROUPS)
BACKGROUND = {"propagationPolicy": "Background"}
ROOM = {"cpu": "32", "memory": "64Gi", "pods": "110", "nvidia.com/gpu": "8"}


@pytest.fixture(autouse=True)
def blocking_is_an_error() -> Iterator[None]:
    """Allow it: no loop of ours runs here."""
    return iter(())


@pytest.fixture
def where() -> Iterator[Embedded]:
    with cluster.embedded() as found:
        for each in world.definitions():
            cluster.create(found, each.gvr, each.body)
        for number in range(4):
            labels = {"nvidia.com/gpu.product": "H100"}
            cluster.create(found, NODES, nodes.manifest(f"node-{number}", labels, ROOM))
        yield found


def job(**fields: Any) -> TrainingJob:
    whole = {"name": "llama", "image": "i", "nodes": 4, "resources": {"gpu": 8}, **fields}
    return TrainingJob.model_validate(whole)


def asking(where: Embedded, asked: TrainingJob, *, create: bool = False) -> Submission:
    """Return what would be created, or has been."""

    async def ask() -> Submission:
        async with servers.connected(str(where.kubeconfig)) as server:
            found = await submission.prepared(server, asked)
            if create:
                await submission.created(server, found)
            return found

    return asyncio.run(ask())


def sentence(where: Embedded, asked: TrainingJob) -> str:
    found = asking(where, asked).prediction
    assert found is not None
    return found.sentence


def objects(where: Embedded) -> dict[str, list[dict[str, Any]]]:
    return {each.plural: cluster.items(where, each, "default") for each in KINDS}


def test_a_dry_run_creates_nothing_and_says_what_would_happen(where: Embedded) -> None:
    assert "starts now" == sentence(where, job())
    assert {each.plural: [] for each in KINDS} == objects(where)


def test_a_job_that_does_not_fit_is_said_to_wait(where: Embedded) -> None:
    said = sentence(where, job(nodes=5))

    assert said.startswith("waits: It lacks room: it needs 5 nodes with 8 nvidia.com/gpu free")


def test_what_is_there_counts(where: Embedded) -> None:
    asking(where, job(name="first", nodes=2), create=True)
    with cluster.operator(where.kubeconfig):
        until_running(where, 2)

        assert "starts now" == sentence(where, job(nodes=2))
        assert sentence(where, job(nodes=3)).startswith("waits: ")


def test_a_job_runs_and_owns_all_else(where: Embedded) -> None:
    with cluster.operator(where.kubeconfig):
        asking(where, job(script={"text": "true"}), create=True)
        until_running(where, 4)

    found = objects(where)
    (made,) = found["jobs"]
    assert not {"activeDeadlineSeconds", "ttlSecondsAfterFinished"} & set(made["spec"])
    assert 4 == made["spec"]["parallelism"]
    for kind in ("services", "configmaps", "podgroups"):
        (owned,) = found[kind]
        assert [made["metadata"]["uid"]] == [
            each["uid"] for each in owned["metadata"]["ownerReferences"]
        ]
    where.request("DELETE", JOBS.path("default", "llama"), BACKGROUND)
    until_empty(where)


@pytest.mark.parametrize(
    ("fields", "whole"),
    [
        pytest.param({"script": {"text": "true"}}, 5, id="a script"),
        pytest.param({"nodes": 1}, 3, id="one member"),
        pytest.param({"nodes": "2:4"}, 4, id="elastic"),
        pytest.param({"gang_scheduling": False}, 3, id="no gang"),
        pytest.param({"nodes": 1, "gang_scheduling": False}, 1, id="one object"),
    ],
)
def test_a_client_that_is_killed_leaves_nothing_that_runs_or_stays(
    where: Embedded, fields: dict[str, Any], whole: int
) -> None:
    async def submit(writes: int) -> int:
        """Submit with a client that is killed after so many writes; return how many are left."""
        async with (
            servers.connected(str(where.kubeconfig)) as server,
            Mortal(server.connection.configuration) as connection,
        ):
            mortal = Server(connection, server.namespace)
            found = await submission.prepared(mortal, job(**fields))
            connection.writes_left = writes
            await submission.created(mortal, found)
            return connection.writes_left

    for writes in range(whole):
        with pytest.raises(Killed):
            asyncio.run(submit(writes))
        found = objects(where)
        assert [] == found["pods"]
        assert min(writes, 1) == len(found["jobs"])
        for each in found["jobs"]:
            assert submission.SETUP_SECONDS == each["spec"]["activeDeadlineSeconds"]
            assert (0, 0) == (each["spec"]["ttlSecondsAfterFinished"], each["spec"]["parallelism"])
            where.request("DELETE", JOBS.path("default", "llama"), BACKGROUND)
        # The rest is owned by the Job that its deadline removes.
        until_empty(where)
    assert asyncio.run(submit(whole)) == 0
    (made,) = objects(where)["jobs"]
    assert made["spec"]["completions"] == made["spec"]["parallelism"]


def test_a_second_job_of_a_name_is_refused_and_the_first_stays(where: Embedded) -> None:
    asking(where, job(), create=True)

    with pytest.raises(Exception, match="already exists"):
        asking(where, job(nodes=2), create=True)

    assert [4] == [each["spec"]["parallelism"] for each in objects(where)["jobs"]]


def test_a_managed_job_is_started_by_the_scheduler(where: Embedded) -> None:
    quota = {"hard": {"nvidia.com/gpu": "32"}, "soft": {"nvidia.com/gpu": "32"}}
    queue = {"apiVersion": QUEUES.api_version, "kind": "Queue", "metadata": {"name": "team-a"}}
    cluster.create(where, QUEUES, {**queue, "spec": {"quota": quota}})
    profile = {"settings.json": '{"manage_jobs": ["Job"]}', "operator": "gang"}
    cluster.create(
        *(where, CONFIG_MAPS),
        {
            "metadata": {"name": "py-gang-scheduler-profile", "namespace": "default"},
            "data": profile,
        },
    )
    with cluster.operator(where.kubeconfig):
        asking(where, job(queue="team-a"), create=True)
        until_running(where, 4)

    (made,) = objects(where)["jobs"]
    assert "py-gang-scheduler.io/admitted-at" in made["metadata"]["annotations"]


def test_names_are_looked_up_in_the_cluster(where: Embedded) -> None:
    high = {"metadata": {"name": "high"}, "value": 1000}
    cluster.create(where, PRIORITY_CLASSES, high)

    found = asking(where, job(priority=1000, gpu_type="H100")).plan[0].body["spec"]["template"]

    assert "high" == found["spec"]["priorityClassName"]
    for fields, problem in (
        ({"priority": 7}, "high .1000."),
        ({"gpu_type": "A100"}, "known types: H100"),
        ({"queue": "red"}, "queue: red does not exist"),
        ({"job_type": "MPIJob"}, "MPIJob is not served"),
    ):
        with pytest.raises(Refused, match=problem):
            asking(where, job(**fields))


def until_running(where: Embedded, count: int) -> None:
    """Return once so many pods run."""
    deadline = clock() + 30
    while count != sum(
        each["status"].get("phase") == "Running" for each in cluster.items(where, PODS)
    ):
        assert clock() < deadline, objects(where)["pods"]


def until_empty(where: Embedded) -> None:
    """Return once nothing of any kind is left."""
    deadline = clock() + 30
    while any(objects(where).values()):
        assert clock() < deadline, objects(where)


def clock() -> float:
    """Return the time, and let others have a turn."""
    time.sleep(0.05)
    return time.monotonic()
