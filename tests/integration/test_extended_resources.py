"""Claims for extended resources under faults: made, allocated, named and taken back, one a pod."""

import asyncio
from typing import Any

import pytest

from gang_scheduler.api.kinds import DEVICE_CLASSES, POD_GROUPS, PODS, RESOURCE_CLAIMS
from gang_scheduler.apply.device_claims import UNFINISHED_SECONDS
from gang_scheduler.client.errors import ApiError
from gang_scheduler.client.fake.client import Call, Fault
from gang_scheduler.client.patches import CLAIM_FINALIZER
from gang_scheduler.model.extended_resources import ANNOTATION, claim_name
from gang_scheduler.model.plan import Plan
from gang_scheduler.report.words.messages import describe
from support import api_objects, device_objects
from support.device_harness import DeviceHarness

pytestmark = pytest.mark.looptime

GPU = "nvidia.com/gpu"
SIZE = 2
PASSING = [
    Fault(ApiError(500, "etcd has no leader")),
    Fault(ApiError(0, "TimeoutError"), after=True),
    Fault(ApiError(429, "too many requests", retry_after=3)),
    Fault(ApiError(409, "the object has been modified")),
]
FINAL = Fault(ApiError(422, "ResourceClaim is invalid"))


class Harness(DeviceHarness):
    """A harness whose class of devices offers an extended resource; the core plans everything."""

    def __init__(self, nodes: int = 2) -> None:
        super().__init__(nodes)
        offering = device_objects.device_class(extendedResourceName=GPU)
        self.cluster.put(DEVICE_CLASSES, offering)

    def plan(self, plan: Plan) -> Plan:
        """Return the plan of the core."""
        return plan

    def extended_gang(self, name: str, pods: int, number: int = 2) -> None:
        """Add a gang whose members ask for so many GPUs each."""
        self.cluster.put(POD_GROUPS, api_objects.pod_group_body(name, min_member=pods))
        asked = api_objects.container(requests={"cpu": "1", GPU: str(number)})
        for each in range(pods):
            body = api_objects.pod_body(f"{name}-{each}", gang=name, containers=[asked])
            self.cluster.put(PODS, body)

    def claims(self) -> list[Any]:
        """Return all claims."""
        return list(self.cluster.all(RESOURCE_CLAIMS))

    def pod_body(self, name: str) -> Any:
        """Return a pod as it is stored."""
        return self.cluster.get(PODS, "default", name)


async def planned(harness: Harness, seconds: float = 3) -> None:
    await harness.quiet()
    harness.cycle()
    await asyncio.sleep(seconds)
    await harness.quiet()


def name_of(pod: str) -> str:
    return claim_name(pod, f"uid-{pod}")


async def test_each_member_gets_a_claim_as_kube_scheduler_writes_it() -> None:
    async with Harness() as harness:
        harness.extended_gang("a", SIZE)
        await planned(harness)

        assert harness.all_bound()
        assert {name_of("a-0"), name_of("a-1")} == {
            each["metadata"]["name"] for each in harness.claims()
        }
        found = harness.cluster.get(RESOURCE_CLAIMS, "default", name_of("a-0"))
        metadata = found["metadata"]
        assert "a-0-extended-resources-" == metadata["generateName"]
        assert {ANNOTATION: "true"} == metadata["annotations"]
        assert [CLAIM_FINALIZER] == metadata["finalizers"]
        owner = {"apiVersion": "v1", "kind": "Pod", "name": "a-0", "uid": "uid-a-0"}
        assert [{**owner, "controller": True}] == metadata["ownerReferences"]
        asked = {"deviceClassName": "gpu", "allocationMode": "ExactCount", "count": 2}
        request = {"name": "container-0-request-1", "exactly": asked}
        assert {"requests": [request]} == found["spec"]["devices"]
        assert 2 == len(found["status"]["allocation"]["devices"]["results"])
        assert ["a-0"] == [each["name"] for each in found["status"]["reservedFor"]]
        mapping = {"resourceName": GPU, "requestName": "container-0-request-1"}
        said = harness.pod_body("a-0")["status"]["extendedResourceClaimStatus"]
        assert name_of("a-0") == said["resourceClaimName"]
        assert [mapping] == [
            {key: each[key] for key in mapping} for each in said["requestMappings"]
        ]
        assert not harness.wrong
        harness.assert_the_cache_is_right()


async def test_no_pod_is_bound_before_all_claims_are_there_and_named() -> None:
    async with Harness() as harness:
        harness.extended_gang("a", SIZE)
        await planned(harness)

        writes = [call.method for call in harness.api.calls if call.method in WRITES]
        assert ["bind"] * SIZE == writes[-SIZE:]
        assert {"create": SIZE, "patch": 2 * SIZE, "bind": SIZE} == {
            each: writes.count(each) for each in WRITES
        }


WRITES = ("create", "patch", "bind")


@pytest.mark.parametrize("fault", PASSING, ids=str)
@pytest.mark.parametrize("method", ["create", "patch"])
async def test_a_fault_that_passes_makes_no_second_claim(fault: Fault, method: str) -> None:
    async with Harness() as harness:
        harness.api.fail(method, fault, fault)
        harness.extended_gang("a", SIZE)
        await planned(harness, 15)

        assert harness.all_bound()
        assert SIZE == len(harness.claims())
        assert not harness.wrong


@pytest.mark.parametrize("method", ["create", "patch"])
async def test_if_one_claim_cannot_be_written_no_claim_is_left(method: str) -> None:
    async with Harness() as harness:
        refused: list[Call] = []

        def refuse(call: Call) -> Fault | None:
            about = (name_of("a-1"), "a-1")
            if call.method != method or call.name not in about or refused:
                return None
            refused.append(call)
            return FINAL

        harness.api.scripts.append(refuse)
        harness.extended_gang("a", SIZE)
        await planned(harness)

        assert [] == harness.claims()
        assert not any(harness.nodes().values())
        assert {} == harness.cache.devices.snapshot().claims

        await harness.cycles(harness.all_bound)
        assert SIZE == len(harness.claims())
        assert not harness.wrong


async def test_a_claim_that_a_crash_left_without_devices_is_used() -> None:
    async with Harness() as harness:
        harness.extended_gang("a", 1)
        await harness.quiet()
        harness.cluster.put(RESOURCE_CLAIMS, left("a-0", 2))
        await planned(harness)

        assert harness.all_bound()
        assert 1 == len(harness.claims())


async def test_a_claim_that_a_crash_left_for_something_else_is_deleted() -> None:
    async with Harness() as harness:
        harness.extended_gang("a", 1)
        await harness.quiet()
        harness.cluster.put(RESOURCE_CLAIMS, left("a-0", 3))
        await planned(harness)
        assert not harness.all_bound()
        await harness.cycles(harness.all_bound)

        (found,) = harness.claims()
        assert 2 == found["spec"]["devices"]["requests"][0]["exactly"]["count"]


async def test_a_claim_that_a_crash_left_with_devices_is_kept_for_its_pod() -> None:
    async with Harness() as harness:
        harness.extended_gang("a", 1)
        await harness.quiet()
        body = left("a-0", 2)
        harness.cluster.put(
            RESOURCE_CLAIMS,
            device_objects.allocated(body, "n1", "gpu-2", "gpu-3", pods=("a-0",)),
        )
        await planned(harness)

        assert "n1" == harness.nodes()["a-0"]
        said = harness.pod_body("a-0")["status"]["extendedResourceClaimStatus"]
        assert name_of("a-0") == said["resourceClaimName"]
        assert 1 == len(harness.claims())


@pytest.mark.parametrize("is_allocated", [True, False])
async def test_what_a_crash_left_is_deleted_if_the_gang_does_not_start(
    *, is_allocated: bool
) -> None:
    async with Harness() as harness:
        harness.extended_gang("a", 2, number=4)
        await harness.quiet()
        body = left("a-0", 4)
        if is_allocated:
            names = [f"gpu-{each}" for each in range(4)]
            body = device_objects.allocated(body, "n0", *names, pods=("a-0",))
        harness.cluster.put(RESOURCE_CLAIMS, body)
        await asyncio.sleep(UNFINISHED_SECONDS + 15)
        await harness.quiet()

        assert [] == harness.claims()


async def test_the_claim_of_a_pod_that_is_bound_stays() -> None:
    async with Harness() as harness:
        harness.extended_gang("a", 1)
        await planned(harness)
        await asyncio.sleep(UNFINISHED_SECONDS + 15)

        assert 1 == len(harness.claims())


async def test_a_status_that_the_api_server_drops_makes_no_pod_start_without_devices() -> None:
    async with Harness() as harness:
        harness.extended_gang("a", 1)
        await harness.quiet()
        patch = harness.api.patch

        async def dropping(*about: Any, **options: Any) -> Any:
            body = {**await patch(*about, **options)}
            body["status"] = {
                key: each
                for key, each in (body.get("status") or {}).items()
                if key != "extendedResourceClaimStatus"
            }
            return body

        harness.api.patch = dropping  # type: ignore[method-assign]
        await planned(harness)

        assert not any(harness.nodes().values())
        assert [] == harness.claims()
        refused = harness.finished[0].refusal()
        assert "feature gate DRAExtendedResource off" in describe(refused)


async def test_a_pod_that_is_not_bound_loses_its_claim() -> None:
    async with Harness() as harness:
        harness.api.fail("bind", *[Fault(ApiError(422, "no"))] * 10, name="a-1")
        harness.extended_gang("a", SIZE)
        await planned(harness, 8)

        assert [name_of("a-0")] == [each["metadata"]["name"] for each in harness.claims()]


def left(pod: str, number: int) -> Any:
    """Return the claim of a pod that an attempt before has made, without devices."""
    asked = device_objects.request(number, "container-0-request-1")
    return device_objects.claim(name_of(pod), asked, owner=pod, finalizers=[CLAIM_FINALIZER])
