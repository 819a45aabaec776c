"""Claims of devices on a real API server, with the controller that makes them from templates.

Slices are written by hand, as a driver would publish them. A proxy before the API server decides
which writes of the operator get through.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from e2e.support.devices import BY_TEMPLATE, install_class, with_devices
from e2e.support.fault_proxy import FaultProxy, after
from e2e.support.manifests import gang
from e2e.support.namespaces import Namespace
from e2e.support.operator_health import Start
from e2e.support.waiting import eventually
from support import device_objects
from tools import controlplane

pytestmark = pytest.mark.e2e

SIZE = 3


def stage_of(method: str, path: str, _body: bytes) -> str:
    """Return which write of a gang with claims a request is."""
    if method == "PATCH" and "/resourceclaims/" in path:
        is_status = path.partition("?")[0].endswith("/status")
        return "allocate" if is_status else "protect"
    return "bind" if path.endswith("/binding") else ""


@pytest.fixture(scope="module")
def plane(crds: Path) -> Iterator[controlplane.ControlPlane]:
    """Give a control plane of its own: its operators come and go."""
    with controlplane.start() as started:
        started.kubectl("apply", f"--filename={crds}")
        install_class(started)
        yield started


@pytest.fixture(scope="module")
def the_proxy(plane: controlplane.ControlPlane) -> Iterator[FaultProxy]:
    kubeconfig = plane.directory / "kubeconfig-proxy"
    with FaultProxy(plane.access, kubeconfig, stage_of) as started:
        yield started


def claims(namespace: Namespace) -> dict[str, tuple[list[str], list[str]]]:
    """Return the devices and the users of each claim that has any, by its name."""
    found = {}
    for each in namespace.every("resourceclaims"):
        status = each.get("status") or {}
        results = (status.get("allocation") or {}).get("devices", {}).get("results", [])
        users = [user["name"] for user in status.get("reservedFor") or []]
        if results or users:
            devices = [f"{result['pool']}/{result['device']}" for result in results]
            found[each["metadata"]["name"]] = (devices, users)
    return found


def devices(namespace: Namespace) -> list[str]:
    """Return all devices that are allocated, one for each allocation."""
    return [device for found, _ in claims(namespace).values() for device in found]


def is_well(namespace: Namespace, number: int) -> None:
    """Check that these many pods are bound, each with one device of its node, and nothing else."""
    bound, found = namespace.bound(), claims(namespace)
    assert number == len(bound) == len(found) == len(set(devices(namespace)))
    for (device,), (user,) in found.values():
        assert bound[user] == device.partition("/")[0]


def test_a_gang_with_claims_of_a_template_is_bound_with_its_devices(
    lasting: Start, namespace: Namespace
) -> None:
    with_devices(namespace, 2, 2)
    lasting()
    namespace.create(*gang("a", SIZE, on=namespace.here, resourceClaims=BY_TEMPLATE))

    eventually(SIZE, lambda: len(namespace.bound("a-")))
    is_well(namespace, SIZE)


def test_of_two_gangs_for_the_same_devices_one_waits_and_no_device_is_given_twice(
    lasting: Start, namespace: Namespace
) -> None:
    with_devices(namespace, 1, 4)
    lasting()
    for name in ("a", "b"):
        namespace.create(*gang(name, SIZE, on=namespace.here, resourceClaims=BY_TEMPLATE))

    eventually(SIZE, lambda: len(namespace.bound()))
    first = next(iter(namespace.bound())).partition("-")[0]
    second = {"a": "b", "b": "a"}[first]
    waits = namespace.condition_of_gang
    eventually("Unschedulable", lambda: waits(second, "Scheduled").get("reason"))
    is_well(namespace, SIZE)

    namespace.delete_gangs(first)

    eventually(SIZE, lambda: len(namespace.bound(f"{second}-")))
    eventually(SIZE, lambda: len(claims(namespace)))
    is_well(namespace, SIZE)


def test_members_share_a_claim(lasting: Start, namespace: Namespace) -> None:
    with_devices(namespace, 2, 2)
    lasting()
    shared: Any = device_objects.claim("shared")
    shared["metadata"] = {"name": "shared"}
    namespace.create(shared)
    entries = [device_objects.by_name("shared")]
    namespace.create(*gang("a", SIZE, on=namespace.here, resourceClaims=entries))

    eventually(SIZE, lambda: len(namespace.bound("a-")))
    ((device,), users) = claims(namespace)["shared"]
    assert ["a-0", "a-1", "a-2"] == sorted(users)
    assert {device.partition("/")[0]} == {*namespace.bound("a-").values()}


@pytest.mark.parametrize(
    ("stage", "done"), [("protect", 1), ("allocate", 0), ("allocate", 1), ("bind", 0), ("bind", 1)]
)
def test_killed_between_any_two_writes_the_next_leader_ends_it(
    start: Start, proxy: FaultProxy, namespace: Namespace, stage: str, done: int
) -> None:
    with_devices(namespace, 2, 2)
    proxy.start_over(after(done, stage))
    scheduler = start()
    namespace.create(*gang("a", SIZE, on=namespace.here, resourceClaims=BY_TEMPLATE))
    eventually(SIZE - done, lambda: len(proxy.held))
    scheduler.kill()
    proxy.start_over()
    before = devices(namespace)

    start()

    eventually(SIZE, lambda: len(namespace.bound("a-")))
    is_well(namespace, SIZE)
    assert {*before} <= {*devices(namespace)}


def test_nothing_is_left_allocated_for_a_gang_that_cannot_start(
    start: Start, proxy: FaultProxy, namespace: Namespace
) -> None:
    nodes = with_devices(namespace, 2, 2)
    proxy.start_over(after(0, "bind"))
    scheduler = start()
    namespace.create(*gang("a", SIZE, on=namespace.here, resourceClaims=BY_TEMPLATE))
    eventually(SIZE, lambda: len(proxy.held))
    scheduler.kill()
    proxy.start_over()
    assert SIZE == len(claims(namespace))
    for name in nodes:
        namespace.change_node(name, lambda node: node["spec"].update(unschedulable=True))

    start()

    eventually({}, lambda: claims(namespace), timeout_seconds=60)
    assert {} == namespace.bound()


def test_devices_of_a_gone_pod_are_freed_while_kube_controller_manager_does_not(
    plane: controlplane.ControlPlane, namespace: Namespace, start: Start
) -> None:
    with_devices(namespace, 2, 2)
    start()
    namespace.create(*gang("a", SIZE, on=namespace.here, resourceClaims=BY_TEMPLATE))
    eventually(SIZE, lambda: len(claims(namespace)))
    eventually(SIZE, lambda: len(namespace.bound()))

    with plane.processes.paused("kube-controller-manager"):
        namespace.delete_gangs("a")
        eventually({}, lambda: claims(namespace), timeout_seconds=300)
