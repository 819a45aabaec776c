"""What a training job of Kubeflow says of its gang."""

from typing import Any

import pytest

from gang_scheduler.api.kinds import GVR, MPI_JOBS
from gang_scheduler.decode.gangs.specs import GangSpec
from gang_scheduler.model.gangs import Role
from gang_scheduler.model.pods import Elastic
from gang_scheduler.model.refs import QueueName, QueueNameKind, QueueRequest
from gang_scheduler.report.words.text import text_of
from gang_scheduler.workloads import table
from support import decoded
from support.api_objects import pod_body

OURS, VOLCANOS = QueueNameKind.QUEUE, QueueNameKind.VOLCANO_QUEUE
LABEL = "training.kubeflow.org/"


def body(kind: str, replicas: str, roles: dict[str, Any], **spec: Any) -> dict[str, Any]:
    """Return a job with so many pods of each role; None: as many as by default."""
    found = {
        role: {"template": {}} | ({} if count is None else {"replicas": count})
        for role, count in roles.items()
    }
    return {
        "apiVersion": "kubeflow.org/v1",
        "kind": kind,
        "metadata": {"name": "a", "namespace": "team", "uid": "u", "labels": {}},
        "spec": {f"{replicas}ReplicaSpecs": found, **spec},
    }


def described(job: dict[str, Any]) -> GangSpec:
    row = next(each for each in table.KINDS if each.name == job["kind"])
    assert row.read is not None
    (found,) = row.read(job).gang_specs
    return found


def roles_of(job: dict[str, Any]) -> dict[str, int]:
    """Return the least number of each role, in rank order."""
    spec = described(job)
    assert spec.min_member == sum(each.min_member for each in spec.roles)
    return {each.name: each.min_member for each in spec.roles}


def policy(**said: Any) -> dict[str, Any]:
    return {"schedulingPolicy": said}


@pytest.mark.parametrize(
    ("job", "expected"),
    [
        (body("PyTorchJob", "pytorch", {"Worker": 3, "Master": 1}), {"master": 1, "worker": 3}),
        (body("PyTorchJob", "pytorch", {"Worker": None}), {"worker": 1}),
        (body("XGBoostJob", "xgb", {"Master": 1, "Worker": 0}), {"master": 1}),
        (body("PaddleJob", "paddle", {"Worker": 4}), {"worker": 4}),
        (body("JAXJob", "jax", {"Worker": 4}), {"worker": 4}),
        (
            body("TFJob", "tf", {"Evaluator": 1, "Worker": 2, "PS": 2, "Chief": 1}),
            {"chief": 1, "ps": 2, "worker": 2, "evaluator": 0},
        ),
        (body("MPIJob", "mpi", {"Launcher": None, "Worker": 2}), {"launcher": 1, "worker": 2}),
        (body("MPIJob", "mpi", {"Launcher": 1, "Worker": None}), {"launcher": 1}),
    ],
)
def test_without_a_word_all_of_a_job_start_together_but_an_evaluator(
    job: dict[str, Any], expected: dict[str, int]
) -> None:
    assert list(expected.items()) == list(roles_of(job).items())


@pytest.mark.parametrize(
    ("least", "workers"), [(0, 1), (1, 1), (2, 1), (3, 1), (4, 2), (6, 4), (9, 4)]
)
def test_what_is_available_at_least_is_less_the_other_roles_that_of_workers(
    least: int, workers: int
) -> None:
    roles = {"Master": 1, "PS": 1, "Worker": 4, "Evaluator": 1}
    job = body("TFJob", "tf", roles, runPolicy=policy(minAvailable=least))

    assert {"master": 1, "ps": 1, "worker": workers, "evaluator": 0} == roles_of(job)


@pytest.mark.parametrize(
    ("elastic", "workers"),
    [({"minReplicas": 2}, 2), ({"minReplicas": 9}, 4), ({"maxReplicas": 8}, 3), ({}, 3)],
)
def test_an_elastic_policy_says_first_how_many_workers(
    elastic: dict[str, int], workers: int
) -> None:
    roles, least = {"Master": 1, "Worker": 4}, policy(minAvailable=4)
    job = body("PyTorchJob", "pytorch", roles, elasticPolicy=elastic, runPolicy=least)

    assert {"master": 1, "worker": workers} == roles_of(job)


def test_an_elastic_annotation_says_before_all_others_how_many_workers() -> None:
    roles, policy = {"Master": 1, "Worker": 4}, {"minReplicas": 3}
    job = body("PyTorchJob", "pytorch", roles, elasticPolicy=policy)
    said = '{"minWorkers": 2, "maxWorkers": 8}'
    job["metadata"]["annotations"] = {"py-gang-scheduler.io/elastic": said}

    assert {"master": 1, "worker": 2} == roles_of(job)
    assert Elastic(2, 8, role="worker") == described(job).elastic


def test_an_elastic_role_is_one_of_the_job() -> None:
    job = body("PyTorchJob", "pytorch", {"Worker": 4})
    said = '{"minWorkers": 2, "maxWorkers": 8, "role": "server"}'
    job["metadata"]["annotations"] = {"py-gang-scheduler.io/elastic": said}

    problem = described(job).problem
    assert problem is not None
    assert "must be worker" in text_of(problem.cause)


def test_a_launcher_that_is_created_when_workers_run_is_not_waited_for() -> None:
    job = body(
        "MPIJob",
        "mpi",
        {"Launcher": 1, "Worker": 2},
        launcherCreationPolicy="WaitForWorkersReady",
        runPolicy=policy(minAvailable=3),
    )

    assert (Role("launcher", 0, 1), Role("worker", 2, 2)) == described(job).roles


def test_a_job_is_known_in_the_version_that_it_came_in() -> None:
    job = body("MPIJob", "mpi", {"Launcher": 1})

    assert GVR("kubeflow.org", "v1", "mpijobs") == described(job).gvr
    assert MPI_JOBS[0] == described({**job, "apiVersion": "kubeflow.org/v2beta1"}).gvr


def test_the_scheduling_policy_says_what_a_pod_group_would() -> None:
    least = {"cpu": "2"}
    said = policy(minResources=least, scheduleTimeoutSeconds=60, queue="team-a")
    found = described(body("PyTorchJob", "pytorch", {"Worker": 2}, runPolicy=said))

    assert ((("cpu", 2000),), 60) == (found.min_resources, found.options.timeout_seconds)
    assert QueueRequest((QueueName(VOLCANOS, "team-a"),)) == found.queue_request


def test_a_timeout_of_0_is_the_default() -> None:
    said = policy(scheduleTimeoutSeconds=0)
    found = described(body("PyTorchJob", "pytorch", {"Worker": 2}, runPolicy=said))

    assert found.options.timeout_seconds is None
    assert found.problem is None


@pytest.mark.parametrize("in_template", [False, True])
def test_a_queue_that_is_named_by_a_label_counts_before_that_of_the_policy(
    *, in_template: bool
) -> None:
    job = body("PyTorchJob", "pytorch", {"Worker": 2}, runPolicy=policy(queue="v"))
    labels = {"py-gang-scheduler.io/queue": "a"}
    if in_template:
        job["spec"]["pytorchReplicaSpecs"]["Worker"]["template"] = {"metadata": {"labels": labels}}
    else:
        job["metadata"]["labels"] = labels

    found = described(job).queue_request
    assert (None if in_template else QueueRequest((QueueName(OURS, "a"),))) == found


def test_what_is_said_on_the_job_is_for_all_of_its_templates() -> None:
    gather = '{"gatherStrategy": [{"layer": "Rack", "strategy": "MustGather"}]}'
    key = "gang.scheduling.koordinator.sh/network-topology-spec"
    job = body("PyTorchJob", "pytorch", {"Master": 1, "Worker": 2})
    job["metadata"]["annotations"] = {key: gather, "py-gang-scheduler.io/min-runtime": "10m"}
    in_template = body("PyTorchJob", "pytorch", {"Master": 1, "Worker": 2})
    template = {"metadata": {"annotations": {key: gather}}}
    in_template["spec"]["pytorchReplicaSpecs"]["Worker"]["template"] = template

    on_job, of_template = described(job), described(in_template)
    assert on_job.topology_request is not None
    assert on_job.topology_request == of_template.topology_request
    assert 600 == on_job.options.min_runtime_seconds


def test_all_faults_of_an_object_are_reported() -> None:
    job = body("PyTorchJob", "pytorch", {"Worker": 2})
    job["metadata"]["annotations"] = {
        "gang.scheduling.koordinator.sh/mode": "Lax",
        "py-gang-scheduler.io/min-runtme": "10m",
    }

    problem = described(job).problem
    assert problem is not None
    text = text_of(problem.cause)
    assert "must be Strict or NonStrict" in text
    assert "did you mean py-gang-scheduler.io/min-runtime?" in text


@pytest.mark.parametrize(
    ("said", "told"),
    [
        ({"labels": {"py-gang-scheduler.io/gang": "false"}}, "belongs in the labels of"),
        ({"labels": {"py-gang-scheduler.io/gangs": "true"}}, "did you mean"),
        ({"annotations": {"py-gang-scheduler.io/queue": "a"}}, "must be a label"),
        ({"labels": {"py-gang-scheduler.io/gang": "true"}}, ""),
    ],
)
def test_what_nothing_reads_on_a_job_is_reported(said: dict[str, Any], told: str) -> None:
    job = body("PyTorchJob", "pytorch", {"Worker": 2})
    job["metadata"] |= said

    problem = described(job).problem
    assert (problem is None) == (not told)
    assert told in (text_of(problem.cause) if problem else "")


def test_a_job_may_repeat_what_its_templates_say() -> None:
    job = body("PyTorchJob", "pytorch", {"Worker": 2})
    job["metadata"]["labels"] = labels = {"py-gang-scheduler.io/gang": "false"}
    job["spec"]["pytorchReplicaSpecs"]["Worker"]["template"] = {"metadata": {"labels": labels}}

    assert described(job).problem is None


def test_a_job_that_has_succeeded_needs_nothing_more() -> None:
    job = body("PyTorchJob", "pytorch", {"Worker": 2})
    ended = {**job, "status": {"conditions": [{"type": "Succeeded", "status": "True"}]}}

    assert (False, True) == (described(job).finished, described(ended).finished)


@pytest.mark.parametrize(
    ("operator", "kind"),
    [
        ("pytorchjob-controller", "PyTorchJob"),
        ("tfjob-controller", "TFJob"),
        ("xgboostjob-controller", "XGBoostJob"),
        ("paddlejob-controller", "PaddleJob"),
        ("jaxjob-controller", "JAXJob"),
        ("mpijob-controller", "MPIJob"),
        ("mpi-operator", "MPIJob"),
        ("mxjob-controller", "Pod"),
    ],
)
def test_a_pod_is_known_by_its_operator(operator: str, kind: str) -> None:
    labels = {f"{LABEL}job-name": "a", f"{LABEL}operator-name": operator}

    assert kind == decoded.pod(pod_body("p", metadata={"labels": labels})).gang.source


@pytest.mark.parametrize(
    ("labels", "role"),
    [
        ({"replica-type": "worker", "job-role": "master"}, "worker"),
        ({"job-role": "launcher"}, "launcher"),
        ({}, ""),
    ],
)
def test_the_role_of_a_pod_is_its_replica_type_or_what_the_mpi_operator_calls_it(
    labels: dict[str, str], role: str
) -> None:
    named = {f"{LABEL}operator-name": "mpi-operator"}
    named |= {f"{LABEL}{key}": text for key, text in labels.items()}

    assert role == decoded.pod(pod_body("p", metadata={"labels": named})).role
    own = {**named, "py-gang-scheduler.io/role": "head"}
    assert "head" == decoded.pod(pod_body("p", metadata={"labels": own})).role
