"""Which members Jobs wait with, and when they may start: as their controller would make pods."""

from typing import Any

import pytest

from support.call_counts import at_most, calls_of
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
    template,
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


def _of_gang(name: str) -> Body:
    """Return the template of a pod that names its gang."""
    made = template(gang=False)
    prefix = "gang.scheduling.koordinator.sh"
    own = {f"{prefix}/name": name, f"{prefix}/min-available": "1"}
    return {**made, "metadata": {"annotations": own}}


def _job_set(gangs: int) -> Body:
    """Return a suspended JobSet whose Jobs are all of different gangs."""
    jobs = [
        {
            "name": f"j{number}",
            "template": {"spec": {"parallelism": 1, "template": _of_gang(f"g{number}")}},
        }
        for number in range(gangs)
    ]
    metadata = {**job("set")["metadata"], "uid": "uid-set"}
    spec = {"suspend": True, "replicatedJobs": jobs}
    version = "jobset.x-k8s.io/v1alpha2"
    return {"apiVersion": version, "kind": "JobSet", "metadata": metadata, "spec": spec}


def test_jobs_that_share_a_gang_with_a_workload_of_many_gangs_cost_no_look_at_these() -> None:
    cluster = Cluster()
    cluster.see(our_queue())
    cluster.see(_job_set(100))
    shared = [job(f"shares-{number}", of=_of_gang("g0"), pods=1) for number in range(20)]
    cluster.see(shared[0])
    assert "InvalidSpec" == _why(cluster, "g0")

    at_most(20_000, calls_of(lambda: cluster.see(*shared[1:])))
    at_most(20_000, calls_of(cluster.cache.suspended.priorities_changed))

    cluster.gone(*shared)
    assert "" == _why(cluster, "g0")


def _why(cluster: Cluster, name: str) -> str:
    """Return why a gang waits after a cycle; "" if it does not."""
    cluster.cycle()
    return cluster.waiting.get(name, "")


@pytest.mark.parametrize(("number", "waits"), [(1_000, 1_000), (1_001, 0)])
def test_a_workload_of_very_many_different_pods_does_not_wait_suspended(
    number: int, waits: int
) -> None:
    cluster = Cluster()
    cluster.see(our_queue())
    cluster.see(_job_set(number))

    gangs = [info for info in cluster.cache.gang_queue.infos.values() if info.suspended]
    assert waits == len(gangs)
