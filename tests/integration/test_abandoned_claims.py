"""Claims of pods that are gone, and that no controller frees: their devices are not lost."""

import asyncio
from collections.abc import Callable

import pytest

from gang_scheduler.api.kinds import PODS, RESOURCE_CLAIMS
from gang_scheduler.apply.abandoned_claims import ABANDONED_SECONDS, LOOK_SECONDS, AbandonedClaims
from gang_scheduler.client.errors import ApiError
from gang_scheduler.client.fake.client import Fault
from gang_scheduler.client.writing import Writes
from support.device_harness import DeviceHarness
from support.device_objects import allocated

pytestmark = pytest.mark.looptime

LATE = ABANDONED_SECONDS + 2 * LOOK_SECONDS
EARLY = ABANDONED_SECONDS - LOOK_SECONDS


async def bound(harness: DeviceHarness) -> dict[str, str]:
    """Bind a gang of two with a claim each; return the devices."""
    harness.gang_with_devices("a", 2)
    await harness.cycles(harness.all_bound)
    await harness.quiet()
    return harness.devices()


async def later(
    harness: DeviceHarness, seconds: float, may_write: Callable[[], bool] = lambda: True
) -> None:
    """Look for abandoned claims for some time."""
    claims = AbandonedClaims(harness.api, harness.cache, writes=Writes(may_write))
    task = asyncio.create_task(claims.run())
    await asyncio.sleep(seconds)
    task.cancel()
    await harness.quiet()


async def test_devices_of_pods_that_are_gone_are_freed_if_no_controller_does_so() -> None:
    async with DeviceHarness() as harness:
        before = await bound(harness)
        harness.cluster.delete(PODS, "default", "a-0")
        await harness.quiet()
        await later(harness, EARLY)
        held = harness.devices()
        await later(harness, LATE)

        assert before == held
        assert {"a-1": before["a-1"]} == harness.devices()
        assert {"a-1": ["a-1"]} == harness.users()


async def test_a_pod_of_the_same_name_does_not_keep_the_devices_of_the_one_before() -> None:
    async with DeviceHarness() as harness:
        before = await bound(harness)
        harness.cluster.delete(PODS, "default", "a-0")
        harness.pod("a-0", "", uid="another")
        await harness.quiet()
        await later(harness, LATE)

        assert {"a-1": before["a-1"]} == harness.devices()


async def test_a_pod_that_exists_keeps_its_devices_though_it_is_not_known() -> None:
    async with DeviceHarness() as harness:
        before = await bound(harness)
        harness.cache.delete_pod(harness.cluster.get(PODS, "default", "a-0")["metadata"]["uid"])
        assert ["default/a-0"] == [e.key for e in harness.cache.devices.held_by_none()]
        await later(harness, LATE)

        assert before == harness.devices()


async def test_a_claim_stays_while_the_api_server_does_not_say_that_its_pod_is_gone() -> None:
    async with DeviceHarness() as harness:
        before = await bound(harness)
        harness.cluster.delete(PODS, "default", "a-0")
        await harness.quiet()
        harness.api.fail("bound_node", *[Fault(ApiError(500, "etcd has no leader"))] * 100)
        await later(harness, LATE)

        assert before == harness.devices()


async def test_only_a_leader_frees_claims() -> None:
    async with DeviceHarness() as harness:
        before = await bound(harness)
        harness.cluster.delete(PODS, "default", "a-0")
        await harness.quiet()
        await later(harness, LATE, lambda: False)

        assert before == harness.devices()


async def test_devices_that_another_scheduler_allocated_are_left_to_it() -> None:
    async with DeviceHarness() as harness:
        harness.gang_with_devices("a", 1)
        body = harness.cluster.get(RESOURCE_CLAIMS, "default", "a-0")
        harness.cluster.put(RESOURCE_CLAIMS, allocated(body, "n0", "gpu-0", pods=("a-0",)))
        harness.cluster.delete(PODS, "default", "a-0")
        await harness.quiet()
        await later(harness, LATE)

        assert {"a-0": "n0/gpu-0"} == harness.devices()
