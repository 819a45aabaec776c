"""Fixtures of all tests beside a control plane: its operator, and a namespace for each test.

A `conftest.py` imports them, and gives `plane`.
"""

from collections.abc import Iterator

import pytest

from e2e.support import operator_health
from e2e.support.auditing import finding_nothing
from e2e.support.namespaces import Namespace
from tools import controlplane


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


@pytest.fixture(scope="module")
def audited(
    plane: controlplane.ControlPlane, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[None]:
    """Let an auditor watch all that a module does: it must find nothing."""
    with finding_nothing(plane, tmp_path_factory.mktemp("audit")):
        yield


@pytest.fixture
def namespace(
    plane: controlplane.ControlPlane, request: pytest.FixtureRequest
) -> Iterator[Namespace]:
    """Give a namespace of the test's own."""
    with Namespace(plane, request.node.name) as made:
        yield made
