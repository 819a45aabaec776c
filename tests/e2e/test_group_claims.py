"""Claims of native PodGroups on a real API server, with the controller that makes them.

Kubernetes 1.37 serves them behind the gate DRAWorkloadResourceClaims, which is off by default.
"""

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest

from e2e.support import gang_manifests
from e2e.support.devices import TEMPLATE, install_class, with_devices
from e2e.support.namespaces import Namespace
from e2e.support.operator_health import Start
from e2e.support.waiting import eventually
from support import device_objects
from tools import controlplane

pytestmark = pytest.mark.e2e

GATE: Final = "--feature-gates=DRAWorkloadResourceClaims=true"
ENTRY: Final = device_objects.by_template(TEMPLATE, "channel")
SIZE: Final = 3


@pytest.fixture(scope="module")
def plane(crds: Path) -> Iterator[controlplane.ControlPlane]:
    """Start a control plane that serves claims of native PodGroups."""
    gates = dict.fromkeys(("kube-apiserver", "kube-controller-manager"), (GATE,))
    with controlplane.start(controlplane.Options(native_gangs=True, extra_args=gates)) as started:
        started.kubectl("apply", f"--filename={crds}")
        install_class(started)
        yield started


def create(namespace: Namespace, *entries: Any, need: int = SIZE) -> None:
    """Create a gang whose members name the claim of their PodGroup, and further ones."""
    group = gang_manifests.native_pod_group("a", {"gang": {"minCount": need}})
    group["spec"]["resourceClaims"] = [ENTRY]
    claims = [ENTRY, *entries]
    members = gang_manifests.native_members("a", SIZE, on=namespace.here, resourceClaims=claims)
    gang_manifests.create(namespace, group, *members)


def users(namespace: Namespace) -> dict[str, list[str]]:
    """Return RESOURCE/NAME of the users of each allocated claim, by its entry and first user."""
    found = {}
    for each in namespace.every("resourceclaims"):
        status = each.get("status") or {}
        if status.get("allocation"):
            name = each["metadata"]["name"]
            found[name] = [f"{user['resource']}/{user['name']}" for user in status["reservedFor"]]
    return found


def test_members_share_the_claim_of_their_pod_group_and_it_is_reserved_for_the_group(
    lasting: Start, namespace: Namespace
) -> None:
    with_devices(namespace, 1, SIZE + 1)
    lasting()
    create(namespace, device_objects.by_template(TEMPLATE))

    eventually(SIZE, lambda: len(namespace.bound("a-")))
    found = users(namespace)
    assert SIZE + 1 == len(found)
    of_group = [each for each in found.values() if each == ["podgroups/a"]]
    assert 1 == len(of_group)
    assert {"pods/a-0", "pods/a-1", "pods/a-2"} == {
        name for each in found.values() if each not in of_group for name in each
    }


def test_if_the_gang_does_not_fit_its_group_holds_nothing(
    lasting: Start, namespace: Namespace
) -> None:
    with_devices(namespace, 1, SIZE)
    lasting()
    create(namespace, device_objects.by_template(TEMPLATE))
    condition = namespace.condition_of_pod

    eventually("Unschedulable", lambda: condition("a-0", "PodScheduled").get("reason"))
    time.sleep(2)
    assert ({}, {}) == (users(namespace), namespace.bound())


def test_killed_before_the_bindings_the_next_leader_ends_it(
    start: Start, namespace: Namespace
) -> None:
    (node,) = with_devices(namespace, 1, SIZE)
    scheduler = start()
    create(namespace)
    eventually(1, lambda: len(users(namespace)))
    scheduler.kill()

    start()

    eventually(SIZE, lambda: len(namespace.bound("a-")))
    assert ["podgroups/a"] == next(iter(users(namespace).values()))
    assert {node} == {*namespace.bound("a-").values()}
