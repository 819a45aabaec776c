"""On nodes shared by many gangs, those go whole that are in the way, and nobody else."""

from collections.abc import Iterator
from pathlib import Path

import pytest

import controlplane
from e2e import closures, preemptions
from e2e.closures import MEMBERS, Closure
from e2e.namespaces import Namespace

pytestmark = pytest.mark.e2e

CASE = Closure(nodes=200, gangs=160, needed=32)
WHOLE_GANGS = 32


@pytest.fixture(scope="module")
def plane(crds: Path) -> Iterator[controlplane.ControlPlane]:
    """Give a control plane without kubelets: who is evicted without a grace period is gone."""
    with controlplane.start(controlplane.Options(kwok=False)) as started:
        started.kubectl("apply", f"--filename={crds}")
        with preemptions.priority_classes(started):
            yield started


def test_whole_gangs_go_and_no_more_of_them_than_needed(namespace: Namespace) -> None:
    outcome = closures.play(namespace, CASE)

    assert {MEMBERS} == set(outcome.gone.values())
    assert WHOLE_GANGS == len(outcome.gone)
    assert CASE.needed == len(outcome.places)
