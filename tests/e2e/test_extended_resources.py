"""Extended resources that stand for devices, on a real API server with the controller of claims.

Pods ask for nvidia.com/gpu on nodes that do not list it. Slices are written by hand, as a driver
would publish them. A proxy before the API server decides which writes of the operator get through.
"""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from e2e.support.devices import install_class, nodes_with_devices
from e2e.support.fault_proxy import FaultProxy, after
from e2e.support.manifests import Manifest, gang
from e2e.support.namespaces import Namespace
from e2e.support.operator_health import Start
from e2e.support.waiting import eventually
from tools import controlplane

pytestmark = pytest.mark.e2e

SIZE = 3
EACH = 2
"""The GPUs of each member."""
GPU = "nvidia.com/gpu"


def stage_of(method: str, path: str, body: bytes) -> str:
    """Return which write of a gang with extended resources a request is."""
    path = path.partition("?")[0]
    if method == "POST" and path.endswith("/resourceclaims"):
        return "create"
    if method == "PATCH" and "/resourceclaims/" in path and path.endswith("/status"):
        return "allocate"
    if method == "PATCH" and b"extendedResourceClaimStatus" in body:
        return "name"
    return "bind" if path.endswith("/binding") else ""


@pytest.fixture(scope="module")
def plane(crds: Path) -> Iterator[controlplane.ControlPlane]:
    """Give a control plane of its own: its operators come and go."""
    with controlplane.start() as started:
        started.kubectl("apply", f"--filename={crds}")
        install_class(started, extendedResourceName=GPU)
        yield started


@pytest.fixture(scope="module")
def the_proxy(plane: controlplane.ControlPlane) -> Iterator[FaultProxy]:
    kubeconfig = plane.directory / "kubeconfig-proxy"
    with FaultProxy(plane.access, kubeconfig, stage_of) as started:
        yield started


def asking(name: str, namespace: Namespace) -> list[Manifest]:
    """Return a gang whose members ask for GPUs as an extended resource."""
    asked = {"cpu": "1", GPU: str(EACH)}
    resources = {"requests": asked, "limits": {GPU: str(EACH)}}
    containers = [{"name": "main", "image": "pause", "resources": resources}]
    return gang(name, SIZE, on=namespace.here, containers=containers)


def claims(namespace: Namespace) -> list[Any]:
    """Return all claims for extended resources."""
    found = namespace.every("resourceclaims")
    return [each for each in found if "-extended-resources-" in each["metadata"]["name"]]


def devices(claim: Any) -> list[str]:
    """Return NODE/DEVICE of all devices of a claim."""
    allocation = (claim.get("status") or {}).get("allocation") or {}
    results = allocation.get("devices", {}).get("results", [])
    return [f"{each['pool']}/{each['device']}" for each in results]


def is_well(namespace: Namespace, number: int) -> None:
    """Check that so many pods are bound, each with its claim and devices of its node."""
    bound, found = namespace.bound(), claims(namespace)
    given = [device for claim in found for device in devices(claim)]
    assert number == len(bound) == len(found)
    assert number * EACH == len(given) == len(set(given))
    named = {}
    for pod in namespace.every("pods"):
        status = pod["status"].get("extendedResourceClaimStatus")
        if pod["metadata"]["name"] in bound:
            named[status["resourceClaimName"]] = pod
            (mapping,) = status["requestMappings"]
            assert {
                "containerName": "main",
                "resourceName": GPU,
                "requestName": "container-0-request-1",
            } == mapping
    for claim in found:
        pod = named[claim["metadata"]["name"]]
        (owner,) = claim["metadata"]["ownerReferences"]
        assert pod["metadata"]["uid"] == owner["uid"]
        (user,) = claim["status"]["reservedFor"]
        assert pod["metadata"]["uid"] == user["uid"]
        assert {pod["spec"]["nodeName"]} == {each.partition("/")[0] for each in devices(claim)}


def test_a_gang_gets_its_gpus_and_what_it_leaves_goes_to_the_next(
    lasting: Start, namespace: Namespace
) -> None:
    nodes_with_devices(namespace, 1, SIZE * EACH)
    lasting()
    namespace.create(*asking("a", namespace))
    eventually(SIZE, lambda: len(namespace.bound("a-")))
    is_well(namespace, SIZE)
    namespace.create(*asking("b", namespace))
    waits = namespace.condition_of_gang
    eventually("Unschedulable", lambda: waits("b", "Scheduled").get("reason"))
    assert f"Insufficient {GPU}" in waits("b", "Scheduled")["message"]

    namespace.delete_gangs("a")

    eventually(SIZE, lambda: len(namespace.bound("b-")))
    eventually(SIZE, lambda: len(claims(namespace)), timeout_seconds=60)
    is_well(namespace, SIZE)


def test_a_gang_has_members_on_nodes_with_devices_and_with_a_device_plugin(
    lasting: Start, namespace: Namespace
) -> None:
    (plain,) = namespace.own_nodes(1, cpu=8, devices={GPU: str(EACH * 2)})
    (with_slices,) = nodes_with_devices(namespace, 1, EACH)
    lasting()
    namespace.create(*asking("a", namespace))

    eventually(SIZE, lambda: len(namespace.bound("a-")))
    assert {plain: 2, with_slices: 1} == Counter(namespace.bound("a-").values())
    (claim,) = claims(namespace)
    assert EACH == len(devices(claim))


@pytest.mark.parametrize(
    ("stage", "done"),
    [
        *[("create", 0), ("create", 1), ("allocate", 0), ("allocate", 1)],
        *[("name", 0), ("name", 1), ("bind", 0), ("bind", 1)],
    ],
)
def test_killed_between_any_two_writes_the_next_leader_ends_it(
    start: Start, proxy: FaultProxy, namespace: Namespace, stage: str, done: int
) -> None:
    nodes_with_devices(namespace, 2, SIZE * EACH)
    proxy.start_over(after(done, stage))
    scheduler = start()
    namespace.create(*asking("a", namespace))
    eventually(SIZE - done, lambda: len(proxy.held))
    scheduler.kill()
    proxy.start_over()

    start()

    eventually(SIZE, lambda: len(namespace.bound("a-")))
    is_well(namespace, SIZE)


@pytest.mark.parametrize("stage", ["allocate", "bind"])
def test_nothing_is_left_of_a_gang_that_cannot_start(
    start: Start, proxy: FaultProxy, namespace: Namespace, stage: str
) -> None:
    nodes = nodes_with_devices(namespace, 2, SIZE * EACH)
    proxy.start_over(after(0, stage))
    scheduler = start()
    namespace.create(*asking("a", namespace))
    eventually(SIZE, lambda: len(proxy.held))
    scheduler.kill()
    proxy.start_over()
    assert SIZE == len(claims(namespace))
    for name in nodes:
        namespace.change_node(name, lambda node: node["spec"].update(unschedulable=True))

    start()

    eventually([], lambda: claims(namespace), timeout_seconds=60)
    assert {} == namespace.bound()
