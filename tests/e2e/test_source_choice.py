"""Without a setting, the size of the cluster decides what watches it."""

from collections.abc import Iterator

import pytest

from e2e.support import gang_manifests
from e2e.support.manifests import gang
from e2e.support.namespaces import Namespace
from e2e.support.operator_health import is_unharmed
from e2e.support.waiting import eventually
from gang_scheduler.api.kinds import NODES
from gang_scheduler.watch import source_choice
from tools import controlplane

pytestmark = pytest.mark.e2e

FEW = 3


@pytest.fixture(scope="module")
def plane() -> Iterator[controlplane.ControlPlane]:
    """Start a control plane of the module's own: it becomes a large one."""
    with controlplane.start(controlplane.Options(kwok=False)) as started:
        started.kubectl("apply", f"--filename={gang_manifests.CRDS}")
        yield started


def test_a_cluster_that_has_grown_is_watched_by_the_reflector_after_a_restart(
    plane: controlplane.ControlPlane, namespace: Namespace
) -> None:
    plane.nodes(FEW)
    with controlplane.Scheduler(plane) as scheduler, is_unharmed(scheduler):
        namespace.create(*gang("small", FEW))
        eventually(FEW, lambda: len(namespace.bound("small-")))
        assert 'source="kopf"' in said_of_the_build(scheduler)

    plane.nodes(source_choice.LARGE[NODES], prefix="more-")
    with controlplane.Scheduler(plane) as scheduler, is_unharmed(scheduler):
        namespace.create(*gang("large", FEW))
        eventually(FEW, lambda: len(namespace.bound("large-")))
        assert 'source="reflector"' in said_of_the_build(scheduler)


def said_of_the_build(scheduler: controlplane.Scheduler) -> str:
    """Return the metric that names the source."""
    lines = (scheduler.get("/metrics") or "").splitlines()
    return next(each for each in lines if each.startswith("pgs_build_info{"))
