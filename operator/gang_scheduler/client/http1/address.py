"""Where the API server is, and how a connection to it is made."""

import asyncio
import socket
import ssl
import urllib.parse
from dataclasses import dataclass
from typing import Self, TypeGuard

import aiohappyeyeballs

from gang_scheduler.client.http1.channel import Channel

PORTS = {"http": 80, "https": 443}
NEXT_ADDRESS_SECONDS = 0.25
"""After this, the next address of a name is tried beside the first, which may lead nowhere."""


@dataclass(frozen=True)
class Address:
    """A URL, taken apart. `name` is host and port as the Host header says them.

    `tls` is how the server proves that it is who the URL says, None for a URL without TLS.
    """

    host: str
    port: int
    name: str
    path: str
    tls: ssl.SSLContext | None

    @classmethod
    def of(cls, url: str, tls: ssl.SSLContext) -> Self:
        """Take a URL apart. Raises ValueError for one that is not of HTTP."""
        parts = urllib.parse.urlsplit(url)
        if parts.scheme not in PORTS or not _is_name(parts.hostname):
            raise ValueError(f"not the URL of an API server: {url!r}")
        return cls(
            host=parts.hostname,
            port=parts.port or PORTS[parts.scheme],
            name=parts.netloc.rpartition("@")[2],
            path=parts.path.rstrip("/"),
            tls=tls if parts.scheme == "https" else None,
        )

    async def dial(self) -> Channel:
        """Return a new connection. Raises OSError if there is none to be had."""
        loop = asyncio.get_running_loop()
        found = await loop.getaddrinfo(self.host, self.port, type=socket.SOCK_STREAM)
        connected = await aiohappyeyeballs.start_connection(
            found, happy_eyeballs_delay=NEXT_ADDRESS_SECONDS
        )
        _, channel = await loop.create_connection(
            Channel,
            sock=connected,
            ssl=self.tls,
            server_hostname=self.host if self.tls else None,
        )
        return channel


def _is_name(host: str | None) -> TypeGuard[str]:
    try:
        return bool(host and host.encode("idna"))
    except UnicodeError:
        return False
