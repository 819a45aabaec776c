"""What members a workload would have while it is suspended: the pods of its controller."""

from typing import Any

import pytest

from gang_scheduler.decode.gangs.gang_objects import GangObject
from gang_scheduler.decode.gangs.suspended_workloads import SuspendedWorkload
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
    pods = [each.noun for each in expanded if each.gvr.plural == "pods"]

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
    assert {frozenset(called)} == {frozenset(each.options.groups) for each in described.gang_specs}


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
