"""Room that is kept for pods, of workloads that are changed before these have come."""

import pytest

from gang_scheduler.model.causes.queues import WorkloadChanged, WorkloadGone
from support.suspended_jobs import (
    NOW,
    OF_QUEUE,
    START,
    Body,
    Cluster,
    changed,
    job,
    our_queue,
    pod_of,
    started,
)

TIMEOUT = 100


def let_start(body: Body) -> Cluster:
    """Return a cluster in which a Job was let start, of which no pod has come yet."""
    cluster = Cluster({"n1": 8}, pods_timeout_seconds=TIMEOUT)
    cluster.see(our_queue(), our_queue("empty", 0), body)
    cluster.cycle()
    assert ["job"] == cluster.admitted
    return cluster


def come(cluster: Cluster, of: Body, number: int) -> None:
    cluster.see(of, *(pod_of(of, index) for index in range(number)))


def bound(cluster: Cluster) -> int:
    return sum(len(each.binds) for each in cluster.writes.bound)


@pytest.mark.parametrize("there", [0, 1, 2])
def test_a_job_that_is_scaled_down_waits_for_no_pods_that_never_come(there: int) -> None:
    body = job(pods=4)
    cluster = let_start(body)
    come(cluster, started(body), there)

    come(cluster, started(body, 3, parallelism=2, completions=2), 2)
    cluster.cycle(NOW + 1)
    cluster.cycle(NOW + TIMEOUT + 1)

    assert (2, 2) == (bound(cluster), cluster.charged)
    assert [] == cluster.writes.suspensions


def test_room_is_kept_for_what_was_planned_of_a_job_that_is_scaled_up() -> None:
    body = job(pods=2)
    cluster = let_start(body)

    cluster.see(started(body, 3, parallelism=4, completions=4))
    cluster.cycle(NOW + 1)
    kept = cluster.charged
    come(cluster, started(body, 3, parallelism=4, completions=4), 4)
    cluster.cycle(NOW + 2)

    assert 2 == kept
    assert (4, 4) == (bound(cluster), cluster.charged)


def test_pods_that_have_succeeded_scale_no_job_down() -> None:
    body = job(pods=4)
    cluster = let_start(body)

    cluster.see({**started(body, 3), "status": {"succeeded": 1}})
    cluster.cycle(NOW + 1)

    assert ["uid-job"] == [*cluster.cache.suspended.holds]


@pytest.mark.parametrize("is_started", [True, False])
def test_a_job_that_is_deleted_and_held_by_a_finalizer_keeps_no_room(*, is_started: bool) -> None:
    body = job(pods=2)
    cluster = let_start(body)
    found = started(body, 3) if is_started else changed(body, 3)
    fields = {"deletionTimestamp": START, "finalizers": ["example.com/held"]}

    cluster.see({**found, "metadata": {**found["metadata"], **fields}})
    cluster.cycle(NOW + 1)
    cluster.cycle(NOW + TIMEOUT + 1)

    assert 0 == cluster.charged
    assert (["job"], []) == (cluster.admitted, cluster.writes.suspensions)


def test_a_job_that_is_gone_before_the_patch_leaves_nothing() -> None:
    body = job(pods=2)
    cluster = let_start(body)

    cluster.gone(body)
    cluster.cache.suspended.not_admitted("uid-job", WorkloadGone(), NOW)
    cluster.cycle(NOW + 1)

    assert (0, {}) == (cluster.charged, cluster.waiting)
    assert not cluster.cache.suspended.holds


def test_the_pods_of_another_queue_wait_for_the_quota_of_that() -> None:
    body = job(pods=2)
    cluster = let_start(body)
    moved = started(body)
    moved["metadata"]["labels"] = {OF_QUEUE: "empty"}

    come(cluster, moved, 2)
    cluster.cycle(NOW + 1)

    assert {"job": "QuotaExceeded"} == cluster.waiting
    assert (0, 0) == (bound(cluster), cluster.charged)


def test_a_job_that_is_changed_while_it_is_started_is_planned_anew_as_it_is_then() -> None:
    body = job(pods=4)
    cluster = let_start(body)

    cluster.see(changed(body, parallelism=2, completions=2))
    under_way = cluster.charged
    cluster.cache.suspended.not_admitted("uid-job", WorkloadChanged(), NOW)
    cluster.cycle(NOW + 60)

    assert 4 == under_way
    assert 2 == cluster.charged
    assert "2" == cluster.writes.admissions[-1].workload.resource_version


def test_a_job_that_its_user_starts_first_keeps_no_room_and_its_pods_wait_as_a_gang() -> None:
    body = job(pods=2)
    cluster = let_start(body)

    by_hand = changed(body, suspend=False)
    cluster.see(by_hand)
    cluster.cache.suspended.not_admitted("uid-job", WorkloadChanged(), NOW)
    kept = cluster.charged
    come(cluster, by_hand, 2)
    cluster.cycle(NOW + 1)

    assert 0 == kept
    assert (2, 2) == (bound(cluster), cluster.charged)
    assert ["job"] == cluster.admitted


def test_a_user_who_suspends_a_job_at_once_frees_its_room() -> None:
    body = job(pods=2)
    cluster = let_start(body)
    cluster.cache.suspended.admitted("uid-job", NOW)
    by_hand = started(body, 3)
    by_hand["spec"]["suspend"] = True

    cluster.see(started(body), by_hand)
    cluster.cycle(NOW + TIMEOUT + 1)

    assert 0 == cluster.charged
    assert (["job"], []) == (cluster.admitted, cluster.writes.suspensions)
