"""Whatever a cycle takes: the Lease is kept, probes are answered, and the plan is carried out."""

import sys
import time
from collections.abc import Iterator

import pytest

from e2e.support import slow_operator
from e2e.support.manifests import gang
from e2e.support.namespaces import Namespace
from e2e.support.waiting import until
from tools import controlplane

pytestmark = [pytest.mark.e2e, pytest.mark.alone]

CYCLE_SECONDS = 15
"""Longer than the Lease lasts without being renewed."""
LEASE = "py-gang-scheduler-slow"


class Slow(controlplane.Scheduler):
    """The operator, with cycles that take long."""

    @property
    def command(self) -> list[str]:
        """What starts it."""
        flags = self._argv[self._argv.index("run") :]
        return [sys.executable, "-P", slow_operator.__file__, f"--cycles={CYCLE_SECONDS}", *flags]


@pytest.fixture
def slow(plane: controlplane.ControlPlane) -> Iterator[Slow]:
    flags = ["--leader-elect", f"--lease-name={LEASE}", "--lease-namespace=default"]
    with Slow(plane, *flags, "--scheduler-names=slow", name="slow-scheduler") as started:
        yield started


def test_a_cycle_may_take_longer_than_the_lease(
    plane: controlplane.ControlPlane, slow: Slow, namespace: Namespace
) -> None:
    lease = f"/apis/coordination.k8s.io/v1/namespaces/default/leases/{LEASE}"
    until(lambda: plane.request("GET", lease)["spec"]["holderIdentity"])
    holder = plane.request("GET", lease)["spec"]["holderIdentity"]
    namespace.create(*gang("a", 4, scheduler="slow"))
    began, renewed, answered = time.monotonic(), set[str](), 0

    while time.monotonic() < began + CYCLE_SECONDS - 3:
        answered += slow.get("/healthz") == "ok" and slow.get("/readyz") is not None
        renewed.add(plane.request("GET", lease)["spec"]["renewTime"])
        time.sleep(0.5)

    assert answered > 10
    assert len(renewed) > 5
    until(lambda: len(namespace.bound()) == 4, timeout_seconds=90)
    assert holder == plane.request("GET", lease)["spec"]["holderIdentity"]
