"""How many requests the API server gets for a pod on its way from pending to bound.

Statuses and Events are told a gang and not a pod, and what comes together is written once.
"""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

import api_objects
from cluster.lives import BEGAN_AT, Life, Town
from gang_scheduler.api.kinds import POD_GROUPS, PODS
from gang_scheduler.client.fake.cluster import EVENTS
from gang_scheduler.report.backpressure import Lull
from gang_scheduler.report.status_writer import StatusWriter
from gang_scheduler.settings import Settings

pytestmark = pytest.mark.looptime

SIZE = 20
MOST_A_POD = 1.1
"""Its binding, and its share of a status and an Event of its gang."""
PODS_A_SECOND = 300


@asynccontextmanager
async def operator(town: Town, lull: Lull | None = None) -> AsyncIterator[Life]:
    """Run all of the operator that writes."""
    loop = asyncio.get_running_loop()
    async with Life(town, lull=lull) as life:
        statuses = StatusWriter(
            *(life.api, life.cache),
            interval_seconds=Settings().status_interval_milliseconds / 1000,
            concurrency=4,
            losses=life.losses,
            lull=lull,
            clock=lambda: BEGAN_AT + loop.time(),
        )
        tasks = [asyncio.create_task(each()) for each in (statuses.run, life.events.run)]
        yield life
        for task in tasks:
            task.cancel()


def requests(life: Life) -> Counter[str]:
    """Return how many there were of each kind."""
    return Counter(call.method for call in life.api.calls)


def nodes(cpus: int) -> list[str]:
    return [f"n{number}" for number in range(cpus // 4)]


async def arrive(town: Town, gangs: int) -> None:
    """Create gangs pod by pod."""
    for gang in (f"g{number}" for number in range(gangs)):
        town.cluster.put(POD_GROUPS, api_objects.pod_group_body(gang, min_member=SIZE))
        for number in range(SIZE):
            town.pod(f"{gang}-{number}", gang=gang)
            await asyncio.sleep(1 / PODS_A_SECOND)


async def start(town: Town) -> None:
    """Let the kubelets start all pods."""
    for name, pod in town.pods().items():
        with town.cluster.changing(PODS, pod.namespace, name) as body:
            body["status"]["phase"] = "Running"
        await asyncio.sleep(1 / PODS_A_SECOND)


async def test_a_gang_that_is_there_at_the_start_costs_so_many_requests_a_pod() -> None:
    town = Town(*nodes(SIZE))
    town.gang("a", SIZE, priority=0)

    async with operator(town) as life:
        await asyncio.sleep(10)
        found = requests(life)

    assert SIZE == found["bind"]
    assert found.total() <= MOST_A_POD * SIZE, found
    assert "Scheduled" == town.cluster.get(POD_GROUPS, "default", "a")["status"]["phase"]
    assert ["Scheduled"] == [each["reason"] for each in town.cluster.all(EVENTS)]


async def test_gangs_that_come_pod_by_pod_cost_so_many_requests_a_pod() -> None:
    town = Town(*nodes(5 * SIZE))

    async with operator(town) as life:
        await arrive(town, 5)
        await asyncio.sleep(10)
        found = requests(life)

    assert 5 * SIZE == found["bind"]
    assert found.total() <= MOST_A_POD * 5 * SIZE, found


async def test_gangs_that_start_cost_a_status_each() -> None:
    town = Town(*nodes(SIZE))
    town.gang("a", SIZE, priority=0)

    async with operator(town) as life:
        await asyncio.sleep(10)
        before = requests(life)
        await start(town)
        await asyncio.sleep(10)
        after = requests(life)

    assert Counter(patch_status=1) == after - before


async def test_a_gang_that_waits_costs_nothing_while_pods_come_and_go_elsewhere() -> None:
    town = Town(*nodes(SIZE))
    town.gang("a", SIZE + 1, priority=0)

    async with operator(town) as life:
        await asyncio.sleep(10)
        before = requests(life)
        for number in range(10):
            town.pod(f"other-{number}", node="n0")
            await asyncio.sleep(1)
            town.cluster.delete(PODS, "default", f"other-{number}")
            await asyncio.sleep(1)
        after = requests(life)

    assert Counter() == after - before
