"""A proxy before the API server that does to some writes what networks and servers do at times.

On loopback, towards the operator in plain HTTP or in TLS, always in TLS towards the API server.
Everything but those writes, which are bindings unless a test says otherwise, passes through as it
is.
"""

import contextlib
import http.client
import http.server
import socket
import ssl
import threading
import time
import urllib.parse
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

import msgspec

from tools.controlplane import access, credentials

READ_BYTES = 1 << 16
HOLD_SECONDS = 120.0
HANDSHAKE_SECONDS = 10.0
PASSED_ON = ("Authorization", "Accept", "Content-Type")
PASSED_BACK = ("Content-Type", "Retry-After")


@dataclass(frozen=True)
class Fault:
    """What happens to one write: whether it reaches the server, and what the operator is told.

    Without an answer the connection is cut; with half of one, in the middle of what the server
    has said. One that is only slow is answered as it is, later.
    """

    forward: bool = False
    half: bool = False
    hold: bool = False
    slow_seconds: float = 0.0
    status: int = 0
    headers: Mapping[str, str] = field(default_factory=dict)


PASS = None
LOSE_ANSWER = Fault(forward=True)
LOSE_REQUEST = Fault()
HOLD = Fault(hold=True)

Choose = Callable[[int, str], Fault | None]
"""From the number of the write, 1 for the first, and its name. PASS: no fault."""
Name = Callable[[str, str, bytes], str]
"""From method, path and body of a request: the name of a write, "" for all that just pass."""


def after(done: int, stage: str) -> Choose:
    """Hold all writes of a stage but the first ones."""
    passed = Counter[str]()

    def choose(_: int, name: str) -> Fault | None:
        passed[name] += 1
        return HOLD if name == stage and passed[name] > done else PASS

    return choose


def bound_pod(method: str, path: str, _body: bytes) -> str:
    """Return the name of the pod that a request binds."""
    pod, _, last = path.partition("?")[0].rpartition("/")
    return pod.rpartition("/")[2] if method == "POST" and last == "binding" else ""


class FaultProxy:
    """The proxy. A context manager. `choose` may be replaced at any time; `start_over` does.

    Watches stall while `flows` is not set. With `key_file`, that of the API server's certificate,
    it speaks TLS with the operator, as the API server itself would.
    """

    def __init__(
        self,
        server: access.Access,
        kubeconfig: Path,
        name: Name = bound_pod,
        *,
        key_file: Path | None = None,
    ) -> None:
        self.kubeconfig = kubeconfig
        self.server = server
        self.name = name
        self.held: list[str] = []
        self.statuses: list[tuple[str, int]] = []
        self._choose: Choose = lambda *_: PASS
        self._writes = 0
        self._released = threading.Event()
        self.flows = threading.Event()
        self.flows.set()
        self._lock = threading.Lock()
        self._upstream: set[http.client.HTTPSConnection] = set()
        self._tls = _serving(server, key_file) if key_file else None
        handler = type("Handler", (_Handler,), {"proxy": self, "tls": self._tls})
        self._listener = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
        self._listener.daemon_threads = True
        self._listener.block_on_close = False
        self._thread = threading.Thread(target=self._listener.serve_forever, daemon=True)

    def __enter__(self) -> Self:
        host, port = self._listener.server_address[:2]
        scheme, ca_file = ("https", self.server.ca_file) if self._tls else ("http", None)
        here = access.Access(f"{scheme}://{host!s}:{port}", ca_file, token=self.server.token)
        credentials.write_kubeconfig(self.kubeconfig, here)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._released.set()
        self.flows.set()
        self._listener.shutdown()
        self._listener.server_close()
        self.cut()

    def cut(self) -> None:
        """Cut all connections."""
        with self._lock:
            for each in self._upstream:
                _cut(each.sock)

    def start_over(self, choose: Choose = lambda *_: PASS) -> None:
        """Drop what is held, count from 1 again, and choose like this from now on."""
        self._released.set()
        with self._lock:
            self._choose, self._writes = choose, 0
            self._released = threading.Event()
            self.held, self.statuses = [], []

    def fault_of(self, name: str) -> tuple[Fault | None, threading.Event]:
        """Decide about one write; hold gates are those of the moment."""
        with self._lock:
            self._writes += 1
            fault = self._choose(self._writes, name)
            if fault is not None and fault.hold:
                self.held.append(name)
            return fault, self._released

    def answered(self, name: str, status: int) -> None:
        """Remember what the API server said to a write."""
        with self._lock:
            self.statuses.append((name, status))

    def passed_on(self, parts: Iterator[bytes]) -> Iterator[bytes]:
        """Yield what a watch is told, of what the API server says; stalls while told to."""
        for part in parts:
            self.flows.wait(HOLD_SECONDS)
            yield part

    @contextlib.contextmanager
    def upstream(self) -> Any:
        """Give a connection to the API server, which ends with the proxy at the latest."""
        address = urllib.parse.urlsplit(self.server.url)
        made = http.client.HTTPSConnection(
            str(address.hostname), address.port, context=self.server.tls(), timeout=600
        )
        with self._lock:
            self._upstream.add(made)
        try:
            yield made
        finally:
            with self._lock:
                self._upstream.discard(made)
            made.close()


def _serving(server: access.Access, key_file: Path) -> ssl.SSLContext:
    """Return what the API server itself shows its clients."""
    if server.ca_file is None:
        raise ValueError("the API server has no certificate of its own")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(server.ca_file, key_file)
    return context


class _Handler(http.server.BaseHTTPRequestHandler):
    """One connection of the operator."""

    proxy: FaultProxy
    tls: ssl.SSLContext | None
    protocol_version = "HTTP/1.1"

    def setup(self) -> None:
        if self.tls is not None:
            self.request = self.tls.wrap_socket(
                self.request, server_side=True, do_handshake_on_connect=False
            )
        super().setup()

    def finish(self) -> None:
        super().finish()
        # The server has the socket that was wrapped, and closes that.
        self.request.close()

    def handle(self) -> None:
        with contextlib.suppress(OSError, http.client.HTTPException), self.proxy.upstream() as up:
            if isinstance(self.request, ssl.SSLSocket):
                self.request.settimeout(HANDSHAKE_SECONDS)
                self.request.do_handshake()
                self.request.settimeout(None)
            self._up = up
            super().handle()

    def log_message(self, *_: object) -> None:
        """Say nothing."""

    def _any(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        name = self.proxy.name(self.command, self.path, body)
        fault, released = self.proxy.fault_of(name) if name else (None, threading.Event())
        if fault is None or fault.slow_seconds:
            time.sleep(fault.slow_seconds if fault else 0.0)
            self._answer(self._forward(body))
            return
        if fault.hold:
            released.wait(HOLD_SECONDS)
        reply = self._forward(body) if fault.forward else None
        said = reply.read() if reply else b""
        if reply and fault.half:
            self._halve(reply, said)
        elif fault.status:
            self._fail(fault)
        else:
            self.close_connection = True
            _cut(self.connection)

    do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = _any  # noqa: N815 - http.server's names.

    def _forward(self, body: bytes) -> http.client.HTTPResponse:
        headers = {key: self.headers[key] for key in PASSED_ON if key in self.headers}
        up: http.client.HTTPSConnection = self._up
        up.request(self.command, self.path, body or None, headers)
        reply = up.getresponse()
        if name := self.proxy.name(self.command, self.path, body):
            self.proxy.answered(name, reply.status)
        return reply

    def _answer(self, reply: http.client.HTTPResponse) -> None:
        headers = {key: reply.headers[key] for key in PASSED_BACK if key in reply.headers}
        if "watch=" not in self.path:
            self._send(reply.status, headers, reply.read())
            return
        self.send_response(reply.status)
        for key, value in {**headers, "Transfer-Encoding": "chunked"}.items():
            self.send_header(key, value)
        self.end_headers()
        for part in self.proxy.passed_on(iter(lambda: reply.read1(READ_BYTES), b"")):
            self.wfile.write(b"%x\r\n%s\r\n" % (len(part), part))
        self.wfile.write(b"0\r\n\r\n")

    def _halve(self, reply: http.client.HTTPResponse, said: bytes) -> None:
        self.send_response(reply.status)
        self.send_header("Content-Type", reply.headers.get("Content-Type", "application/json"))
        self.send_header("Content-Length", str(len(said)))
        self.end_headers()
        self.wfile.write(said[: len(said) // 2])
        self.close_connection = True
        _cut(self.connection)

    def _fail(self, fault: Fault) -> None:
        status = {"kind": "Status", "code": fault.status, "message": "a fault of the test"}
        self._send(
            fault.status,
            {"Content-Type": "application/json", **fault.headers},
            msgspec.json.encode(status),
        )

    def _send(self, status: int, headers: Mapping[str, str], body: bytes) -> None:
        self.send_response(status)
        for key, value in {**headers, "Content-Length": str(len(body))}.items():
            self.send_header(key, value)
        self.end_headers()
        self.wfile.write(body)


def _cut(connection: socket.socket | None) -> None:
    if connection is not None:
        # Not the method of SSLSocket: that one changes what another thread reads from.
        with contextlib.suppress(OSError):
            socket.socket.shutdown(connection, socket.SHUT_RDWR)
