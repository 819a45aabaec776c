"""A training script tells by annotations of its pod what it has saved, past failures of the way."""

import json
import re
import ssl
import subprocess
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any, Self

import pytest

from gang_scheduler import checkpoint
from gang_scheduler.checkpoint import Checkpoints

PREFIX = "py-gang-scheduler.io/checkpoint-"
TIME = r"20\d\d-\d\d-\d\dT\d\d:\d\d:\d\dZ"


class ApiServer:
    """An API server that gives scripted answers, 200 when there are none left."""

    def __init__(self, certificate: Path) -> None:
        self.answers: list[int] = []
        self.requests: list[tuple[str, dict[str, str], dict[str, Any]]] = []
        self._server = HTTPServer(("127.0.0.1", 0), self._handler())
        tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        tls.load_cert_chain(certificate)
        self._server.socket = tls.wrap_socket(self._server.socket, server_side=True)
        self._thread = threading.Thread(target=self._server.serve_forever)

    @property
    def port(self) -> int:
        """Where it listens."""
        return self._server.server_port

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    def annotations(self) -> list[dict[str, str]]:
        """Return the annotations of each request, without the prefix of all."""
        return [
            {key.removeprefix(PREFIX): value for key, value in body.items()}
            for *_, full in self.requests
            for body in [full["metadata"]["annotations"]]
        ]

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        server = self

        class Handler(BaseHTTPRequestHandler):
            def do_PATCH(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                server.requests.append((self.path, dict(self.headers), body))
                self.send_response(server.answers.pop(0) if server.answers else 200)
                self.send_header("Content-Length", "0")
                self.end_headers()

            def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - its name there.
                """Say nothing."""

        return Handler


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Make a certificate of 127.0.0.1, with its key in the same file."""
    made = tmp_path_factory.mktemp("tls") / "server.pem"
    command = "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2"
    names = ["-subj", "/CN=odd", "-addext", "subjectAltName=IP:127.0.0.1"]
    files = ["-keyout", str(made), "-out", str(made.with_suffix(".crt"))]
    subprocess.run([*command.split(), *names, *files], check=True, capture_output=True)
    made.write_text(made.read_text() + made.with_suffix(".crt").read_text())
    return made


@pytest.fixture
def server(certificate: Path) -> Iterator[ApiServer]:
    with ApiServer(certificate) as started:
        yield started


@pytest.fixture
def request_file(tmp_path: Path) -> Path:
    """Give the file of the downward API volume."""
    (tmp_path / "podinfo").mkdir()
    return tmp_path / "podinfo" / "checkpoint-request-id"


@pytest.fixture
def environ(
    tmp_path: Path,
    certificate: Path,
    server: ApiServer,
    request_file: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> dict[str, str]:
    """Give the variables of a pod that may annotate itself."""
    (tmp_path / "ca.crt").write_text(certificate.with_suffix(".crt").read_text())
    (tmp_path / "token").write_text("first\n")
    (tmp_path / "namespace").write_text("team-a\n")
    monkeypatch.setattr(checkpoint, "PAUSE_SECONDS", 0.0)
    return {
        "CHECKPOINT_REQUEST_FILE": str(request_file),
        "CHECKPOINT_SERVICE_ACCOUNT": str(tmp_path),
        "CHECKPOINT_TERMINATION_LOG": str(tmp_path / "none"),
        "KUBERNETES_SERVICE_HOST": "127.0.0.1",
        "KUBERNETES_SERVICE_PORT": str(server.port),
        "HOSTNAME": "train",
        "POD_NAME": "train-0",
        # What is meant for the training's own downloads.
        "HTTPS_PROXY": "http://127.0.0.1:1",
    }


def test_what_is_saved_is_reported_and_the_request_is_left_as_it_is(
    environ: dict[str, str], server: ApiServer, request_file: Path
) -> None:
    request_file.write_text("one")
    checkpoints = Checkpoints(environ=environ)
    checkpoints.due()
    checkpoints.saved(1200, "s3://a/1200")

    ((path, headers, _),) = server.requests
    (told,) = server.annotations()
    assert "/api/v1/namespaces/team-a/pods/train-0" == path
    assert "Bearer first" == headers["Authorization"]
    assert "application/merge-patch+json" == headers["Content-Type"]
    assert re.fullmatch(TIME, told.pop("done-at"))
    assert {"step": "1200", "path": "s3://a/1200"} == told


def test_the_namespace_may_be_given(environ: dict[str, str], server: ApiServer) -> None:
    Checkpoints(environ={**environ, "POD_NAMESPACE": "team-b"}).saved(7, "/saved/7")

    assert ["/api/v1/namespaces/team-b/pods/train-0"] == [path for path, *_ in server.requests]


def test_a_pod_that_does_not_know_its_name_annotates_none(
    environ: dict[str, str], server: ApiServer, caplog: pytest.LogCaptureFixture
) -> None:
    del environ["POD_NAME"]
    Checkpoints(environ=environ).saved(7, "/saved/7")

    assert [] == server.requests
    assert "POD_NAME is not set" in caplog.text


def test_a_token_is_read_each_time(
    environ: dict[str, str], server: ApiServer, tmp_path: Path
) -> None:
    checkpoints = Checkpoints(environ=environ)
    checkpoints.saved(1, "/saved/1")
    (tmp_path / "token").write_text("second")
    checkpoints.saved(2, "/saved/2")

    sent = [headers["Authorization"] for _, headers, _ in server.requests]
    assert ["Bearer first", "Bearer second"] == sent


def test_a_server_that_is_overloaded_is_asked_again(
    environ: dict[str, str], server: ApiServer, caplog: pytest.LogCaptureFixture
) -> None:
    server.answers = [429, 503]
    Checkpoints(environ=environ).saved(1, "/saved/1")

    assert 3 == len(server.requests)
    assert "" == caplog.text


@pytest.mark.parametrize(("answers", "asked"), [([403], 1), ([500] * 3, 3)])
def test_what_cannot_be_reported_is_a_warning_and_no_error(
    environ: dict[str, str],
    server: ApiServer,
    caplog: pytest.LogCaptureFixture,
    answers: list[int],
    asked: int,
) -> None:
    server.answers = answers
    Checkpoints(environ=environ).saved(1, "/saved/1")

    assert asked == len(server.requests)
    assert "not written to pod train-0" in caplog.text


@pytest.mark.parametrize("lost", ["token", "ca.crt"])
def test_a_pod_without_a_token_or_an_authority_warns(
    environ: dict[str, str],
    server: ApiServer,
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
    lost: str,
) -> None:
    (tmp_path / lost).unlink()
    Checkpoints(environ=environ).saved(1, "/saved/1")

    assert [] == server.requests
    assert "not written to pod train-0" in caplog.text


def test_nothing_is_sent_to_a_server_of_another_authority(
    environ: dict[str, str],
    server: ApiServer,
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
) -> None:
    other = tmp_path / "other.crt"
    command = "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2"
    files = ["-subj", "/CN=other", "-keyout", str(tmp_path / "key"), "-out", str(other)]
    subprocess.run([*command.split(), *files], check=True, capture_output=True)
    (tmp_path / "ca.crt").write_text(other.read_text())
    Checkpoints(environ=environ).saved(1, "/saved/1")

    assert [] == server.requests
    assert "CERTIFICATE_VERIFY_FAILED" in caplog.text


def test_without_the_volume_nothing_is_annotated(
    environ: dict[str, str], server: ApiServer, request_file: Path
) -> None:
    request_file.parent.rmdir()
    Checkpoints(environ=environ).saved(1, "/saved/1")

    assert [] == server.requests
