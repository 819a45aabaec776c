"""How many requests the API server gets for a pod on its way from pending to bound.

Statuses and Events are told a gang and not a pod, and what comes together is written once.
"""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from types import SimpleNamespace
from typing import Any

import pytest

from gang_scheduler.api.kinds import EVENTS, POD_GROUPS, PODS
from gang_scheduler.apply.disruption_target import Naming
from gang_scheduler.client.writing import Writes
from gang_scheduler.report.events import Backpressure
from gang_scheduler.report.failure_events import DegradedEvents
from gang_scheduler.report.missing_members import MissingMembers
from gang_scheduler.report.pod_events import BURST, PER_SECOND
from gang_scheduler.report.queues.gang_texts import EvictionTexts, QueuePlaces
from gang_scheduler.report.status_writer import StatusWriter
from gang_scheduler.settings.run import Settings
from support import api_objects
from support.parts import NO_BACKPRESSURE
from support.scheduler_process import FakeWorkloads, SchedulerProcess, began_at

pytestmark = pytest.mark.looptime

SIZE = 20
MOST_A_POD = 1.1
"""Its binding, and its share of a status and an Event of its gang."""
PODS_A_SECOND = 300


@asynccontextmanager
async def operator(
    workloads: FakeWorkloads,
    backpressure: Backpressure = NO_BACKPRESSURE,
    *,
    pod_events: bool = False,
) -> AsyncIterator[SchedulerProcess]:
    """Run all of the operator that writes; with what it says of pods only if asked for."""
    loop = asyncio.get_running_loop()
    async with SchedulerProcess(workloads, backpressure=backpressure) as process:
        statuses = StatusWriter(
            *(process.api, process.cache),
            interval_seconds=Settings().status_interval_milliseconds / 1000,
            concurrency=4,
            lost_nominations=process.lost_nominations,
            backpressure=backpressure,
            missing_members=MissingMembers(process.cache, process.events),
            degraded=DegradedEvents(process.cache, process.events),
            places=QueuePlaces(),
            writes=Writes(),
            evictions=EvictionTexts(process.cache, Naming()),
            pod_events=process.pod_events,
            clock=lambda: began_at() + loop.time(),
        )
        runs = [statuses.run, process.events.run]
        runs += [process.pod_events.run] if pod_events else []
        tasks = [asyncio.create_task(each()) for each in runs]
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


def events_of_pods(workloads: FakeWorkloads) -> list[tuple[str, str]]:
    """Return pod and note of the Events that say why pods wait."""
    found = workloads.cluster.all(EVENTS)
    return [
        (each["regarding"]["name"], each["note"])
        for each in found
        if each["regarding"]["kind"] == "Pod" and each["reason"] == "FailedScheduling"
    ]


def conditions(workloads: FakeWorkloads) -> list[dict[str, Any]]:
    """Return the conditions of all pods that say that they wait."""
    found = (each["status"]["conditions"] for each in workloads.cluster.all(PODS))
    return [each for both in found for each in both if each["type"] == "PodScheduled"]


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


async def test_gangs_that_come_pod_by_pod_cost_so_many_requests_a_pod(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # A cycle waits for as long as the last one took. That is real time, and all else is virtual.
    clock = SimpleNamespace(perf_counter=lambda: 0.0)
    monkeypatch.setattr("gang_scheduler.scheduling_loop.time", clock)
    workloads = FakeWorkloads(*nodes(5 * SIZE))

    async with operator(workloads) as process:
        await arrive(workloads, 5)
        await asyncio.sleep(10)
        found = requests(process)

    assert 5 * SIZE == found["bind"]
    assert found.total() <= MOST_A_POD * 5 * SIZE, found


async def test_events_on_pods_cost_a_request_a_pod_and_come_no_faster_than_their_rate() -> None:
    workloads = FakeWorkloads(*nodes(10 * SIZE))
    for number in range(10):
        workloads.gang(f"g{number}", SIZE, priority=0)

    async with operator(workloads, pod_events=True) as process:
        await asyncio.sleep(1)
        soon = requests(process)
        await asyncio.sleep(30)
        found = requests(process)

    assert soon["create_event"] <= BURST + 2 * PER_SECOND
    assert 10 * SIZE == found["bind"]
    assert 10 * SIZE + 10 == found["create_event"]


async def test_why_members_wait_is_written_once() -> None:
    workloads = FakeWorkloads(*nodes(SIZE))
    workloads.gang("a", SIZE + 1, priority=0)

    async with operator(workloads, pod_events=True) as process:
        await asyncio.sleep(4)
        before = events_of_pods(workloads)
        await asyncio.sleep(10)
        told = events_of_pods(workloads)
        await asyncio.sleep(600)

    assert [] == before
    assert {f"a-{number}" for number in range(SIZE + 1)} == {name for name, _ in told}
    assert {condition["message"] for condition in conditions(workloads)} == {n for _, n in told}
    assert SIZE + 1 == len(told)
    assert told == events_of_pods(workloads)
    assert 0 == requests(process)["patch_event_series"]


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
