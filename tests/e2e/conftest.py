"""One control plane and one operator for most tests, and a namespace for each."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from e2e.support import operator_health
from e2e.support.fault_proxy import FaultProxy
from e2e.support.namespaces import Namespace
from e2e.support.operator_health import Start
from tools import controlplane

CRDS = Path(__file__).parents[2] / "crds"
NODES = 16
ROOM = {"cpu": "32", "memory": "64Gi", "pods": "110"}


@pytest.fixture(scope="session")
def crds() -> Path:
    """Return the directory of our CRDs."""
    return CRDS


@pytest.fixture(scope="session")
def plane() -> Iterator[controlplane.ControlPlane]:
    """Give a control plane with our CRDs and 16 equal nodes of 32 CPUs."""
    with controlplane.start(controlplane.Options(audit=True)) as started:
        started.kubectl("apply", f"--filename={CRDS}")
        started.nodes(NODES, allocatable=ROOM)
        yield started


@pytest.fixture(scope="session")
def operator_process(plane: controlplane.ControlPlane) -> Iterator[controlplane.Scheduler]:
    """Give the one operator of the session."""
    with controlplane.Scheduler(plane) as started:
        yield started


@pytest.fixture
def scheduler(operator_process: controlplane.Scheduler) -> Iterator[controlplane.Scheduler]:
    """Give the operator; afterwards it must be the same process and have logged no traceback."""
    with operator_health.is_unharmed(operator_process):
        yield operator_process


@pytest.fixture
def namespace(
    plane: controlplane.ControlPlane, request: pytest.FixtureRequest
) -> Iterator[Namespace]:
    """Give a namespace of the test's own."""
    with Namespace(plane, request.node.name) as made:
        yield made


@pytest.fixture(scope="module")
def the_proxy(plane: controlplane.ControlPlane) -> Iterator[FaultProxy]:
    """Give a proxy before the API server of a module."""
    with FaultProxy(plane.access, plane.directory / "kubeconfig-proxy") as started:
        yield started


@pytest.fixture
def proxy(the_proxy: FaultProxy) -> FaultProxy:
    """Give the proxy, without faults."""
    the_proxy.start_over()
    return the_proxy


@pytest.fixture
def start(plane: controlplane.ControlPlane, proxy: FaultProxy) -> Iterator[Start]:
    """Give what starts operators that go through the proxy."""
    with operator_health.starting(plane, proxy.kubeconfig) as started:
        yield started
