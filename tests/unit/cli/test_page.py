"""`page` on the command line: what it prints, where it listens, and how it ends."""

import signal
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from click.testing import CliRunner

from gang_scheduler.cli import main
from support.listed_clusters import asked, gang, node, written

CLUSTER = [node("node-0"), *gang("waits", 2)]


@pytest.fixture(autouse=True)
def blocking_is_an_error() -> Iterator[None]:
    """Allow it: no loop of ours runs here."""
    return iter(())


@contextmanager
def served(*options: str) -> Iterator["subprocess.Popen[str]"]:
    """Run the page as a process."""
    process = subprocess.Popen(
        [sys.executable, "-m", "gang_scheduler", "page", *options],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def test_the_address_is_printed_and_opens_the_page(tmp_path: Path) -> None:
    with served("-f", written(tmp_path, CLUSTER)) as process:
        assert process.stdout is not None
        address = process.stdout.readline().strip()
        opener = urllib.request.build_opener(
            urllib.request.HTTPCookieProcessor(), urllib.request.ProxyHandler({})
        )
        with opener.open(address) as answer:
            text = answer.read().decode()

        assert address.startswith("http://127.0.0.1:")
        assert "waits" in text
        with pytest.raises(urllib.error.HTTPError, match="403"):
            urllib.request.build_opener(urllib.request.ProxyHandler({})).open(address)
        process.send_signal(signal.SIGINT)
        assert 130 == process.wait()


def test_files_that_cannot_be_read_end_the_command(tmp_path: Path) -> None:
    broken = node("node-0")
    broken["metadata"]["name"] = "No Name"

    result = asked("page", tmp_path, [broken])

    assert 2 == result.exit_code
    assert "metadata.name must be a DNS-1123 subdomain" in result.stderr


def test_a_port_that_is_taken_is_named(tmp_path: Path) -> None:
    with served("-f", written(tmp_path, CLUSTER)) as process:
        assert process.stdout is not None
        port = process.stdout.readline().split(":")[2].partition("/")[0]
        result = asked("page", tmp_path, CLUSTER, "--port", port)

    assert 2 == result.exit_code
    assert f"--port: {port}: " in result.stderr


@pytest.mark.parametrize(
    ("options", "of"), [(("-f", "cluster.json"), "-f"), (("--replay", "moves"), "--replay")]
)
def test_a_file_has_no_history_to_keep(options: tuple[str, ...], of: str, tmp_path: Path) -> None:
    kept = tmp_path / "history"

    result = CliRunner().invoke(main, ["page", *options, "--history", str(kept)])

    assert 2 == result.exit_code
    assert f"--history: {kept}: the data of {of} never changes" in result.stderr
    assert not kept.exists()


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--listen=0.0.0.0"], "--listen: 0.0.0.0: without --auth token or proxy"),
        (["--allowed-host=a"], "--allowed-host: a: it takes --auth token or proxy"),
        (["--probes-port=8080"], "--probes-port: 8080: it takes --auth token or proxy"),
        (["--auth=token"], "--auth: token: the data of -f is yours alone"),
        (["--auth=proxy"], "--auth: proxy: the data of -f is yours alone"),
    ],
)
def test_options_for_users_are_refused_where_there_is_one_user(
    options: list[str], words: str, tmp_path: Path
) -> None:
    found = CliRunner().invoke(main, ["page", "-f", written(tmp_path, CLUSTER), *options])

    assert 2 == found.exit_code
    assert words in found.stderr


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--auth=proxy"], "--auth: proxy: it takes --proxy-ca, --tls-certificate and --tls-key"),
        (["--auth=token", "--tls-key=k"], "--tls-certificate: it is required"),
        (["--auth=token", "--tls-certificate=c"], "--tls-key: it is required"),
        (["--auth=token", "--proxy-ca=c"], "--proxy-ca: c: it takes --auth proxy"),
    ],
)
def test_options_that_lack_another_are_refused(options: list[str], words: str) -> None:
    found = CliRunner().invoke(main, ["page", *options])

    assert 2 == found.exit_code
    assert words in found.stderr
