"""Preemptions by a scheduler that is killed: the next one ends as the first would have."""

import pytest

from gang_scheduler.api.kinds import PODS
from integration.support.victims_and_preemptor import (
    MEMBERS,
    NAMESPACE,
    NUMBERS,
    VICTIMS,
    assert_the_right_ones_went,
    is_bound,
    workloads,
)
from support.scheduler_process import SchedulerProcess

pytestmark = pytest.mark.looptime


@pytest.mark.parametrize("number", range(sum(NUMBERS)))
@pytest.mark.parametrize("after", [False, True])
async def test_after_a_kill_between_two_writes_the_next_life_ends_as_the_first_would_have(
    number: int, *, after: bool
) -> None:
    made = workloads()
    async with SchedulerProcess(made) as first:
        first.hang_from(number, after=after)
        await first.until(lambda: len(first.writes()) > number)
    async with SchedulerProcess(made) as second:
        await second.until(lambda: is_bound(made) and not made.nodes("low"))

    assert_the_right_ones_went(made)


@pytest.mark.parametrize("number", range(MEMBERS + VICTIMS))
async def test_what_a_killed_life_wrote_for_a_preemptor_that_is_gone_is_withdrawn(
    number: int,
) -> None:
    made = workloads()
    async with SchedulerProcess(made) as first:
        first.hang_from(number, after=True)
        await first.until(lambda: len(first.writes()) > number)
    for i in range(MEMBERS):
        made.cluster.delete(PODS, NAMESPACE, f"high-{i}")
    made.pod("late", priority=0)
    async with SchedulerProcess(made) as second:
        await second.until(lambda: not made.marked())
        await second.evictor.drain()

    assert ["n1"] * VICTIMS == made.nodes("low")


async def test_a_next_life_repeats_no_write_that_is_there() -> None:
    made = workloads(held=True)
    async with SchedulerProcess(made) as first:
        await first.until(lambda: all(made.pods()[f"low-{i}"].deleting for i in range(VICTIMS)))
    async with SchedulerProcess(made) as second:
        with pytest.raises(TimeoutError):
            await second.until(lambda: is_bound(made), 10)

        assert [] == second.writes()
