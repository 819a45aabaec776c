"""Two replicas: the leader is killed while it allocates devices, and the other one goes on.

No device is given twice, none stays allocated for a gang that is not bound, and the auditor, which
watches all the time, finds nothing.
"""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from e2e.support import operator_health
from e2e.support.auditing import finding_nothing
from e2e.support.devices import BY_TEMPLATE, install_class, with_devices
from e2e.support.manifests import gang
from e2e.support.namespaces import Namespace
from e2e.support.replicas import Pair, options
from e2e.support.waiting import eventually, until
from tools import controlplane

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(600)]

GANGS, SIZE = 4, 6
PODS = GANGS * SIZE
NODES, DEVICES = 3, 8
ROUNDS = 3
SLOWLY = "--bind-concurrency=1"
"""One write after the other, so that there is a middle."""
SOON = ("--lease-duration-seconds=6", "--renew-deadline-seconds=4", "--retry-period-seconds=1")


@pytest.fixture(scope="module")
def plane(
    crds: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[controlplane.ControlPlane]:
    """Give a control plane with the controller that makes claims."""
    with controlplane.start(options(tmp_path_factory.mktemp("audit"))) as started:
        started.kubectl("apply", f"--filename={crds}")
        install_class(started)
        yield started


def allocated(namespace: Namespace) -> dict[str, list[tuple[str, str]]]:
    """Return the users and the devices of each claim that has any, as (pod, NODE/DEVICE)."""
    found = {}
    for claim in namespace.every("resourceclaims"):
        status = claim.get("status") or {}
        devices = (status.get("allocation") or {}).get("devices", {}).get("results", ())
        users = [each["name"] for each in status.get("reservedFor") or ()]
        if devices or users:
            found[claim["metadata"]["name"]] = [
                (user, f"{each['pool']}/{each['device']}") for user in users for each in devices
            ]
    return found


def in_the_middle(namespace: Namespace) -> bool:
    """Return whether there are claims with devices whose pods are not bound, and others without."""
    having = {pod for pairs in allocated(namespace).values() for pod, _ in pairs}
    return bool(having - namespace.bound().keys()) and len(having) < PODS


def test_devices_are_given_once_though_leaders_are_killed_while_they_allocate(
    plane: controlplane.ControlPlane, namespace: Namespace, tmp_path: Path
) -> None:
    with_devices(namespace, NODES, DEVICES)
    with finding_nothing(plane, tmp_path), Pair(plane, "devices", *SOON, SLOWLY) as pair:
        for number in range(ROUNDS):
            first, other = pair.turns()
            names = [f"r{number}g{each}" for each in range(GANGS)]
            for name in names:
                namespace.create(*gang(name, SIZE, on=namespace.here, resourceClaims=BY_TEMPLATE))
            until(lambda: in_the_middle(namespace))
            first.kill()
            eventually(PODS, lambda: len(namespace.bound()), timeout_seconds=120)

            pairs = [pair for of_claim in allocated(namespace).values() for pair in of_claim]
            assert {1} == {*Counter(device for _, device in pairs).values()}
            assert {1} == {*Counter(pod for pod, _ in pairs).values()}
            nodes = namespace.bound()
            assert nodes == {pod: device.partition("/")[0] for pod, device in pairs}
            assert other.leads
            namespace.delete_gangs(*names)
            eventually({}, lambda: allocated(namespace), timeout_seconds=60)
            first.start()
        assert [] == operator_health.tracebacks(first) + operator_health.tracebacks(other)
