"""What shells and kubectl offer, and that a cluster which does not answer is no obstacle."""

import shutil
import subprocess
from pathlib import Path

import pytest
from click.testing import CliRunner

from gang_scheduler.api.kinds import NAMESPACES, NODES, POD_GROUPS, QUEUES
from gang_scheduler.cli import completion, main
from gang_scheduler.cli.kubectl_gang import group
from support.listing_server import KUBECONFIG, listed, served

ANSWERS = {
    NODES.path(): listed({"metadata": {"name": "node-0"}}, {"metadata": {"name": "gpu"}}),
    NAMESPACES.path(): listed({"metadata": {"name": "mine"}}),
    QUEUES.path(): listed({"metadata": {"name": "blue"}}),
    POD_GROUPS.path("mine"): listed({"metadata": {"name": "train", "namespace": "mine"}}),
}


def offered(capsys: pytest.CaptureFixture[str], *arguments: str) -> list[str]:
    completion.answer_kubectl(group, [*arguments])
    return capsys.readouterr().out.splitlines()


@pytest.fixture
def kubeconfig(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the path of the kubeconfig that is used."""
    path = tmp_path / "config"
    monkeypatch.setenv("KUBECONFIG", str(path))
    return path


def test_commands_are_offered_with_what_they_do(capsys: pytest.CaptureFixture[str]) -> None:
    *found, directive = offered(capsys, "li")

    assert (["list"], ":4") == ([line.split("\t")[0] for line in found], directive)


def test_without_arguments_all_commands_are_offered(capsys: pytest.CaptureFixture[str]) -> None:
    found = {line.split("\t")[0] for line in offered(capsys)[:-1]}

    assert {"cluster", "list", "queues", "simulate"} <= found
    assert not {"run", "completion"} & found


@pytest.mark.parametrize(
    ("arguments", "names"),
    [
        (["cluster", "n"], ["node-0"]),
        (["queues", ""], ["blue"]),
        (["explain", "tr"], ["train"]),
        (["list", "-n", ""], ["mine"]),
        (["list", "--queue", "b"], ["blue"]),
    ],
)
def test_names_come_from_the_cluster(
    capsys: pytest.CaptureFixture[str], kubeconfig: Path, arguments: list[str], names: list[str]
) -> None:
    with served(ANSWERS) as url:
        kubeconfig.write_text(KUBECONFIG.format(server=url))
        assert [*names, ":4"] == offered(capsys, *arguments)


def test_a_cluster_that_does_not_answer_offers_nothing(
    capsys: pytest.CaptureFixture[str], kubeconfig: Path
) -> None:
    kubeconfig.write_text(KUBECONFIG.format(server="http://127.0.0.1:1"))

    assert [":4"] == offered(capsys, "cluster", "")


def test_files_are_left_to_the_shell(capsys: pytest.CaptureFixture[str]) -> None:
    assert [":0"] == offered(capsys, "list", "-f", "")


@pytest.mark.parametrize("shell", completion.SHELLS)
def test_scripts_are_accepted_by_their_shells(shell: str, tmp_path: Path) -> None:
    script = tmp_path / "script"
    result = CliRunner().invoke(main, ["completion", shell], prog_name="py-gang-scheduler")
    script.write_text(result.stdout)

    assert (0, True) == (result.exit_code, "_PY_GANG_SCHEDULER_COMPLETE" in result.stdout)
    if (program := shutil.which(shell)) is not None:
        subprocess.run([program, "-n", str(script)], check=True)
