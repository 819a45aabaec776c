"""Which members Jobs wait with, and when they may start: as their controller would make pods."""

from typing import Any

import pytest

from support.suspended_jobs import (
    NOW,
    START,
    Body,
    Cluster,
    changed,
    job,
    our_queue,
    pod_of,
    started,
)


@pytest.mark.parametrize(
    ("spec", "status", "members"),
    [
        ({"completions": 2}, {}, ["job-0", "job-1"]),
        ({"completions": 9}, {}, ["job-0", "job-1", "job-2", "job-3"]),
        ({}, {"succeeded": 1, "completedIndexes": "0"}, ["job-1", "job-2", "job-3"]),
        (
            {"backoffLimitPerIndex": 1},
            {"succeeded": 1, "completedIndexes": "0", "failed": 2, "failedIndexes": "2"},
            ["job-1", "job-3"],
        ),
        ({"parallelism": 2}, {"succeeded": 3, "completedIndexes": "0,2-3"}, ["job-1"]),
    ],
)
def test_a_job_waits_with_the_pods_that_it_would_have_and_no_more(
    spec: Body, status: Body, members: list[str]
) -> None:
    body = {**changed(job(pods=4), **spec), "status": status}
    cluster = Cluster({"n1": 8})
    cluster.see(our_queue(), body)

    cluster.cycle()

    assert ["job"] == cluster.admitted
    assert members == sorted(cluster.nominated())
    assert len(members) == cluster.charged
    cluster.see(
        {**started(body), "status": status},
        *(pod_of(body, int(name.removeprefix("job-"))) for name in members),
    )
    cluster.cycle(NOW + 1)
    assert len(members) == sum(len(each.binds) for each in cluster.writes.bound)


@pytest.mark.parametrize("spec", [{"parallelism": 0}, {"completions": 0}])
def test_a_job_without_any_pod_waits_until_it_would_have_one(spec: Body) -> None:
    body = changed(job(pods=2), **spec)
    cluster = Cluster()
    cluster.see(our_queue(), body)
    cluster.cycle()
    assert [] == cluster.admitted

    cluster.see(changed(body, 3, parallelism=2, completions=2))
    cluster.cycle(NOW + 1)

    assert ["job"] == cluster.admitted


def test_a_job_is_started_with_as_many_pods_as_it_asks_for_by_then() -> None:
    cluster = Cluster({"n1": 2})
    body = job(pods=4)
    cluster.see(our_queue(), body)
    cluster.cycle()
    assert {"job": "Unschedulable"} == cluster.waiting

    cluster.see(changed(body, parallelism=2, completions=2))
    cluster.cycle(NOW + 1)

    (admission,) = cluster.writes.admissions
    assert (2, "2") == (cluster.charged, admission.workload.resource_version)


IGNORED: Any = {"rules": [{"action": "Ignore", "onPodConditions": [{"type": "DisruptionTarget"}]}]}


@pytest.mark.parametrize(
    ("spec", "waits"),
    [
        ({}, False),
        ({"podReplacementPolicy": "TerminatingOrFailed"}, False),
        ({"podReplacementPolicy": "Failed"}, True),
        ({"podFailurePolicy": IGNORED}, True),
    ],
)
def test_a_job_that_replaces_only_pods_that_have_ended_starts_once_all_have(
    spec: Body, *, waits: bool
) -> None:
    body = changed(job(pods=2), **spec)
    leaving = pod_of(body, 0)
    leaving["metadata"] |= {"deletionTimestamp": START, "deletionGracePeriodSeconds": 30}
    leaving["spec"] = {**leaving["spec"], "nodeName": "n1"}
    leaving["status"] = {"phase": "Running"}
    cluster = Cluster({"n1": 8})
    cluster.see(our_queue(), leaving, body)

    cluster.cycle()
    early = list(cluster.admitted)
    cluster.gone(leaving)
    cluster.cycle(NOW + 1)

    assert ([] if waits else ["job"]) == early
    assert ["job"] == cluster.admitted
