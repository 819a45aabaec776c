"""The next leads soon after the last one has ended, and never while it leads."""

import asyncio
from datetime import timedelta

import pytest

from gang_scheduler.api.kinds import LEASES
from gang_scheduler.client.fake.client import Fault
from gang_scheduler.client.fake.cluster import FakeCluster
from gang_scheduler.client.leader_election import LATE_SECONDS, Sign, annotations_of
from integration.support.replicas import HANGS, OUTAGE, Replica, now, replicas, spec, until

pytestmark = pytest.mark.looptime


def followed(replica: Replica, within_seconds: float) -> tuple[str, Sign, bool]:
    """Return after which leader one leads, how that ended, and whether it was seen so lately."""
    found = replica.elector.predecessor
    assert found is not None
    return found.identity, found.ended, 0 <= now() - found.led_at <= within_seconds


async def test_after_a_clean_exit_the_next_leads_at_once() -> None:
    cluster = FakeCluster()
    async with replicas(cluster, "a", "b") as (a, b):
        await until(a.elector.is_leader)
        await asyncio.sleep(60)
        await a.stops()

        assert ("", 1) == (spec(cluster)["holderIdentity"], spec(cluster)["leaseDurationSeconds"])
        assert not a.elector.is_leader()
        assert await until(b.elector.is_leader) <= 1.1
        assert ("a", Sign.RELEASED, True) == followed(b, within_seconds=1.1)
        assert ("b", 1) == (spec(cluster)["holderIdentity"], spec(cluster)["leaseTransitions"])


async def test_after_a_death_the_next_leads_when_the_lease_has_run_out() -> None:
    cluster = FakeCluster()
    async with replicas(cluster, "a", "b") as (a, b):
        await until(a.elector.is_leader)
        await asyncio.sleep(60)
        await a.dies()

        assert "a" == spec(cluster)["holderIdentity"]
        waited = await until(b.elector.is_leader)
        assert 13 <= waited <= 15 + 2 * 2.1
        assert ("a", Sign.EXPIRED, True) == followed(b, within_seconds=waited + 2.1)
        assert ("a", Sign.EXPIRED, False) == followed(b, within_seconds=waited - 1.1)
        assert ("b", 1) == (spec(cluster)["holderIdentity"], spec(cluster)["leaseTransitions"])


@pytest.mark.parametrize("hours", [-5, 5])
async def test_a_clock_that_is_hours_off_changes_nothing(hours: int) -> None:
    cluster = FakeCluster()
    async with replicas(cluster, "a", clock_is_off=timedelta(hours=hours)) as (a,):
        await until(a.elector.is_leader)
        b = Replica(cluster, "b")
        await asyncio.sleep(60)
        assert not b.elector.is_leader()

        await a.dies()
        assert 13 <= await until(b.elector.is_leader) <= 15 + 2 * 2.1
        await b.stops()


async def test_a_lease_deleted_under_its_holder_goes_to_no_other() -> None:
    cluster = FakeCluster()
    async with replicas(cluster, "a", "b") as (a, b):
        await until(a.elector.is_leader)
        await until(lambda: b.elector.problem == "the Lease is held by a")
        for _ in range(20):
            cluster.delete(LEASES, "ns", "lease")
            await asyncio.sleep(2.7)

            assert a.elector.is_leader()
            assert not b.elector.is_leader()


async def test_a_replica_that_never_led_releases_nothing() -> None:
    cluster = FakeCluster()
    async with replicas(cluster, "a", "b") as (a, b):
        await until(a.elector.is_leader)
        await asyncio.sleep(5)
        await b.stops()

        assert "a" == spec(cluster)["holderIdentity"]
        assert a.elector.is_leader()


async def waited_for_late_writes(replica: Replica) -> float:
    await replica.elector.acquired.wait()
    started = now()
    await replica.elector.late_writes()
    return now() - started


async def test_after_a_death_nothing_is_waited_for_any_more() -> None:
    cluster = FakeCluster()
    async with replicas(cluster, "a", "b") as (a, b):
        await until(a.elector.is_leader)
        await asyncio.sleep(60)
        await a.dies()

        assert 0 == await waited_for_late_writes(b)


@pytest.mark.parametrize("fault", [HANGS, OUTAGE])
async def test_after_an_outage_what_was_sent_before_it_may_arrive_first(fault: Fault) -> None:
    cluster = FakeCluster()
    async with replicas(cluster, "a", "b") as (a, b):
        await until(a.elector.is_leader)
        a.loses_its_network(fault)
        await asyncio.sleep(5)
        b.loses_its_network(fault)
        await asyncio.sleep(60)
        b.api.scripts = []

        assert 0 < await waited_for_late_writes(b) <= LATE_SECONDS


async def test_the_next_leader_finds_what_the_last_one_noted_on_the_lease() -> None:
    cluster = FakeCluster()
    async with replicas(cluster, "a", "b") as (a, b):
        await until(a.elector.is_leader)
        a.elector.annotations = {"stuck-with": "gang g"}
        await asyncio.sleep(3)
        assert {"stuck-with": "gang g"} == annotations_of(cluster.get(LEASES, "ns", "lease"))

        await a.dies()
        await until(b.elector.is_leader)
        assert {"stuck-with": "gang g"} == annotations_of(b.elector.lease)

        await asyncio.sleep(10)
        assert {"stuck-with": "gang g"} == annotations_of(b.elector.lease)
        b.elector.annotations = {"stuck-with": ""}
        await asyncio.sleep(3)
        assert {} == annotations_of(cluster.get(LEASES, "ns", "lease"))
