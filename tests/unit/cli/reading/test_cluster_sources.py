"""Common options, and how commands end that cannot read what they are asked of."""

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click
import pytest
from click.testing import CliRunner, Result

from gang_scheduler.api.kinds import NAMESPACES, NODES, PODS
from gang_scheduler.cli.reading import cluster_sources
from gang_scheduler.cli.reading.options import Asked, common_options
from support.listing_server import KUBECONFIG, listed, served


@click.command()
@common_options("table", "json")
def command(asked: Asked) -> None:
    """Say what was read."""
    cluster, namespace = cluster_sources.read(asked)
    click.echo(f"{cluster.source.value} {namespace or '-'}")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Return the path of a kubeconfig."""
    return tmp_path / "config"


@contextmanager
def served_at(path: Path, answers: Mapping[str, Any]) -> Iterator[None]:
    """Give a server, and a kubeconfig for it."""
    with served(answers) as url:
        path.write_text(KUBECONFIG.format(server=url))
        yield


def asked(path: Path, *options: str) -> Result:
    return CliRunner().invoke(command, ["--kubeconfig", str(path), *options])


@pytest.mark.parametrize(
    ("options", "line"),
    [([], "live mine\n"), (["-n", "b"], "live b\n"), (["-A"], "live -\n")],
)
def test_the_namespace_is_that_of_the_context_unless_one_is_named(
    path: Path, options: Sequence[str], line: str
) -> None:
    with served_at(path, {NAMESPACES.path(name="b"): []}):
        assert (0, line) == (asked(path, *options).exit_code, asked(path, *options).stdout)


def test_for_all_namespaces_it_is_said_which_role_to_ask_for(path: Path) -> None:
    with served_at(path, {PODS.path(): 403, PODS.path("mine"): 403}):
        everywhere, here = asked(path, "-A"), asked(path)

    assert (4, True) == (everywhere.exit_code, everywhere.stderr.endswith(":reader\n"))
    assert (4, False) == (here.exit_code, ":reader" in here.stderr)


@pytest.mark.parametrize(
    ("answers", "options", "status", "said"),
    [
        ({}, ["-n", "teem"], 3, 'namespaces "teem" not found; did you mean team?\n'),
        ({}, ["-n", "team"], 0, ""),
        ({NAMESPACES.path(name="empty"): []}, ["-n", "empty"], 0, ""),
        # It may be there, for all that may be known.
        ({NAMESPACES.path(name="hidden"): 403}, ["-n", "hidden"], 0, ""),
        ({}, ["-A", "-n", "teem"], 0, ""),
    ],
)
def test_a_namespace_that_is_not_there_is_no_empty_one(
    path: Path, answers: Mapping[str, Any], options: Sequence[str], status: int, said: str
) -> None:
    of_team = {"metadata": {"name": "p", "namespace": "team"}, "spec": {}}
    with served_at(path, {PODS.path(): listed(of_team), **answers}):
        result = asked(path, *options)

    assert (status, True) == (result.exit_code, result.stderr.endswith(said))


@pytest.mark.parametrize(
    ("answers", "status", "line"),
    [
        (
            {PODS.path(): 403, PODS.path("mine"): 403},
            4,
            "Error from server (Forbidden): /api/v1/namespaces/mine/pods: a failure of the test",
        ),
        ({NODES.path(): 401}, 4, "error: You must be logged in to the server (Unauthorized)"),
        (
            {NODES.path(): 503},
            5,
            "Unable to connect to the server: /api/v1/nodes: a failure of the test",
        ),
        ({PODS.path(): 400}, 2, "Error from server: /api/v1/pods: a failure of the test"),
    ],
)
def test_an_answer_other_than_a_success_says_why(
    path: Path, answers: Mapping[str, int], status: int, line: str
) -> None:
    with served_at(path, answers):
        result = asked(path)

    assert (status, "", f"{line}\n") == (result.exit_code, result.stdout, result.stderr)


def test_a_server_that_is_not_there_is_unreachable(path: Path) -> None:
    path.write_text(KUBECONFIG.format(server="http://127.0.0.1:1"))
    result = asked(path)

    assert (5, True) == (result.exit_code, result.stderr.startswith("Unable to connect to the"))
    assert 1 == len(result.stderr.splitlines())


def test_a_kubeconfig_that_is_not_there_is_bad_input(path: Path) -> None:
    result = asked(path)

    assert (2, f"error: {path}: there is no such file\n") == (result.exit_code, result.stderr)


def test_ctrl_c_is_130(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(_: Any) -> None:
        _.close()
        raise KeyboardInterrupt

    monkeypatch.setattr(asyncio, "run", interrupted)

    assert 130 == asked(path).exit_code


@pytest.mark.parametrize(("text", "seconds"), [("0", 0), ("0s", 0), ("15", 15), ("1m30s", 90)])
def test_timeouts_are_as_kubectl_takes_them(text: str, seconds: float) -> None:
    assert seconds == cluster_sources.seconds(text)


def test_a_timeout_that_is_none_is_bad_input(path: Path) -> None:
    result = asked(path, "--request-timeout", "soon")

    assert (2, True) == (result.exit_code, "--request-timeout" in result.stderr)


def test_files_are_read_without_a_server(tmp_path: Path) -> None:
    file = tmp_path / "nodes.yaml"
    file.write_text("{kind: Node, apiVersion: v1, metadata: {name: n}, status: {allocatable: {}}}")
    result = CliRunner().invoke(command, ["-f", str(file)])

    assert (0, "files -\n", "the input has no pods\n") == (
        result.exit_code,
        result.stdout,
        result.stderr,
    )


def test_files_that_cannot_be_read_are_bad_input(tmp_path: Path) -> None:
    result = CliRunner().invoke(command, ["-f", str(tmp_path / "none.yaml")])

    assert (2, True) == (result.exit_code, "none.yaml" in result.stderr)


@pytest.mark.parametrize(
    ("color", "colored"), [("always", True), ("never", False), ("auto", False)]
)
def test_colour_is_for_terminals_unless_it_is_asked_for(color: str, *, colored: bool) -> None:
    assert colored is Asked(color=color).colored


def test_on_a_terminal_there_is_a_sign_of_life_that_leaves_nothing(
    path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.stderr.isatty", lambda: True, raising=False)
    with served_at(path, {}):
        assert "ready" == cluster_sources.answer(Asked(kubeconfig=str(path)), answered)

    said = capsys.readouterr().err
    assert said.startswith(cluster_sources.READING)
    assert said.endswith(f"\r{' ' * len(cluster_sources.READING)}\r")
    monkeypatch.setattr("sys.stderr.isatty", lambda: False, raising=False)
    with served_at(path, {}):
        cluster_sources.answer(Asked(kubeconfig=str(path)), answered)
    assert "" == capsys.readouterr().err


async def answered(_: object) -> str:
    """Return an answer."""
    await asyncio.sleep(0)
    return "ready"
