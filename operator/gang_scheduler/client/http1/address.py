"""Where the API server is, and how a connection to it is made."""

import asyncio
import socket
import ssl
import urllib.parse
from dataclasses import dataclass
from typing import Self, TypeGuard

import aiohappyeyeballs

from gang_scheduler.client.http1.channel import Channel
from gang_scheduler.client.http1.proxy import Proxy

PORTS = {"http": 80, "https": 443}
NEXT_ADDRESS_SECONDS = 0.25
"""After this, the next address of a name is tried beside the first, which may lead nowhere."""


@dataclass(frozen=True)
class Address:
    """A URL, taken apart. `name` is host and port as the Host header says them.

    `tls` is how the server proves that it is who the URL says, None for a URL without TLS. With a
    `proxy` it is reached through a tunnel.
    """

    host: str
    port: int
    name: str
    path: str
    tls: ssl.SSLContext | None
    proxy: Proxy | None = None

    @classmethod
    def of(cls, url: str, tls: ssl.SSLContext, proxy: Proxy | None = None) -> Self:
        """Take a URL apart. Raises ValueError for one that is not of HTTP, or has no tunnel."""
        parts = urllib.parse.urlsplit(url)
        if parts.scheme not in PORTS or not _is_name(parts.hostname):
            raise ValueError(f"not the URL of an API server: {url!r}")
        if proxy is not None and parts.scheme != "https":
            raise ValueError(f"proxy-url: a server without TLS is not asked through it: {url!r}")
        return cls(
            host=parts.hostname,
            port=parts.port or PORTS[parts.scheme],
            name=parts.netloc.rpartition("@")[2],
            path=parts.path.rstrip("/"),
            tls=tls if parts.scheme == "https" else None,
            proxy=proxy,
        )

    async def dial(self) -> Channel:
        """Return a new connection. Raises OSError if there is none to be had."""
        if self.proxy is None:
            return await self._begin(await _connected(self.host, self.port))
        connected = await _connected(self.proxy.host, self.proxy.port)
        try:
            await self.proxy.open_tunnel(connected, self._target)
        except BaseException:
            connected.close()
            raise
        return await self._begin(connected)

    async def _begin(self, connected: socket.socket) -> Channel:
        _, channel = await asyncio.get_running_loop().create_connection(
            Channel,
            sock=connected,
            ssl=self.tls,
            server_hostname=self.host if self.tls else None,
        )
        return channel

    @property
    def _target(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{host}:{self.port}"


async def _connected(host: str, port: int) -> socket.socket:
    found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return await aiohappyeyeballs.start_connection(found, happy_eyeballs_delay=NEXT_ADDRESS_SECONDS)


def _is_name(host: str | None) -> TypeGuard[str]:
    try:
        return bool(host and host.encode("idna"))
    except UnicodeError:
        return False
