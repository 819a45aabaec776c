"""Pods of a JobSet are a gang or not as soon as the JobSet is known, and wait until then."""

from typing import Any

import pytest

from gang_scheduler.api.annotations import JOB_GANG_LABEL, JOB_SET_LABEL, REPLICATED_JOB_LABEL
from gang_scheduler.api.kinds import JOB_SETS
from gang_scheduler.model.api_words import GangKind
from gang_scheduler.model.pods import Pod
from gang_scheduler.model.reasons import Reason
from gang_scheduler.model.refs import GangKey
from gang_scheduler.model.rules import GangRules, Rules
from gang_scheduler.state.cache import Cache
from gang_scheduler.state.changes import Changes
from gang_scheduler.state.gangs.workloads import TrainJobs
from gang_scheduler.workloads import job_sets
from support import cache_feeding
from support.builders import SCHEDULER, node, pod

LABELS = {JOB_SET_LABEL: "t", REPLICATED_JOB_LABEL: "node"}
PART = GangKey("JobSet", "default", "t/node")
OWNER = {"apiVersion": "trainer.kubeflow.org/v1alpha1", "kind": "TrainJob", "name": "t"}


def member(name: str = "t-0", **fields: Any) -> Pod:
    return pod(name, cpu=1, labels={**LABELS, **fields.pop("labels", {})}, **fields)


def alone(name: str = "t-0") -> GangKey:
    return GangKey("Pod", "default", name)


def cluster(*, train_jobs: bool = True) -> Cache:
    kinds = (GangKind.TRAIN_JOB,) if train_jobs else ()
    cache = Cache([SCHEDULER], Changes(), Rules(gangs=GangRules(gang_kinds=kinds)))
    cache.upsert(cache.node_store, node("n", cpu=8, memory=0))
    return cache


def say_job_set(
    cache: Cache, *owners: dict[str, str], uid: str = "u", order: str = "AnyOrder"
) -> None:
    template = {"spec": {"parallelism": 2, "template": {}}}
    startup = {"startupPolicyOrder": order}
    body = {
        "metadata": {"name": "t", "namespace": "default", "uid": uid, "ownerReferences": [*owners]},
        "spec": {
            "replicatedJobs": [{"name": "node", "template": template}],
            "startupPolicy": startup,
        },
    }
    cache_feeding.upsert(cache, JOB_SETS, job_sets.read(body))


def due(cache: Cache) -> dict[GangKey, Reason | None]:
    gangs = [gang for group in cache.snapshot(0).groups for gang in group.gangs]
    return {each.key: each.problem.reason if each.problem else None for each in gangs}


def gang_of(cache: Cache, uid: str = "uid-t-0") -> GangKey:
    found = cache.pod(uid)
    assert found is not None
    return found.gang


def test_pods_wait_for_their_job_set_and_are_a_gang_of_a_train_job() -> None:
    cache = cluster()
    cache.upsert_pod(member())
    assert {PART: Reason.POD_GROUP_NOT_FOUND} == due(cache)

    say_job_set(cache, OWNER)
    cache.upsert_pod(member("t-1"))

    assert {PART: None} == due(cache)
    info = cache.gang_queue.infos[PART]
    assert (2, 2) == (info.observed.min_member, len(info.observed.members))


def test_pods_wait_for_their_job_set_and_are_single_ones_of_any_other() -> None:
    cache = cluster()
    cache.upsert_pod(member())
    due(cache)

    say_job_set(cache)

    assert {alone(): None} == due(cache)
    assert PART not in cache.gang_queue.infos


def test_of_a_known_job_set_pods_are_at_once_what_they_are() -> None:
    cache = cluster()
    say_job_set(cache)
    cache.upsert_pod(member())

    assert alone() == gang_of(cache)


@pytest.mark.parametrize("text", ["false", "no"])
def test_a_pod_that_refuses_is_a_single_one(text: str) -> None:
    cache = cluster()
    say_job_set(cache, OWNER)
    cache.upsert_pod(member(labels={JOB_GANG_LABEL: text}))

    assert alone() == gang_of(cache)


def test_a_pod_that_asks_is_a_member_whatever_its_job_set_is() -> None:
    cache = cluster()
    say_job_set(cache)
    cache.upsert_pod(member(labels={JOB_GANG_LABEL: "true"}))

    assert PART == gang_of(cache)


def test_a_pod_that_names_its_gang_is_in_that_one() -> None:
    cache = cluster()
    cache.upsert_pod(member(gang="g"))

    assert GangKey("PodGroup", "default", "g") == gang_of(cache)


def test_switched_off_they_are_single_pods() -> None:
    cache = cluster(train_jobs=False)
    say_job_set(cache, OWNER)
    cache.upsert_pod(member())

    assert {alone(): None} == due(cache)
    assert [] == [*cache.gang_queue.described_by("u")]


@pytest.mark.parametrize("owners", [(), (OWNER,)])
def test_when_the_job_set_goes_its_pods_stay_what_they_were(owners: tuple[Any, ...]) -> None:
    cache = cluster()
    say_job_set(cache, *owners)
    cache.upsert_pod(member())
    before = gang_of(cache)

    cache_feeding.delete(cache, JOB_SETS, "u")
    cache.upsert_pod(member(deleting=True))
    assert before == gang_of(cache)

    cache.upsert_pod(member("t-1"))
    assert PART == gang_of(cache, "uid-t-1")


def test_a_job_set_that_comes_anew_is_not_forgotten_with_the_old_one() -> None:
    cache = cluster()
    say_job_set(cache)
    say_job_set(cache, OWNER, uid="new")
    cache_feeding.delete(cache, JOB_SETS, "u")
    cache.upsert_pod(member())

    assert PART == gang_of(cache)


def test_pods_that_are_gone_are_forgotten() -> None:
    known = TrainJobs(enabled=True)
    found = known.settled(member())
    known.forget(found)
    known.forget(found)

    described = job_sets.read({"metadata": {"name": "t", "namespace": "default", "uid": "u"}})
    assert set() == known.upsert(described)


@pytest.mark.parametrize(
    ("order", "expected"),
    [("AnyOrder", GangKey("PodGroup", "default", "t")), ("InOrder", PART)],
)
def test_a_pod_group_of_all_pods_counts_unless_they_come_in_order(
    order: str, expected: GangKey
) -> None:
    cache = cluster()
    label = {"scheduling.x-k8s.io/pod-group": "t"}
    cache.upsert_pod(member(labels=label))
    assert GangKey("PodGroup", "default", "t") == gang_of(cache)

    say_job_set(cache, OWNER, order=order)
    assert expected == gang_of(cache)

    cache.upsert_pod(member(labels=label, deleting=True))
    assert expected == gang_of(cache)


def test_a_pod_group_of_another_name_counts() -> None:
    cache = cluster()
    say_job_set(cache, OWNER, order="InOrder")
    cache.upsert_pod(member(labels={"scheduling.x-k8s.io/pod-group": "other"}))

    assert GangKey("PodGroup", "default", "other") == gang_of(cache)
