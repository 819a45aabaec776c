"""The logs of containers are served as by a kubelet: whole, followed to their end, or not found."""

import ssl
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest

from tools.kubelet import logs


class Containers:
    """The container of the pod n/a, which runs until it is ended."""

    def __init__(self, log: Path) -> None:
        self.log = log
        self.runs = True

    def find(self, namespace: str, name: str) -> logs.Log | None:
        """Return its log."""
        return (self.log, self.runs) if (namespace, name) == ("n", "a") else None


@pytest.fixture
def containers(tmp_path: Path) -> Containers:
    log = tmp_path / "a.log"
    log.write_text("one\n")
    return Containers(log)


@pytest.fixture
def port(tmp_path: Path, containers: Containers) -> Iterator[int]:
    with logs.serving(tmp_path, containers.find) as found:
        yield found


def get(port: int, path: str) -> str:
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    with urllib.request.urlopen(
        f"https://{logs.ADDRESS}:{port}/{path}", context=context, timeout=20
    ) as answer:
        found: bytes = answer.read()
    return found.decode()


def test_what_was_written_so_far_is_the_log(port: int) -> None:
    assert "one\n" == get(port, "containerLogs/n/a/main")


def test_a_log_is_followed_to_the_end_of_its_container(port: int, containers: Containers) -> None:
    def write() -> None:
        time.sleep(2 * logs.PAUSE_SECONDS)
        with containers.log.open("a") as file:
            file.write("two\n")
        containers.runs = False

    writing = threading.Thread(target=write)
    writing.start()

    assert "one\ntwo\n" == get(port, "containerLogs/n/a/main?follow=true")
    writing.join()


@pytest.mark.parametrize("path", ["containerLogs/n/b/main", "containerLogs/n/a", "pods", ""])
def test_all_else_is_not_found(port: int, path: str) -> None:
    with pytest.raises(urllib.error.HTTPError, match="404"):
        get(port, path)
