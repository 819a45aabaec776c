"""One control plane and one operator for most tests, and a namespace for each."""

from collections.abc import Iterator
from pathlib import Path

import pytest

import controlplane
from e2e import operators
from e2e.namespaces import Namespace

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
    with operators.is_unharmed(operator_process):
        yield operator_process


@pytest.fixture
def namespace(
    plane: controlplane.ControlPlane, request: pytest.FixtureRequest
) -> Iterator[Namespace]:
    """Give a namespace of the test's own."""
    with Namespace(plane, request.node.name) as made:
        yield made
