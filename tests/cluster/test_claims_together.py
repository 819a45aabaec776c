"""Claims of those who start together: nobody starts before the claims of all are bound."""

import asyncio
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

import pytest

import api_objects
from cluster.disks import NEVER, DiskRig
from cluster.held_claims import held
from gang_scheduler.api.kinds import POD_GROUPS
from gang_scheduler.apply.volume_binder import HOLD_SECONDS
from gang_scheduler.state.volumes.volume_cache import VolumeBook

pytestmark = pytest.mark.looptime


def two_gangs_that_start_together(rig: DiskRig) -> None:
    """Add a gang whose members have claims, and one that has none, in one group."""
    rig.gang_with_claims("a", 2)
    rig.gang("b", 2)
    marks = {"gang.scheduling.koordinator.sh/groups": '["default/a", "default/b"]'}
    for name in ("a", "b"):
        rig.cluster.put(
            POD_GROUPS,
            api_objects.pod_group_body(name, min_member=2, metadata={"annotations": marks}),
        )


def bound(rig: DiskRig) -> list[str]:
    return [name for name, node in rig.nodes().items() if node]


async def test_no_gang_of_a_group_starts_before_the_claims_of_all_are_bound() -> None:
    async with DiskRig(nodes=3) as rig:
        rig.makes = {"a_1": 20}
        two_gangs_that_start_together(rig)
        await rig.quiet()
        rig.cycle()

        await asyncio.sleep(10)
        assert [] == bound(rig)
        await asyncio.sleep(20)
        await rig.quiet()
        assert ["a-0", "a-1", "b-0", "b-1"] == bound(rig)
        rig.assert_the_cache_is_right()


async def test_gangs_of_a_group_fail_together_and_say_why() -> None:
    async with DiskRig(nodes=3, hold_seconds=5) as rig:
        rig.makes = {"a_1": NEVER}
        two_gangs_that_start_together(rig)
        await rig.quiet()
        rig.cycle()
        await asyncio.sleep(6)

        words = "given up after 5 s: 1 of 2 claims are not bound yet: default/a-1"
        refusals = [binding.refusal() for binding in rig.finished]
        assert [] == bound(rig)
        assert ["a", "b"] == [refused.gang.key.name for refused in refusals]
        assert all(refused.detail.startswith(words) for refused in refusals)
        rig.makes.clear()
        rig.wake("a-1")
        await rig.cycles(rig.all_bound)
        rig.assert_the_cache_is_right()


async def test_who_comes_late_is_not_bound_before_the_quorum() -> None:
    async with DiskRig(nodes=3) as rig:
        rig.makes = {"a_1": 20}
        rig.gang_with_claims("a", 2)
        await rig.quiet()
        rig.cycle()
        rig.pod("a-late", "a")
        await asyncio.sleep(10)
        rig.cycle()
        await asyncio.sleep(1)
        assert [] == bound(rig)

        await rig.cycles(rig.all_bound)

        rig.assert_the_cache_is_right()


async def test_a_quorum_does_not_wait_for_the_claims_of_others() -> None:
    async with DiskRig(nodes=3) as rig:
        rig.makes = {"a_2": NEVER, "a_3": 20}
        rig.gang_with_claims("a", 4)
        rig.cluster.put(POD_GROUPS, api_objects.pod_group_body("a", min_member=2))
        rig.pod("a-plain", "a")
        await rig.quiet()
        rig.cycle()

        await asyncio.sleep(10)
        assert ["a-0", "a-1", "a-plain"] == bound(rig)
        await asyncio.sleep(20)
        assert ["a-0", "a-1", "a-3", "a-plain"] == bound(rig)
        await asyncio.sleep(HOLD_SECONDS)
        assert ["a-2"] == [pod.name for pod in rig.finished[-1].refusal().pods]
        rig.makes.clear()
        rig.wake("a-2")
        await rig.cycles(rig.all_bound)
        rig.assert_the_cache_is_right()


async def test_nobody_starts_before_a_quorum_whose_claims_come_late() -> None:
    async with DiskRig(nodes=3) as rig:
        rig.makes = {"a_0": 20}
        rig.gang_with_claims("a", 3)
        rig.cluster.put(POD_GROUPS, api_objects.pod_group_body("a", min_member=2))
        rig.pod("a-plain", "a")
        await rig.quiet()
        rig.cycle()

        await asyncio.sleep(10)
        assert [] == bound(rig)
        await asyncio.sleep(20)
        assert rig.all_bound()


async def test_members_of_a_gang_that_runs_wait_for_their_own_claims_alone() -> None:
    async with DiskRig(nodes=3) as rig:
        rig.makes = {"a_0": NEVER}
        rig.gang_with_claims("a", 3)
        rig.cluster.put(POD_GROUPS, api_objects.pod_group_body("a", min_member=1))
        await rig.quiet()
        rig.cycle()

        await asyncio.sleep(10)

        assert ["a-1", "a-2"] == bound(rig)
        assert rig.cache.gangs.records[rig.key("a")].whole_once


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
    async with DiskRig(nodes=members // 4 + 1) as rig:
        with counting(VolumeBook.progress) as looks:
            await held(rig, size=members, **{f"a_{number}": 3 for number in range(members)})
            await asyncio.sleep(5)

        assert rig.all_bound()
        # Four a second for the words and the state, and one for each of its events.
        assert looks[0] < 30 * members
