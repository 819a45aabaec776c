"""Devices in two allocations, pods bound without their devices, and claims held in vain."""

from typing import Any

import pytest

from gang_auditor import once
from gang_auditor.auditor import Limits
from support.audit_streams import NAMESPACE, Stream, bound, ended, node, pod

DRIVER = "gpu.example.com"
Body = dict[str, Any]


def claim(name: str, *devices: str, pods: tuple[Body, ...] = (), **result: Any) -> Body:
    """Return a claim, with devices of n1 if some are named, reserved for pods."""
    users = [
        {"resource": "pods", "name": each["metadata"]["name"], "uid": each["metadata"]["uid"]}
        for each in pods
    ]
    results = [
        {"request": "r", "driver": DRIVER, "pool": "n1", "device": each, **result}
        for each in devices
    ]
    allocation = {"allocation": {"devices": {"results": results}}} if devices else {}
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaim",
        "metadata": {"name": name, "namespace": NAMESPACE, "uid": f"claim-{name}"},
        "status": {**allocation, "reservedFor": users},
    }


def with_claim(name: str, claimed: str, **fields: Any) -> Body:
    """Return a pod that names a claim."""
    entry = {"name": "gpu", "resourceClaimName": claimed}
    return pod(name, resourceClaims=[entry], **fields)


def messages(stream: Stream) -> list[str]:
    return [each.message for each in stream.found]


@pytest.fixture
def devices() -> Stream:
    stream = Stream("devices")
    stream.see(node("n1"))
    return stream


def test_a_device_in_two_allocations_is_found_once(devices: Stream) -> None:
    first, second = with_claim("a", "a"), with_claim("b", "b")
    devices.see(first, second, claim("a", "gpu-0", pods=(first,)))
    devices.wait(2)
    assert [] == devices.found

    devices.see(claim("b", "gpu-0", "gpu-1", pods=(second,)))
    devices.wait(5)
    devices.wait(5)

    assert ["is allocated to lab/a and lab/b"] == messages(devices)
    assert [f"Device {DRIVER}/n1/gpu-0"] == [each.about for each in devices.found]
    world = devices.auditor.world
    (found,) = once.findings(world, Limits(), devices.now)
    assert "devices" == found.rule


@pytest.mark.parametrize("result", [{"shareID": "s"}, {"adminAccess": True}])
def test_shares_and_admin_access_are_right(devices: Stream, result: Body) -> None:
    first, second = with_claim("a", "a"), with_claim("b", "b")
    devices.see(first, second)
    devices.see(*(claim(n, "gpu-0", pods=(p,), **result) for n, p in (("a", first), ("b", second))))
    devices.wait(5)

    assert [] == devices.found


def test_devices_of_other_schedulers_are_theirs(devices: Stream) -> None:
    others = [with_claim(each, each, schedulerName="default-scheduler") for each in "ab"]
    devices.see(*others, *(claim(e["metadata"]["name"], "gpu-0", pods=(e,)) for e in others))
    devices.wait(5)

    assert [] == devices.found


@pytest.fixture
def claims() -> Stream:
    stream = Stream("claims")
    stream.see(node("n1"))
    return stream


def test_a_pod_that_is_bound_with_its_devices_is_right(claims: Stream) -> None:
    waiting = with_claim("p", "c")
    claims.see(waiting, claim("c", "gpu-0", pods=(waiting,)), bound(waiting, "n1"))
    claims.end()

    assert [] == claims.found


@pytest.mark.parametrize("given", [("gpu-0",), ()])
def test_a_pod_that_is_bound_without_its_devices_is_found(
    claims: Stream, given: tuple[str, ...]
) -> None:
    waiting = with_claim("p", "c")
    claims.see(waiting, claim("c", *given, pods=(pod("other"),)), bound(waiting, "n1"))
    claims.end()

    assert ["bound to n1, without the devices of its claim lab/c"] == messages(claims)


def test_a_claim_of_the_group_is_of_all_its_pods(claims: Stream) -> None:
    waiting, of_group = with_claim("p", "c"), claim("c", "gpu-0")
    user = {"apiGroup": "scheduling.k8s.io", "resource": "podgroups", "name": "g", "uid": "g"}
    of_group["status"]["reservedFor"] = [user]
    claims.see(waiting, of_group, bound(waiting, "n1"))
    claims.end()

    assert [] == claims.found


def test_a_claim_held_in_vain_is_found_with_what_the_gang_lacks(claims: Stream) -> None:
    holds, lacks = with_claim("a-0", "a-0", gang="a"), with_claim("a-1", "a-1", gang="a")
    claims.see(holds, lacks, claim("a-1"), claim("a-0", "gpu-0", pods=(holds,)))
    claims.wait(2)
    claims.wait(50)
    assert [] == claims.found

    claims.wait(15)
    claims.wait(15)
    expected = (
        "is allocated to lab/a-0, which has not been bound for 60 s, and lab/a-1 of "
        "Gang lab/a has no devices"
    )
    assert [expected] == messages(claims)


def test_a_claim_that_is_withdrawn_or_whose_pod_is_bound_in_time_is_right(claims: Stream) -> None:
    first, second = with_claim("a", "a"), with_claim("b", "b")
    claims.see(first, second)
    claims.see(claim("a", "gpu-0", pods=(first,)), claim("b", "gpu-1", pods=(second,)))
    claims.wait(2)
    claims.wait(30)
    claims.see(claim("a"), bound(second, "n1"))
    claims.wait(120)

    assert [] == claims.found


def test_while_drivers_attach_devices_their_gang_may_hold_claims(claims: Stream) -> None:
    first, second = with_claim("a-0", "a-0", gang="a"), with_claim("a-1", "a-1", gang="a")
    later, attached = claim("a-0", "gpu-0", pods=(first,)), claim("a-0", "gpu-0", pods=(first,))
    for each in (later, attached):
        (result,) = each["status"]["allocation"]["devices"]["results"]
        result["bindingConditions"] = ["Attached"]
    told = {each: result[each] for each in ("driver", "pool", "device")}
    told["conditions"] = [{"type": "Attached", "status": "True"}]
    attached["status"]["devices"] = [told]
    claims.see(first, second, later, claim("a-1", "gpu-1", pods=(second,)))
    claims.wait(2)
    claims.wait(120)
    assert [] == claims.found

    claims.see(attached)
    claims.wait(2)
    claims.wait(120)
    assert 2 == len(messages(claims))


def test_pods_that_ended_or_are_of_another_scheduler_hold_nothing(claims: Stream) -> None:
    done = ended(with_claim("a", "a"))
    other = with_claim("b", "b", schedulerName="default-scheduler")
    claims.see(done, other)
    claims.see(claim("a", "gpu-0", pods=(done,)), claim("b", "gpu-1", pods=(other,)))
    claims.wait(2)
    claims.wait(120)

    assert [] == claims.found
