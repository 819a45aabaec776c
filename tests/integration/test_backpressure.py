"""What is only told to people lets bindings go first, and comes all the same."""

import asyncio

import pytest

from gang_scheduler.api.kinds import EVENTS, POD_GROUPS
from gang_scheduler.report.events import LONGEST_SECONDS, LOOK_SECONDS, Backpressure
from integration.test_request_counts import operator
from support.scheduler_process import FakeWorkloads

pytestmark = pytest.mark.looptime


async def seconds_waited(backpressure: Backpressure, since: float = 0.0) -> float:
    """Return how long it waited, from now on."""
    clock = asyncio.get_running_loop().time
    began = clock()
    await backpressure.wait(began + since)
    return clock() - began


async def test_no_write_waits_while_nothing_is_bound() -> None:
    assert 0 == await seconds_waited(Backpressure())


async def test_the_wait_ends_with_the_last_binding_that_waits() -> None:
    loop = asyncio.get_running_loop()
    bound_at = loop.time() + 1

    waited = await seconds_waited(Backpressure(lambda: loop.time() < bound_at))

    assert waited == pytest.approx(1, abs=LOOK_SECONDS)


async def test_however_much_is_bound_no_write_waits_for_long() -> None:
    waited = await seconds_waited(Backpressure(lambda: True))

    assert waited == pytest.approx(LONGEST_SECONDS, abs=LOOK_SECONDS)


async def test_what_waited_elsewhere_waits_no_longer_for_that() -> None:
    assert 0 == await seconds_waited(Backpressure(lambda: True), since=-LONGEST_SECONDS)


async def test_a_status_and_an_event_come_while_the_bindings_of_others_wait() -> None:
    workloads = FakeWorkloads("n0")
    workloads.gang("a", 1, priority=0)

    async with operator(workloads, Backpressure(lambda: True)) as process:
        await asyncio.sleep(LONGEST_SECONDS + 1)

    assert "Scheduled" == workloads.cluster.get(POD_GROUPS, "default", "a")["status"]["phase"]
    assert ["Scheduled"] == [each["reason"] for each in workloads.cluster.all(EVENTS)]
    assert 1 == sum(call.method == "bind" for call in process.api.calls)
