"""One control plane and one operator for all kinds of jobs, and one controller at a time."""

from collections.abc import Generator, Iterator
from pathlib import Path

import pytest

from e2e.support.fixtures import namespace, operator_process, scheduler
from integrations import kinds
from integrations.kinds import Kind
from tools import controllers, controlplane
from tools.controllers import manifests
from tools.controlplane import errors

CRDS = Path(__file__).parents[2] / "crds"
LOG_LINES = 60


def pytest_configure(config: pytest.Config) -> None:
    """Have a marker for what needs no other controller, and one for what not all kinds have."""
    config.addinivalue_line("markers", "jobset: needs the JobSet controller and no other")
    config.addinivalue_line("markers", "having(*names): for kinds that have all of these")


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run a test that takes a kind for each of them, controller by controller."""
    if "kind" in metafunc.fixturenames:
        marker = metafunc.definition.get_closest_marker("having")
        needed = marker.args if marker else ()
        every = [kind for kind in kinds.every() if all(getattr(kind, each) for each in needed)]
        rows = [_row(each) for each in every]
        # With a scope of its own, the kind would have the controller end with every test.
        both = ("controller", "kind")
        metafunc.parametrize(both, rows, indirect=["controller"], scope="session")


def _row(kind: Kind) -> object:
    marks = [pytest.mark.jobset] if kind.controller == ("jobset",) else []
    return pytest.param(kind.controller, kind, id=kind.name, marks=marks)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Function,
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Show the ends of the logs of what a failed test ran beside."""
    report = yield
    if report.failed:
        for each in item.funcargs.values():
            if isinstance(each, controllers.Controller | controlplane.Scheduler):
                report.sections.append((f"log of {each.name}", errors.tail(each.log, LOG_LINES)))
    return report


@pytest.fixture(scope="session")
def plane() -> Iterator[controlplane.ControlPlane]:
    """Give a control plane with our CRDs, and PodGroups as controllers make them."""
    with controlplane.start() as started:
        started.kubectl("apply", f"--filename={CRDS}")
        manifests.install(started, [manifests.pod_group_crd()])
        yield started


@pytest.fixture(scope="session")
def controller(
    plane: controlplane.ControlPlane, request: pytest.FixtureRequest
) -> Iterator[controllers.Controller]:
    """Give a controller with its CRDs, which go with it."""
    with controllers.running(plane, *request.param) as started:
        yield started
        # While it runs: some objects have finalizers that only it takes away.
        started.remove_crds()
