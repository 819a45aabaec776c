"""The Lease is taken by one: new, free or empty, and also when an answer is lost."""

import asyncio
from datetime import UTC, datetime

import pytest

from gang_scheduler.api.kinds import LEASES
from gang_scheduler.client.fake.client import FakeApi
from gang_scheduler.client.fake.cluster import FakeCluster
from gang_scheduler.client.leader_election import LeaderElector
from integration.support.replicas import UNANSWERED, replicas, spec, until

pytestmark = pytest.mark.looptime


async def test_one_of_two_leads_and_goes_on_leading() -> None:
    cluster = FakeCluster()
    async with replicas(cluster, "a", "b") as (a, b):
        await asyncio.sleep(600)

        assert a.elector.is_leader()
        assert a.elector.acquired.is_set()
        assert not b.elector.is_leader()
        assert not b.elector.acquired.is_set()
        assert "the Lease is held by a" == b.elector.problem


async def test_the_record_reads_like_that_of_client_go() -> None:
    cluster = FakeCluster()
    before = datetime.now(UTC)
    async with replicas(cluster, "a") as (a,):
        await until(a.elector.is_leader)
        first = spec(cluster)
        await asyncio.sleep(5)
        second = spec(cluster)

    assert ("a", 15, 0) == tuple(
        first[key] for key in ("holderIdentity", "leaseDurationSeconds", "leaseTransitions")
    )
    assert first["acquireTime"] == first["renewTime"] == second["acquireTime"]
    assert second["renewTime"] > first["renewTime"]
    assert 27 == len(first["renewTime"])  # 2026-01-02T03:04:05.000006Z
    written = datetime.fromisoformat(first["renewTime"])
    assert before <= written <= datetime.now(UTC)


async def test_a_lease_that_a_chart_created_empty_is_taken() -> None:
    cluster = FakeCluster()
    labels = {"app": "kept"}
    cluster.put(LEASES, {"metadata": {"namespace": "ns", "name": "lease", "labels": labels}})
    async with replicas(cluster, "a") as (a,):
        await until(a.elector.is_leader, seconds=1)

    assert labels == cluster.get(LEASES, "ns", "lease")["metadata"]["labels"]


def test_times_that_would_allow_two_leaders_are_refused() -> None:
    with pytest.raises(ValueError, match="must hold"):
        LeaderElector(
            *(FakeApi(), "ns", "lease", "a"), lease_seconds=10, renew_deadline=10, retry_seconds=2
        )


async def test_two_that_take_a_free_lease_at_the_same_moment_do_not_both_lead() -> None:
    cluster = FakeCluster()
    cluster.put(LEASES, {"metadata": {"namespace": "ns", "name": "lease"}, "spec": {}})
    names = [f"r{number}" for number in range(20)]
    async with replicas(cluster, *names) as running:
        await asyncio.sleep(5)

        assert 1 == sum(each.elector.is_leader() for each in running)


async def test_an_unanswered_acquisition_that_happened_is_found_to_be_ours() -> None:
    cluster = FakeCluster()
    async with replicas(cluster, "a") as (a,):
        a.api.fail("put_lease", UNANSWERED)
        await asyncio.sleep(0.5)
        assert "a" == spec(cluster)["holderIdentity"]
        assert not a.elector.is_leader()

        assert await until(a.elector.is_leader) <= 2.1
        assert 0 == spec(cluster)["leaseTransitions"]
