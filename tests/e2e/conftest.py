"""One control plane and one operator for most tests, and a namespace for each.

Most of the time is waiting: for processes to start, and for what the operator and controllers do
after a pause. So three parts run side by side, of all tests but those that are marked `alone` or
`controllers`.
"""

from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest

from e2e.support import operator_health, queues
from e2e.support.fault_proxy import FaultProxy
from e2e.support.fixtures import audited, namespace, operator_process, scheduler
from e2e.support.operator_health import Lasting, Start
from e2e.support.queues import Objects
from tools import controlplane

CRDS = Path(__file__).parents[2] / "crds"
NODES = 16
PARTS = 3
SECONDS = {
    "test_examples.py": 215,
    "test_failed_nodes.py": 215,
    "test_training_survives_eviction.py": 170,
    "test_partial_gangs.py": 150,
    "test_preemption_crash.py": 120,
    "test_provisioning.py": 110,
    "test_list.py": 95,
    "test_life_after_binding.py": 90,
    "test_native_pod_groups.py": 85,
    "test_suspended_jobs_crash.py": 80,
    "test_restart.py": 80,
    "test_groups.py": 80,
    "test_stopped_watches.py": 75,
    "test_tenants.py": 90,
    "test_many_preemptors.py": 75,
    "test_situations.py": 70,
    "test_broken_builds.py": 50,
    "test_sources.py": 50,
    "test_queues.py": 45,
    "test_elastic_replicas.py": 210,
    "test_elastic_pace.py": 45,
    "test_chart.py": 45,
    "test_what_users_see.py": 40,
    "test_missing_members.py": 40,
    "test_suspended_jobs.py": 40,
    "test_snapshot.py": 40,
    "test_demo.py": 35,
    "test_control_plane.py": 35,
    "test_reclaim.py": 35,
    "test_recording.py": 40,
    "test_volumes.py": 30,
    "test_checkpoints.py": 30,
    "test_kueue_topology.py": 30,
    "test_topology_status.py": 30,
    "test_explain.py": 30,
    "test_image.py": 100,
    "test_extended_resources.py": 150,
    "test_device_claims.py": 260,
    "test_attached_devices.py": 80,
    "test_replicas_with_devices.py": 70,
    "test_elastic_replicas_of_ray.py": 60,
    "test_page_while_others_stop.py": 80,
    "test_page.py": 120,
    "test_page_in_chromium.py": 40,
}
"""About how long files take that take long. What is wrong here costs time and nothing else."""
OTHER_SECONDS = 10
ROOM = {"cpu": "32", "memory": "64Gi", "pods": "110"}


def pytest_addoption(parser: pytest.Parser) -> None:
    """Have an option for parts of the tests."""
    parser.addoption("--part", type=int, choices=range(PARTS), help="run the files of one part")


def pytest_configure(config: pytest.Config) -> None:
    """Have markers for what is in none of the parts."""
    config.addinivalue_line("markers", "alone: measures time, or takes all that a machine has")
    config.addinivalue_line("markers", "controllers: needs real controllers of jobs")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave the tests of one part."""
    if (part := config.getoption("--part", None)) is not None:
        chosen = parts({each.path.name for each in items})[part]
        config.hook.pytest_deselected(items=[e for e in items if e.path.name not in chosen])
        items[:] = [each for each in items if each.path.name in chosen]


def parts(files: Iterable[str]) -> list[set[str]]:
    """Return files in parts that take about as long: the longest first, to the shortest part."""
    made: list[set[str]] = [set() for _ in range(PARTS)]
    for file in sorted(files, key=lambda each: (-seconds_of({each}), each)):
        min(made, key=seconds_of).add(file)
    return made


def seconds_of(files: Iterable[str]) -> int:
    """Return about how long files take."""
    return sum(SECONDS.get(each, OTHER_SECONDS) for each in files)


@pytest.fixture(scope="session")
def crds() -> Path:
    """Return the directory of our CRDs."""
    return CRDS


@pytest.fixture(scope="session", autouse=True)
def _queues_go_at_once() -> Iterator[None]:
    """Let no queue of a test count in the next, as it would for a moment after its deletion."""
    with pytest.MonkeyPatch.context() as environment:
        environment.setenv("PGS_QUEUE_DELETION_GRACE_SECONDS", "0")
        yield


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


@pytest.fixture(scope="module")
def the_lasting(plane: controlplane.ControlPlane, the_proxy: FaultProxy) -> Iterator[Lasting]:
    """Give the operator that tests of a module share, if they ask for it."""
    made = Lasting(plane, the_proxy.kubeconfig)
    yield made
    made.end()


@pytest.fixture
def start(
    plane: controlplane.ControlPlane, proxy: FaultProxy, the_lasting: Lasting
) -> Iterator[Start]:
    """Give what starts operators of the test's own that go through the proxy; none runs yet."""
    the_lasting.end()
    with operator_health.starting(plane, proxy.kubeconfig) as started:
        yield started


@pytest.fixture
def lasting(the_lasting: Lasting, the_proxy: FaultProxy) -> Iterator[Start]:
    """Give the same for tests that need no new process: it may be that of the test before."""
    the_proxy.start_over()
    yield the_lasting.start
    the_lasting.check()
