"""The HTTP proxy between here and the API server, if there is one: it is asked for a tunnel."""

import asyncio
import base64
import socket
import urllib.parse
from dataclasses import dataclass
from typing import Self

DEFAULT_PORT = 80
LONGEST_REPLY = 1 << 14
"""In bytes. A proxy that refuses may send a page along, of which the first line is enough."""


class ProxyError(ConnectionError):
    """The proxy makes no way to the API server."""


@dataclass(frozen=True)
class Proxy:
    """Where a proxy listens. `authorization` is what it is told of us, "" for nothing."""

    host: str
    port: int
    authorization: str = ""

    @classmethod
    def of(cls, url: str) -> Self:
        """Take a proxy-url apart. Raises ValueError for a proxy of another kind than http."""
        parts = urllib.parse.urlsplit(url)
        if parts.scheme != "http" or not parts.hostname:
            # The URL may hold a password.
            known = f"{parts.scheme}://" if "://" in url else "one without a scheme"
            raise ValueError(f"proxy-url: only proxies of http:// are supported, not {known}")
        return cls(parts.hostname, parts.port or DEFAULT_PORT, _authorization(parts))

    async def open_tunnel(self, connected: socket.socket, target: str) -> None:
        """Have all that follows on a connection to the proxy passed on. Raises OSError."""
        loop = asyncio.get_running_loop()
        lines = [f"CONNECT {target} HTTP/1.1", f"Host: {target}"]
        if self.authorization:
            lines.append(f"Proxy-Authorization: {self.authorization}")
        await loop.sock_sendall(connected, "\r\n".join([*lines, "", ""]).encode())
        reply = b""
        while b"\r\n\r\n" not in reply and len(reply) < LONGEST_REPLY:
            received = await loop.sock_recv(connected, LONGEST_REPLY)
            if not received:
                break
            reply += received
        self._check(reply)

    def _check(self, reply: bytes) -> None:
        """Raise unless the tunnel is open, and nothing has come out of it yet."""
        status, _, _ = reply.partition(b"\r\n")
        version, code, *_ = [*status.split(b" ", 2), b"", b""]
        # The API server speaks after us: what follows at once is no tunnel's.
        if version.startswith(b"HTTP/1.") and code == b"200" and reply.endswith(b"\r\n\r\n"):
            return
        told = status[:200].decode(errors="replace") or "nothing"
        raise ProxyError(f"the proxy {self.host}:{self.port} makes no way: it answers {told!r}")


def _authorization(parts: urllib.parse.SplitResult) -> str:
    if parts.username is None:
        return ""
    pair = f"{urllib.parse.unquote(parts.username)}:{urllib.parse.unquote(parts.password or '')}"
    return "Basic " + base64.b64encode(pair.encode()).decode()
