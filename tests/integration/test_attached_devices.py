"""Devices that drivers attach first: no member is bound before all of the gang's are ready."""

import asyncio
from typing import Any

import pytest

from gang_scheduler.api.kinds import PODS, RESOURCE_CLAIMS, RESOURCE_SLICES
from gang_scheduler.apply.attached_devices import ATTACH_SECONDS
from gang_scheduler.apply.device_claims import AVOID_SECONDS, LOOK_SECONDS, UNFINISHED_SECONDS
from gang_scheduler.apply.outcomes import Outcome
from gang_scheduler.client.errors import ApiError
from gang_scheduler.client.fake.client import Call, Fault
from gang_scheduler.model.plan import Refused
from gang_scheduler.model.reasons import Reason
from gang_scheduler.report.words.messages import describe
from support import api_objects, device_objects
from support.device_harness import DeviceHarness

pytestmark = pytest.mark.looptime

ATTACHED, POWERED, FAILED = "Attached", "Powered", "Failed"
BOTH = (ATTACHED, POWERED)


def harness_of(**options: Any) -> DeviceHarness:
    return DeviceHarness(conditions=BOTH, **options)


async def planned(harness: DeviceHarness, seconds: float = 3) -> None:
    """Plan what there is, and let the claims be written."""
    await harness.quiet()
    harness.cycle()
    await asyncio.sleep(seconds)


def bound(harness: DeviceHarness) -> list[str]:
    return sorted(name for name, node in harness.nodes().items() if node)


def verdict(harness: DeviceHarness) -> Refused | None:
    """Return why the only gang waits."""
    (info,) = harness.cache.gang_queue.infos.values()
    return info.verdict.refusal


async def test_no_member_is_bound_before_all_devices_of_the_gang_are_attached() -> None:
    async with harness_of() as harness:
        harness.gang_with_devices("a", 2)
        await planned(harness)
        harness.attach("a-0", *BOTH)
        harness.attach("a-1", ATTACHED)
        await asyncio.sleep(60)
        before = bound(harness)
        harness.attach("a-1", *BOTH)
        await asyncio.sleep(3)
        await harness.quiet()

        assert ([], ["a-0", "a-1"]) == (before, bound(harness))
        assert not harness.wrong


async def test_a_gang_that_waits_says_for_which_device_and_condition() -> None:
    async with harness_of() as harness:
        harness.gang_with_devices("a", 2)
        await planned(harness)
        harness.attach("a-0", *BOTH)
        harness.attach("a-1", ATTACHED)
        await asyncio.sleep(3)

        refused = verdict(harness)
        assert refused is not None
        assert Reason.WAITING_FOR_DEVICES is refused.reason
        device = f"gpu.example.com/{harness.devices()['a-1']}"
        lacks = f"{device} of claim default/a-1 lacks condition Powered"
        words = f"1 of 2 devices are not attached yet: {lacks}"
        assert words == describe(refused)
        await asyncio.sleep(5)
        assert words in harness.told


async def test_other_gangs_start_meanwhile() -> None:
    async with harness_of() as harness:
        harness.gang_with_devices("a", 2)
        await planned(harness)
        harness.gang("b", 2)
        await planned(harness)

        assert ["b-0", "b-1"] == bound(harness)


async def test_a_device_that_fails_gives_all_devices_back_and_others_are_used() -> None:
    async with harness_of() as harness:
        harness.gang_with_devices("a", 2)
        await planned(harness)
        failed = harness.devices()["a-1"]
        harness.attach("a-0", *BOTH)
        harness.attach("a-1", FAILED)
        await asyncio.sleep(3)
        await harness.quiet()

        (binding,) = harness.finished
        assert {Outcome.WITHOUT_DEVICES} == set(binding.outcomes.values())
        refused = binding.refusal()
        assert Reason.WAITING_FOR_DEVICES is refused.reason
        of = f"device gpu.example.com/{failed} of claim default/a-1"
        assert f"{of} cannot be attached: condition Failed is True" == describe(refused)
        assert ({}, {}, []) == (harness.devices(), harness.users(), bound(harness))

        await planned(harness, 60)
        assert 2 == len(harness.devices())
        assert failed not in harness.devices().values()
        for name in ("a-0", "a-1"):
            harness.attach(name, *BOTH)
        await asyncio.sleep(3)
        await harness.quiet()
        assert ["a-0", "a-1"] == bound(harness)
        assert not harness.wrong


async def test_a_device_that_failed_is_used_again_after_some_minutes() -> None:
    async with harness_of(nodes=1) as harness:
        harness.gang_with_devices("a", 1)
        await planned(harness)
        failed = harness.devices()["a-0"]
        harness.attach("a-0", FAILED)
        await asyncio.sleep(10)
        await harness.quiet()

        def avoided() -> list[str]:
            harness.cache.snapshot(int(asyncio.get_running_loop().time()))
            pod = harness.cache.pod("uid-a-0")
            assert pod is not None
            needs = pod.pod_class.devices
            return [f"{each.pool}/{each.device}" for each in needs.avoided] if needs else []

        assert [failed] == avoided()
        await asyncio.sleep(AVOID_SECONDS + LOOK_SECONDS)
        assert [] == avoided()


async def test_after_its_time_a_wait_is_given_up() -> None:
    async with harness_of(attach_seconds=30) as harness:
        harness.gang_with_devices("a", 2)
        await planned(harness)
        harness.attach("a-0", *BOTH)
        await asyncio.sleep(25)
        assert 2 == len(harness.devices())
        await asyncio.sleep(10)
        await harness.quiet()

        assert ({}, []) == (harness.devices(), bound(harness))
        (binding,) = harness.finished
        assert "given up after 30 s: device gpu.example.com/" in describe(binding.refusal())


async def test_the_time_for_volumes_does_not_end_the_wait_for_devices() -> None:
    async with harness_of(hold_seconds=5) as harness:
        harness.gang_with_devices("a", 1)
        await planned(harness)
        await asyncio.sleep(ATTACH_SECONDS / 2)
        harness.attach("a-0", *BOTH)
        await asyncio.sleep(3)
        await harness.quiet()

        assert ["a-0"] == bound(harness)


async def test_a_member_that_goes_gives_all_devices_back() -> None:
    async with harness_of() as harness:
        harness.gang_with_devices("a", 2)
        await planned(harness)
        harness.cluster.delete(PODS, "default", "a-0")
        await asyncio.sleep(10)
        await harness.quiet()

        assert "a-1" not in harness.users()
        assert "a-1" not in harness.devices()


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"status": {}}, "it has lost its allocation"),
        ({"metadata": {"deletionTimestamp": "2026-01-01T00:00:00Z"}}, "it is being deleted"),
    ],
)
async def test_a_claim_that_is_lost_ends_the_wait(change: dict[str, Any], words: str) -> None:
    async with harness_of() as harness:
        harness.gang_with_devices("a", 2)
        await planned(harness)
        with harness.cluster.changing(RESOURCE_CLAIMS, "default", "a-0") as body:
            for part, fields in change.items():
                body[part] = {**(body[part] if fields else {}), **fields}
        await asyncio.sleep(10)
        await harness.quiet()

        assert {} == harness.devices()
        (binding,) = harness.finished
        assert words in describe(binding.refusal())


async def two_claims(harness: DeviceHarness) -> None:
    """Let a gang wait for the device of claim a-0; claim a-1 needs no driver."""
    name = f"n0-{device_objects.DRIVER}"
    with harness.cluster.changing(RESOURCE_SLICES, "", name) as body:
        devices = body["spec"]["devices"]
        devices[:] = [devices[0], {"name": "gpu-1"}]
    harness.gang_with_devices("a", 2)
    await planned(harness)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"status": {}}, "it has lost its allocation"),
        ({"metadata": {"uid": "another"}}, "it is another claim now"),
        ({"status": {"reservedFor": []}}, "it is not reserved for its pod any more"),
    ],
)
@pytest.mark.parametrize("is_seen", [True, False])
async def test_a_claim_without_a_driver_that_changes_ends_the_wait(
    change: dict[str, Any], words: str, *, is_seen: bool
) -> None:
    async with harness_of(nodes=1) as harness:
        await two_claims(harness)
        assert {"a-0": "n0/gpu-0", "a-1": "n0/gpu-1"} == harness.devices()
        body = harness.cluster.get(RESOURCE_CLAIMS, "default", "a-1")
        (part, fields), *_ = change.items()
        body = {**body, part: {**(body[part] if fields else {}), **fields}}
        if is_seen:
            harness.cluster.put(RESOURCE_CLAIMS, body)
        else:
            harness.api.scripts.append(_reading(harness, body))
            harness.attach("a-0", *BOTH)
        await asyncio.sleep(5)
        await harness.quiet()

        (binding,) = harness.finished
        assert words in describe(binding.refusal())
        assert [] == bound(harness)


def _reading(harness: DeviceHarness, body: dict[str, Any]) -> Any:
    """Change a claim right before it is read for the last time."""

    def change(call: Call) -> None:
        if call.method == "get" and call.name == body["metadata"]["name"]:
            harness.cluster.watchers.clear()
            harness.cluster.put(RESOURCE_CLAIMS, body)

    return change


async def test_a_claim_that_was_attached_long_ago_takes_no_time_from_others() -> None:
    async with harness_of(nodes=1) as harness:
        harness.cluster.put(RESOURCE_CLAIMS, long_ago(device_objects.claim("old"), *BOTH))
        harness.gang_with_devices("a", 1)
        entries = device_objects.by_name("old", "old"), device_objects.by_name("a-0", "own")
        spec = device_objects.naming(*entries)["spec"]
        harness.cluster.put(PODS, api_objects.pod_body("a-0", gang="a", **spec))
        await planned(harness)
        harness.attach("a-0", *BOTH)
        await asyncio.sleep(5)
        await harness.quiet()

        assert ["a-0"] == bound(harness)


async def test_a_wait_that_seems_too_old_when_it_is_first_seen_gets_its_whole_time() -> None:
    async with harness_of(nodes=1) as harness:
        harness.gang_with_devices("a", 1)
        body = harness.cluster.get(RESOURCE_CLAIMS, "default", "a-0")
        harness.cluster.put(RESOURCE_CLAIMS, device_objects.marked(long_ago(body)))
        await planned(harness, ATTACH_SECONDS - 30)
        before = harness.devices()
        await asyncio.sleep(60)
        await harness.quiet()

        assert ({"a-0": "n0/gpu-3"}, {}) == (before, harness.devices())


def long_ago(body: dict[str, Any], *true: str) -> dict[str, Any]:
    """Return a claim that was allocated long ago, with these conditions of its device."""
    body = device_objects.allocated(body, "n0", "gpu-3", pods=("a-0",))
    status = body["status"]
    status["allocation"]["devices"]["results"][0]["bindingConditions"] = [*BOTH]
    status["allocation"]["allocationTimestamp"] = "2020-01-01T00:00:00Z"
    conditions = [{"type": each, "status": "True"} for each in true]
    of = {"driver": device_objects.DRIVER, "pool": "n0", "device": "gpu-3"}
    status["devices"] = [{**of, "conditions": conditions}]
    return body


async def test_the_next_leader_goes_on_with_the_wait() -> None:
    leads = True
    async with harness_of(may_write=lambda: leads) as harness:
        harness.gang_with_devices("a", 2)
        await planned(harness)
        left = harness.devices()
        leads = False
        await asyncio.sleep(UNFINISHED_SECONDS + 5)
        assert left == harness.devices()
        leads = True
        await harness.quiet()
        await planned(harness, UNFINISHED_SECONDS + 10)
        assert left == harness.devices()
        for name in ("a-0", "a-1"):
            harness.attach(name, *BOTH)
        await asyncio.sleep(3)
        await harness.quiet()

        assert ["a-0", "a-1"] == bound(harness)
        assert left == harness.devices()
        assert not harness.wrong


async def test_after_a_restart_a_failure_that_is_there_gives_the_gang_up() -> None:
    leads = True
    async with harness_of(may_write=lambda: leads) as harness:
        harness.gang_with_devices("a", 2)
        await planned(harness)
        leads = False
        await asyncio.sleep(UNFINISHED_SECONDS + 5)
        harness.attach("a-1", FAILED)
        leads = True
        await harness.quiet()
        await planned(harness, 5)

        assert ({}, []) == (harness.devices(), bound(harness))


async def test_after_a_binding_that_fails_nothing_stays_allocated() -> None:
    async with harness_of() as harness:
        harness.api.fail("bind", *[Fault(ApiError(422, "no"))] * 10)
        harness.gang_with_devices("a", 1)
        await planned(harness)
        harness.attach("a-0", *BOTH)
        await asyncio.sleep(LOOK_SECONDS + 3)
        await harness.quiet()

        assert {} == harness.devices()
