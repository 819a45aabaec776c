"""The notebooks of the docs run as they are, on the embedded API server beside the operator."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import nbclient
import nbformat
import pytest

from gang_scheduler.api.kinds import JOBS, NODES
from gang_scheduler.demo import cluster, world
from gang_scheduler.demo.cluster import Embedded
from tools.controlplane import nodes

NOTEBOOKS = Path(__file__).parents[2] / "docs" / "notebooks"
ROOM = {"cpu": "32", "memory": "64Gi", "pods": "110", "nvidia.com/gpu": "8"}
LONGEST_CELL_SECONDS = 120


@pytest.fixture(autouse=True)
def blocking_is_an_error() -> Iterator[None]:
    """Allow it: no loop of ours runs here."""
    return iter(())


@pytest.fixture
def where() -> Iterator[Embedded]:
    with cluster.embedded() as found:
        for each in world.definitions():
            cluster.create(found, each.gvr, each.body)
        for number in range(4):
            cluster.create(found, NODES, nodes.manifest(f"node-{number}", {}, ROOM))
        with cluster.operator(found.kubeconfig):
            yield found


def read(path: Path) -> Any:
    """Return a notebook."""
    return nbformat.read(path, as_version=4)  # type: ignore[no-untyped-call] # it has no types.


def executed(name: str) -> list[Any]:
    """Run a notebook; return the outputs of its cells that have some."""
    notebook = read(NOTEBOOKS / name)
    nbclient.NotebookClient(notebook, timeout=LONGEST_CELL_SECONDS, kernel_name="python3").execute()
    return [each.outputs for each in notebook.cells if each.get("outputs")]


@pytest.mark.filterwarnings("ignore")
def test_a_job_is_submitted_from_a_notebook(
    where: Embedded, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KUBECONFIG", str(where.kubeconfig))

    plan, running, waiting, cancelled = executed("submit.ipynb")

    assert "<td>PodGroup</td><td>notebook</td>" in plan[0]["data"]["text/html"]
    assert "starts now" in plan[0]["data"]["text/html"]
    assert "It runs" in running[0]["data"]["text/html"]
    assert "Unschedulable\n" == waiting[0]["text"]
    assert "It lacks room" in waiting[1]["data"]["text/html"]
    assert "jobs.batch/large jobs.batch/notebook\n" == cancelled[0]["text"]
    assert [] == cluster.items(where, JOBS)


def test_notebooks_have_no_outputs_that_would_grow_stale() -> None:
    found = sorted(NOTEBOOKS.glob("*.ipynb"))

    assert found
    for each in found:
        cells = read(each).cells
        assert [] == [cell.id for cell in cells if cell.get("outputs")]
