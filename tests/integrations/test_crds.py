"""CRDs of controllers that come and go beneath the operator: other gangs notice nothing of it.

On a control plane of their own, where no controller has been.
"""

from collections.abc import Iterator
from pathlib import Path

import pytest

from e2e.support import manifests
from e2e.support.namespaces import Namespace
from e2e.support.waiting import eventually
from integrations import gangs, kinds
from integrations.kinds import Kind
from tools import controllers, controlplane

pytestmark = pytest.mark.e2e

CRDS = Path(__file__).parents[2] / "crds"
NAMES = ("jobset", "leaderworkerset", "pytorchjob", "mpijob", "raycluster")


@pytest.fixture(scope="module")
def plane() -> Iterator[controlplane.ControlPlane]:
    with controlplane.start() as started:
        started.kubectl("apply", f"--filename={CRDS}")
        yield started


@pytest.fixture(scope="module")
def operator_process(plane: controlplane.ControlPlane) -> Iterator[controlplane.Scheduler]:
    with controlplane.Scheduler(plane) as started:
        yield started


def some() -> list[object]:
    """Return one kind of each controller."""
    return [
        pytest.param(kind, id=kind.name, marks=[pytest.mark.jobset] * (kind.name == "jobset"))
        for kind in kinds.every()
        if kind.name in NAMES
    ]


@pytest.mark.parametrize("workload", some())
def test_a_kind_is_picked_up_when_its_crd_comes_and_others_go_on_when_it_goes(
    workload: Kind, operator_process: controlplane.Scheduler, namespace: Namespace
) -> None:
    pid = namespace.cluster.processes.pid(operator_process.name)
    gangs.add_room(namespace, workload.quorum_cpus + 2)
    _another_gang_starts(namespace, "before")

    # The second time it comes back.
    for _ in range(2):
        with controllers.running(namespace.cluster, *workload.controller) as controller:
            gangs.create(namespace, workload)
            gangs.wait_for_quorum(namespace, workload)
            controller.remove_crds()
        _another_gang_starts(namespace, "without")
        # The garbage collector knows nothing of a kind that is gone, nor of what it owned.
        namespace.kubectl("delete", "statefulsets,jobs", "--all")
        gangs.delete_pods(namespace)

    assert pid == namespace.cluster.processes.pid(operator_process.name)
    namespace.cluster.processes.check()


def _another_gang_starts(namespace: Namespace, name: str) -> None:
    namespace.create(*manifests.gang(name, 2, on=namespace.here))
    eventually("Running", lambda: namespace.phase(name), gangs.PATIENCE_SECONDS)
    namespace.delete_gangs(name)
