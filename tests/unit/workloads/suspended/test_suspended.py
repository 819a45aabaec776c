"""What members a workload would have while it is suspended: the pods of its controller."""

from typing import Any

import pytest

from gang_scheduler.decode.gangs.specs import GangObject, SuspendedWorkload
from gang_scheduler.simulation import documents, objects
from gang_scheduler.state.kinds import KINDS
from support.builders import SCHEDULER
from support.suspended_jobs import OF_QUEUE, START, Body, job, template


def read(body: Body) -> GangObject:
    rows = (each.reader for each in KINDS if each.reader.kind == body["kind"])
    found: GangObject = next(
        each.read(body)
        for each in rows
        if body["apiVersion"] in {version.api_version for version in each.versions}
    )
    return found


def suspended(body: Body) -> SuspendedWorkload:
    found = read(body).suspended
    assert found is not None
    return found


def workload(kind: str, api_version: str, **spec: Any) -> Body:
    metadata = {"name": "a", "namespace": "default", "uid": "uid-a", "creationTimestamp": START}
    metadata["labels"] = {OF_QUEUE: "q"}  # type: ignore[assignment]
    return {"apiVersion": api_version, "kind": kind, "metadata": metadata, "spec": spec}


def roles(**numbers: int) -> Body:
    return {name: {"replicas": number, "template": template()} for name, number in numbers.items()}


def replicated(name: str, replicas: int, pods: int, *, gang: bool = True) -> Body:
    spec = {"parallelism": pods, "completions": pods, "template": template(gang=gang)}
    return {"name": name, "replicas": replicas, "template": {"spec": spec}}


SUSPENDED = {"suspend": True}
JOB_SET = workload(
    "JobSet",
    "jobset.x-k8s.io/v1alpha2",
    suspend=True,
    replicatedJobs=[replicated("driver", 1, 1), replicated("workers", 2, 3)],
)
PYTORCH = workload(
    "PyTorchJob",
    "kubeflow.org/v1",
    runPolicy=SUSPENDED,
    pytorchReplicaSpecs=roles(Master=1, Worker=3),
)
MPI = workload(
    "MPIJob",
    "kubeflow.org/v2beta1",
    runPolicy=SUSPENDED,
    mpiReplicaSpecs=roles(Launcher=1, Worker=2),
)
RAY = workload(
    "RayCluster",
    "ray.io/v1",
    suspend=True,
    headGroupSpec={"template": template()},
    workerGroupSpecs=[
        {"groupName": "gpu", "replicas": 2, "minReplicas": 2, "template": template()}
    ],
)
RAY_JOB = workload("RayJob", "ray.io/v1", suspend=True, rayClusterSpec=RAY["spec"])
ALL = (job(pods=3), JOB_SET, PYTORCH, MPI, RAY)


def started(body: Body) -> Body:
    spec = {**body["spec"], "suspend": False}
    if "runPolicy" in spec:
        spec["runPolicy"] = {"suspend": False}
    return {**body, "spec": spec}


@pytest.mark.parametrize("body", ALL, ids=lambda body: body["kind"])
def test_members_are_the_pods_that_simulate_expands_the_workload_to(body: Body) -> None:
    document = documents.Document("f", 1, started(body))
    expanded = objects.load([document], SCHEDULER).loaded
    pods = [each.decoded for each in expanded if each.gvr.plural == "pods"]

    members = [pod for gang in suspended(body).gangs for pod in gang.pods]

    def seen(pod: Any) -> tuple[object, ...]:
        return pod.name, pod.gang, pod.role, pod.rank, pod.pod_class, pod.created_at

    assert sorted(map(seen, members)) == sorted(map(seen, pods))
    assert all(pod.virtual for pod in members)


@pytest.mark.parametrize("body", ALL, ids=lambda body: body["kind"])
def test_the_template_of_each_member_is_where_it_says(body: Body) -> None:
    found = [each.path for gang in suspended(body).gangs for each in gang.templates]

    for path in found:
        at: Any = body
        for step in path:
            at = at[step]
        assert at["spec"]["containers"]
    assert len(found) == len(set(found))


def test_gangs_of_one_workload_start_together() -> None:
    described = read(JOB_SET)

    called = {each.key.called for each in described.gang_specs}
    assert {"a/driver", "a/workers"} == {each.name for each in called}
    named = [frozenset(each.options.groups) for each in described.gang_specs]
    assert [frozenset(called)] == [each for each in named if each]


def test_members_that_are_no_gang_are_one_as_long_as_they_wait() -> None:
    plain = job(pods=4, of=template(gang=False))

    described = read(plain)

    (spec,), (gang,) = described.gang_specs, suspended(plain).gangs
    assert (spec.key, 4) == (gang.key, spec.min_member)
    assert ("Job", "default", "job") == gang.key
    assert () == read({**plain, "spec": {**plain["spec"], "suspend": False}}).gang_specs


def test_jobs_of_one_size_share_what_tells_their_members_apart() -> None:
    one, other = suspended(job("a", 64)).gangs[0].pods, suspended(job("b", 64)).gangs[0].pods

    assert one.slots is other.slots
    assert ["b-0", "b-1"] == [pod.name for pod in other[:2]]


def test_only_what_was_let_start_is_managed() -> None:
    managed = read(job(suspend=False, admitted_at=START)).managed

    assert managed is not None
    assert ("Job default/job", 1767268800) == (str(managed.workload), managed.admitted_at)
    assert read(job(suspend=False)).managed is None
    assert read(job(admitted_at=START)).managed is None
    assert read(job(admitted_at=START)).suspended is None


def test_what_an_admission_added_is_no_part_of_the_template_that_waits() -> None:
    body = job(of=template(nodeSelector={"zone": "a", "pool": "spot"}))
    added = '[{"path":["spec","template"],"nodeSelector":{"pool":{"now":"spot"}}}]'
    body["metadata"]["annotations"]["py-gang-scheduler.io/admitted-from"] = added

    found = suspended(body)

    assert found.workload.edited
    assert (("zone", "a"),) == found.gangs[0].pods.prototypes[0].pod_class.node_selector


def test_a_ray_job_has_the_members_of_its_cluster_in_a_gang_of_its_own_name() -> None:
    described, found = read(RAY_JOB), suspended(RAY_JOB)

    (spec,), (gang,) = described.gang_specs, found.gangs
    of_cluster = read(RAY).gang_specs[0]
    assert (("RayJob", "default", "a"), "uid-a") == (gang.key, spec.uid)
    assert (gang.key, of_cluster.min_member, of_cluster.roles) == (
        *(spec.key, spec.min_member),
        spec.roles,
    )
    assert ["a-00000-head-00000", "a-00000-gpu-worker-00000", "a-00000-gpu-worker-00001"] == [
        pod.name for pod in gang.pods
    ]
    assert ("spec", "rayClusterSpec", "headGroupSpec", "template") == gang.templates[0].path


@pytest.mark.parametrize(
    "changes",
    [
        {"spec": {**RAY_JOB["spec"], "suspend": False}},
        {"spec": {"suspend": True, "clusterSelector": {"ray.io/cluster": "other"}}},
        {"status": {"jobDeploymentStatus": "Complete"}},
    ],
    ids=["started", "on another cluster", "ended"],
)
def test_other_ray_jobs_wait_for_nothing(changes: Body) -> None:
    assert read({**RAY_JOB, **changes}).suspended is None


def owned(body: Body, kind: str, api_version: str) -> Body:
    owner = {"apiVersion": api_version, "kind": kind, "name": "a", "uid": "o", "controller": True}
    return {**body, "metadata": {**body["metadata"], "ownerReferences": [owner]}}


TRAINER = ("TrainJob", "trainer.kubeflow.org/v1alpha1")
ASKS_NOTHING = workload(
    "JobSet",
    "jobset.x-k8s.io/v1alpha2",
    suspend=True,
    replicatedJobs=[
        replicated("data", 1, 1, gang=False),
        {**replicated("node", 1, 3, gang=False), "dependsOn": [{"name": "data"}]},
    ],
)


def test_the_job_set_of_a_train_job_says_its_members_and_is_not_ours_to_start() -> None:
    described = read(owned(ASKS_NOTHING, *TRAINER))

    assert described.suspended is None
    assert described.owned is not None
    assert "o" == described.owned.owner
    found = {each.key.name: len(each.pods) for each in described.owned.gangs}
    assert {"a/data": 1, "a/node": 3} == found
    assert [()] * 2 == [each.templates[0].path for each in described.owned.gangs]
    assert described.by_default is not None
    assert [2, 0] == [len(each.options.groups) for each in described.by_default]


def test_gangs_are_described_where_train_jobs_are_none_by_default() -> None:
    described = read(owned(ASKS_NOTHING, *TRAINER))

    assert described.owned is not None
    assert {each.key for each in described.gang_specs} == {
        each.key for each in described.owned.gangs
    }


def test_what_comes_only_after_others_is_late() -> None:
    def late(body: Body) -> list[bool]:
        described = read(owned(body, *TRAINER))
        assert described.owned is not None
        return [each.templates[0].is_late for each in described.owned.gangs]

    in_order = {**ASKS_NOTHING["spec"], "startupPolicy": {"startupPolicyOrder": "InOrder"}}
    assert [False, True] == late(ASKS_NOTHING)
    assert [False, True] == late({**ASKS_NOTHING, "spec": in_order})
    assert [False, False] == late(JOB_SET)
    waits = {**MPI["spec"], "launcherCreationPolicy": "WaitForWorkersReady"}
    (gang,) = suspended({**MPI, "spec": waits}).gangs
    assert {"launcher": True, "worker": False} == {
        pod.role: each.is_late
        for pod, each in zip(gang.pods.prototypes, gang.templates, strict=True)
    }


def test_of_a_job_set_that_runs_only_its_gangs_are_known() -> None:
    running = started(owned(ASKS_NOTHING, *TRAINER))

    part = read(running).owned

    assert part is not None
    assert ((), {"a", "a/data", "a/node"}) == (part.gangs, {each.name for each in part.keys})


def test_a_train_job_waits_without_saying_what_for() -> None:
    waiting = workload("TrainJob", TRAINER[1], suspend=True, runtimeRef={"name": "torch"})

    found = suspended(waiting)

    assert ("TrainJob default/a", ()) == (str(found.workload), found.gangs)
    assert ["q"] == [each.name for each in found.names]
    ended = {"conditions": [{"type": "Failed", "status": "True"}]}
    assert read({**waiting, "status": ended}).suspended is None
    elsewhere = {**waiting["spec"], "managedBy": "kueue.x-k8s.io/multikueue"}
    assert read({**waiting, "spec": elsewhere}).suspended is None
