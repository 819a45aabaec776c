"""A gang that lost a member keeps the room that was made for it for a while, not for good."""

import asyncio

import pytest

from gang_scheduler.api.kinds import PODS
from gang_scheduler.state.gangs.gang_info import HOLD_SECONDS
from support.scheduler_process import FakeWorkloads, SchedulerProcess

pytestmark = pytest.mark.looptime

NAMESPACE = "default"
HELD = ("example.com/unmount",)


async def test_other_gangs_get_room_that_a_member_does_not_come_back_to() -> None:
    made = nominated_and_other()
    async with SchedulerProcess(made) as process:
        await lose_a_member(process)
        assert [""] * 4 == made.nodes("other")
        assert {"high-1", "high-2", "high-3"} == made.nominated().keys()

        await process.until(lambda: ["n1"] * 4 == made.nodes("other"), seconds=20)

        assert {} == made.nominated()
        assert [""] * 3 == made.nodes("high")


async def test_a_member_that_is_created_anew_in_time_finds_the_room_kept() -> None:
    made = nominated_and_other()
    async with SchedulerProcess(made) as process:
        await lose_a_member(process)

        made.pod("high-0", gang="high", priority=10)

        await process.until(lambda: ["n1"] * 4 == made.nodes("high"), seconds=20)
        assert [""] * 4 == made.nodes("other")


async def test_the_next_process_does_not_hold_it_for_good_either() -> None:
    made = nominated_and_other()
    async with SchedulerProcess(made) as process:
        await lose_a_member(process)

    async with SchedulerProcess(made) as process:
        await process.until(lambda: ["n1"] * 4 == made.nodes("other"), seconds=HOLD_SECONDS + 10)
        assert {} == made.nominated()


def nominated_and_other() -> FakeWorkloads:
    """Return a full node, a gang that may evict what runs there, and one that would fit then."""
    made = FakeWorkloads("n1")
    made.gang("low", 4, priority=1, node="n1", finalizers=HELD)
    made.gang("high", 4, priority=10)
    made.gang("other", 4, priority=1)
    return made


async def lose_a_member(process: SchedulerProcess) -> None:
    """Delete a member once the gang is nominated, let the victims go, and most of the time pass."""
    made = process.workloads
    await process.until(lambda: 4 == len(made.nominated()) and leaving(made) == 4)
    made.cluster.delete(PODS, NAMESPACE, "high-0")
    await asyncio.sleep(1)
    for number in range(4):
        made.cluster.remove(PODS, NAMESPACE, f"low-{number}")
    await process.until(lambda: [] == made.nodes("low"))
    await asyncio.sleep(HOLD_SECONDS - 10)


def leaving(made: FakeWorkloads) -> int:
    """Return how many victims have been asked to go."""
    return sum(name.startswith("low-") and pod.deleting for name, pod in made.pods().items())
