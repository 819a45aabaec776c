"""Devices that are attached after a pod has its node, on a real API server.

The test plays the driver: it sets the conditions in the status of claims.
"""

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest

from e2e.support.devices import BY_TEMPLATE, V1, install_class, with_devices
from e2e.support.manifests import gang
from e2e.support.namespaces import Namespace
from e2e.support.operator_health import Start
from e2e.support.waiting import eventually, until
from support import device_objects
from support.device_objects import Body
from tools import controlplane

pytestmark = pytest.mark.e2e

ATTACHED: Final = "example.com/attached"
LATER: Final = device_objects.attached_later(ATTACHED)
SIZE: Final = 2


@pytest.fixture(scope="module")
def plane(crds: Path) -> Iterator[controlplane.ControlPlane]:
    """Give a control plane of its own: its operators come and go."""
    with controlplane.start() as started:
        started.kubectl("apply", f"--filename={crds}")
        install_class(started)
        yield started


def allocated(namespace: Namespace) -> dict[str, Body]:
    """Return the first device of each allocated claim, by the pod for which it is reserved."""
    found = {}
    for each in namespace.every("resourceclaims"):
        status = each.get("status") or {}
        if status.get("allocation"):
            (user,) = status["reservedFor"]
            found[user["name"]] = status["allocation"]["devices"]["results"][0]
    return found


def say(namespace: Namespace, pod: str, condition: str) -> None:
    """Set a condition of the device of a pod, as a driver does."""
    for each in namespace.every("resourceclaims"):
        status = each.get("status") or {}
        if pod not in [user["name"] for user in status.get("reservedFor") or []]:
            continue
        result = status["allocation"]["devices"]["results"][0]
        device = {part: result[part] for part in ("driver", "pool", "device")}
        told: Body = {
            "type": condition,
            "status": "True",
            "reason": "ByHand",
            "message": "",
            "lastTransitionTime": "2026-01-01T00:00:00Z",
        }
        status["devices"] = [{**device, "conditions": [told]}]
        path = f"{V1}/namespaces/{namespace.name}/resourceclaims/{each['metadata']['name']}/status"
        namespace.cluster.request("PUT", path, each)


def begin(namespace: Namespace, nodes: int = 1, devices: int = 3) -> None:
    """Create a gang on nodes whose devices are attached later, and wait for its allocations."""
    with_devices(namespace, nodes, devices, of_device=LATER)
    namespace.create(*gang("a", SIZE, on=namespace.here, resourceClaims=BY_TEMPLATE))
    eventually(SIZE, lambda: len(allocated(namespace)))


def reason(namespace: Namespace) -> Any:
    return namespace.condition_of_gang("a", "Scheduled").get("reason")


def test_a_gang_is_bound_when_the_driver_has_attached_all_its_devices(
    lasting: Start, namespace: Namespace
) -> None:
    lasting()
    begin(namespace)

    result = allocated(namespace)["a-0"]
    assert [ATTACHED] == result["bindingConditions"]
    assert ["Failed"] == result["bindingFailureConditions"]
    eventually("WaitingForDevices", lambda: reason(namespace))
    said = namespace.condition_of_gang("a", "Scheduled")["message"]
    assert "2 of 2 devices are not attached yet: gpu.example.com/" in said
    assert f"lacks condition {ATTACHED}" in said
    until(lambda: namespace.notes("a", "WaitingForDevices"))

    say(namespace, "a-0", ATTACHED)
    time.sleep(2)
    assert {} == namespace.bound("a-")
    say(namespace, "a-1", ATTACHED)

    eventually(SIZE, lambda: len(namespace.bound("a-")))
    assert {"a-0", "a-1"} == allocated(namespace).keys()


def test_others_start_while_a_gang_waits_for_its_devices(
    lasting: Start, namespace: Namespace
) -> None:
    lasting()
    begin(namespace)
    namespace.create(*gang("b", SIZE, on=namespace.here))

    eventually(SIZE, lambda: len(namespace.bound("b-")))
    assert {} == namespace.bound("a-")


def test_if_a_device_fails_all_are_given_back_and_the_gang_starts_with_others(
    lasting: Start, namespace: Namespace
) -> None:
    lasting()
    begin(namespace)
    failed = allocated(namespace)["a-1"]["device"]
    say(namespace, "a-0", ATTACHED)
    say(namespace, "a-1", "Failed")

    def others() -> bool:
        found = allocated(namespace)
        return len(found) == SIZE and failed not in {each["device"] for each in found.values()}

    until(others)
    assert {} == namespace.bound()
    for name in ("a-0", "a-1"):
        say(namespace, name, ATTACHED)
    eventually(SIZE, lambda: len(namespace.bound("a-")))
    assert failed not in {each["device"] for each in allocated(namespace).values()}


def test_if_the_driver_does_nothing_the_devices_are_given_back(
    start: Start, namespace: Namespace
) -> None:
    start("--device-binding-timeout-seconds=5")
    begin(namespace, devices=SIZE)

    eventually({}, lambda: allocated(namespace))
    assert {} == namespace.bound()
    said = "given up after 5 s: device gpu.example.com/"
    until(lambda: any(each.startswith(said) for each in namespace.notes("a", "FailedScheduling")))
    # The condition says so until the gang is tried again, which may be at once.
    said = "2 could not be attached a short time ago"
    until(lambda: said in namespace.condition_of_gang("a", "Scheduled")["message"])


def test_killed_while_it_waits_the_next_leader_goes_on_with_the_same_devices(
    start: Start, namespace: Namespace
) -> None:
    scheduler = start()
    begin(namespace)
    before = allocated(namespace)
    scheduler.kill()

    start()

    say(namespace, "a-0", ATTACHED)
    time.sleep(2)
    assert {} == namespace.bound("a-")
    say(namespace, "a-1", ATTACHED)
    eventually(SIZE, lambda: len(namespace.bound("a-")))
    assert before == allocated(namespace)


def test_killed_while_it_waits_a_gang_that_no_longer_fits_gives_its_devices_back(
    start: Start, namespace: Namespace
) -> None:
    scheduler = start()
    begin(namespace)
    scheduler.kill()
    for name in {each["pool"] for each in allocated(namespace).values()}:
        namespace.change_node(name, lambda node: node["spec"].update(unschedulable=True))

    start()

    eventually({}, lambda: allocated(namespace), timeout_seconds=60)
    assert {} == namespace.bound()
