"""Suspended workloads that leave it to another one to have pods: TrainJobs and RayJobs."""

import itertools
from collections.abc import Mapping
from typing import Any

import pytest

from gang_scheduler.api.annotations import ADMITTED_AT
from gang_scheduler.apply.workloads import patches
from gang_scheduler.client.fake.cluster import merge
from gang_scheduler.model.plan import Bind
from gang_scheduler.model.suspended import SuspendedFor
from gang_scheduler.workloads import table as members
from support.api_objects import node_body
from support.call_counts import calls_of
from support.suspended_jobs import NOW, OF_QUEUE, START, Body, Cluster, our_queue, template

TIMEOUT = 120
FOUR = {"n1": 2, "n2": 2}


def body(kind: str, api_version: str, name: str, owner: Body | None = None, **spec: Any) -> Body:
    """Return an object; what is owned names no queue itself."""
    metadata: Body = {
        "name": name,
        "namespace": "default",
        "uid": f"uid-{kind}-{name}",
        "resourceVersion": "1",
        "creationTimestamp": START,
        "labels": {} if owner else {OF_QUEUE: "q"},
    }
    if owner is not None:
        reference = {
            "apiVersion": owner["apiVersion"],
            "kind": owner["kind"],
            "name": owner["metadata"]["name"],
            "uid": owner["metadata"]["uid"],
            "controller": True,
        }
        metadata["ownerReferences"] = [reference]
    return {"apiVersion": api_version, "kind": kind, "metadata": metadata, "spec": spec}


def changed(of: Body, *, suspend: bool, version: int = 1, admitted_at: str = "") -> Body:
    metadata = {
        **of["metadata"],
        "resourceVersion": str(version),
        "annotations": {ADMITTED_AT: admitted_at} if admitted_at else {},
    }
    return {**of, "metadata": metadata, "spec": {**of["spec"], "suspend": suspend}}


def replicated(name: str, pods: int, **more: Any) -> Body:
    spec = {"parallelism": pods, "completions": pods, "template": template(gang=False)}
    return {"name": name, "replicas": 1, "template": {"spec": spec}, **more}


TRAIN_JOB = body("TrainJob", "trainer.kubeflow.org/v1alpha1", "a", suspend=True)
JOB_SET = body(
    *("JobSet", "jobset.x-k8s.io/v1alpha2", "a", TRAIN_JOB),
    suspend=True,
    replicatedJobs=[
        replicated("data", 1),
        replicated("node", 3, dependsOn=[{"name": "data", "status": "Complete"}]),
    ],
)
RAY_SPEC = {
    "headGroupSpec": {"template": template()},
    "workerGroupSpecs": [
        {"groupName": "gpu", "replicas": 2, "minReplicas": 2, "template": template()}
    ],
}
RAY_JOB = body("RayJob", "ray.io/v1", "a", suspend=True, rayClusterSpec=RAY_SPEC)
RAY_CLUSTER = body("RayCluster", "ray.io/v1", "a-x7k2p", RAY_JOB, **RAY_SPEC)


def pods_of(of: Body) -> list[Body]:
    made = members.pods_of({**of, "spec": {**of["spec"], "suspend": False}}, 100)
    return [{**each, "status": {"phase": "Pending"}} for each in made]


def part_of(name: str) -> list[Body]:
    key = "jobset.sigs.k8s.io/replicatedjob-name"
    return [each for each in pods_of(JOB_SET) if each["metadata"]["labels"][key] == name]


def let_start(cluster: Cluster, of: Body) -> Body:
    """Let the API server take the start of a workload, and return it."""
    (admission,) = cluster.writes.admissions
    assert of["kind"] == admission.workload.kind
    cluster.cache.suspended.admitted(admission.workload.uid, NOW)
    started = changed(of, suspend=False, version=2, admitted_at=START)
    cluster.see(started)
    return started


def with_memory(nodes: Mapping[str, int]) -> Cluster:
    """Return a cluster in which the init containers of Ray's workers have room."""
    cluster = Cluster(nodes)
    for name, cpu in nodes.items():
        cluster.see(node_body(name, allocatable={"cpu": str(cpu), "memory": "4Gi", "pods": "100"}))
    return cluster


def bound(cluster: Cluster) -> list[str]:
    binds: list[Bind] = [bind for placed in cluster.writes.bound for bind in placed.binds]
    return sorted(bind.pod.name for bind in binds)


@pytest.mark.parametrize("order", [*itertools.permutations([TRAIN_JOB, JOB_SET])])
def test_a_train_job_is_let_start_by_what_its_job_set_says(order: tuple[Body, ...]) -> None:
    cluster = Cluster({"n1": 4})
    cluster.see(our_queue())
    cluster.see(order[0])
    cluster.cycle()
    assert [] == cluster.admitted

    cluster.see(order[1])
    cluster.cycle()

    (admission,) = cluster.writes.admissions
    assert "TrainJob default/a" == str(admission.workload)
    assert ("q", ()) == (admission.queue, admission.edits)
    assert 4 == cluster.charged


def test_what_another_namespace_calls_made_is_no_part_of_a_train_job() -> None:
    cluster = Cluster({"n1": 4})
    metadata = {**JOB_SET["metadata"], "namespace": "evil", "uid": "uid-evil"}
    huge = {**JOB_SET["spec"], "replicatedJobs": [replicated("node", 100)]}
    cluster.see(our_queue(), TRAIN_JOB, JOB_SET, {**JOB_SET, "metadata": metadata, "spec": huge})

    cluster.cycle()

    assert (["a"], 4) == (cluster.admitted, cluster.charged)


def test_the_job_set_of_a_train_job_that_is_not_managed_waits_for_its_maker() -> None:
    cluster = Cluster({"n1": 4}, manage_jobs=("JobSet",))
    cluster.see(
        our_queue(), {**JOB_SET, "metadata": {**JOB_SET["metadata"], "labels": {OF_QUEUE: "q"}}}
    )

    cluster.cycle()

    assert ([], {}) == (cluster.admitted, cluster.waiting)


def test_room_is_kept_for_the_nodes_of_a_train_job_while_its_data_is_fetched() -> None:
    cluster = Cluster({"n1": 4})
    cluster.see(our_queue(), TRAIN_JOB, JOB_SET)
    cluster.cycle()
    let_start(cluster, TRAIN_JOB)
    cluster.see(changed(JOB_SET, suspend=False, version=2), *part_of("data"))
    cluster.cycle(NOW + 1)
    assert ["a-data-0-0"] == [name[:10] for name in bound(cluster)]
    assert cluster.cache.suspended.next_deadline() is None

    assert () == cluster.cache.suspended.overdue(NOW + 10 * TIMEOUT)
    assert 4 == cluster.charged
    cluster.see(*part_of("node"))
    cluster.cycle(NOW + 11 * TIMEOUT)

    assert ["a-data-0-0", *(f"a-node-0-{i}" for i in range(3))] == [
        name[:10] for name in bound(cluster)
    ]
    assert {} == cluster.cache.suspended.holds
    assert 4 == cluster.charged


def test_a_train_job_whose_first_pods_do_not_come_is_suspended_again() -> None:
    cluster = Cluster({"n1": 4})
    cluster.see(our_queue(), TRAIN_JOB, JOB_SET)
    cluster.cycle()
    let_start(cluster, TRAIN_JOB)
    cluster.see(changed(JOB_SET, suspend=False, version=2))

    (late,) = cluster.cache.suspended.overdue(NOW + TIMEOUT)

    assert ("TrainJob default/a", SuspendedFor.PODS_MISSING) == (str(late.workload), late.why)
    assert 0 == cluster.charged


def test_one_that_is_suspended_while_nodes_are_awaited_waits_again() -> None:
    cluster = Cluster({"n1": 4})
    cluster.see(our_queue(), TRAIN_JOB, JOB_SET)
    cluster.cycle()
    let_start(cluster, TRAIN_JOB)
    (data,) = part_of("data")
    cluster.see(changed(JOB_SET, suspend=False, version=2), data)
    cluster.cycle(NOW + 1)
    of_data = cluster.cache.pod(data["metadata"]["uid"])
    assert of_data is not None
    workload = cluster.cache.suspended.workload_of(of_data)
    assert "TrainJob default/a" == str(workload)
    assert workload is not None
    assert [of_data] == [*cluster.cache.suspended.pods_of(workload)]

    cluster.see(changed(TRAIN_JOB, suspend=True, version=3))
    assert {} == cluster.cache.suspended.holds
    cluster.gone(data)
    cluster.see(changed(JOB_SET, suspend=True, version=3))
    cluster.cycle(NOW + 2)

    assert ["a", "a"] == cluster.admitted


def test_the_queue_of_a_train_job_is_that_of_its_pods() -> None:
    cluster = Cluster({"n1": 4})
    running = changed(JOB_SET, suspend=False)

    cluster.see(our_queue(cpu=1), changed(TRAIN_JOB, suspend=False), running, *part_of("node"))
    cluster.cycle()

    assert {"a/node": "QuotaExceeded"} == cluster.waiting


@pytest.mark.parametrize("first", ["cluster", "pods"])
def test_the_pods_of_a_ray_job_take_the_nodes_that_were_planned(first: str) -> None:
    cluster = with_memory({"n1": 2, "n2": 2})
    cluster.see(our_queue(), RAY_JOB)
    cluster.cycle()
    planned = sorted(cluster.nominated().values())
    let_start(cluster, RAY_JOB)
    pods = pods_of(RAY_CLUSTER)

    cluster.see(*([RAY_CLUSTER, *pods] if first == "cluster" else [*pods, RAY_CLUSTER]))

    assert {} == cluster.cache.suspended.holds
    nominated = cluster.nominated()
    assert {each["metadata"]["name"] for each in pods} == nominated.keys()
    assert planned == sorted(nominated.values())
    assert 3 == cluster.charged
    cluster.cycle(NOW + 1)
    assert sorted(nominated) == bound(cluster)


def test_the_pods_of_a_ray_job_are_suspended_with_it() -> None:
    cluster = with_memory({"n1": 4})
    cluster.see(our_queue(), RAY_JOB)
    cluster.cycle()
    let_start(cluster, RAY_JOB)
    pods = pods_of(RAY_CLUSTER)
    cluster.see(RAY_CLUSTER, *pods)

    found = [cluster.cache.pod(each["metadata"]["uid"]) for each in pods]

    workloads = {cluster.cache.suspended.workload_of(pod) for pod in found if pod is not None}
    (workload,) = workloads
    assert "RayJob default/a" == str(workload)
    assert workload is not None
    assert found == [*cluster.cache.suspended.pods_of(workload)]
    cluster.see(changed(RAY_JOB, suspend=True, version=3))
    cluster.cycle(NOW + 2)
    assert ["a"] == cluster.admitted
    cluster.gone(RAY_CLUSTER, *pods)
    cluster.cycle(NOW + 3)
    assert ["a", "a"] == cluster.admitted


def restarted(train_job: Body, *others: Body) -> Cluster:
    """Return a cluster whose scheduler was started after a TrainJob was let start."""
    cluster = Cluster(FOUR)
    cluster.see(our_queue(), train_job, *others)
    return cluster


def let_start_by_an_earlier_process() -> tuple[Body, Mapping[str, str]]:
    """Return a TrainJob that was let start at NOW, and the nodes of its members."""
    before = Cluster(FOUR)
    before.see(our_queue(), TRAIN_JOB, JOB_SET)
    before.cycle()
    (admission,) = before.writes.admissions
    found: Any = merge(TRAIN_JOB, patches.starting(admission, START))
    return dict(found), before.nominated()


@pytest.mark.parametrize("follows", [True, False], ids=["follows", "still-suspended"])
def test_a_restart_keeps_room_for_a_train_job_of_which_no_pod_has_come(*, follows: bool) -> None:
    train_job, nodes = let_start_by_an_earlier_process()
    rival = body("Job", "batch/v1", "rival", suspend=True, parallelism=1, template=template())
    cluster = restarted(train_job, changed(JOB_SET, suspend=not follows, version=2), rival)

    cluster.cycle(NOW + 1)

    assert nodes == cluster.nominated()
    assert 4 == cluster.charged
    assert [] == cluster.admitted


def test_the_pods_of_a_train_job_take_after_a_restart_what_was_planned_for_them() -> None:
    train_job, nodes = let_start_by_an_earlier_process()
    cluster = restarted(train_job, changed(JOB_SET, suspend=False, version=2))
    cluster.cycle(NOW + 1)

    cluster.see(*part_of("data"))
    cluster.cycle(NOW + 2)
    cluster.see(*part_of("node"))
    cluster.cycle(NOW + 3)

    binds = [bind for placed in cluster.writes.bound for bind in placed.binds]
    assert sorted(nodes.values()) == sorted(bind.node for bind in binds)
    assert {} == cluster.cache.suspended.holds
    assert 4 == cluster.charged


def test_a_restart_long_after_the_start_keeps_room_for_nodes_that_wait_for_their_data() -> None:
    train_job, _ = let_start_by_an_earlier_process()
    (data,) = part_of("data")
    running = {**data, "spec": {**data["spec"], "nodeName": "n1"}, "status": {"phase": "Running"}}
    cluster = restarted(train_job, changed(JOB_SET, suspend=False, version=2), running)

    cluster.cycle(late := NOW + 100 * TIMEOUT)

    assert 4 == cluster.charged
    assert cluster.cache.suspended.next_deadline() is None
    cluster.see(*part_of("node"))
    cluster.cycle(late + 1)
    assert 3 == len(bound(cluster))
    assert {} == cluster.cache.suspended.holds


def test_it_keeps_none_for_nodes_that_may_have_come_and_gone() -> None:
    train_job, _ = let_start_by_an_earlier_process()
    (data,), (first, *_) = part_of("data"), part_of("node")
    there = [
        {**each, "spec": {**each["spec"], "nodeName": "n1"}, "status": {"phase": phase}}
        for each, phase in ((data, "Succeeded"), (first, "Running"))
    ]
    cluster = restarted(train_job, changed(JOB_SET, suspend=False, version=2), *there)

    cluster.cycle(NOW + 100 * TIMEOUT)

    assert {} == cluster.cache.suspended.holds
    assert 1 == cluster.charged


def test_a_restart_keeps_none_where_the_job_set_has_other_members_now() -> None:
    train_job, _ = let_start_by_an_earlier_process()
    other = changed(JOB_SET, suspend=False, version=2)
    other["spec"] = {**other["spec"], "replicatedJobs": [replicated("node", 3)]}
    cluster = restarted(train_job, other)

    cluster.cycle(NOW + 1)

    assert ({}, {}) == (cluster.cache.suspended.holds, cluster.nominated())


def test_what_is_gone_is_forgotten() -> None:
    cluster = with_memory({"n1": 4})
    cluster.see(our_queue(), RAY_JOB, TRAIN_JOB, JOB_SET)
    cluster.gone(JOB_SET, RAY_JOB)

    cluster.cycle()
    assert [] == cluster.admitted

    cluster.see(JOB_SET)
    cluster.gone(TRAIN_JOB)
    cluster.cycle()
    assert [] == cluster.admitted


def test_a_workload_that_is_said_to_own_very_many_costs_what_one_of_few_does() -> None:
    cluster = Cluster({"n1": 4})
    cluster.see(our_queue())
    cluster.see(TRAIN_JOB)

    def see(numbers: range) -> int:
        owned = [body("JobSet", "jobset.x-k8s.io/v1alpha2", f"x{n}", TRAIN_JOB) for n in numbers]
        spec = {"suspend": True, "replicatedJobs": [replicated("node", 1)]}
        bodies = [{**each, "spec": spec} for each in owned]
        calls = calls_of(lambda: cluster.see(*bodies))
        return calls.total()

    few = see(range(100, 120))
    see(range(120, 280))

    assert see(range(280, 300)) < 2 * few
