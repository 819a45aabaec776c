"""The story of the demo, on a real control plane and on a cluster that was there before."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tools import controlplane

pytestmark = pytest.mark.e2e

ROOT = Path(__file__).parents[2]
KINDS = (
    "/api/v1/nodes",
    "/api/v1/namespaces",
    "/apis/scheduling.k8s.io/v1/priorityclasses",
    "/apis/apiextensions.k8s.io/v1/customresourcedefinitions",
)


def told(cluster: str, **variables: str) -> str:
    """Return what the demo prints on a cluster."""
    where = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path)), **variables}
    ran = subprocess.run(
        [sys.executable, "-m", "tools.demo", "run", "--cluster", cluster],
        capture_output=True,
        text=True,
        cwd=ROOT,
        env=where,
        check=False,
    )
    assert 0 == ran.returncode, ran.stdout + ran.stderr
    return ran.stdout


def test_the_story_is_true_on_a_real_control_plane() -> None:
    printed = told("real")

    assert printed.startswith("A real control plane on this machine")
    assert "vision lost all of its pods to make room" in printed
    assert "blue gave one whole gang back" in printed


def test_an_existing_cluster_is_left_as_it_was(plane: controlplane.ControlPlane) -> None:
    before = [everything(plane, kind) for kind in KINDS]

    printed = told("existing", KUBECONFIG=str(plane.kubeconfig))

    assert plane.url in printed.partition("\n\n")[0].replace("\n", "")
    assert "blue gave one whole gang back" in printed
    assert before == [everything(plane, kind) for kind in KINDS]


def everything(plane: controlplane.ControlPlane, kind: str) -> list[str]:
    """Return the names of all objects of a kind that are not on their way out."""
    found = plane.request("GET", kind)["items"]
    kept = (each["metadata"] for each in found if "deletionTimestamp" not in each["metadata"])
    return sorted(each["name"] for each in kept)


@pytest.fixture(scope="module")
def plane() -> Iterator[controlplane.ControlPlane]:
    """Give a cluster of its own, in which nothing of ours is."""
    with controlplane.start(controlplane.Options(kwok=False)) as started:
        yield started
