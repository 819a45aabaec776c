"""What commands import: each second that they take is a second that their user waits."""

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from gang_scheduler.demo import cluster as demo_cluster
from support.listed_clusters import gang, node, written

SHOWN_ONLY_IN_LOGS = {"structlog", "prometheus_client", "pydantic_settings", "rich", "pygments"}
OF_THE_OPERATOR = {
    *(
        "kopf",
        "aiohttp",
        "jinja2",
        "gang_scheduler.page",
        "uvloop",
        "gang_scheduler.app",
        "gang_scheduler.scheduling_loop",
    ),
    *("gang_scheduler.apply.binder", "gang_scheduler.report.status_writer"),
}
MODELS = "kubernetes_asyncio.client.models"
"""800 modules, one for each kind and version of Kubernetes."""
CLIENT = {"kubernetes_asyncio", "anyio", "httptools"}
MOST_OF_FILES, MOST_OF_A_CLUSTER = 1050, 1150
"""They were 1,200 and 2,100 once."""

RUN = (
    "import sys; from gang_scheduler.cli import main; main(sys.argv[1:], standalone_mode=False); "
    "print(*sys.modules, file=sys.stderr)"
)
CLUSTER = [node("node-0"), *gang("runs", 1, nodes=["node-0"]), *gang("waits", 3)]
OF_SMALL_CLUSTERS: Sequence[Sequence[str]] = (
    ("list", "-A"),
    ("list", "-A", "-o", "json"),
    ("queues",),
    ("cluster",),
    ("cluster", "node-0"),
    ("explain", "team/waits"),
    ("explain", "team/runs"),
)


def modules_of(*arguments: str) -> set[str]:
    """Return what a process has imported that has answered."""
    done = subprocess.run(
        [sys.executable, "-c", RUN, *arguments], capture_output=True, text=True, check=True
    )
    return {*done.stderr.split()}


@pytest.mark.parametrize("arguments", OF_SMALL_CLUSTERS)
def test_answers_on_files_import_what_they_need_and_no_more(
    arguments: Sequence[str], tmp_path: Path
) -> None:
    found = modules_of(*arguments, "-f", written(tmp_path, CLUSTER))

    assert not found & (SHOWN_ONLY_IN_LOGS | OF_THE_OPERATOR | CLIENT)
    assert len(found) < MOST_OF_FILES


def test_answers_on_a_cluster_import_a_client_and_no_operator() -> None:
    with demo_cluster.embedded(controllers=False) as served:
        for arguments in (("list", "-A"), ("queues",), ("cluster",)):
            found = modules_of(*arguments, "--kubeconfig", str(served.kubeconfig))

            assert not found & (SHOWN_ONLY_IN_LOGS | OF_THE_OPERATOR | {MODELS})
            assert {"anyio", "httptools"} <= found
            assert len(found) < MOST_OF_A_CLUSTER


def test_help_on_settings_imports_these_and_no_numpy() -> None:
    found = modules_of("simulate", "--help")

    assert not found & (SHOWN_ONLY_IN_LOGS | OF_THE_OPERATOR | CLIENT | {"numpy", "asyncio"})
    assert "pydantic" in found


@pytest.mark.parametrize("command", ["list", "queues", "cluster", "explain", "page"])
def test_help_imports_no_numpy_and_next_to_nothing_of_ours(command: str) -> None:
    found = modules_of(command, "--help")

    assert not found & (SHOWN_ONLY_IN_LOGS | OF_THE_OPERATOR | CLIENT | {"numpy", "pydantic"})
    assert len([each for each in found if each.startswith("gang_scheduler")]) < 25
