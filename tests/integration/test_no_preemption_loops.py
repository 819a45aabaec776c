"""Jobs that fit only one at a time, put back as soon as they are evicted, evict in no circle."""

import asyncio
from collections import Counter
from functools import partial
from itertools import count

import pytest

from gang_scheduler.api.kinds import GVR, PODS
from gang_scheduler.client.fake.cluster import Document
from support import api_objects
from support.scheduler_process import FakeWorkloads, SchedulerProcess

pytestmark = pytest.mark.looptime

NAMESPACE = "default"
PRIORITIES = {"low": 1, "mid": 5, "high": 10}
PODS_A_GANG = 4
CYCLES = 200
CYCLE_SECONDS = 0.2


class Controllers:
    """What creates every pod of the gangs again that goes before it has succeeded."""

    def __init__(self, workloads: FakeWorkloads) -> None:
        self._workloads = workloads
        self._uids = (f"uid-again-{number}" for number in count())
        workloads.cluster.watchers.append(self._hear)

    def _hear(self, gvr: GVR, change: str, document: Document) -> None:
        if (gvr, change) == (PODS, "DELETED"):
            name = document["metadata"]["name"]
            gang = name.partition("-")[0]
            metadata = {"uid": next(self._uids)}
            body = api_objects.pod_body(
                name, gang=gang, priority=PRIORITIES[gang], metadata=metadata
            )
            self._workloads.cluster.put(PODS, body)


def evictions(process: SchedulerProcess) -> Counter[str]:
    """Return how many pods of each gang were evicted."""
    return Counter(
        name.partition("-")[0] for method, name in process.writes() if method == "delete_pod"
    )


def running(made: FakeWorkloads) -> list[str]:
    """Return the gangs that have the node for themselves, all of them whole."""
    gangs = [name for name in PRIORITIES if any(made.nodes(name))]
    assert all(["n1"] * PODS_A_GANG == made.nodes(name) for name in gangs)
    return gangs


def runs(made: FakeWorkloads, gang: str) -> bool:
    """Return whether all pods of a gang have a node."""
    return all(made.nodes(gang))


def succeed(made: FakeWorkloads, gang: str) -> None:
    """End all pods of a gang."""
    for number in range(PODS_A_GANG):
        with made.cluster.changing(PODS, NAMESPACE, f"{gang}-{number}") as found:
            found["status"]["phase"] = "Succeeded"


async def cycles(process: SchedulerProcess, number: int) -> None:
    """Let the loop decide so often, whether anything has changed or not."""
    for _ in range(number):
        process.changes.cycle.set()
        await asyncio.sleep(CYCLE_SECONDS)


async def arrive(process: SchedulerProcess, *gangs: str) -> None:
    """Let gangs arrive one after the other, each when the one before is running."""
    for name in gangs:
        process.workloads.gang(name, PODS_A_GANG, priority=PRIORITIES[name])
        await process.until(partial(runs, process.workloads, name))


async def test_the_highest_runs_through_and_every_other_job_goes_once() -> None:
    made = FakeWorkloads("n1")
    Controllers(made)
    async with SchedulerProcess(made) as process:
        await arrive(process, "low", "mid", "high")
        first = {name: pod.uid for name, pod in made.pods().items() if pod.node}
        await cycles(process, CYCLES)

        assert ["high"] == running(made)
        assert first == {name: pod.uid for name, pod in made.pods().items() if pod.node}
        assert {"low": PODS_A_GANG, "mid": PODS_A_GANG} == evictions(process)
        assert ([], {}) == (made.marked(), made.nominated())


async def test_gangs_that_come_at_once_evict_no_pod() -> None:
    made = FakeWorkloads("n1")
    Controllers(made)
    for name, priority in PRIORITIES.items():
        made.gang(name, PODS_A_GANG, priority=priority)
    async with SchedulerProcess(made) as process:
        await cycles(process, CYCLES)

        assert ["high"] == running(made)
        assert not evictions(process)


async def test_one_after_the_other_runs_when_the_one_above_has_ended() -> None:
    made = FakeWorkloads("n1")
    Controllers(made)
    async with SchedulerProcess(made) as process:
        await arrive(process, "low", "mid", "high")
        for ended, following in (("high", "mid"), ("mid", "low")):
            succeed(made, ended)
            await process.until(partial(runs, made, following))
            await cycles(process, CYCLES // 2)

        assert {"low": PODS_A_GANG, "mid": PODS_A_GANG} == evictions(process)
        assert ["n1"] * PODS_A_GANG == made.nodes("low")
