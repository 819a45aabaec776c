"""A server that answers as S3 does, in a process of its own, and a proxy before it with faults."""

import contextlib
import http.client
import socket
import socketserver
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self

START_SECONDS = 240.0
HOP_BY_HOP = frozenset({"connection", "keep-alive", "transfer-encoding", "content-length"})
CREDENTIALS = {
    "AWS_ACCESS_KEY_ID": "test",
    "AWS_SECRET_ACCESS_KEY": "test",
    "AWS_DEFAULT_REGION": "us-east-1",
}

Fault = Callable[["Request"], None]


@dataclass
class Request:
    """A request on its way: `number` counts from 0 on. A fault may change what becomes of it."""

    number: int
    method: str
    path: str
    status: int = 0
    """Answered without asking the server, if it is not 0."""
    after: Callable[[], object] = field(default=int)
    """Called when the server has done it, and before the client hears of it."""
    cut: bool = False
    """The client hears nothing."""


@contextlib.contextmanager
def server() -> Iterator[str]:
    """Start a server with no bucket, and give its URL."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", str(port)]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        until = time.monotonic() + START_SECONDS
        while True:
            try:
                socket.create_connection(("127.0.0.1", port), timeout=1).close()
                break
            except OSError:
                if process.poll() is not None or time.monotonic() > until:
                    raise
                time.sleep(0.05)
        yield f"http://127.0.0.1:{port}"
    finally:
        process.kill()
        process.wait()


def make_bucket(url: str, name: str) -> None:
    """Make an empty bucket."""
    connection = http.client.HTTPConnection(url.partition("//")[2])
    # The server looks at no signature, but at the service that it names.
    scope = "AWS4-HMAC-SHA256 Credential=test/20260101/us-east-1/s3/aws4_request"
    connection.request("PUT", f"/{name}", headers={"Authorization": scope})
    assert connection.getresponse().status == 200
    connection.close()


class Proxy:
    """Passes requests on, and shows each of them to a fault. A context manager."""

    def __init__(self, url: str) -> None:
        self._target = url.partition("//")[2]
        self._lock = threading.Lock()
        self.begin()
        proxy = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def handle_one_request(self) -> None:
                with contextlib.suppress(ConnectionError):
                    super().handle_one_request()

            def log_message(self, *_: Any) -> None:
                pass

            def _pass_on(self) -> None:
                proxy._pass_on(self)

            do_GET = do_HEAD = do_PUT = do_POST = do_DELETE = _pass_on  # noqa: N815 - of the base.

        class Server(ThreadingHTTPServer):
            daemon_threads = True

            def handle_error(self, *_: Any) -> None:
                """Say nothing: the connection of a client that is killed breaks."""

        self._server: socketserver.BaseServer = Server(("127.0.0.1", 0), Handler)
        self.url = "http://127.0.0.1:%d" % self._server.server_address[1]  # noqa: UP031 - a tuple.

    def begin(self, fault: Fault = lambda _: None) -> None:
        """Count from 0 again, and have other faults."""
        with self._lock:
            self.requests: list[Request] = []
            self._fault = fault

    def __enter__(self) -> Self:
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()

    def _pass_on(self, client: BaseHTTPRequestHandler) -> None:
        body = _body(client)
        with self._lock:
            request = Request(len(self.requests), client.command, client.path)
            self.requests.append(request)
            fault = self._fault
        fault(request)
        if request.status:
            return _answer(client, request.status, {}, b"")
        connection = http.client.HTTPConnection(self._target)
        headers = {k: v for k, v in client.headers.items() if k.lower() not in HOP_BY_HOP}
        connection.request(client.command, client.path, body, headers)
        response = connection.getresponse()
        content = response.read()
        connection.close()
        request.after()
        if request.cut:
            client.close_connection = True
            return None
        return _answer(client, response.status, dict(response.getheaders()), content)


def _body(client: BaseHTTPRequestHandler) -> bytes:
    if client.headers.get("Transfer-Encoding", "").lower() != "chunked":
        return client.rfile.read(int(client.headers.get("Content-Length") or 0))
    chunks = []
    while size := int(client.rfile.readline().split(b";")[0], 16):
        chunks.append(client.rfile.read(size))
        client.rfile.readline()
    while client.rfile.readline().strip():
        pass
    return b"".join(chunks)


def _answer(
    client: BaseHTTPRequestHandler, status: int, headers: dict[str, str], content: bytes
) -> None:
    client.send_response_only(status)
    length = str(len(content))
    for name, value in headers.items():
        if name.lower() == "content-length" and client.command == "HEAD":
            length = value
        elif name.lower() not in HOP_BY_HOP:
            client.send_header(name, value)
    client.send_header("Content-Length", length)
    client.end_headers()
    if client.command != "HEAD":
        client.wfile.write(content)
