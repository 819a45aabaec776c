"""Five queues whose demand goes up and down: nothing goes in circles, and each has its part."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from e2e.churn.__main__ import run
from tools import controlplane

pytestmark = [pytest.mark.e2e, pytest.mark.alone]

SECONDS, SEED = 30.0, 1


@pytest.fixture(scope="module")
def plane(crds: Path) -> Iterator[controlplane.ControlPlane]:
    """Give a control plane of its own: the queues share all of its nodes."""
    with controlplane.start() as started:
        started.kubectl("apply", f"--filename={crds}")
        yield started


def test_queues_come_to_rest_with_what_is_fair(plane: controlplane.ControlPlane) -> None:
    seen = run(plane, SECONDS, SEED)
    assert [] == seen.wrong
    assert seen.evicted > 0
