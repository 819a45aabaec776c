"""A leader that ends gives the Lease back, where nothing of it is under way."""

import asyncio

import anyio
import pytest

from gang_scheduler.client.fake.client import FakeApi
from gang_scheduler.client.fake.cluster import FakeCluster
from gang_scheduler.client.fake.faults import Fault
from integration.support.replicas import HANGS, OUTAGE, elector_of, now, replicas, spec, until

pytestmark = pytest.mark.looptime


async def test_a_leader_whose_writes_may_be_on_their_way_lets_the_lease_run_out() -> None:
    cluster = FakeCluster()
    async with replicas(cluster, "a", "b") as (a, b):
        await until(a.elector.is_leader)
        await asyncio.sleep(60)
        a.elector.releases = False
        await a.stops()

        assert "a" == spec(cluster)["holderIdentity"]
        assert 13 <= await until(b.elector.is_leader)


@pytest.mark.parametrize("fault", [HANGS, OUTAGE])
async def test_a_release_that_fails_holds_nothing_up(fault: Fault) -> None:
    async with replicas(FakeCluster(), "a") as (a,):
        await until(a.elector.is_leader)
        a.loses_its_network(fault)
        started = now()

        await a.stops()

        assert now() - started <= 2
        assert a.task.cancelled()


async def test_the_release_is_sent_after_the_leader_has_stopped_to_be_one() -> None:
    async with replicas(FakeCluster(), "a") as (a,):
        await until(a.elector.is_leader)
        leading = []
        a.api.scripts = [lambda _: leading.append(a.elector.is_leader())]

        await a.stops()

    assert [False, False] == leading[:2]


async def test_the_release_happens_also_when_a_task_group_is_cancelled() -> None:
    cluster = FakeCluster()
    elector = elector_of(FakeApi(cluster), "a")
    async with anyio.create_task_group() as group:
        group.start_soon(elector.run)
        await elector.acquired.wait()
        group.cancel_scope.cancel()

    assert "" == spec(cluster)["holderIdentity"]
