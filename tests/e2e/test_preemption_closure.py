"""On nodes shared by many gangs, the gangs in the way are evicted whole, and no other gang."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from e2e.support import overlapping_gangs, preemption
from e2e.support.namespaces import Namespace
from e2e.support.overlapping_gangs import MEMBERS, OverlappingGangs
from tools import controlplane

pytestmark = [pytest.mark.e2e, pytest.mark.alone]

CASE = OverlappingGangs(nodes=200, gangs=160, needed=32)
WHOLE_GANGS = 32


@pytest.fixture(scope="module")
def plane(crds: Path) -> Iterator[controlplane.ControlPlane]:
    """Give a control plane without kubelets: a pod evicted without a grace period is gone."""
    with controlplane.start(controlplane.Options(kwok=False)) as started:
        started.kubectl("apply", f"--filename={crds}")
        with preemption.priority_classes(started):
            yield started


def test_whole_gangs_go_and_no_more_of_them_than_needed(namespace: Namespace) -> None:
    outcome = overlapping_gangs.play(namespace, CASE)

    assert {MEMBERS} == set(outcome.gone.values())
    assert WHOLE_GANGS == len(outcome.gone)
    assert CASE.needed == len(outcome.places)
