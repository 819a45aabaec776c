"""A way through the HTTP proxy between here and the API server: a tunnel, by CONNECT."""

import asyncio
import socket

from gang_scheduler.client.address import Proxy

LONGEST_REPLY = 1 << 14
"""In bytes. A proxy that refuses may send a page along, of which the first line is enough."""


class ProxyError(ConnectionError):
    """The proxy makes no way to the API server."""


async def open_tunnel(proxy: Proxy, connected: socket.socket, target: str) -> None:
    """Have all that follows on a connection to the proxy passed on. Raises OSError."""
    loop = asyncio.get_running_loop()
    lines = [f"CONNECT {target} HTTP/1.1", f"Host: {target}"]
    if proxy.authorization:
        lines.append(f"Proxy-Authorization: {proxy.authorization}")
    await loop.sock_sendall(connected, "\r\n".join([*lines, "", ""]).encode())
    reply = b""
    while b"\r\n\r\n" not in reply and len(reply) < LONGEST_REPLY:
        received = await loop.sock_recv(connected, LONGEST_REPLY)
        if not received:
            break
        reply += received
    _check(proxy, reply)


def _check(proxy: Proxy, reply: bytes) -> None:
    """Raise unless the tunnel is open, and nothing has come out of it yet."""
    status, _, _ = reply.partition(b"\r\n")
    version, code, *_ = [*status.split(b" ", 2), b"", b""]
    # The API server speaks after us: what follows at once is no tunnel's.
    if version.startswith(b"HTTP/1.") and code == b"200" and reply.endswith(b"\r\n\r\n"):
        return
    told = status[:200].decode(errors="replace") or "nothing"
    raise ProxyError(f"the proxy {proxy.host}:{proxy.port} makes no way: it answers {told!r}")
