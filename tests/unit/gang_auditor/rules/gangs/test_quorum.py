"""Gangs that are bound in part."""

from typing import Any

import pytest

from gang_scheduler.api import annotations as keys
from support.audit_streams import NAMESPACE, Stream, bound, deleted, ended, node, pod, pod_group


@pytest.fixture
def stream() -> Stream:
    stream = Stream("quorum")
    stream.see(node("n1"), pod_group("ring", 3))
    return stream


def members(count: int, **fields: Any) -> list[dict[str, Any]]:
    return [pod(f"ring-{number}", **{"gang": "ring", **fields}) for number in range(count)]


def test_a_gang_that_is_bound_whole_is_right(stream: Stream) -> None:
    ring = members(3)
    stream.see(*ring)
    for each in ring:
        stream.see(bound(each, "n1"))
        stream.wait(2)
    stream.wait(600)

    assert [] == stream.end()


def test_a_gang_that_stays_in_part_is_found_once(stream: Stream) -> None:
    ring = members(3)
    stream.see(*ring, bound(ring[0], "n1"), bound(ring[1], "n1"))
    stream.wait(60)
    assert [] == stream.told
    stream.wait(60)
    stream.wait(60)

    assert [("quorum", f"Gang {NAMESPACE}/ring")] == stream.end()
    assert "2 of 3 members bound for 120 s" == stream.found[0].message


def test_a_gang_that_was_whole_may_lose_members(stream: Stream) -> None:
    ring = [bound(each, "n1") for each in members(3)]
    stream.see(*ring)
    stream.gone(ring[0])
    stream.wait(600)

    assert [] == stream.end()


def test_members_that_ended_count_for_the_gang_that_they_began(stream: Stream) -> None:
    ring = members(3)
    stream.see(*ring, bound(ring[0], "n1"), bound(ring[1], "n1"))
    stream.see(ended(bound(ring[0], "n1")))
    stream.see(bound(ring[2], "n1"))
    stream.wait(600)

    assert [] == stream.end()


def test_a_second_attempt_is_judged_like_the_first(stream: Stream) -> None:
    first = [bound(each, "n1") for each in members(3)]
    stream.see(*first)
    stream.gone(*first)
    again = members(3)
    stream.see(*again, bound(again[0], "n1"))
    stream.wait(120)

    assert [("quorum", f"Gang {NAMESPACE}/ring")] == stream.end()


def test_a_member_that_was_deleted_meanwhile_is_not_waited_for(stream: Stream) -> None:
    ring = members(3)
    stream.see(*ring, bound(ring[0], "n1"), bound(ring[1], "n1"))
    stream.gone(deleted(ring[2]))
    stream.wait(600)

    assert [] == stream.end()


def test_a_gang_without_a_quorum_of_members_must_not_begin(stream: Stream) -> None:
    ring = members(3)
    stream.see(*ring)
    stream.gone(ring[2])
    stream.wait(30)
    stream.see(bound(ring[0], "n1"), bound(ring[1], "n1"))

    assert [("quorum", f"Gang {NAMESPACE}/ring")] == stream.end()
    assert "bound with 2 members, where 3 must be bound together" == stream.found[0].message


def test_what_was_bound_before_the_auditor_began_is_not_judged(stream: Stream) -> None:
    ring = members(3)
    stream.listed(ring[0], bound(ring[0], "n1"), ring[1])
    stream.see(bound(ring[1], "n1"))
    stream.wait(600)

    assert [] == stream.end()


def test_a_quorum_that_was_raised_meanwhile_is_that_of_before(stream: Stream) -> None:
    ring = [bound(each, "n1") for each in members(3)]
    stream.see(*ring)
    stream.see(pod_group("ring", 5))
    stream.wait(200)

    assert [] == stream.end()


def test_gangs_of_annotations_have_a_quorum(stream: Stream) -> None:
    marks = {keys.GANG_NAME: "band", keys.GANG_MIN_AVAILABLE: "2"}
    band = [pod(f"band-{number}", annotations=marks) for number in range(2)]
    stream.see(*band, bound(band[0], "n1"))
    stream.wait(120)

    assert [("quorum", f"Gang {NAMESPACE}/band")] == stream.end()


def test_gangs_of_jobs_have_a_quorum(stream: Stream) -> None:
    owner = {"kind": "Job", "name": "train", "controller": True}
    job = {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": "train", "namespace": NAMESPACE, "uid": "job"},
        "spec": {"parallelism": 2, "completions": 2},
    }
    pods = [pod(f"train-{number}", labels={keys.JOB_GANG_LABEL: "true"}) for number in range(2)]
    for each in pods:
        each["metadata"]["ownerReferences"] = [owner]
    stream.see(job, *pods, bound(pods[0], "n1"))
    stream.wait(120)

    assert [("quorum", f"Gang {NAMESPACE}/train")] == stream.end()


def test_pods_of_another_scheduler_are_no_members(stream: Stream) -> None:
    stream.see(bound(members(1, schedulerName="default-scheduler")[0], "n1", plan=None))
    stream.wait(600)

    assert [] == stream.end()


def test_the_minimum_of_each_role_must_be_bound(stream: Stream) -> None:
    stream.see(pod_group("cast", 2, **{keys.ROLES: '{"master": 1, "worker": 1}'}))
    cast = [
        pod(f"cast-{number}", gang="cast", labels={keys.ROLE: role})
        for number, role in enumerate(("master", "worker", "worker"))
    ]
    stream.see(*cast, bound(cast[1], "n1"), bound(cast[2], "n1"))
    stream.wait(120)

    assert [("quorum", f"Gang {NAMESPACE}/cast")] == stream.end()
    assert "0 of 1 master bound for 120 s" == stream.found[0].message


def test_a_gang_with_the_minimum_of_each_role_is_right(stream: Stream) -> None:
    stream.see(pod_group("cast", 2, **{keys.ROLES: '{"master": 1, "worker": 1, "late": 0}'}))
    cast = [
        pod(f"cast-{role}", gang="cast", labels={keys.ROLE: role})
        for role in ("master", "worker", "late")
    ]
    stream.see(*cast, bound(cast[0], "n1"), bound(cast[1], "n1"))
    stream.wait(120)

    assert [] == stream.end()


def of_a_set(index: int) -> dict[str, Any]:
    prefix = "leaderworkerset.sigs.k8s.io"
    labels = {f"{prefix}/name": "set", f"{prefix}/group-index": "0"}
    return pod(f"set-0-{index}", labels=labels, annotations={f"{prefix}/size": "2"})


def of_kueue(index: int) -> dict[str, Any]:
    annotations = {keys.KUEUE_POD_GROUP_TOTAL: "2"}
    return pod(f"k-{index}", labels={keys.KUEUE_POD_GROUP: "k"}, annotations=annotations)


def of_a_pytorch_job(index: int) -> dict[str, Any]:
    role = ("master", "worker")[index]
    made = pod(f"train-{role}", labels={"training.kubeflow.org/replica-type": role})
    owner = {"kind": "PyTorchJob", "name": "train", "controller": True}
    made["metadata"]["ownerReferences"] = [owner]
    return made


def pytorch_job(**spec: Any) -> dict[str, Any]:
    roles = {"Master": {"replicas": 1}, "Worker": {}, "Evaluator": {"replicas": 3}}
    return {
        "apiVersion": "kubeflow.org/v1",
        "kind": "PyTorchJob",
        "metadata": {"name": "train", "namespace": NAMESPACE, "uid": "train"},
        "spec": {"pytorchReplicaSpecs": roles, **spec},
    }


OTHERS = {
    "LeaderWorkerSet/set/0": of_a_set,
    "KueuePodGroup/k": of_kueue,
    "PyTorchJob/train": of_a_pytorch_job,
}


@pytest.mark.parametrize("gang", OTHERS)
def test_gangs_of_other_workloads_have_a_quorum(stream: Stream, gang: str) -> None:
    both = [OTHERS[gang](index) for index in range(2)]
    mark = {keys.PLAN_GANG: gang}
    stream.see(pytorch_job(), *both, bound(both[0], "n1", **mark))
    stream.wait(120)

    assert [("quorum", f"Gang {NAMESPACE}/{gang.partition('/')[2]}")] == stream.end()


@pytest.mark.parametrize("gang", OTHERS)
def test_gangs_of_other_workloads_that_are_whole_are_right(stream: Stream, gang: str) -> None:
    both = [OTHERS[gang](index) for index in range(2)]
    mark = {keys.PLAN_GANG: gang}
    stream.see(pytorch_job(), *both, *(bound(each, "n1", **mark) for each in both))
    stream.wait(120)

    assert [] == stream.end()


@pytest.mark.parametrize("gang", OTHERS)
def test_where_a_setting_makes_them_no_gangs_they_have_none(stream: Stream, gang: str) -> None:
    both = [OTHERS[gang](index) for index in range(2)]
    stream.see(pytorch_job(), *both, bound(both[0], "n1"))
    stream.wait(120)

    assert [] == stream.end()


@pytest.mark.parametrize(
    "job",
    [
        pytorch_job(elasticPolicy={"minReplicas": 1}),
        pytorch_job(runPolicy={"schedulingPolicy": {"minAvailable": 1}}),
        pytorch_job() | {"status": {"replicaStatuses": {"Worker": {"succeeded": 1}}}},
    ],
)
def test_a_job_that_may_run_with_less_is_not_judged(stream: Stream, job: dict[str, Any]) -> None:
    both = [of_a_pytorch_job(index) for index in range(2)]
    stream.see(job, *both, bound(both[0], "n1", **{keys.PLAN_GANG: "PyTorchJob/train"}))
    stream.wait(120)

    assert [] == stream.end()


def test_a_leader_may_start_before_there_are_workers(stream: Stream) -> None:
    leader = of_a_set(0)
    stream.see(leader, bound(leader, "n1", **{keys.PLAN_GANG: "LeaderWorkerSet/set/0"}))
    stream.wait(120)

    assert [] == stream.end()
