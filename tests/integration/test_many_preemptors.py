"""Several preemptors at once evict what `simulate` says, however evictions go; nothing is twice."""

import asyncio
from random import Random

import pytest

from gang_scheduler.api.kinds import PODS
from gang_scheduler.client.errors import ApiError
from gang_scheduler.client.fake.client import Call, Fault, Script
from integration.support.overlapping_gangs import NEEDED, OverlappingGangs
from support.scheduler_process import WRITES, SchedulerProcess

pytestmark = pytest.mark.looptime

SEVERAL = (2, 3, 6)
SEEDS = range(4)
LATE_SECONDS = 5.0
THREE = 3
MOMENTS = range(0, 44, 3)
"""Of the writes for three preemptors: 6 nominations, 16 marks, as many evictions, 6 bindings."""


def reordered(dice: Random, *, failing: bool = False) -> Script:
    """Let every write take its own time, and fail now and then, before or after it happened."""

    def script(call: Call) -> Fault | None:
        if call.method not in WRITES:
            return None
        error = ApiError(dice.choice([0, 429, 500]), "for now") if failing else None
        strikes = error if dice.random() < 0.3 else None
        return Fault(strikes, after=dice.random() < 0.5, delay_seconds=dice.random() * 3)

    return script


@pytest.mark.parametrize("preemptors", SEVERAL)
async def test_several_preemptors_evict_what_simulate_says(preemptors: int) -> None:
    made = OverlappingGangs(preemptors)
    expected = made.simulated()
    async with SchedulerProcess(made) as process:
        await process.until(made.all_bound)
        await process.evictor.drain()

    assert expected == made.gone


@pytest.mark.parametrize("preemptors", SEVERAL)
async def test_victims_that_take_their_time_are_evicted_once(preemptors: int) -> None:
    made = OverlappingGangs(preemptors, held=True)
    expected = made.simulated()
    async with SchedulerProcess(made) as process:
        await process.until(lambda: made.gone >= expected)
        await asyncio.sleep(20)
        made.let_go()
        await process.until(made.all_bound)

    assert expected == made.gone


@pytest.mark.parametrize("preemptors", SEVERAL)
async def test_what_is_seen_late_is_not_planned_twice(preemptors: int) -> None:
    made = OverlappingGangs(preemptors)
    expected = made.simulated()
    async with SchedulerProcess(made, echo_seconds=LATE_SECONDS) as process:
        await process.until(made.all_bound)
        await process.evictor.drain()

    assert expected == made.gone


@pytest.mark.parametrize("failing", [False, True])
@pytest.mark.parametrize("seed", SEEDS)
async def test_in_whatever_order_writes_come_through(seed: int, *, failing: bool) -> None:
    made = OverlappingGangs(3 + seed)
    expected = made.simulated()
    async with SchedulerProcess(made) as process:
        dice = Random(seed)  # noqa: S311 - the same order every time.
        process.api.scripts.append(reordered(dice, failing=failing))
        await process.until(made.all_bound)
        await process.evictor.drain()

    assert expected == made.gone


@pytest.mark.parametrize("number", MOMENTS)
@pytest.mark.parametrize("after", [False, True])
async def test_a_life_after_a_kill_evicts_no_more(number: int, *, after: bool) -> None:
    made = OverlappingGangs(THREE)
    expected = made.simulated()
    async with SchedulerProcess(made) as first:
        first.hang_from(number, after=after)
        await first.until(lambda: len(first.writes()) > number)
    async with SchedulerProcess(made) as second:
        await second.until(made.all_bound)
        await second.evictor.drain()

    assert len(expected) >= len(made.gone)
    assert set() == made.broken()
    assert [] == made.marked()


@pytest.mark.parametrize("number", MOMENTS)
@pytest.mark.parametrize("gone", ["high-0", "high-1", "high-2"])
async def test_of_a_preemptor_that_is_deleted_the_others_do_not_depend(
    number: int, gone: str
) -> None:
    made = OverlappingGangs(THREE)
    expected = made.simulated()
    async with SchedulerProcess(made) as process:

        def vanish(_: Call) -> Fault | None:
            if len(process.writes()) == number:
                for i in range(NEEDED):
                    if f"{gone}-{i}" in made.pods():
                        made.cluster.delete(PODS, "default", f"{gone}-{i}")
            return Fault(delay_seconds=0.5)

        process.api.scripts.append(vanish)
        await process.until(lambda: len(process.writes()) > number and made.all_bound())
        await process.until(lambda: not made.marked())
        await process.evictor.drain()

    assert len(expected) >= len(made.gone)
    assert set() == made.broken()
