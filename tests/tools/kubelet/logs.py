"""Serves the logs of containers as a kubelet does, to the API server of this machine."""

import contextlib
import http.server
import ssl
import subprocess
import threading
import time
import urllib.parse
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

ADDRESS: Final = "127.0.0.1"
PAUSE_SECONDS: Final = 0.2
Log = tuple[Path, bool]
"""The file that a container writes, and whether it still runs."""
Find = Callable[[str, str], Log | None]
"""Returns the log of a pod by namespace and name."""


@contextlib.contextmanager
def serving(directory: Path, find: Find) -> Iterator[int]:
    """Serve logs until the block ends; give the port, for the status of nodes."""

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            _answer(self, find)

        def log_message(self, *_: object) -> None:
            """Write nothing."""

    server = http.server.ThreadingHTTPServer((ADDRESS, 0), Handler)
    server.daemon_threads = True
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(*_certificate(directory))
    server.socket = context.wrap_socket(server.socket, server_side=True)
    running = threading.Thread(target=server.serve_forever, daemon=True)
    running.start()
    try:
        yield server.server_port
    finally:
        server.shutdown()
        server.server_close()


def _answer(request: http.server.BaseHTTPRequestHandler, find: Find) -> None:
    asked = urllib.parse.urlsplit(request.path)
    _, what, *words = asked.path.split("/")
    named = len(words) == 3 and what == "containerLogs"
    if not named or find(words[0], words[1]) is None:
        request.send_error(404)
        return
    request.send_response(200)
    request.send_header("Content-Type", "text/plain")
    request.end_headers()
    follows = urllib.parse.parse_qs(asked.query).get("follow") == ["true"]
    # The reader may be gone at any time.
    with contextlib.suppress(OSError):
        for part in _parts(lambda: find(words[0], words[1]), follows=follows):
            request.wfile.write(part)
            request.wfile.flush()


def _parts(look: Callable[[], Log | None], *, follows: bool) -> Iterator[bytes]:
    place = 0
    while found := look():
        path, runs = found
        with path.open("rb") as file:
            file.seek(place)
            part = file.read()
        place += len(part)
        yield part
        if not follows or not runs:
            return
        time.sleep(PAUSE_SECONDS)


def _certificate(directory: Path) -> tuple[Path, Path]:
    """Return a new certificate, which the API server does not verify, and its key."""
    files = directory / "kubelet.crt", directory / "kubelet.key"
    command = ["openssl", "req", "-x509", "-nodes", "-newkey", "rsa:2048", "-days", "30"]
    command += ["-subj", "/CN=kubelet", "-out", str(files[0]), "-keyout", str(files[1])]
    subprocess.run(command, capture_output=True, check=True)
    return files
