"""`record` says at once what keeps it from recording, and leaves no file then."""

from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from gang_scheduler.api.kinds import GVR, NODES, PODS
from gang_scheduler.cli import main
from support.listing_server import KUBECONFIG, forbidden, served


def record(path: Path, *arguments: str, url: str = "http://127.0.0.1:1") -> Result:
    """Run the command for a second."""
    kubeconfig = path / "kubeconfig"
    kubeconfig.write_text(KUBECONFIG.format(server=url))
    out = str(path / "week.jsonl")
    options = ["--out", out, "--for", "1s", "--kubeconfig", str(kubeconfig)]
    return CliRunner().invoke(main, ["record", *options, *arguments])


@pytest.mark.parametrize("kind", [NODES, PODS])
def test_the_error_of_a_user_with_too_few_rights_names_those_that_are_needed(
    kind: GVR, tmp_path: Path
) -> None:
    with served(forbidden(kind)) as url:
        result = record(tmp_path, url=url)

    assert 4 == result.exit_code
    assert f"Error from server (Forbidden): {kind.path()}" in result.stderr
    assert "needs the rights to list and watch nodes, and pods in all namespaces" in result.stderr
    assert not (tmp_path / "week.jsonl").exists()


def test_a_server_that_does_not_answer_is_unreachable(tmp_path: Path) -> None:
    result = record(tmp_path)

    assert 5 == result.exit_code
    assert result.stderr.startswith("Unable to connect to the server: ")
    assert not (tmp_path / "week.jsonl").exists()


def test_a_file_that_is_there_is_kept(tmp_path: Path) -> None:
    (tmp_path / "week.jsonl").write_text("kept")
    result = record(tmp_path)

    assert 2 == result.exit_code
    assert "week.jsonl: exists already; a recording goes to a new file" in result.stderr
    assert "kept" == (tmp_path / "week.jsonl").read_text()


def test_a_directory_that_is_not_there_is_reported(tmp_path: Path) -> None:
    result = record(tmp_path, "--out", str(tmp_path / "none" / "week.jsonl"))

    assert 2 == result.exit_code
    assert "none is no directory" in result.stderr


def test_a_time_that_is_none_is_refused(tmp_path: Path) -> None:
    result = record(tmp_path, "--for", "soon")

    assert 2 == result.exit_code
    assert "--for" in result.stderr
