"""A leader that ends gives the Lease back, where nothing of it is under way."""

import asyncio

import anyio
import pytest

from gang_scheduler.api.kinds import LEASES
from gang_scheduler.client.fake.client import FakeApi, Fault
from gang_scheduler.client.fake.cluster import FakeCluster
from integration.support.replicas import HANGS, OUTAGE, elector_of, now, replicas, spec, until

pytestmark = pytest.mark.looptime

REQUEST_SECONDS = (10 - 2) / 2
"""How long a request of these electors takes at most."""


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

        assert now() - started <= REQUEST_SECONDS + 0.1
        assert a.task.cancelled()


async def test_the_release_is_sent_after_the_leader_has_stopped_to_be_one() -> None:
    async with replicas(FakeCluster(), "a") as (a,):
        await until(a.elector.is_leader)
        leading = []
        a.api.scripts = [lambda _: leading.append(a.elector.is_leader())]

        await a.stops()

    assert [False] == leading


async def test_the_release_happens_also_when_a_task_group_is_cancelled() -> None:
    cluster = FakeCluster()
    elector = elector_of(FakeApi(cluster), "a")
    async with anyio.create_task_group() as group:
        group.start_soon(elector.run)
        await elector.acquired.wait()
        group.cancel_scope.cancel()

    assert "" == spec(cluster)["holderIdentity"]


async def test_a_lease_that_somebody_has_labelled_meanwhile_is_released_all_the_same() -> None:
    cluster = FakeCluster()
    async with replicas(cluster, "a") as (a,):
        await until(a.elector.is_leader)
        with cluster.changing(LEASES, "ns", "lease") as found:
            found["metadata"]["labels"] = {"written": "meanwhile"}

        await a.stops()

        assert a.elector.released
        assert "" == spec(cluster)["holderIdentity"]


async def test_a_lease_that_is_another_s_by_now_is_left_alone() -> None:
    cluster = FakeCluster()
    async with replicas(cluster, "a") as (a,):
        await until(a.elector.is_leader)
        with cluster.changing(LEASES, "ns", "lease") as found:
            found["spec"]["holderIdentity"] = "z"

        await a.stops()

        assert not a.elector.released
        assert "z" == spec(cluster)["holderIdentity"]
