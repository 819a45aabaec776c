"""A server in a thread of its own, which answers while the event loop of a test stands still."""

import contextlib
import socket
import ssl
import threading
from typing import Self

from integration.support.raw_http_server import ok


class ThreadedServer:
    """A context manager. Answers one connection; `written` is set once a POST has come."""

    def __init__(self, tls: ssl.SSLContext | None = None) -> None:
        self.written = threading.Event()
        self._tls = tls
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._thread = threading.Thread(target=self._serve, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        # The thread ends with the connection, which is the client's to close.
        self._listener.close()

    @property
    def url(self) -> str:
        """Its address."""
        port = self._listener.getsockname()[1]
        return f"{'https' if self._tls else 'http'}://127.0.0.1:{port}"

    def _serve(self) -> None:
        connection, _ = self._listener.accept()
        if self._tls:
            connection = self._tls.wrap_socket(connection, server_side=True)
        with contextlib.closing(connection), contextlib.suppress(OSError):
            # What these tests ask comes in one piece.
            while request := connection.recv(1 << 16):
                if request.startswith(b"POST"):
                    self.written.set()
                connection.sendall(ok())
