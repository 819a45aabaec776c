"""Leader election: one leads, the next follows soon, and never do two lead at once."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from typing import Any

import anyio
import pytest

from gang_scheduler.client.errors import ApiError
from gang_scheduler.client.fake.client import FakeApi
from gang_scheduler.client.fake.cluster import LEASES, FakeCluster
from gang_scheduler.client.fake.faults import Call, Fault
from gang_scheduler.client.leader_election import LATE_SECONDS, LeaderElector, LeadershipLost

pytestmark = pytest.mark.looptime

HANGS = Fault(hangs=True)
OUTAGE = Fault(ApiError(503, "the API server is down"))
UNANSWERED = Fault(ApiError(0, "TimeoutError"), after=True)


def elector_of(api: FakeApi, name: str, **clocks: Any) -> LeaderElector:
    """Return an elector with the times of client-go: these tests count in them."""
    return LeaderElector(
        *(api, "ns", "lease", name),
        lease_seconds=15,
        renew_deadline=10,
        retry_seconds=2,
        **clocks,
    )


class Replica:
    """One process: its own client of the cluster, its elector and the task that runs it."""

    def __init__(
        self, cluster: FakeCluster, name: str, *, clock_is_off: timedelta = timedelta()
    ) -> None:
        self.name = name
        self.api = FakeApi(cluster)
        self.stopped_for = 0.0
        self.elector = elector_of(
            self.api,
            name,
            clock=lambda: now() + self.stopped_for,
            wall_clock=lambda: datetime.now(UTC) + clock_is_off,
        )
        self.task = asyncio.create_task(self.elector.run(), name=name)

    def loses_its_network(self, fault: Fault = HANGS) -> None:
        """Let no request of this replica reach the API server any more."""
        self.api.scripts.append(lambda _: fault)

    async def stops(self) -> None:
        """End it as the process does that is asked to."""
        self.task.cancel()
        await asyncio.gather(self.task, return_exceptions=True)

    async def dies(self) -> None:
        """End it without a word."""
        self.loses_its_network(OUTAGE)
        await self.stops()


@asynccontextmanager
async def replicas(
    cluster: FakeCluster, *names: str, **options: Any
) -> AsyncIterator[list[Replica]]:
    """Start replicas, and watch all the time that never two of them lead."""
    started = [Replica(cluster, name, **options) for name in names]
    guard = asyncio.create_task(never_two(started))
    try:
        yield started
        assert not guard.done() or guard.result()
    finally:
        guard.cancel()
        for each in started:
            await each.stops()


async def never_two(running: list[Replica]) -> None:
    while True:
        leaders = [each.name for each in running if each.elector.is_leader()]
        assert len(leaders) <= 1, leaders
        await asyncio.sleep(0.1)


async def until(condition: Callable[[], bool], seconds: float = 60) -> float:
    """Wait for a condition and return how long that took."""
    started = now()
    async with asyncio.timeout(seconds):
        while not condition():  # noqa: ASYNC110 - fencing ends by itself: nothing tells of it.
            await asyncio.sleep(0.05)
    return now() - started


def now() -> float:
    return asyncio.get_running_loop().time()


def spec(cluster: FakeCluster) -> dict[str, Any]:
    found: dict[str, Any] = cluster.get(LEASES, "ns", "lease")["spec"]
    return found


# Who leads.


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


# Who follows.


async def test_after_a_clean_exit_the_next_leads_at_once() -> None:
    cluster = FakeCluster()
    async with replicas(cluster, "a", "b") as (a, b):
        await until(a.elector.is_leader)
        await asyncio.sleep(60)
        await a.stops()

        assert ("", 1) == (spec(cluster)["holderIdentity"], spec(cluster)["leaseDurationSeconds"])
        assert not a.elector.is_leader()
        assert await until(b.elector.is_leader) <= 2.1
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


async def test_a_lease_deleted_under_its_holder_goes_to_nobody_else() -> None:
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


# Losing it.


@pytest.mark.parametrize("fault", [HANGS, OUTAGE, UNANSWERED, Fault(delay_seconds=1.0)])
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
            await asyncio.wait_for(a.task, 2.5)


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
            await asyncio.wait_for(a.task, 2.5)

        assert not a.elector.is_leader()
        assert "z" == spec(cluster)["holderIdentity"]


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


async def test_a_renewal_is_one_request() -> None:
    async with replicas(FakeCluster(), "a") as (a,):
        await until(a.elector.is_leader)
        a.api.calls.clear()
        await asyncio.sleep(9)

        assert {"put_lease"} == {call.method for call in a.api.calls}


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


# Leaving.


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


async def test_the_release_happens_also_when_a_task_group_of_anyio_is_cancelled() -> None:
    cluster = FakeCluster()
    elector = elector_of(FakeApi(cluster), "a")
    async with anyio.create_task_group() as group:
        group.start_soon(elector.run)
        await elector.acquired.wait()
        group.cancel_scope.cancel()

    assert "" == spec(cluster)["holderIdentity"]
