"""How claims of devices are patched, by the fake and by a real API server alike."""

from dataclasses import replace
from typing import Any

import pytest

from gang_scheduler.api.kinds import RESOURCE_CLAIMS
from gang_scheduler.client import patches
from gang_scheduler.client.errors import ApiError, Kind
from gang_scheduler.decode.devices.objects import decode_claim, encode_allocation
from gang_scheduler.model.api_words import Operator
from gang_scheduler.model.devices import Allocation, Claim, Consumer, DeviceResult
from gang_scheduler.model.selectors import Requirement
from integration.conftest import REAL
from integration.support.contract_servers import Server
from support import device_objects

pytestmark = pytest.mark.parametrize("plane_unless_fake", ["fake", *REAL], indirect=True)

ON_N0 = Requirement("metadata.name", Operator.IN, ("n0",), on_field=True)
GPU = Allocation((DeviceResult("gpu", device_objects.DRIVER, "n0", "gpu-0"),), (), ((ON_N0,),))
OTHER = Allocation((DeviceResult("gpu", device_objects.DRIVER, "n0", "gpu-1"),), (), ((ON_N0,),))
AT = "2026-11-29T12:00:00Z"
WHEN = {"allocationTimestamp": AT}
MARK = replace(GPU, timestamp=AT).mark


async def created(server: Server) -> Claim:
    """Create a claim, and return it."""
    body = device_objects.claim("gpu")
    del body["metadata"]["uid"]
    body["metadata"]["namespace"] = server.namespace
    return decode_claim(await server.create(RESOURCE_CLAIMS, body))


async def present(server: Server) -> Claim:
    return decode_claim(await server.get(RESOURCE_CLAIMS, "gpu"))


async def write(server: Server, body: Any, subresource: str = "status") -> Claim:
    where = (RESOURCE_CLAIMS, server.namespace, "gpu")
    return decode_claim(await server.api.patch(*where, body, subresource=subresource))


def pod(name: str) -> Consumer:
    return Consumer.of_pod(name, f"uid-{name}")


async def allocated(server: Server, *pods: str) -> Claim:
    """Return a claim that has a device."""
    claim = await created(server)
    claim = await write(server, patches.protecting_claim(claim, MARK), "")
    allocation = {**encode_allocation(GPU), **WHEN}
    users = [pod(each) for each in pods]
    body = patches.allocating_devices(claim, claim.resource_version, allocation, users)
    return await write(server, body)


async def refused(server: Server, body: Any) -> Kind:
    with pytest.raises(ApiError) as error:
        await write(server, body)
    return error.value.kind


async def test_a_claim_gets_devices_and_users_in_one_patch(server: Server) -> None:
    found = await allocated(server, "a", "b")

    assert found == await present(server)
    assert (patches.CLAIM_FINALIZER,) == found.finalizers
    assert found.allocation is not None
    assert GPU.results == found.allocation.results
    assert GPU.node_selector == found.allocation.node_selector
    assert ["a", "b"] == [each.name for each in found.reserved_for]


async def test_a_pod_group_is_one_user(server: Server) -> None:
    claim = await allocated(server, "a")
    group = Consumer.of_pod_group("g", "uid-g")

    found = await write(server, patches.reserving_devices(claim, [group]))

    assert (pod("a"), group) == found.reserved_for


async def test_another_pod_joins_an_allocated_claim(server: Server) -> None:
    claim = await allocated(server, "a")

    found = await write(server, patches.reserving_devices(claim, [pod("b")]))
    assert ["a", "b"] == [each.name for each in found.reserved_for]
    assert claim.allocation == found.allocation


async def test_a_claim_loses_its_devices_and_users_in_one_patch(server: Server) -> None:
    claim = await allocated(server, "a")

    found = await write(server, patches.withdrawing_devices(claim, None))
    assert (None, ()) == (found.allocation, found.reserved_for)


async def test_one_of_several_users_leaves_a_claim(server: Server) -> None:
    claim = await allocated(server, "a", "b")

    found = await write(server, patches.withdrawing_devices(claim, claim.reserved_for[1:]))
    assert ["b"] == [each.name for each in found.reserved_for]
    assert claim.allocation == found.allocation


async def test_an_allocation_is_known_by_its_mark_until_another_is_written(server: Server) -> None:
    claim = await allocated(server, "a")
    assert claim.is_marked

    claim = await write(server, patches.withdrawing_devices(claim, None))
    body = patches.allocating_devices(
        claim, claim.resource_version, {**encode_allocation(OTHER), **WHEN}, [pod("a")]
    )

    assert not (await write(server, body)).is_marked


async def test_a_version_that_is_not_the_present_one_conflicts(server: Server) -> None:
    before = await created(server)
    claim = await write(server, patches.protecting_claim(before, MARK), "")
    body = patches.allocating_devices(
        before, before.resource_version, encode_allocation(GPU), [pod("a")]
    )

    assert Kind.CONFLICT is await refused(server, body)
    assert claim == await present(server)


async def test_no_second_allocation_is_accepted(server: Server) -> None:
    claim = await allocated(server, "a")
    body = patches.allocating_devices(
        claim, claim.resource_version, encode_allocation(OTHER), [pod("a")]
    )

    assert Kind.REFUSED is await refused(server, body)


async def test_no_user_is_accepted_without_devices(server: Server) -> None:
    claim = await created(server)

    assert Kind.REFUSED is await refused(server, patches.reserving_devices(claim, [pod("a")]))


async def test_a_patch_of_the_object_leaves_its_status(server: Server) -> None:
    claim = await created(server)
    body = {
        **patches.protecting_claim(claim, MARK),
        "status": {"allocation": encode_allocation(GPU)},
    }

    assert None is (await write(server, body, "")).allocation
