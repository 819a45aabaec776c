"""Victims with the highest indexes of a Job in mode `Replicas`: its replicas are lowered."""

import json
from typing import Any

import pytest

from gang_scheduler.api.kinds import AUTOSCALERS, GVR, JOBS, NODES, PODS, STATEFUL_SETS
from gang_scheduler.apply import evictor
from gang_scheduler.apply.workloads.replicas import END_SECONDS, MOST_A_MINUTE
from gang_scheduler.client.errors import ApiError
from gang_scheduler.client.fake.client import Call, Fault
from gang_scheduler.client.fake.cluster import Change, Document
from gang_scheduler.decode.elastic import elastic_of
from gang_scheduler.model.api_words import ELASTIC_KINDS
from gang_scheduler.model.gangs import signature
from gang_scheduler.model.pods import Elastic
from gang_scheduler.model.wording import rfc3339
from integration.support.victims_and_preemptor import MEMBERS, NAMESPACE, is_bound
from support import api_objects, replicas_of_roles
from support.replicas import ELASTIC, INDEX, STATE, asked, stateful_set
from support.replicas import job as job_of
from support.scheduler_process import FakeWorkloads, SchedulerProcess, began_at

pytestmark = pytest.mark.looptime

WORKERS = 4
WRITES = MEMBERS + MEMBERS + 1 + MEMBERS
"""Nominations, marks, the change of the replicas, and bindings."""


def full_node() -> FakeWorkloads:
    """Return a node, and an API server of all elastic kinds."""
    made = FakeWorkloads("n1")
    for each in (STATEFUL_SETS, *replicas_of_roles.SERVED):
        made.cluster.serve(each)
    return made


def with_job(*, controlled: bool = True, **spec: Any) -> FakeWorkloads:
    """Return a full node with a Job of 2 to 4 workers, and a gang that needs the room of two."""
    made = full_node()
    body = job_of(WORKERS, asked(2, WORKERS), priority=1)
    body["spec"].update(spec)
    uid = made.cluster.put(JOBS, body)["metadata"]["uid"]
    for index in range(WORKERS):
        worker(made, index, uid)
    made.gang("high", MEMBERS, priority=10)

    def control(gvr: GVR, change: Change, document: Document) -> None:
        """Do what the controller of Jobs does for one that has fewer completions now."""
        if gvr == JOBS and change == "MODIFIED":
            for index in range(document["spec"]["completions"], WORKERS):
                if made.cluster.has(PODS, NAMESPACE, f"train-{index}"):
                    made.cluster.delete(PODS, NAMESPACE, f"train-{index}")

    if controlled:
        made.cluster.watchers.append(control)
    return made


def with_stateful_set(**spec: Any) -> FakeWorkloads:
    """Return the same with a StatefulSet, whose pods are numbered by their names alone."""
    made = full_node()
    body = stateful_set(WORKERS, asked(2, WORKERS), priority=1, **spec)
    uid = made.cluster.put(STATEFUL_SETS, body)["metadata"]["uid"]
    first = spec.get("ordinals", {}).get("start", 0)
    for ordinal in range(first, first + WORKERS):
        worker(made, ordinal, uid, "StatefulSet")
    made.gang("high", MEMBERS, priority=10)

    def control(gvr: GVR, change: Change, document: Document) -> None:
        """Do what the controller of StatefulSets does for one that has fewer replicas now."""
        if gvr == STATEFUL_SETS and change == "MODIFIED":
            for ordinal in range(first + document["spec"]["replicas"], first + WORKERS):
                if made.cluster.has(PODS, NAMESPACE, f"train-{ordinal}"):
                    made.cluster.delete(PODS, NAMESPACE, f"train-{ordinal}")

    made.cluster.watchers.append(control)
    return made


def with_roles(body: Document) -> FakeWorkloads:
    """Return the same with a job of Kubeflow, or a RayCluster, and its controller's stand-in."""
    made = full_node()
    gvr = replicas_of_roles.OF_KIND[body["kind"]]
    uid = made.cluster.put(gvr, body)["metadata"]["uid"]
    names = [f"train-{index}" for index in range(WORKERS)]
    for index, name in enumerate(names):
        pod = api_objects.pod_body(
            name, priority=1, containers=[api_objects.container(requests={"cpu": 1})]
        )
        owner = {"apiVersion": body["apiVersion"], "kind": body["kind"], "name": "train"}
        pod["metadata"].update(
            labels=replicas_of_roles.worker_labels(body["kind"], index),
            ownerReferences=[{**owner, "uid": uid, "controller": True}],
        )
        pod["spec"]["nodeName"] = "n1"
        pod["status"]["phase"] = "Running"
        made.cluster.put(PODS, pod)
    made.gang("high", MEMBERS, priority=10)

    def control(gvr_changed: GVR, change: Change, document: Document) -> None:
        if gvr_changed == gvr and change == "MODIFIED":
            for name in replicas_of_roles.ended(document, names):
                if made.cluster.has(PODS, NAMESPACE, name):
                    made.cluster.delete(PODS, NAMESPACE, name)

    made.cluster.watchers.append(control)
    return made


def worker(made: FakeWorkloads, index: int, uid: str, kind: str = "Job") -> None:
    """Add the pod of an index, on the node."""
    requests = [api_objects.container(requests={"cpu": 1})]
    body = api_objects.pod_body(f"train-{index}", priority=1, containers=requests)
    version = "batch/v1" if kind == "Job" else "apps/v1"
    owner = {"apiVersion": version, "kind": kind, "name": "train", "uid": uid}
    notes = {INDEX: str(index)} if kind == "Job" else {}
    body["metadata"].update(
        labels={"py-gang-scheduler.io/gang": "true", **notes},
        annotations=notes,
        ownerReferences=[{**owner, "controller": True}],
    )
    body["spec"]["nodeName"] = "n1"
    body["status"]["phase"] = "Running"
    made.cluster.put(PODS, body)


def process(made: FakeWorkloads) -> SchedulerProcess:
    return SchedulerProcess(made, elastic_kinds=ELASTIC_KINDS)


def job(made: FakeWorkloads) -> Document:
    return made.cluster.get(JOBS, NAMESPACE, "train")


def workers(made: FakeWorkloads) -> list[str]:
    return sorted(name for name in made.pods() if name.startswith("train-"))


def methods(running: SchedulerProcess) -> list[str]:
    return [method for method, _ in running.writes()]


async def test_the_replicas_are_lowered_and_no_pod_is_deleted() -> None:
    made = with_job()
    async with process(made) as running:
        await running.until(lambda: is_bound(made))

        stages = {"nominate": MEMBERS, "patch_pod_condition": MEMBERS, "patch": 1, "bind": MEMBERS}
        assert [name for name, number in stages.items() for _ in range(number)] == methods(running)
    assert ["train-0", "train-1"] == workers(made)
    assert (2, 2) == (job(made)["spec"]["parallelism"], job(made)["spec"]["completions"])
    said = json.loads(job(made)["metadata"]["annotations"][STATE])
    assert (2, "Preempted") == (said["workers"], said["why"])


@pytest.mark.parametrize("number", range(WRITES))
@pytest.mark.parametrize("after", [False, True])
async def test_after_a_kill_between_two_writes_the_next_life_ends_as_the_first_would_have(
    number: int, *, after: bool
) -> None:
    made = with_job()
    async with process(made) as first:
        first.hang_from(number, after=after)
        await first.until(lambda: len(first.writes()) > number)
    async with process(made) as second:
        await second.until(lambda: is_bound(made))

        assert "delete_pod" not in methods(second)
    assert ["train-0", "train-1"] == workers(made)
    assert 2 == job(made)["spec"]["parallelism"]


async def test_pods_that_the_controller_does_not_end_are_deleted_after_half_a_minute() -> None:
    made = with_job(controlled=False)
    async with process(made) as running:
        await running.until(lambda: "patch" in methods(running))
        await running.until(lambda: is_bound(made), seconds=END_SECONDS + 10)

        assert MEMBERS == methods(running).count("delete_pod")
    assert ["train-0", "train-1"] == workers(made)


async def test_no_other_preemption_waits_for_pods_that_the_controller_does_not_end(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(evictor, "ROUNDS_AT_ONCE", 1)
    made = with_job(controlled=False)
    made.cluster.put(NODES, api_objects.node_body("n2", allocatable={"cpu": "4", "pods": "110"}))
    made.gang("plain", WORKERS, priority=1, node="n2")
    made.gang("late", WORKERS, priority=9)
    async with process(made) as running:
        await running.until(
            lambda: not any(name.startswith("plain-") for name in made.pods()), END_SECONDS / 2
        )

        assert WORKERS == len(workers(made))


async def test_changes_that_other_gangs_make_for_themselves_have_no_pod_deleted() -> None:
    made = with_job()
    running = process(made)
    shrinking = running.evictor._stages._shrinking
    assert shrinking is not None
    shrinking._resizer._lately.extend([shrinking._clock() + 60] * MOST_A_MINUTE)
    async with running:
        await running.until(lambda: is_bound(made))

    assert "delete_pod" not in methods(running)
    assert 2 == job(made)["spec"]["parallelism"]


@pytest.mark.parametrize("status", [403, 422])
async def test_where_the_job_may_not_be_patched_its_pods_are_deleted(status: int) -> None:
    made = with_job()
    refusal = Fault(ApiError(status, "refused"))
    async with process(made) as running:
        running.api.scripts.append(lambda it: refusal if it.method == "patch" else None)
        await running.until(lambda: is_bound(made))

        assert MEMBERS == methods(running).count("delete_pod")
    assert WORKERS == job(made)["spec"]["parallelism"]


@pytest.mark.parametrize(
    "spec", [{"completions": 9}, {"completionMode": "NonIndexed"}, {"suspend": True}]
)
async def test_a_job_that_ends_other_pods_than_the_victims_is_left_alone(
    spec: dict[str, Any],
) -> None:
    made = with_job(controlled=False, **spec)
    async with process(made) as running:
        await running.until(lambda: is_bound(made))

        assert (0, MEMBERS) == (
            methods(running).count("patch"),
            methods(running).count("delete_pod"),
        )


async def test_a_job_that_an_autoscaler_scales_is_left_alone() -> None:
    made = with_job()
    made.cluster.serve(AUTOSCALERS)
    target = {"apiVersion": "batch/v1", "kind": "Job", "name": "train"}
    metadata = {"name": "load", "namespace": NAMESPACE}
    made.cluster.put(AUTOSCALERS, {"metadata": metadata, "spec": {"scaleTargetRef": target}})
    async with process(made) as running:
        await running.until(lambda: is_bound(made))

        assert (0, MEMBERS) == (
            methods(running).count("patch"),
            methods(running).count("delete_pod"),
        )


async def test_a_job_that_was_changed_a_moment_ago_is_left_alone() -> None:
    made = with_job()
    with made.cluster.changing(JOBS, NAMESPACE, "train") as found:
        said = {"workers": WORKERS, "at": rfc3339(int(began_at())), "why": "RoomFree"}
        found["metadata"]["annotations"][STATE] = json.dumps(said)
    async with process(made) as running:
        await running.until(lambda: is_bound(made))

        assert (0, MEMBERS) == (
            methods(running).count("patch"),
            methods(running).count("delete_pod"),
        )


@pytest.mark.parametrize("most", [WORKERS, WORKERS + 1])
async def test_a_job_that_others_changed_too_often_is_left_alone_under_the_same_annotation(
    most: int,
) -> None:
    made = with_job()
    stopped = signature(elastic_of({ELASTIC: asked(2, most)}) or Elastic(1, 1))
    with made.cluster.changing(JOBS, NAMESPACE, "train") as found:
        long_ago = rfc3339(int(began_at()) - 3600)
        said = {"workers": WORKERS, "at": long_ago, "why": "RoomFree", "stopped": stopped}
        found["metadata"]["annotations"][STATE] = json.dumps(said)
    async with process(made) as running:
        await running.until(lambda: is_bound(made))

        is_same = most == WORKERS
        assert (0 if is_same else 1) == methods(running).count("patch")
        assert (MEMBERS if is_same else 0) == methods(running).count("delete_pod")


async def test_a_change_in_between_is_met_by_reading_again() -> None:
    made = with_job()

    def change(call: Call) -> Fault | None:
        if call.method == "patch" and "seen" not in job(made)["metadata"].get("labels", {}):
            with made.cluster.changing(JOBS, NAMESPACE, "train") as found:
                found["metadata"]["labels"] = {"seen": "yes"}
        return None

    async with process(made) as running:
        running.api.scripts.append(change)
        await running.until(lambda: is_bound(made))

        assert (2, 0) == (methods(running).count("patch"), methods(running).count("delete_pod"))


@pytest.mark.parametrize("after", [False, True])
async def test_a_change_without_an_answer_is_settled(*, after: bool) -> None:
    made = with_job()
    async with process(made) as running:
        running.api.fail("patch", Fault(ApiError(0, "broken"), after=after))
        await running.until(lambda: is_bound(made))

        assert "delete_pod" not in methods(running)
    assert (2, ["train-0", "train-1"]) == (job(made)["spec"]["parallelism"], workers(made))


async def test_the_replicas_of_a_stateful_set_are_lowered_and_no_pod_is_deleted() -> None:
    made = with_stateful_set()
    async with process(made) as running:
        await running.until(lambda: is_bound(made))

        assert (1, 0) == (methods(running).count("patch"), methods(running).count("delete_pod"))
    assert ["train-0", "train-1"] == workers(made)
    assert 2 == made.cluster.get(STATEFUL_SETS, NAMESPACE, "train")["spec"]["replicas"]


async def test_a_stateful_set_whose_ordinals_are_no_indexes_loses_its_victims() -> None:
    made = with_stateful_set(ordinals={"start": 5})
    async with process(made) as running:
        await running.until(lambda: is_bound(made))

        assert (0, MEMBERS) == (
            methods(running).count("patch"),
            methods(running).count("delete_pod"),
        )


@pytest.mark.parametrize("kind", ["PyTorchJob", "JAXJob", "RayCluster"])
async def test_the_replicas_of_a_role_are_lowered_and_no_pod_is_deleted(kind: str) -> None:
    asks = asked(2, WORKERS)
    body = (
        replicas_of_roles.ray_cluster(WORKERS, asks)
        if kind == "RayCluster"
        else replicas_of_roles.kubeflow_job(kind, WORKERS, asks)
    )
    made = with_roles(body)
    async with process(made) as running:
        await running.until(lambda: is_bound(made))

        assert ["patch"] == [each for each in methods(running) if each in ("patch", "delete_pod")]
    found = made.cluster.get(replicas_of_roles.OF_KIND[kind], NAMESPACE, "train")
    assert 2 == replicas_of_roles.replicas(found)
    assert 2 == len(workers(made))
