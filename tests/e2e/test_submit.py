"""`submit` on a real API server: to running pods, and what a client leaves that is killed."""

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from e2e.support import chart_objects, tenants
from e2e.support.namespaces import Namespace
from e2e.support.waiting import eventually, until
from gang_scheduler.inspection import servers
from gang_scheduler.inspection.servers import Server
from gang_scheduler.sdk import Client
from gang_scheduler.submit import submission
from gang_scheduler.submit.training_job import TrainingJob
from support.killed_clients import Killed, Mortal
from tools import controlplane
from tools.jobset import standin

pytestmark = [pytest.mark.e2e, pytest.mark.usefixtures("scheduler")]

CHART = Path(__file__).parents[2] / "charts" / "py-gang-scheduler"
SETUP_SECONDS = 3
KINDS = ("jobs", "jobsets", "services", "configmaps", "podgroups", "pods")
ROLES = [{"name": "learner", "nodes": 2}, {"name": "rollout", "nodes": 1}]
JOB_SET = {"job_type": "JobSet", "roles": ROLES, "nodes": 1, "script": None}


@pytest.fixture(scope="module")
def plane(crds: Path) -> Iterator[controlplane.ControlPlane]:
    """Give a control plane with JobSets, and a stand-in for their controller."""
    with controlplane.start() as started:
        started.kubectl("apply", f"--filename={crds}")
        standin.install(started)
        with standin.playing(started):
            yield started


@pytest.fixture(scope="module")
def operator_process(plane: controlplane.ControlPlane) -> Iterator[controlplane.Scheduler]:
    with controlplane.Scheduler(plane) as started:
        yield started


@pytest.fixture
def home(namespace: Namespace) -> Namespace:
    namespace.own_nodes(4, cpu=4)
    return namespace


def job(home: Namespace, **fields: Any) -> TrainingJob:
    whole = {
        "name": "llama",
        "namespace": home.name,
        "image": "registry.example/train",
        "nodes": 3,
        "resources": {"cpu": 4},
        "template": {"spec": {"nodeSelector": home.here}},
        "script": {"text": "srun true"},
    }
    return TrainingJob.model_validate(whole | fields)


def submit(home: Namespace, asked: TrainingJob, writes: int = 100) -> str:
    """Submit a job with a client that is killed after so many writes; return what was predicted."""

    async def submitting() -> str:
        kubeconfig = str(home.cluster.kubeconfig)
        async with (
            servers.connected(kubeconfig) as server,
            Mortal(server.connection.configuration) as connection,
        ):
            mortal = Server(connection, server.namespace)
            found = await submission.prepared(mortal, asked)
            connection.writes_left = writes
            await submission.create_objects(connection, found.plan, setup_seconds=SETUP_SECONDS)
            assert found.prediction is not None
            return found.prediction.sentence

    return asyncio.run(submitting())


def objects(home: Namespace) -> dict[str, list[str]]:
    """Return the names of all objects of kinds that `submit` creates."""
    found = {kind: [each["metadata"]["name"] for each in home.every(kind)] for kind in KINDS}
    found["configmaps"] = [each for each in found["configmaps"] if each != "kube-root-ca.crt"]
    return {kind: names for kind, names in found.items() if names}


def test_a_job_runs_and_goes_as_a_whole(home: Namespace) -> None:
    assert "starts now" == submit(home, job(home))

    eventually(3, lambda: len(home.bound("llama-")))
    found = home.get("jobs", "llama")
    assert not {"activeDeadlineSeconds", "ttlSecondsAfterFinished"} & set(found["spec"])
    (pod, *_) = home.every("pods")
    assert "llama" == pod["spec"]["subdomain"]

    home.delete("jobs", "llama")
    eventually({}, lambda: objects(home))


def test_an_elastic_job_starts_with_what_fits(home: Namespace) -> None:
    submit(home, job(home, nodes="2:6"))

    eventually(4, lambda: len(home.bound("llama-")))
    eventually("Running", lambda: home.phase("llama"))


def test_a_job_that_waits_is_predicted_to_wait(home: Namespace) -> None:
    assert submit(home, job(home, nodes=5)).startswith("waits: It lacks room")


def test_both_roles_of_a_job_set_start_together(home: Namespace) -> None:
    submit(home, job(home, **JOB_SET))

    until(lambda: home.get("jobsets", "llama")["spec"].get("suspend") is False)
    eventually(["llama"], lambda: objects(home)["jobsets"])
    assert "ownerReferences" not in home.get("jobsets", "llama")["metadata"]
    eventually(["llama-learner", "llama-rollout"], lambda: sorted(objects(home)["podgroups"]))
    eventually(3, lambda: len(home.bound("llama-")))


@pytest.mark.parametrize(
    ("fields", "writes"),
    [pytest.param({}, writes, id=f"job-{writes}") for writes in range(5)]
    + [pytest.param(JOB_SET, writes, id=f"jobset-{writes}") for writes in range(5)],
)
def test_a_client_that_is_killed_leaves_nothing(
    home: Namespace, fields: dict[str, Any], writes: int
) -> None:
    with pytest.raises(Killed):
        submit(home, job(home, **fields), writes)

    assert {} == home.bound()
    eventually({}, lambda: objects(home))


def test_the_owner_of_a_job_set_goes_by_itself_if_the_client_is_killed_last(
    home: Namespace,
) -> None:
    with pytest.raises(Killed):
        submit(home, job(home, **JOB_SET), 5)

    eventually(3, lambda: len(home.bound("llama-")))
    eventually(["llama-learner-0", "llama-rollout-0"], lambda: sorted(objects(home)["jobs"]))
    assert "ownerReferences" not in home.get("jobsets", "llama")["metadata"]


@pytest.fixture
def user(home: Namespace, plane: controlplane.ControlPlane, tmp_path: Path) -> Iterator[Client]:
    """Give the client of a ServiceAccount that has the chart's role in the namespace alone."""
    rules = chart_objects.cluster_role("gang-user")["rules"]
    with Client(str(tenants.of_namespace(plane, home.name, tmp_path, rules=rules))) as found:
        yield found


def test_the_role_of_the_chart_is_enough(home: Namespace, user: Client) -> None:
    run = user.submit(job(home), predict=True)

    run.wait("Scheduled", timeout="1m")
    assert run.created is not None
    assert "not known with your rights" in run.created.prediction
    assert "jobs.batch/llama" == run.cancel()
    eventually({}, lambda: objects(home))
