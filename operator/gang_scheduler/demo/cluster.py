"""The cluster of the demo: the embedded API server, and the operator in its own process."""

import asyncio
import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import IO, Any, Final, NamedTuple, Protocol

from gang_scheduler.api.kinds import GVR
from gang_scheduler.embedded.server import Server

OURS: Final = "PGS_"
FOREIGN: Final = ("KUBECONFIG", "KUBERNETES_SERVICE_HOST", "KUBERNETES_SERVICE_PORT")
"""Variables by which a process may find another cluster than the demo's."""
START_SECONDS: Final = 60.0
GRACE_SECONDS: Final = 5.0
POLL_SECONDS: Final = 0.05
LAST_LINES: Final = 20
NOT_FOUND: Final = 404
FLAGS: Final = ("--no-leader-elect", "--manage-job=Job", "--log-format=console")


class DemoFailed(Exception):  # noqa: N818 - named after the problem.
    """The demo cannot continue."""


class Cluster(Protocol):
    """A cluster, with its administrator's access."""

    @property
    def kubeconfig(self) -> Path:
        """The kubeconfig, for the operator and for commands."""

    def request(self, method: str, path: str, body: Mapping[str, Any] | None = None) -> Any:  # noqa: ANN401 - any JSON.
        """Send a request and return the answer. Raises an exception if it is refused."""


class Embedded:
    """An API server in a thread of this process, and access to it."""

    def __init__(self, server: Server, kubeconfig: Path) -> None:
        self._server = server
        self._url = server.url
        self._kubeconfig = kubeconfig

    @property
    def url(self) -> str:
        """The address of the server."""
        return self._url

    @property
    def kubeconfig(self) -> Path:
        """The kubeconfig, for the operator and for commands."""
        return self._kubeconfig

    def problems(self) -> list[str]:
        """Return the latest errors of the server's controllers."""
        return self._server.problems

    def request(self, method: str, path: str, body: Mapping[str, Any] | None = None) -> Any:  # noqa: ANN401
        """Send a request and return the answer. Raises DemoFailed if it is refused."""
        content = None if body is None else json.dumps(body).encode()
        headers = {"Content-Type": "application/json"}
        asked = urllib.request.Request(self._url + path, content, headers, method=method)  # noqa: S310 - the embedded one.
        try:
            with _direct.open(asked, timeout=10) as answer:
                return json.loads(answer.read())
        except urllib.error.HTTPError as error:
            told = json.loads(error.read()).get("message", "")
            raise DemoFailed(f"{method} {path}: {error.code} {told}") from error


@contextlib.contextmanager
def embedded(port: int = 0, *, controllers: bool = True) -> Iterator[Embedded]:
    """Run an embedded API server with controllers and kubelets until the block ends."""
    serving: list[Server] = []
    ready, over = threading.Event(), _Over()

    async def serve() -> None:
        over.loop = asyncio.get_running_loop()
        try:
            async with Server(controllers=controllers, port=port) as server:
                serving.append(server)
                ready.set()
                await over.event.wait()
        except OSError:
            # If the port is taken, the caller gets the error, without a traceback of this thread.
            if serving:
                raise
        finally:
            ready.set()

    thread = threading.Thread(target=lambda: asyncio.run(serve()), name="embedded", daemon=True)
    thread.start()
    ready.wait(START_SECONDS)
    if not serving:
        raise DemoFailed(f"the embedded API server cannot listen on port {port} of 127.0.0.1")
    with tempfile.TemporaryDirectory(prefix="py-gang-scheduler-demo-") as directory:
        kubeconfig = Path(directory) / "kubeconfig"
        kubeconfig.write_text(json.dumps(_kubeconfig(serving[0].url)))
        try:
            yield Embedded(serving[0], kubeconfig)
        finally:
            over.set()
            thread.join(GRACE_SECONDS)


@contextlib.contextmanager
def operator(kubeconfig: Path, *flags: str) -> Iterator[Path]:
    """Run the operator until the block ends. It is ready when the block begins.

    Yields the log.
    """
    port = free_port()
    with tempfile.TemporaryDirectory(prefix="py-gang-scheduler-demo-") as directory:
        log = Path(directory) / "operator.log"
        where = [f"--kubeconfig={kubeconfig}", "--http-host=127.0.0.1", f"--http-port={port}"]
        command = [sys.executable, "-m", "gang_scheduler", "run", *where, *FLAGS, *flags]
        with log.open("wb") as file:
            process = subprocess.Popen(  # noqa: S603 - ourselves.
                command, stdin=subprocess.DEVNULL, stdout=file, stderr=file, env=environment()
            )
        try:
            _wait_until_ready(process, port, log)
            yield log
            if process.poll() is not None:
                raise DemoFailed(f"the operator ended by itself:\n{tail(log)}")
        finally:
            _end(process)


class Page(NamedTuple):
    """The page of a cluster: its address, for one browser; "" if it did not start, and why not."""

    address: str
    problem: str = ""


@contextlib.contextmanager
def page(kubeconfig: Path, *flags: str) -> Iterator[Page]:
    """Serve the page of a cluster until the block ends, if it starts."""
    with tempfile.TemporaryFile("w+") as errors:
        process = subprocess.Popen(  # noqa: S603 - ourselves.
            [sys.executable, "-m", "gang_scheduler", "page", f"--kubeconfig={kubeconfig}", *flags],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
            env=environment(),
        )
        try:
            address = process.stdout.readline().strip() if process.stdout is not None else ""
            yield Page(address, "" if address else _why_ended(process, errors))
        finally:
            _end(process)
            if process.stdout is not None:
                process.stdout.close()


def command(kubeconfig: Path, *words: str) -> str:
    """Return the output of a command of this product that reads a cluster."""
    done = subprocess.run(  # noqa: S603 - ourselves.
        [sys.executable, "-m", "gang_scheduler", *words, f"--kubeconfig={kubeconfig}"],
        capture_output=True,
        text=True,
        check=False,
        env={**environment(), "COLUMNS": "80"},
    )
    if done.returncode:
        raise DemoFailed(f"py-gang-scheduler {' '.join(words)}: {done.stderr}{done.stdout}")
    return done.stdout


def environment() -> dict[str, str]:
    """Return the environment variables, except those that name another cluster or are settings."""
    return {
        name: value
        for name, value in os.environ.items()
        if name not in FOREIGN and not name.startswith(OURS)
    }


def create(cluster: Cluster, gvr: GVR, body: Mapping[str, Any]) -> None:
    """Create an object."""
    cluster.request("POST", gvr.path(body["metadata"].get("namespace", "")), body)


def items(cluster: Cluster, gvr: GVR, namespace: str = "") -> list[dict[str, Any]]:
    """Return all objects of a kind, in a namespace if one is named."""
    found: list[dict[str, Any]] = cluster.request("GET", gvr.path(namespace))["items"]
    return found


def tail(log: Path) -> str:
    """Return the last lines of a log file."""
    return "\n".join(log.read_text(errors="replace").splitlines()[-LAST_LINES:])


def free_port() -> int:
    """Return a free port of this machine."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


class _Over:
    """An event that ends the server, set from another thread."""

    def __init__(self) -> None:
        self.event = asyncio.Event()
        self.loop: asyncio.AbstractEventLoop | None = None

    def set(self) -> None:
        if self.loop is not None and not self.loop.is_closed():
            self.loop.call_soon_threadsafe(self.event.set)


# Requests to this machine must not go through the user's proxy.
_direct = urllib.request.build_opener(urllib.request.ProxyHandler({}))


def _wait_until_ready(process: "subprocess.Popen[bytes]", port: int, log: Path) -> None:
    deadline = time.monotonic() + START_SECONDS
    while not _answers(f"http://127.0.0.1:{port}/readyz"):
        if process.poll() is not None or time.monotonic() > deadline:
            raise DemoFailed(f"the operator does not get ready; its log ends with:\n{tail(log)}")
        time.sleep(POLL_SECONDS)


def _answers(url: str) -> bool:
    try:
        with _direct.open(url, timeout=2) as answer:
            return bool(answer.status == 200)
    except OSError:
        return False


def _why_ended(process: "subprocess.Popen[str]", errors: IO[str]) -> str:
    """Return in one line what a process said when it ended by itself."""
    _end(process)
    errors.seek(0)
    said = [line.strip() for line in errors if line.strip()]
    return said[-1] if said else f"it ended with status {process.returncode}"


def _end(process: "subprocess.Popen[Any]") -> None:
    process.send_signal(signal.SIGTERM)
    try:
        process.wait(GRACE_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def _kubeconfig(url: str) -> dict[str, Any]:
    name = "py-gang-scheduler-demo"
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": name, "cluster": {"server": url}}],
        "users": [{"name": name, "user": {}}],
        "contexts": [{"name": name, "context": {"cluster": name, "user": name}}],
        "current-context": name,
    }
