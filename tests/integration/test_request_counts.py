"""How many requests the API server gets for a pod on its way from pending to bound.

Statuses and Events are told a gang and not a pod, and what comes together is written once.
"""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from gang_scheduler.api.kinds import POD_GROUPS, PODS
from gang_scheduler.client.fake.cluster import EVENTS
from gang_scheduler.report.backpressure import Backpressure
from gang_scheduler.report.missing_members import MissingMembers
from gang_scheduler.report.queues.queue_places import QueuePlaces
from gang_scheduler.report.status_writer import StatusWriter
from gang_scheduler.settings import Settings
from support import api_objects
from support.parts import NO_BACKPRESSURE
from support.scheduler_process import BEGAN_AT, FakeWorkloads, SchedulerProcess

pytestmark = pytest.mark.looptime

SIZE = 20
MOST_A_POD = 1.1
"""Its binding, and its share of a status and an Event of its gang."""
PODS_A_SECOND = 300


@asynccontextmanager
async def operator(
    workloads: FakeWorkloads, backpressure: Backpressure = NO_BACKPRESSURE
) -> AsyncIterator[SchedulerProcess]:
    """Run all of the operator that writes."""
    loop = asyncio.get_running_loop()
    async with SchedulerProcess(workloads, backpressure=backpressure) as process:
        statuses = StatusWriter(
            *(process.api, process.cache),
            interval_seconds=Settings().status_interval_milliseconds / 1000,
            concurrency=4,
            lost_nominations=process.lost_nominations,
            backpressure=backpressure,
            missing_members=MissingMembers(process.cache, process.events),
            places=QueuePlaces(),
            clock=lambda: BEGAN_AT + loop.time(),
        )
        tasks = [asyncio.create_task(each()) for each in (statuses.run, process.events.run)]
        yield process
        for task in tasks:
            task.cancel()


def requests(process: SchedulerProcess) -> Counter[str]:
    """Return how many there were of each kind."""
    return Counter(call.method for call in process.api.calls)


def nodes(cpus: int) -> list[str]:
    return [f"n{number}" for number in range(cpus // 4)]


async def arrive(workloads: FakeWorkloads, gangs: int) -> None:
    """Create gangs pod by pod."""
    for gang in (f"g{number}" for number in range(gangs)):
        workloads.cluster.put(POD_GROUPS, api_objects.pod_group_body(gang, min_member=SIZE))
        for number in range(SIZE):
            workloads.pod(f"{gang}-{number}", gang=gang)
            await asyncio.sleep(1 / PODS_A_SECOND)


async def start(workloads: FakeWorkloads) -> None:
    """Let the kubelets start all pods."""
    for name, pod in workloads.pods().items():
        with workloads.cluster.changing(PODS, pod.namespace, name) as body:
            body["status"]["phase"] = "Running"
        await asyncio.sleep(1 / PODS_A_SECOND)


async def test_a_gang_that_is_there_at_the_start_costs_so_many_requests_a_pod() -> None:
    workloads = FakeWorkloads(*nodes(SIZE))
    workloads.gang("a", SIZE, priority=0)

    async with operator(workloads) as process:
        await asyncio.sleep(10)
        found = requests(process)

    assert SIZE == found["bind"]
    assert found.total() <= MOST_A_POD * SIZE, found
    assert "Scheduled" == workloads.cluster.get(POD_GROUPS, "default", "a")["status"]["phase"]
    assert ["Scheduled"] == [each["reason"] for each in workloads.cluster.all(EVENTS)]


async def test_gangs_that_come_pod_by_pod_cost_so_many_requests_a_pod() -> None:
    workloads = FakeWorkloads(*nodes(5 * SIZE))

    async with operator(workloads) as process:
        await arrive(workloads, 5)
        await asyncio.sleep(10)
        found = requests(process)

    assert 5 * SIZE == found["bind"]
    assert found.total() <= MOST_A_POD * 5 * SIZE, found


async def test_gangs_that_start_cost_a_status_each() -> None:
    workloads = FakeWorkloads(*nodes(SIZE))
    workloads.gang("a", SIZE, priority=0)

    async with operator(workloads) as process:
        await asyncio.sleep(10)
        before = requests(process)
        await start(workloads)
        await asyncio.sleep(10)
        after = requests(process)

    assert Counter(patch_status=1) == after - before


async def test_a_gang_that_waits_costs_nothing_while_pods_come_and_go_elsewhere() -> None:
    workloads = FakeWorkloads(*nodes(SIZE))
    workloads.gang("a", SIZE + 1, priority=0)

    async with operator(workloads) as process:
        await asyncio.sleep(10)
        before = requests(process)
        for number in range(10):
            workloads.pod(f"other-{number}", node="n0")
            await asyncio.sleep(1)
            workloads.cluster.delete(PODS, "default", f"other-{number}")
            await asyncio.sleep(1)
        after = requests(process)

    assert Counter() == after - before
