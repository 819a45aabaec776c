"""How a connection to the API server is made, through a tunnel where a proxy is on the way."""

import asyncio
import socket

import aiohappyeyeballs

from gang_scheduler.client.address import Address
from gang_scheduler.client.http1.channel import Channel
from gang_scheduler.client.http1.tunnel import open_tunnel

NEXT_ADDRESS_SECONDS = 0.25
"""After this, the next address of a name is tried beside the first, which may lead nowhere."""


async def dial(address: Address) -> Channel:
    """Return a new connection. Raises OSError if there is none to be had."""
    if address.proxy is None:
        return await _begin(address, await _connected(address.host, address.port))
    connected = await _connected(address.proxy.host, address.proxy.port)
    try:
        await open_tunnel(address.proxy, connected, _target(address))
    except BaseException:
        connected.close()
        raise
    return await _begin(address, connected)


async def _begin(address: Address, connected: socket.socket) -> Channel:
    _, channel = await asyncio.get_running_loop().create_connection(
        Channel,
        sock=connected,
        ssl=address.tls,
        server_hostname=address.host if address.tls else None,
    )
    return channel


def _target(address: Address) -> str:
    host = f"[{address.host}]" if ":" in address.host else address.host
    return f"{host}:{address.port}"


async def _connected(host: str, port: int) -> socket.socket:
    found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return await aiohappyeyeballs.start_connection(found, happy_eyeballs_delay=NEXT_ADDRESS_SECONDS)
