"""Evictions for devices on a real API server: the gang gets the devices that its victims had.

kube-controller-manager creates the claims of pods, and takes the devices out of claims that no pod
uses any more.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from e2e.support import preemption
from e2e.support.devices import BY_TEMPLATE, install_class, with_devices
from e2e.support.manifests import gang, pod
from e2e.support.namespaces import Namespace
from e2e.support.preemption import HIGH, LOW
from e2e.support.waiting import eventually
from support import device_objects
from tools import controlplane

pytestmark = [pytest.mark.e2e, pytest.mark.usefixtures("scheduler")]


@pytest.fixture(scope="module")
def plane(crds: Path) -> Iterator[controlplane.ControlPlane]:
    """Give a control plane with a DeviceClass, and with priorities."""
    with controlplane.start() as started:
        started.kubectl("apply", f"--filename={crds}")
        install_class(started)
        with preemption.priority_classes(started):
            yield started


@pytest.fixture(scope="module")
def operator_process(plane: controlplane.ControlPlane) -> Iterator[controlplane.Scheduler]:
    """Give an operator of the module's own control plane."""
    with controlplane.Scheduler(plane) as started:
        yield started


def claims(namespace: Namespace) -> dict[str, list[str]]:
    """Return the devices of each claim that has some, with the pods that use them."""
    found = {}
    for each in namespace.every("resourceclaims"):
        status = each.get("status") or {}
        results = (status.get("allocation") or {}).get("devices", {}).get("results", [])
        users = [user["name"] for user in status.get("reservedFor") or []]
        for result in results:
            device = f"{result['pool']}/{result['device']}"
            assert device not in found, f"{device} is in two claims"
            found[device] = users
    return found


def users(namespace: Namespace) -> set[str]:
    """Return the pods that use a device."""
    return {user for some in claims(namespace).values() for user in some}


def test_a_gang_of_higher_priority_gets_the_devices_of_a_gang_that_it_evicts(
    namespace: Namespace,
) -> None:
    with_devices(namespace, 2, 2, cpu=32)
    here: dict[str, Any] = {"on": namespace.here, "resourceClaims": BY_TEMPLATE}
    namespace.create(*gang("low", 3, priorityClassName=LOW, **here))
    eventually(3, lambda: len(namespace.bound("low-")))
    eventually(3, lambda: len(claims(namespace)))

    namespace.create(*gang("high", 3, priorityClassName=HIGH, **here))

    eventually(3, lambda: len(namespace.bound("high-")), timeout_seconds=60)
    eventually({"high-0", "high-1", "high-2"}, lambda: users(namespace))
    assert {} == namespace.bound("low-")
    bound = namespace.bound("high-")
    for device, (user,) in claims(namespace).items():
        assert bound[user] == device.partition("/")[0]


def test_pods_that_share_a_claim_are_evicted_together_and_no_others(namespace: Namespace) -> None:
    with_devices(namespace, 1, 1, cpu=32)
    shared: Any = device_objects.claim("shared")
    shared["metadata"] = {"name": "shared"}
    namespace.create(shared)
    here: dict[str, Any] = {"on": namespace.here, "priorityClassName": LOW}
    entries = [device_objects.by_name("shared")]
    namespace.create(*(pod(name, resourceClaims=entries, **here) for name in ("x", "y")))
    namespace.create(pod("bystander", **here))
    eventually(3, lambda: len(namespace.bound()))
    eventually({"x", "y"}, lambda: users(namespace))

    high: dict[str, Any] = {
        "on": namespace.here,
        "priorityClassName": HIGH,
        "resourceClaims": BY_TEMPLATE,
    }
    namespace.create(*gang("high", 1, **high))

    eventually(1, lambda: len(namespace.bound("high-")), timeout_seconds=60)
    eventually({"high-0"}, lambda: users(namespace))
    assert {"high-0", "bystander"} == {*namespace.bound()}
