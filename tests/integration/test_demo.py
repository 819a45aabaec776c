"""The demo, from its first line to its last, in a process of its own."""

import contextlib
import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from gang_scheduler.cli.answers import demo as answers_demo
from gang_scheduler.demo import cluster
from gang_scheduler.demo.story import Story
from support import yaml_texts

WIDTH = 80


@pytest.fixture(autouse=True)
def blocking_is_an_error() -> Iterator[None]:
    """Allow it: no loop of ours runs here."""
    return iter(())


class Stranger:
    """A server that the demo has no business with. It counts connections."""

    def __init__(self) -> None:
        self.visits = 0
        self._socket = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._socket.getsockname()[1]}"
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self) -> None:
        """End."""
        self._socket.close()

    def _accept(self) -> None:
        while True:
            try:
                visitor, _ = self._socket.accept()
            except OSError:
                return
            self.visits += 1
            visitor.close()


@pytest.fixture
def stranger() -> Iterator[Stranger]:
    found = Stranger()
    yield found
    found.close()


def test_the_demo_tells_its_story_and_touches_no_other_cluster(
    tmp_path: Path, stranger: Stranger
) -> None:
    kubeconfig = tmp_path / "config"
    kubeconfig.write_text(
        yaml_texts.written(
            {
                "clusters": [{"name": "a", "cluster": {"server": stranger.url}}],
                "users": [{"name": "a", "user": {}}],
                "contexts": [{"name": "a", "context": {"cluster": "a", "user": "a"}}],
                "current-context": "a",
            }
        )
    )
    # As in a user's shell: a kubeconfig, a home directory with one, settings of the operator.
    home = tmp_path / "home"
    (home / ".kube").mkdir(parents=True)
    (home / ".kube" / "config").write_text(kubeconfig.read_text())
    where = {
        **os.environ,
        "KUBECONFIG": str(kubeconfig),
        "HOME": str(home),
        "PGS_PREEMPTION": "false",
        "http_proxy": stranger.url,
    }

    ran = subprocess.run(
        [sys.executable, "-m", "gang_scheduler", "demo"],
        capture_output=True,
        text=True,
        env=where,
        check=False,
        timeout=240,
    )

    assert (0, "") == (ran.returncode, ran.stderr), ran.stdout
    assert 0 == stranger.visits
    first = " ".join(ran.stdout.splitlines()[:2])
    assert "stand-in in Python with the objects in memory; no pod runs" in first
    for told in (
        "all 18 pods run",
        "0 of its pods have a node",
        "Needs 4 nodes with 8 free nvidia.com/gpu",
        "vision lost all of its pods to make room; llama and speech run on",
        "blue gave one whole gang back",
        "everything is stopped and removed",
        "in your browser: http://127.0.0.1:",
    ):
        assert told in ran.stdout
    assert [] == [line for line in ran.stdout.splitlines() if len(line) > WIDTH]


def test_without_a_page_the_demo_goes_on_and_says_why_in_a_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    kubeconfig = tmp_path / "config"
    kubeconfig.write_text("clusters: [")
    with cluster.page(kubeconfig) as found:
        assert not found.address
        assert f"{kubeconfig}: while parsing" in found.problem
        assert "\n" not in found.problem

    @contextlib.contextmanager
    def without(_: Path) -> Iterator[cluster.Page]:
        yield cluster.Page("", "no room")

    monkeypatch.setattr(signal, "signal", lambda *_: None)
    monkeypatch.setattr(cluster, "page", without)
    monkeypatch.setattr(Story, "tell", lambda _: print("the story"))
    answers_demo.answer(stay=False, port=0)
    told = capsys.readouterr().out
    assert told.index("There is no page: no room\n") < told.index("the story")
    assert "everything is stopped and removed" in told


def test_a_port_that_is_taken_is_named(stranger: Stranger) -> None:
    port = stranger.url.rpartition(":")[2]

    ran = subprocess.run(
        [sys.executable, "-m", "gang_scheduler", "demo", "--port", port],
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )

    assert 1 == ran.returncode
    assert f"cannot listen on port {port}" in ran.stderr
    assert "Traceback" not in ran.stderr
