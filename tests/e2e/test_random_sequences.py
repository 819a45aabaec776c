"""Random changes to gangs of every source: the API server and a plain model of the rules agree.

E2E_SEQUENCES=1000 runs more of them, E2E_SEED=17 the one that failed.
"""

import concurrent.futures
import os
from collections.abc import Iterator

import pytest

from e2e.model.sequences import FENCE, MismatchError, RandomSequence
from tools import controlplane
from tools.controlplane import nodes

pytestmark = [pytest.mark.e2e, pytest.mark.alone]

SEQUENCES = 100
STEPS = 12
SIDE_BY_SIDE = 12


@pytest.fixture
def fence(plane: controlplane.ControlPlane) -> Iterator[None]:
    """Have a node with room for every fence, and the one priority class."""
    room = {"cpu": "100000", "memory": "64Gi", "pods": "100000"}
    nodes.create(plane.access, [nodes.manifest("fence", {**FENCE, "type": "by-hand"}, room)])
    priority = {
        "apiVersion": "scheduling.k8s.io/v1",
        "kind": "PriorityClass",
        "metadata": {"name": "sequences"},
        "value": 100,
        "preemptionPolicy": "Never",
    }
    plane.request("POST", "/apis/scheduling.k8s.io/v1/priorityclasses", priority)
    yield
    # Other tests count nodes, and find no room on theirs.
    plane.request("DELETE", "/api/v1/nodes/fence")
    plane.request("DELETE", "/apis/scheduling.k8s.io/v1/priorityclasses/sequences")


@pytest.mark.usefixtures("fence", "scheduler")
def test_whatever_happens_the_same_gangs_are_bound_as_the_rules_say(
    plane: controlplane.ControlPlane,
) -> None:
    with concurrent.futures.ThreadPoolExecutor(SIDE_BY_SIDE) as pool:
        told = list(pool.map(lambda seed: failure_of(plane, seed), seeds()))

    failures = [each for each in told if each]
    assert not failures, f"{len(failures)} of {len(told)}:\n\n" + "\n\n".join(failures[:5])


def seeds() -> range:
    """Return the seeds to run."""
    if "E2E_SEED" in os.environ:
        seed = int(os.environ["E2E_SEED"])
        return range(seed, seed + 1)
    return range(int(os.environ.get("E2E_SEQUENCES", SEQUENCES)))


def failure_of(plane: controlplane.ControlPlane, seed: int) -> str:
    """Run one sequence; return its story where it failed, else nothing."""
    try:
        RandomSequence(plane, seed).run(STEPS)
    except MismatchError as error:
        return str(error)
    return ""
