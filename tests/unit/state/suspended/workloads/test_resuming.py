"""A scheduler that is started again keeps room and quota for pods that are awaited."""

import copy
from typing import Any

import pytest

from gang_scheduler.apply.workloads import patches
from gang_scheduler.client.fake.cluster import merge
from gang_scheduler.model.suspended import SuspendedFor
from support.suspended_jobs import NOW, START, Body, Cluster, job, our_queue, pod_of, template

NODES = {"n1": 2, "n2": 2}
TIMEOUT = 100


def started(body: Body) -> tuple[Body, dict[str, str]]:
    """Return a Job as an earlier process let it start at NOW, and the nodes of its members."""
    before = Cluster(NODES)
    before.see(our_queue(), body)
    before.cycle()
    (admission,) = before.writes.admissions
    found: Any = merge(body, patches.starting(admission, START))
    return dict(found), before.nominated()


def restarted(*bodies: Body, nodes: dict[str, int] | None = None) -> Cluster:
    cluster = Cluster(nodes or NODES, pods_timeout_seconds=TIMEOUT)
    cluster.see(our_queue(), *bodies)
    return cluster


def on(node: str, pod: Body, phase: str = "Running") -> Body:
    return {**pod, "spec": {**pod["spec"], "nodeName": node}, "status": {"phase": phase}}


@pytest.mark.parametrize("gang", [True, False], ids=["gang", "plain"])
def test_room_and_quota_are_kept_on_for_pods_of_which_none_has_come(*, gang: bool) -> None:
    body, nodes = started(job("first", 4, of=template(gang=gang)))
    older = job("older", 2, creationTimestamp="2026-01-01T11:00:00Z")
    cluster = restarted(body, older)

    cluster.cycle(NOW + 1)

    assert nodes == cluster.nominated()
    assert 4 == cluster.charged
    assert [] == cluster.admitted
    assert {"older": "Unschedulable"} == cluster.waiting


def test_pods_that_are_there_already_and_later_ones_get_the_nodes_of_their_members() -> None:
    body, nodes = started(job(pods=4))
    cluster = restarted(body, pod_of(body, 3), pod_of(body, 0))

    cluster.cycle(NOW + 1)
    kept = cluster.charged, cluster.nominated()
    cluster.see(pod_of(body, 1), pod_of(body, 2))
    cluster.cycle(NOW + 2)

    there = {"job-0-abcde": nodes["job-0"], "job-3-abcde": nodes["job-3"]}
    assert (4, {**there, "job-1": nodes["job-1"], "job-2": nodes["job-2"]}) == kept
    (placed,) = cluster.writes.bound
    assert {f"{name}-abcde": node for name, node in nodes.items()} == {
        bind.pod.name: bind.node for bind in placed.binds
    }
    assert {} == cluster.cache.suspended.holds


def test_pods_that_have_all_come_get_their_nodes_before_others() -> None:
    body, nodes = started(job(pods=4))
    older = job("older", 4, creationTimestamp="2026-01-01T11:00:00Z")
    cluster = restarted(older, body, *(pod_of(body, index) for index in range(4)))

    cluster.cycle(NOW + 1)

    (placed,) = cluster.writes.bound
    assert set(nodes.values()) == {bind.node for bind in placed.binds}
    assert [] == cluster.admitted


def test_members_that_are_on_nodes_need_no_room_beside() -> None:
    body, nodes = started(job(pods=2, of=template(gang=False)))
    cluster = restarted(body, on(nodes["job-0"], pod_of(body, 0)))

    cluster.cycle(NOW + 1)

    assert {"job-1": nodes["job-1"]} == cluster.nominated()
    assert 2 == cluster.charged


def test_without_pods_it_is_suspended_again_at_the_time_that_was_left() -> None:
    body, _ = started(job(pods=2))
    cluster = restarted(body)

    cluster.cycle(NOW + TIMEOUT - 1)
    in_time = list(cluster.writes.suspensions)
    cluster.cycle(NOW + TIMEOUT)

    assert [] == in_time
    assert [("job", SuspendedFor.PODS_MISSING)] == [
        (each.workload.name, each.why) for each in cluster.writes.suspensions
    ]
    assert 0 == cluster.charged


def test_its_time_begins_once_more_when_it_was_over_before_the_start() -> None:
    body, _ = started(job(pods=2))
    cluster = restarted(body, pod_of(body, 0))

    cluster.cycle(late := NOW + 10 * TIMEOUT)
    kept = cluster.charged
    cluster.cycle(late + TIMEOUT - 1)
    in_time = list(cluster.writes.suspensions)
    cluster.cycle(late + TIMEOUT)

    assert (2, []) == (kept, in_time)
    assert ["job"] == [each.workload.name for each in cluster.writes.suspensions]


@pytest.mark.parametrize("phase", ["Running", "Succeeded"])
def test_one_that_has_run_may_lose_pods_later(phase: str) -> None:
    body, nodes = started(job(pods=2))
    cluster = restarted(body, on(nodes["job-0"], pod_of(body, 0), phase))

    cluster.cycle(late := NOW + 10 * TIMEOUT)
    cluster.cycle(late + TIMEOUT)

    assert {} == cluster.cache.suspended.holds
    assert [] == cluster.writes.suspensions


def test_one_of_which_some_pods_run_is_not_suspended_for_the_others() -> None:
    body, nodes = started(job(pods=2, of=template(gang=False)))
    cluster = restarted(body, on(nodes["job-0"], pod_of(body, 0)))
    cluster.cycle(NOW + 1)

    cluster.cycle(NOW + TIMEOUT)

    assert [] == cluster.writes.suspensions
    assert 1 == cluster.charged


def test_an_admission_that_is_said_to_be_later_keeps_room_no_longer() -> None:
    body, _ = started(job(pods=2))
    body["metadata"]["annotations"]["py-gang-scheduler.io/admitted-at"] = "2036-01-01T12:00:00Z"
    cluster = restarted(body)

    cluster.cycle(NOW)
    cluster.cycle(NOW + TIMEOUT)

    assert ["job"] == [each.workload.name for each in cluster.writes.suspensions]


def test_what_is_said_of_other_members_keeps_nothing() -> None:
    body, _ = started(job(pods=2))
    other = copy.deepcopy(body)
    other["spec"]["parallelism"] = other["spec"]["completions"] = 3
    cluster = restarted(other)

    cluster.cycle(NOW + 1)

    assert {} == cluster.cache.suspended.holds


def test_what_is_said_once_it_leads_keeps_nothing() -> None:
    """Else a Job of any tenant could hold any nodes."""
    body, _ = started(job(pods=2))
    cluster = restarted()
    cluster.cycle(NOW)

    cluster.see(body)
    cluster.cycle(NOW + 1)

    assert ({}, {}) == (cluster.cache.suspended.holds, cluster.nominated())


def test_nothing_is_kept_for_kinds_that_are_not_managed_any_more() -> None:
    body, _ = started(job(pods=2))
    cluster = Cluster(NODES, manage_jobs=("JobSet",))
    cluster.see(our_queue(), body)

    cluster.cycle(NOW + 1)

    assert {} == cluster.nominated()
