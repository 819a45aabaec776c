"""Devices before pods, under faults: all claims of a gang get theirs before any member is bound."""

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest

from gang_scheduler.api import annotations
from gang_scheduler.api.kinds import (
    NATIVE_POD_GROUPS,
    PODS,
    RESOURCE_CLAIM_TEMPLATES,
    RESOURCE_CLAIMS,
)
from gang_scheduler.apply.device_claims import GIVE_UP_SECONDS, LOOK_SECONDS, UNFINISHED_SECONDS
from gang_scheduler.apply.outcomes import Outcome
from gang_scheduler.client.errors import ApiError
from gang_scheduler.client.fake.client import Call, Fault
from gang_scheduler.client.patches import CLAIM_FINALIZER
from gang_scheduler.decode.devices.objects import decode_claim
from gang_scheduler.model.causes.gangs import DeviceClaimFailed
from gang_scheduler.model.device_needs import ClaimAllocation
from gang_scheduler.model.plan import Bind
from gang_scheduler.model.reasons import Reason
from gang_scheduler.model.refs import PodRef
from gang_scheduler.report.words.messages import describe
from support import api_objects, decoded
from support.device_harness import DeviceHarness
from support.device_objects import (
    allocated,
    by_name,
    by_template,
    claim,
    marked,
    naming,
    template,
)
from support.in_memory_cluster import native_body
from support.metric_values import growing

pytestmark = pytest.mark.looptime

SIZE = 3
PASSING = [
    Fault(ApiError(500, "etcd has no leader")),
    Fault(ApiError(0, "TimeoutError"), after=True),
    Fault(ApiError(429, "too many requests", retry_after=3)),
    Fault(ApiError(409, "the object has been modified")),
]
FINAL = Fault(ApiError(422, "ResourceClaim is invalid"))


def writes(harness: DeviceHarness) -> list[str]:
    """Return the calls that write, with the part of a claim that a patch is of."""
    return [
        call.arguments.get("subresource") or "metadata" if call.method == "patch" else call.method
        for call in harness.api.calls
        if call.method in ("patch", "bind")
    ]


async def planned(harness: DeviceHarness, seconds: float = 3) -> None:
    """Plan what there is, and let the writes settle."""
    await harness.quiet()
    harness.cycle()
    await asyncio.sleep(seconds)
    await harness.quiet()


def refusal(harness: DeviceHarness) -> tuple[Reason, str]:
    """Return why the only gang that was tried was not bound."""
    (binding,) = harness.finished
    assert {Outcome.WITHOUT_DEVICES} == set(binding.outcomes.values())
    refused = binding.refusal()
    return refused.reason, describe(refused)


def is_right(harness: DeviceHarness) -> bool:
    harness.assert_the_cache_is_right()
    return not harness.wrong


# All is well.


async def test_all_claims_are_written_before_any_pod_is_bound() -> None:
    async with DeviceHarness() as harness:
        harness.gang_with_devices("a", SIZE)
        await planned(harness)

        assert ["bind"] * SIZE == writes(harness)[2 * SIZE :]
        assert {"metadata": SIZE, "status": SIZE} == {
            each: writes(harness).count(each) for each in ("metadata", "status")
        }
        assert {f"a-{each}": [f"a-{each}"] for each in range(SIZE)} == harness.users()
        assert SIZE == len(set(harness.devices().values()))
        assert is_right(harness)


async def test_an_allocated_claim_cannot_be_deleted_and_tells_when_it_was_allocated() -> None:
    async with DeviceHarness() as harness:
        harness.gang_with_devices("a", 1)
        await planned(harness)
        found = harness.cluster.get(RESOURCE_CLAIMS, "default", "a-0")

        assert [CLAIM_FINALIZER] == found["metadata"]["finalizers"]
        assert found["status"]["allocation"]["allocationTimestamp"].endswith("Z")
        assert {"resource": "pods", "name": "a-0", "uid": "uid-a-0"} == (
            found["status"]["reservedFor"][0]
        )


async def test_a_shared_claim_is_allocated_once_and_reserved_for_all_members() -> None:
    async with DeviceHarness(nodes=1) as harness:
        harness.gang_with_devices("a", SIZE, claim="shared")
        await planned(harness)

        assert ["metadata", "status", *["bind"] * SIZE] == writes(harness)
        assert {"shared": ["a-0", "a-1", "a-2"]} == harness.users()
        assert is_right(harness)


async def test_a_second_gang_joins_a_claim_that_is_allocated() -> None:
    async with DeviceHarness(nodes=1) as harness:
        harness.gang_with_devices("a", 1, claim="shared")
        await planned(harness)
        harness.gang_with_devices("b", 2, claim="shared")
        await planned(harness)

        assert ["status", "bind", "bind"] == writes(harness)[3:]
        assert {"shared": ["a-0", "b-0", "b-1"]} == harness.users()
        assert is_right(harness)


async def test_members_beyond_the_quorum_come_after_it_one_by_one() -> None:
    async with DeviceHarness() as harness:
        harness.gang_with_devices("a", 2)
        harness.member("a", 2)
        harness.api.fail("patch", FINAL, name="a-2")
        await planned(harness)

        assert ["a-0", "a-1"] == sorted(name for name, node in harness.nodes().items() if node)
        assert {"a-0", "a-1"} == harness.devices().keys()
        assert not harness.wrong


# Faults.


@pytest.mark.parametrize("fault", PASSING, ids=str)
async def test_a_fault_that_passes_is_nothing(fault: Fault) -> None:
    async with DeviceHarness() as harness:
        harness.api.fail("patch", fault, fault, name="a-1")
        harness.gang_with_devices("a", SIZE)
        await planned(harness, 15)

        assert harness.all_bound()
        assert {f"a-{each}": [f"a-{each}"] for each in range(SIZE)} == harness.users()
        assert is_right(harness)


async def test_if_one_claim_cannot_be_written_no_claim_keeps_its_devices() -> None:
    async with DeviceHarness() as harness:
        harness.api.fail("patch", Fault(), FINAL, name="a-2")
        harness.gang_with_devices("a", SIZE)
        with growing("pgs_claim_writes_total") as written:
            await planned(harness)

        assert {("failed",): 1, ("reserved",): 2, ("withdrawn",): 3} == written
        assert ({}, {}) == (harness.devices(), harness.users())
        assert not any(harness.nodes().values())
        reason, words = refusal(harness)
        assert reason is Reason.UNSCHEDULABLE
        assert "claim default/a-2 cannot get its devices: 422: ResourceClaim is invalid" in words
        assert {} == harness.cache.devices.snapshot().claims
        assert is_right(harness)


async def test_a_right_that_the_scheduler_lacks_is_an_error_of_the_installation() -> None:
    text = 'cannot update resource "resourceclaims/binding"'
    async with DeviceHarness() as harness:
        harness.api.fail("patch", *[Fault(ApiError(403, text))] * 1000)
        harness.gang_with_devices("a", 1)
        await planned(harness, 120)

        reason, words = refusal(harness)
        assert reason is Reason.INTERNAL_ERROR
        assert text in words


async def test_a_claim_that_another_scheduler_allocated_meanwhile_gives_the_gang_up() -> None:
    async with DeviceHarness() as harness:
        harness.gang_with_devices("a", 2)
        await harness.quiet()

        def faster(call: Call) -> None:
            is_first = not _allocation(harness, "a-1")
            if call.method == "patch" and call.name == "a-1" and is_first:
                body = harness.cluster.get(RESOURCE_CLAIMS, "default", "a-1")
                harness.cluster.put(RESOURCE_CLAIMS, allocated(body, "n1", "gpu-3", pods=("x",)))

        harness.api.scripts.append(faster)
        await planned(harness)

        assert {"a-1": "n1/gpu-3"} == harness.devices()
        assert {"a-1": ["x"]} == harness.users()
        assert "was allocated by another scheduler" in refusal(harness)[1]
        assert not harness.wrong


def _allocation(harness: DeviceHarness, name: str) -> Any:
    return harness.cluster.get(RESOURCE_CLAIMS, "default", name).get("status")


async def test_a_claim_that_a_pod_joined_meanwhile_keeps_its_devices() -> None:
    async with DeviceHarness() as harness:
        harness.gang_with_devices("a", 2)
        await harness.quiet()

        def join(call: Call) -> Fault | None:
            if call.method != "patch" or call.name != "a-1":
                return None
            if "a-0" in harness.users():
                other = {"resource": "pods", "name": "x", "uid": "x"}
                with harness.cluster.changing(RESOURCE_CLAIMS, "default", "a-0") as found:
                    found["status"]["reservedFor"].append(other)
                return FINAL
            return Fault(ApiError(409, "not yet"))

        harness.api.scripts.append(join)
        await planned(harness, 20)

        assert (["a-0"], {"a-0": ["x"]}) == ([*harness.devices()], harness.users())


async def test_a_member_that_goes_while_claims_are_written_takes_all_devices_back() -> None:
    async with DeviceHarness() as harness:
        harness.api.fail("patch", Fault(delay_seconds=5), name="a-1")
        harness.gang_with_devices("a", 2)
        await harness.quiet()
        harness.cycle()
        await asyncio.sleep(1)
        harness.cluster.delete(PODS, "default", "a-0")
        await asyncio.sleep(20)
        await harness.quiet()

        assert {} == harness.devices()
        assert "pod default/a-0, which is gone" in refusal(harness)[1]


async def test_nothing_is_written_without_the_lease_and_the_next_leader_takes_over() -> None:
    leads = True
    async with DeviceHarness(may_write=lambda: leads) as harness:
        harness.api.fail("patch", Fault(), Fault(delay_seconds=2), name="a-1")
        harness.gang_with_devices("a", 2)
        await harness.quiet()
        harness.cycle()
        await asyncio.sleep(1)
        leads = False
        before = len(harness.api.calls)
        await asyncio.sleep(UNFINISHED_SECONDS + 10)
        assert before == len(harness.api.calls)
        left = harness.devices()
        leads = True
        await harness.cycles(harness.all_bound)

        assert {"a-0", "a-1"} == left.keys()
        assert left == harness.devices()
        assert is_right(harness)


# What is left of an attempt that a crash ended.


async def test_what_a_crash_left_is_taken_back_if_the_gang_is_not_bound_soon() -> None:
    async with DeviceHarness() as harness:
        harness.gang_with_devices("a", 2)
        body = harness.cluster.get(RESOURCE_CLAIMS, "default", "a-0")
        left = allocated(body, "n0", "gpu-0", pods=("a-0",))
        harness.cluster.put(RESOURCE_CLAIMS, marked(left))
        await asyncio.sleep(UNFINISHED_SECONDS - 5)
        before = harness.devices()
        await asyncio.sleep(15)
        await harness.quiet()

        assert ({"a-0": "n0/gpu-0"}, {}) == (before, harness.devices())
        assert {} == harness.users()


@pytest.mark.parametrize("mark", [None, "2026-01-01T12:00:00Z/of-another-allocation"])
async def test_after_a_restart_devices_that_another_scheduler_allocated_stay_with_the_claim(
    mark: str | None,
) -> None:
    async with DeviceHarness() as harness:
        harness.gang_with_devices("a", 2)
        body = harness.cluster.get(RESOURCE_CLAIMS, "default", "a-0")
        body = allocated(body, "n0", "gpu-0", pods=("a-0",))
        if mark:
            body["metadata"]["annotations"] = {annotations.ALLOCATED: mark}
        harness.cluster.put(RESOURCE_CLAIMS, body)
        await asyncio.sleep(UNFINISHED_SECONDS + 10)
        await harness.quiet()

        assert ({}, {"a-0": "n0/gpu-0"}) == (harness.users(), harness.devices())


async def test_an_attempt_marks_the_allocations_that_it_writes() -> None:
    async with DeviceHarness() as harness:
        harness.api.fail("patch", Fault(ApiError(0, "TimeoutError"), after=True), name="a-0")
        harness.gang_with_devices("a", 2)
        await planned(harness, 15)

        bodies = harness.cluster.all(RESOURCE_CLAIMS)
        assert [True, True] == [decode_claim(each).is_marked for each in bodies]
        assert not decode_claim(allocated(bodies[0], "n1", "gpu-3")).is_marked


async def test_what_a_crash_left_is_used_by_the_gang_that_it_is_of() -> None:
    async with DeviceHarness() as harness:
        harness.gang_with_devices("a", 2)
        body = harness.cluster.get(RESOURCE_CLAIMS, "default", "a-0")
        harness.cluster.put(RESOURCE_CLAIMS, allocated(body, "n0", "gpu-0", pods=("a-0",)))
        await planned(harness)

        assert harness.all_bound()
        assert "n0/gpu-0" == harness.devices()["a-0"]
        assert not harness.wrong


async def test_a_claim_that_is_reserved_for_nothing_is_freed_if_no_pod_starts() -> None:
    async with DeviceHarness() as harness:
        harness.gang_with_devices("a", 2)
        body = harness.cluster.get(RESOURCE_CLAIMS, "default", "a-0")
        # There is no such node any more.
        harness.cluster.put(RESOURCE_CLAIMS, allocated(body, "n9", "gpu-0"))
        await planned(harness, UNFINISHED_SECONDS - 5)
        before = harness.devices()
        await asyncio.sleep(15)
        await harness.quiet()

        assert ({"a-0": "n9/gpu-0"}, {}) == (before, harness.devices())


async def test_a_claim_that_is_reserved_for_nothing_is_not_freed_for_a_gang_that_is_not_tried() -> (
    None
):
    async with DeviceHarness() as harness:
        harness.gang_with_devices("a", 2)
        gated = {"schedulingGates": [{"name": "example.com/later"}]}
        with harness.cluster.changing(PODS, "default", "a-1") as pod:
            pod["spec"] |= gated
        body = harness.cluster.get(RESOURCE_CLAIMS, "default", "a-0")
        harness.cluster.put(RESOURCE_CLAIMS, allocated(body, "n9", "gpu-0"))
        await planned(harness, 2 * UNFINISHED_SECONDS)

        assert {"a-0": "n9/gpu-0"} == harness.devices()


async def test_devices_of_a_pod_that_is_bound_are_never_taken_back() -> None:
    async with DeviceHarness() as harness:
        harness.gang_with_devices("a", 1)
        body = harness.cluster.get(RESOURCE_CLAIMS, "default", "a-0")
        harness.cluster.put(RESOURCE_CLAIMS, allocated(body, "n0", "gpu-0", pods=("a-0",)))
        await harness.quiet()
        # The watch of pods is late.
        harness.cluster.watchers.clear()
        with harness.cluster.changing(PODS, "default", "a-0") as pod:
            pod["spec"]["nodeName"] = "n0"
        await asyncio.sleep(UNFINISHED_SECONDS + 15)

        assert {"a-0": "n0/gpu-0"} == harness.devices()


async def test_devices_of_pods_of_another_scheduler_are_left_alone() -> None:
    async with DeviceHarness() as harness:
        harness.gang_with_devices("a", 1)
        with harness.cluster.changing(PODS, "default", "a-0") as pod:
            pod["spec"]["schedulerName"] = "another"
        body = harness.cluster.get(RESOURCE_CLAIMS, "default", "a-0")
        harness.cluster.put(RESOURCE_CLAIMS, allocated(body, "n0", "gpu-0", pods=("a-0",)))
        await asyncio.sleep(UNFINISHED_SECONDS + 15)

        assert {"a-0": "n0/gpu-0"} == harness.devices()


async def test_devices_of_a_pod_that_the_api_server_does_not_bind_are_taken_back_soon() -> None:
    async with DeviceHarness() as harness:
        harness.api.fail("bind", *[Fault(ApiError(422, "no"))] * 10, name="a-1")
        harness.gang_with_devices("a", 2)
        await planned(harness, LOOK_SECONDS + 2)

        assert {"a-0": ["a-0"]} == harness.users()
        assert {"a-0"} == harness.devices().keys()


async def test_a_claim_that_was_allocated_before_keeps_its_devices_if_its_pod_is_not_bound() -> (
    None
):
    async with DeviceHarness() as harness:
        harness.api.fail("bind", Fault(ApiError(422, "no")))
        harness.gang_with_devices("a", 1)
        body = harness.cluster.get(RESOURCE_CLAIMS, "default", "a-0")
        harness.cluster.put(RESOURCE_CLAIMS, allocated(body, "n0", "gpu-0"))
        await planned(harness, 1)
        reserved = harness.users()
        await asyncio.sleep(LOOK_SECONDS + 2)

        assert {"a-0": ["a-0"]} == reserved
        assert ({"a-0": "n0/gpu-0"}, {}) == (harness.devices(), harness.users())


async def test_a_claim_that_a_second_gang_joined_loses_its_devices_if_neither_is_bound() -> None:
    async with DeviceHarness(nodes=1) as harness:
        harness.api.fail("bind", *[Fault(ApiError(422, "no"), delay_seconds=4)] * 3)
        harness.gang_with_devices("a", 2, claim="shared")
        await harness.quiet()
        harness.cycle()
        await asyncio.sleep(1)
        harness.gang_with_devices("b", 1, claim="shared")
        await asyncio.sleep(1)
        harness.cycle()
        await asyncio.sleep(1)
        reserved = harness.users()
        await asyncio.sleep(LOOK_SECONDS + 8)

        assert {"shared": ["a-0", "a-1", "b-0"]} == reserved
        assert {} == harness.devices()


# Claims of a native PodGroup.


def pod_of_group(harness: DeviceHarness, name: str, *own: str) -> None:
    """Add a pod of PodGroup g, which has a claim, and claims of its own."""
    entries = [by_template("t"), *(by_name(each, each) for each in own)]
    named = naming(*entries, created={"gpu": "g-gpu"})
    fields = {**named["spec"], "schedulingGroup": {"podGroupName": "g"}}
    harness.cluster.put(PODS, api_objects.pod_body(name, status=named["status"], **fields))


async def test_a_failed_attempt_takes_no_claim_of_its_group_from_a_pod_that_runs() -> None:
    async with DeviceHarness(nodes=1) as harness:
        entry = {"name": "gpu", "resourceClaimTemplateName": "t"}
        harness.cluster.put(NATIVE_POD_GROUPS[0], native_body("g", None, resourceClaims=[entry]))
        harness.cluster.put(RESOURCE_CLAIM_TEMPLATES, template("t"))
        of_group = claim("g-gpu")
        owner = {"apiVersion": "scheduling.k8s.io/v1beta1", "kind": "PodGroup", "name": "g"}
        of_group["metadata"]["ownerReferences"] = [
            {**owner, "uid": "uid-native-g", "controller": True}
        ]
        harness.cluster.put(RESOURCE_CLAIMS, of_group)
        harness.cluster.put(RESOURCE_CLAIMS, claim("own"))
        harness.api.fail("patch", *[Fault(ApiError(500, "webhook down"))] * 100, name="own")
        pod_of_group(harness, "p0", "own")
        await planned(harness)
        pod_of_group(harness, "p1")
        await planned(harness)
        bound = harness.nodes()
        await asyncio.sleep(GIVE_UP_SECONDS + LOOK_SECONDS + 5)
        still = harness.users()
        harness.cluster.delete(PODS, "default", "p1")
        await asyncio.sleep(UNFINISHED_SECONDS + LOOK_SECONDS + 5)

        assert {"p0": "", "p1": "n0"} == bound
        assert {"g-gpu": ["g"]} == still
        assert {} == harness.users()


# Withdrawals, while the gang is planned again.


def left_by_a_crash(harness: DeviceHarness) -> Bind:
    """Let a pod's claim be allocated and reserved, and return how the pod would be bound."""
    harness.gang_with_devices("a", 1)
    body = harness.cluster.get(RESOURCE_CLAIMS, "default", "a-0")
    body = marked(allocated(body, "n0", "gpu-0", pods=("a-0",)))
    harness.cluster.put(RESOURCE_CLAIMS, body)
    pod = decoded.pod(harness.cluster.get(PODS, "default", "a-0"))
    allocation = decode_claim(body).allocation
    assert allocation is not None
    claims = (ClaimAllocation("gpu", "default/a-0", allocation, is_new=False),)
    return Bind(pod, "n0", claims=claims)


async def test_a_gang_that_is_planned_during_a_withdrawal_has_all_its_devices_when_bound(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with DeviceHarness() as harness:
        ask = harness.api.bound_node

        async def slow(pod: PodRef) -> str:
            answer = await ask(pod)
            await asyncio.sleep(1.5)
            return answer

        monkeypatch.setattr(harness.api, "bound_node", slow)
        names = [f"a-{each}" for each in range(6)]
        for name in names:
            harness.api.fail("bind", Fault(ApiError(422, "refused by a webhook")), name=name)
        harness.gang_with_devices("a", len(names))
        await harness.quiet()
        await harness.cycles(lambda: any(harness.nodes().values()), 60)
        await harness.cycles(harness.all_bound, 60)
        await asyncio.sleep(30)

        assert {each: [each] for each in names} == harness.users()
        assert is_right(harness)


async def test_a_gang_waits_for_claims_until_the_watch_shows_their_withdrawal() -> None:
    async with DeviceHarness() as harness:
        left_by_a_crash(harness)
        harness.api.fail("patch", Fault(delay_seconds=5))
        await harness.quiet()
        await asyncio.sleep(UNFINISHED_SECONDS + LOOK_SECONDS)
        (refused,) = harness.cycle().refused

        assert Reason.WAITING_FOR_CLAIMS is refused.reason
        assert "default/a-0 is giving back the devices of an attempt" in describe(refused)
        await harness.cycles(harness.all_bound, 30)
        assert {"a-0": ["a-0"]} == harness.users()
        assert is_right(harness)


async def test_claims_of_a_pod_that_a_plan_begins_to_bind_are_not_withdrawn() -> None:
    async with DeviceHarness() as harness:
        bind = left_by_a_crash(harness)

        def plan(call: Call) -> None:
            if call.method == "bound_node":
                harness.cache.assume(bind)

        harness.api.scripts.append(plan)
        await asyncio.sleep(UNFINISHED_SECONDS + LOOK_SECONDS + 5)

        assert {"a-0": ["a-0"]} == harness.users()
        assert await harness.device_claims.reserve([bind]) is None


async def test_no_claim_is_relied_on_while_it_is_withdrawn() -> None:
    async with DeviceHarness() as harness:
        bind = left_by_a_crash(harness)
        await harness.quiet()
        # The watch shows nothing any more.
        harness.cluster.watchers.clear()
        await asyncio.sleep(UNFINISHED_SECONDS + LOOK_SECONDS + 1)
        assert {} == harness.users()
        problem = await harness.device_claims.reserve([bind])

        assert isinstance(problem, DeviceClaimFailed)
        assert "claim default/a-0 is being withdrawn" in problem.text()


async def test_a_claim_that_needs_no_write_is_read_before_its_pod_is_bound() -> None:
    async with DeviceHarness() as harness:
        bind = left_by_a_crash(harness)
        await harness.quiet()
        harness.cluster.watchers.clear()
        with harness.cluster.changing(RESOURCE_CLAIMS, "default", "a-0") as body:
            body["status"] = {}
        problem = await harness.device_claims.reserve([bind])

        assert isinstance(problem, DeviceClaimFailed)
        assert "claim default/a-0 has lost its allocation" in problem.text()


async def test_before_a_withdrawal_pods_are_asked_for_side_by_side() -> None:
    async with DeviceHarness() as harness:
        harness.gang_with_devices("a", 8)
        for each in range(8):
            harness.api.fail("bound_node", Fault(delay_seconds=1), name=f"a-{each}")
            body = harness.cluster.get(RESOURCE_CLAIMS, "default", f"a-{each}")
            body = allocated(body, f"n{each // 4}", f"gpu-{each % 4}", pods=(f"a-{each}",))
            body = marked(body)
            harness.cluster.put(RESOURCE_CLAIMS, body)
        await harness.quiet()
        await asyncio.sleep(UNFINISHED_SECONDS + LOOK_SECONDS + 3)

        assert {} == harness.devices()


# Both kinds of claims: see the volume binder.


def faults(number: int) -> Iterator[Fault | None]:
    """Yield the faults of a bad hour, always the same."""
    pattern = [None, PASSING[number % 4], None, PASSING[(number + 1) % 4], None, FINAL]
    while True:
        yield from pattern[number % 6 :]
        number += 1


@pytest.mark.parametrize("number", range(6))
async def test_under_many_faults_no_device_is_given_twice_and_none_is_lost(number: int) -> None:
    async with DeviceHarness(nodes=2) as harness:
        coming = faults(number)
        ends = asyncio.get_running_loop().time() + 60

        def script(call: Call) -> Fault | None:
            is_over = asyncio.get_running_loop().time() > ends
            return None if call.method != "patch" or is_over else next(coming)

        harness.api.scripts.append(script)
        for name in "abcd":
            harness.gang_with_devices(name, 2)
        await harness.quiet()
        await harness.cycles(harness.all_bound)

        assert 8 == len(set(harness.devices().values()))
        assert {each: [each] for each in harness.nodes()} == harness.users()
        assert is_right(harness)
