"""Writes pass while the process leads, and are over before another one can."""

import asyncio

import anyio
import pytest

from gang_scheduler.client.fence import SHARE, Fence, boot_time

pytestmark = pytest.mark.looptime


class Leads:
    """Leads for as long as it is told."""

    def __init__(self, seconds: float, *, leader: bool = True) -> None:
        self.seconds, self.leader = seconds, leader

    def is_leader(self) -> bool:
        """Return what was told."""
        return self.leader

    def seconds_left(self) -> float:
        """Return what was told."""
        return self.seconds


def now() -> float:
    return asyncio.get_running_loop().time()


async def test_without_an_election_all_writes_pass_and_take_their_time() -> None:
    fence = Fence()

    assert fence.allows(1e9)
    assert 30 == fence.within(30)
    assert not fence.is_needed


async def test_no_write_may_take_longer_than_until_another_process_can_lead() -> None:
    fence = Fence(Leads(9))

    assert (4, 9 * SHARE) == (fence.within(4), fence.within(30))
    assert fence.allows(9)
    assert not fence.allows(9.1)


async def test_a_process_that_leads_no_more_writes_nothing_although_no_other_can_lead_yet() -> None:
    fence = Fence(Leads(4, leader=False))

    assert not fence.allows()
    with fence.write(1) as write:
        assert not write.may_be_sent()


async def test_a_fence_that_is_closed_stays_so() -> None:
    for fence in (Fence(), Fence(Leads(9))):
        fence.close()

        assert not fence.allows()


async def test_it_is_quiet_where_all_writes_are_answered() -> None:
    fence = Fence(Leads(9))
    with fence.write(5) as write:
        assert write.may_be_sent()
        write.is_answered = True
    began = now()

    await fence.quiet()

    assert 0 == now() - began


async def test_a_write_under_way_is_waited_for() -> None:
    fence = Fence(Leads(9))

    async def writes() -> None:
        with fence.write(5) as write:
            assert write.may_be_sent()
            await asyncio.sleep(3)
            write.is_answered = True

    async with anyio.create_task_group() as group:
        group.start_soon(writes)
        await asyncio.sleep(0)
        began = now()
        await fence.quiet()

    assert 3 == now() - began


async def test_a_write_without_an_answer_is_waited_for_as_long_as_it_could_take() -> None:
    fence = Fence(Leads(9))
    with fence.write(5) as write:
        await asyncio.sleep(1)
        assert write.may_be_sent()
        await asyncio.sleep(2)
    began = now()

    await fence.quiet()

    assert 3 == now() - began


async def test_a_write_that_was_not_sent_is_not_waited_for() -> None:
    fence = Fence(Leads(9))
    with fence.write(5):
        await asyncio.sleep(1)
    began = now()

    await fence.quiet()

    assert 0 == now() - began


def test_the_clock_goes_on() -> None:
    assert boot_time() <= boot_time()
