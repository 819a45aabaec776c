"""One control plane and one operator for most tests, and a namespace for each.

Most of the time is waiting: for processes to start, and for what the operator and controllers do
after a pause. So two halves run side by side, of all tests but those that are marked `alone` or
`controllers`.
"""

from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest

from e2e.support import operator_health, queues
from e2e.support.fault_proxy import FaultProxy
from e2e.support.fixtures import namespace, operator_process, scheduler
from e2e.support.operator_health import Start
from e2e.support.queues import Objects
from tools import controlplane

CRDS = Path(__file__).parents[2] / "crds"
NODES = 16
SECONDS = {
    "test_partial_gangs.py": 165,
    "test_life_after_binding.py": 155,
    "test_failed_nodes.py": 140,
    "test_groups.py": 80,
    "test_examples.py": 110,
    "test_many_preemptors.py": 75,
    "test_preemption_crash.py": 75,
    "test_restart.py": 75,
    "test_queues_at_scale.py": 70,
    "test_sources.py": 45,
    "test_reclaim.py": 45,
    "test_missing_members.py": 55,
    "test_volumes.py": 45,
    "test_chart.py": 45,
    "test_elastic_pace.py": 60,
    "test_explain.py": 35,
    "test_situations.py": 80,
    "test_control_plane.py": 35,
    "test_list.py": 60,
    "test_provisioning.py": 120,
    "test_demo.py": 40,
    "test_training_survives_eviction.py": 160,
    "test_suspended_jobs.py": 60,
    "test_suspended_jobs_crash.py": 55,
}
"""About how long files take that take long. What is wrong here costs time and nothing else."""
OTHER_SECONDS = 20
ROOM = {"cpu": "32", "memory": "64Gi", "pods": "110"}


def pytest_addoption(parser: pytest.Parser) -> None:
    """Have an option for halves of the tests."""
    parser.addoption("--half", type=int, choices=(0, 1), help="run the files of one half")


def pytest_configure(config: pytest.Config) -> None:
    """Have markers for what takes no part in halves."""
    config.addinivalue_line("markers", "alone: measures time, or takes all that a machine has")
    config.addinivalue_line("markers", "controllers: needs real controllers of jobs")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave the tests of one half."""
    if (half := config.getoption("--half", None)) is not None:
        chosen = halves({each.path.name for each in items})[half]
        config.hook.pytest_deselected(items=[e for e in items if e.path.name not in chosen])
        items[:] = [each for each in items if each.path.name in chosen]


def halves(files: Iterable[str]) -> tuple[set[str], set[str]]:
    """Return files in two parts that take about as long: the longest first, to the shorter part."""
    parts: tuple[set[str], set[str]] = (set(), set())
    for file in sorted(files, key=lambda each: (-seconds_of({each}), each)):
        min(parts, key=seconds_of).add(file)
    return parts


def seconds_of(files: Iterable[str]) -> int:
    """Return about how long files take."""
    return sum(SECONDS.get(each, OTHER_SECONDS) for each in files)


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


@pytest.fixture
def objects(plane: controlplane.ControlPlane) -> Iterator[Objects]:
    """Give what creates objects without a namespace, for the test alone."""
    with queues.objects(plane) as made:
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
