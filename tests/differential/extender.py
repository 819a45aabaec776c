"""The ear: an HTTP extender of kube-scheduler that notes which nodes passed, and lets none pass.

kube-scheduler sends the nodes that passed its own filters. All are refused with one reason, so the
pod stays pending, and the reasons in its condition are kube-scheduler's for all other nodes.
"""

import http.server
import json
import threading
from typing import Any, Final, Self

OVERHEARD: Final = "node(s) passed"


class Extender:
    """Serves on a free port. A context manager: leaving it ends it."""

    def __init__(self) -> None:
        self.passed: dict[str, frozenset[str]] = {}
        handler = type("Handler", (_Handler,), {"extender": self})
        self._server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    @property
    def url(self) -> str:
        """Where kube-scheduler finds it."""
        return f"http://127.0.0.1:{self._server.server_port}"

    def filter(self, question: dict[str, Any]) -> dict[str, Any]:
        """Note the nodes of a question, and refuse them all."""
        names = question["NodeNames"] or []
        self.passed[question["Pod"]["metadata"]["uid"]] = frozenset(names)
        return {"NodeNames": [], "FailedNodes": dict.fromkeys(names, OVERHEARD)}


class _Handler(http.server.BaseHTTPRequestHandler):
    extender: Extender
    protocol_version = "HTTP/1.1"
    # Else every answer waits for the acknowledgement of its headers.
    disable_nagle_algorithm = True
    wbufsize = -1

    def do_POST(self) -> None:
        """Answer a question of kube-scheduler."""
        question = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        answer = json.dumps(self.extender.filter(question)).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def log_message(self, *_: object) -> None:
        """Say nothing."""
