"""Claims of gangs that start together: no member starts before all claims are bound."""

import asyncio
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

import pytest

from gang_scheduler.api.kinds import POD_GROUPS
from gang_scheduler.apply.volume_binder import HOLD_SECONDS
from gang_scheduler.report.words.messages import describe
from gang_scheduler.state.volumes.volume_cache import VolumeCache
from integration.support.waiting_for_claims import held
from support import api_objects
from support.volume_harness import NEVER, VolumeHarness

pytestmark = pytest.mark.looptime


def two_gangs_that_start_together(harness: VolumeHarness) -> None:
    """Add a gang whose members have claims, and one that has none, in one group."""
    harness.gang_with_claims("a", 2)
    harness.gang("b", 2)
    marks = {"gang.scheduling.koordinator.sh/groups": '["default/a", "default/b"]'}
    for name in ("a", "b"):
        harness.cluster.put(
            POD_GROUPS,
            api_objects.pod_group_body(name, min_member=2, metadata={"annotations": marks}),
        )


def bound(harness: VolumeHarness) -> list[str]:
    return [name for name, node in harness.nodes().items() if node]


async def test_no_gang_of_a_group_starts_before_the_claims_of_all_are_bound() -> None:
    async with VolumeHarness(nodes=3) as harness:
        harness.makes = {"a_1": 20}
        two_gangs_that_start_together(harness)
        await harness.quiet()
        harness.cycle()

        await asyncio.sleep(10)
        assert [] == bound(harness)
        await asyncio.sleep(20)
        await harness.quiet()
        assert ["a-0", "a-1", "b-0", "b-1"] == bound(harness)
        harness.assert_the_cache_is_right()


async def test_gangs_of_a_group_fail_together_and_say_why() -> None:
    async with VolumeHarness(nodes=3, hold_seconds=5) as harness:
        harness.makes = {"a_1": NEVER}
        two_gangs_that_start_together(harness)
        await harness.quiet()
        harness.cycle()
        await asyncio.sleep(6)

        words = "given up after 5 s: 1 of 2 claims are not bound yet: default/a-1"
        refusals = [binding.refusal() for binding in harness.finished]
        assert [] == bound(harness)
        assert ["a", "b"] == [refused.gang.key.name for refused in refusals]
        assert all(describe(refused).startswith(words) for refused in refusals)
        harness.makes.clear()
        harness.wake("a-1")
        await harness.cycles(harness.all_bound)
        harness.assert_the_cache_is_right()


async def test_a_pod_that_comes_late_is_not_bound_before_the_quorum() -> None:
    async with VolumeHarness(nodes=3) as harness:
        harness.makes = {"a_1": 20}
        harness.gang_with_claims("a", 2)
        await harness.quiet()
        harness.cycle()
        harness.pod("a-late", "a")
        await asyncio.sleep(10)
        harness.cycle()
        await asyncio.sleep(1)
        assert [] == bound(harness)

        await harness.cycles(harness.all_bound)

        harness.assert_the_cache_is_right()


async def test_a_quorum_does_not_wait_for_the_claims_of_others() -> None:
    async with VolumeHarness(nodes=3) as harness:
        harness.makes = {"a_2": NEVER, "a_3": 20}
        harness.gang_with_claims("a", 4)
        harness.cluster.put(POD_GROUPS, api_objects.pod_group_body("a", min_member=2))
        harness.pod("a-plain", "a")
        await harness.quiet()
        harness.cycle()

        await asyncio.sleep(10)
        assert ["a-0", "a-1", "a-plain"] == bound(harness)
        await asyncio.sleep(20)
        assert ["a-0", "a-1", "a-3", "a-plain"] == bound(harness)
        await asyncio.sleep(HOLD_SECONDS)
        assert ["a-2"] == [pod.name for pod in harness.finished[-1].refusal().pods]
        harness.makes.clear()
        harness.wake("a-2")
        await harness.cycles(harness.all_bound)
        harness.assert_the_cache_is_right()


async def test_no_pod_starts_before_a_quorum_whose_claims_come_late() -> None:
    async with VolumeHarness(nodes=3) as harness:
        harness.makes = {"a_0": 20}
        harness.gang_with_claims("a", 3)
        harness.cluster.put(POD_GROUPS, api_objects.pod_group_body("a", min_member=2))
        harness.pod("a-plain", "a")
        await harness.quiet()
        harness.cycle()

        await asyncio.sleep(10)
        assert [] == bound(harness)
        await asyncio.sleep(20)
        assert harness.all_bound()


async def test_members_of_a_gang_that_runs_wait_for_their_own_claims_alone() -> None:
    async with VolumeHarness(nodes=3) as harness:
        harness.makes = {"a_0": NEVER}
        harness.gang_with_claims("a", 3)
        harness.cluster.put(POD_GROUPS, api_objects.pod_group_body("a", min_member=1))
        await harness.quiet()
        harness.cycle()

        await asyncio.sleep(10)

        assert ["a-1", "a-2"] == bound(harness)
        assert harness.cache.gang_queue.infos[harness.key("a")].attempt.was_whole


@contextmanager
def counting(called: Callable[..., Any]) -> Iterator[list[int]]:
    """Count the calls of a function."""
    count = [0]

    def profile(frame: FrameType, event: str, _: object) -> None:
        count[0] += event == "call" and frame.f_code is called.__code__

    sys.setprofile(profile)
    try:
        yield count
    finally:
        sys.setprofile(None)


@pytest.mark.parametrize("members", [50, 100])
async def test_the_wait_costs_each_claim_a_few_looks(members: int) -> None:
    async with VolumeHarness(nodes=members // 4 + 1) as harness:
        with counting(VolumeCache.progress) as looks:
            await held(harness, size=members, **{f"a_{number}": 3 for number in range(members)})
            await asyncio.sleep(5)

        assert harness.all_bound()
        # Four a second for the words and the state, and one for each of its events.
        assert looks[0] < 30 * members
