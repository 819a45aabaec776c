"""The way to an API server: address and credentials, and a small HTTP client on top.

Written with the standard library alone, so that tests observe the product through none of the
product's own code.
"""

import contextlib
import http.client
import json
import socket
import ssl
import urllib.parse
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from tools.controlplane import errors

REQUEST_TIMEOUT_SECONDS = 30.0
READ_BYTES = 1 << 20
CONTENT_TYPES = {"PATCH": "application/strategic-merge-patch+json"}


class RefusedError(errors.ControlPlaneError):
    """The API server answered with an error status."""

    def __init__(self, status: int, body: Mapping[str, Any]) -> None:
        self.status = status
        super().__init__(f"the API server answered {status}: {body.get('message', '')}")


@dataclass(frozen=True)
class Access:
    """Everything a client needs; a cluster uses a token or a client certificate."""

    url: str
    ca_file: Path | None = None
    token: str | None = None
    certificate_file: Path | None = None
    key_file: Path | None = None

    def headers(self) -> dict[str, str]:
        """Return the headers that identify the client."""
        return {"Authorization": f"Bearer {self.token}"} if self.token else {}

    def tls(self) -> ssl.SSLContext:
        """Return a TLS context that trusts this API server and no other."""
        context = ssl.create_default_context(cafile=self.ca_file)
        if self.certificate_file:
            context.load_cert_chain(self.certificate_file, self.key_file)
        return context


@dataclass(frozen=True)
class Reply:
    """The answer to one request; the body is {} where the server sent no JSON."""

    status: int
    body: dict[str, Any]

    def check(self) -> Self:
        """Return itself, or raise RefusedError with the server's message."""
        if self.status >= 400:
            raise RefusedError(self.status, self.body)
        return self


class Client:
    """One kept-alive connection, for one thread. Raises OSError or HTTPException when it breaks."""

    def __init__(self, access: Access, timeout_seconds: float = REQUEST_TIMEOUT_SECONDS) -> None:
        address = urllib.parse.urlsplit(access.url)
        self._headers = access.headers()
        place = (str(address.hostname), address.port)
        self._connection = (
            http.client.HTTPConnection(*place, timeout=timeout_seconds)
            if address.scheme == "http"
            else http.client.HTTPSConnection(*place, context=access.tls(), timeout=timeout_seconds)
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._connection.close()

    def request(self, method: str, path: str, body: Mapping[str, Any] | None = None) -> Reply:
        """Send one request and read its whole answer."""
        payload = None if body is None else json.dumps(body)
        kind = {"Content-Type": CONTENT_TYPES.get(method, "application/json")}
        self._connection.request(method, path, payload, {**self._headers, **kind})
        return _reply(self._connection.getresponse())

    def lines(self, path: str) -> Iterator[bytes]:
        """Return, once the server has begun to answer, the lines of a watch as they come."""
        self._connection.request("GET", path, headers=self._headers)
        response = self._connection.getresponse()
        if response.status >= 400:
            _reply(response).check()
        return _lines(response)

    def interrupt(self) -> None:
        """Break off the request in progress, from another thread."""
        if connected := self._connection.sock:
            # Not the method of SSLSocket: that one changes what the other thread reads from.
            with contextlib.suppress(OSError):
                socket.socket.shutdown(connected, socket.SHUT_RDWR)


def _reply(response: http.client.HTTPResponse) -> Reply:
    content = response.read()
    is_json = response.headers.get_content_type() == "application/json"
    return Reply(response.status, json.loads(content) if is_json else {})


def _lines(response: http.client.HTTPResponse) -> Iterator[bytes]:
    pending = b""
    while received := response.read1(READ_BYTES):
        *lines, pending = (pending + received).split(b"\n")
        yield from lines
