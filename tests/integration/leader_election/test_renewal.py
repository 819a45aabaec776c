"""A leader renews the Lease, and is none any more before another can be."""

import asyncio

import anyio
import pytest

from gang_scheduler.api.kinds import LEASES
from gang_scheduler.client.fake.client import Call, Fault
from gang_scheduler.client.fake.cluster import FakeCluster
from gang_scheduler.client.leader_election import LeadershipLost
from integration.support.replicas import HANGS, OUTAGE, UNANSWERED, now, replicas, spec, until

pytestmark = pytest.mark.looptime


@pytest.mark.parametrize("fault", [HANGS, OUTAGE, UNANSWERED, Fault(delay_seconds=5.0)])
async def test_a_leader_that_cannot_renew_is_none_before_another_can_be(fault: Fault) -> None:
    cluster = FakeCluster()
    async with replicas(cluster, "a", "b") as (a, b):
        await until(a.elector.is_leader)
        await asyncio.sleep(60)
        a.loses_its_network(fault)

        assert 8 - 0.1 <= await until(lambda: not a.elector.is_leader()) <= 10.1
        assert not b.elector.is_leader()
        with pytest.raises(LeadershipLost):
            await a.task
        assert await until(b.elector.is_leader) <= 15 + 2 * 2.1


async def test_leadership_is_counted_from_the_request_and_not_from_its_answer() -> None:
    async with replicas(FakeCluster(), "a") as (a,):
        await until(a.elector.is_leader)
        sent: list[float] = []

        def late(call: Call) -> Fault | None:
            if call.method != "put_lease":
                return None
            sent.append(now())
            return Fault(delay_seconds=0.8, after=True) if len(sent) < 5 else OUTAGE

        a.api.scripts = [late]
        await until(lambda: not a.elector.is_leader())

        assert now() - sent[3] <= 10.1


async def test_a_process_that_was_stopped_is_no_leader_before_its_loop_takes_note() -> None:
    async with replicas(FakeCluster(), "a") as (a,):
        await until(a.elector.is_leader)

        a.stopped_for = 20

        assert not a.elector.is_leader()
        with pytest.raises(LeadershipLost):
            with anyio.fail_after(2.5):
                await a.task


async def test_the_loss_is_raised_when_the_deadline_passes_and_not_later() -> None:
    async with replicas(FakeCluster(), "a") as (a,):
        await until(a.elector.is_leader)
        a.loses_its_network()
        started = now()

        with pytest.raises(LeadershipLost):
            await a.task

        assert 8 <= now() - started <= 10.1


async def test_a_short_outage_is_survived() -> None:
    async with replicas(FakeCluster(), "a") as (a,):
        await until(a.elector.is_leader)
        for _ in range(10):
            a.api.scripts = [lambda _: OUTAGE]
            await asyncio.sleep(5)
            a.api.scripts = []
            await asyncio.sleep(5)

            assert a.elector.is_leader()


async def test_an_outage_for_all_ends_with_one_leader() -> None:
    cluster = FakeCluster()
    async with replicas(cluster, "a", "b", "c") as running:
        await until(running[0].elector.is_leader)
        for each in running:
            each.loses_its_network(OUTAGE)
        await asyncio.sleep(60)
        assert not any(each.elector.is_leader() for each in running)

        for each in running:
            each.api.scripts = []
        await asyncio.sleep(20)
        assert running[0].task.done()
        assert 1 == sum(each.elector.is_leader() for each in running)


async def test_a_conflict_on_an_update_costs_one_attempt() -> None:
    cluster = FakeCluster()
    async with replicas(cluster, "a") as (a,):
        await until(a.elector.is_leader)

        def somebody_writes(call: Call) -> None:
            if call.method == "put_lease":
                a.api.scripts = []
                with cluster.changing(LEASES, "ns", "lease") as found:
                    found["metadata"]["labels"] = {"written": "meanwhile"}

        a.api.scripts = [somebody_writes]
        await asyncio.sleep(2.5)
        assert "409" in a.elector.problem

        await asyncio.sleep(9)
        assert a.elector.is_leader()


async def test_a_leader_that_finds_another_holder_stops_at_once() -> None:
    cluster = FakeCluster()
    async with replicas(cluster, "a") as (a,):
        await until(a.elector.is_leader)
        with cluster.changing(LEASES, "ns", "lease") as found:
            found["spec"]["holderIdentity"] = "z"

        with pytest.raises(LeadershipLost, match="held by z"):
            with anyio.fail_after(2.5):
                await a.task

        assert not a.elector.is_leader()
        assert "z" == spec(cluster)["holderIdentity"]


async def test_a_renewal_is_one_request() -> None:
    async with replicas(FakeCluster(), "a") as (a,):
        await until(a.elector.is_leader)
        a.api.calls.clear()
        await asyncio.sleep(9)

        assert {"put_lease"} == {call.method for call in a.api.calls}


@pytest.mark.parametrize("fault", [HANGS, OUTAGE, UNANSWERED, Fault(delay_seconds=5.0)])
async def test_no_write_of_the_old_leader_may_last_until_another_leads(fault: Fault) -> None:
    cluster = FakeCluster()
    async with replicas(cluster, "a", "b") as (a, b):
        await until(a.elector.is_leader)
        await asyncio.sleep(60)
        a.loses_its_network(fault)
        latest = 0.0

        while not b.elector.is_leader():
            if a.elector.is_leader():
                latest = now() + a.elector.seconds_left()
            await asyncio.sleep(0.05)

        assert latest <= now()


async def test_a_stop_of_the_process_ends_all_time_that_was_left() -> None:
    async with replicas(FakeCluster(), "a") as (a,):
        await until(a.elector.is_leader)
        assert 15 - 2.1 <= a.elector.seconds_left() <= 15

        a.stopped_for = 20

        assert a.elector.seconds_left() <= -5 + 0.1


async def test_a_replica_that_never_led_has_no_time_left() -> None:
    cluster = FakeCluster()
    async with replicas(cluster, "a", "b") as (_, b):
        await asyncio.sleep(30)

        assert not b.elector.is_leader()
        assert b.elector.seconds_left() < 0


async def test_a_renewal_that_is_answered_late_counts_from_when_it_was_sent() -> None:
    async with replicas(FakeCluster(), "a") as (a,):
        await until(a.elector.is_leader)
        a.api.scripts = [lambda _: Fault(delay_seconds=3.5, after=True)]
        await asyncio.sleep(60)

        # Each renewal is 3.5 s old when it is known, and a short pause and another one follow.
        assert a.elector.is_leader()
        assert 15 - 3.5 - 0.4 - 3.5 - 0.1 <= a.elector.seconds_left() <= 15 - 3.5
