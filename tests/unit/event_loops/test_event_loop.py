"""Descriptors of connections that break while they are made."""

import asyncio
import os
import socket
import ssl
from collections.abc import Iterator

import pytest

from gang_scheduler.event_loops import EventLoop
from support import sockets


@pytest.fixture
def listener() -> Iterator[socket.socket]:
    with socket.create_server(("127.0.0.1", 0)) as found:
        yield found


def test_a_connection_that_breaks_at_birth_closes_no_descriptor_of_another(
    listener: socket.socket,
) -> None:
    with asyncio.Runner(loop_factory=EventLoop) as runner:
        runner.run(_break_and_connect(listener))


async def _break_and_connect(listener: socket.socket) -> None:
    loop = asyncio.get_running_loop()
    broken = _connected(listener, reset=True)
    number = broken.fileno()
    with pytest.raises(OSError, match=r"reset|pipe|closed"):
        await loop.create_connection(
            asyncio.Protocol, sock=broken, ssl=ssl.create_default_context(), server_hostname="x"
        )
    await asyncio.sleep(0)

    healthy = _connected(listener)
    assert number == healthy.fileno(), "the number is free again"
    transport, _ = await loop.create_connection(asyncio.Protocol, sock=healthy)
    broken.close()
    del broken

    os.fstat(number)
    transport.abort()


async def _give(listener: socket.socket) -> None:
    loop = asyncio.get_running_loop()
    given = _connected(listener)
    transport, _ = await loop.create_connection(asyncio.Protocol, sock=given)
    assert -1 == given.fileno()
    transport.abort()


def test_a_socket_that_is_given_is_the_loops_own(listener: socket.socket) -> None:
    with asyncio.Runner(loop_factory=EventLoop) as runner:
        runner.run(_give(listener))


def _connected(listener: socket.socket, *, reset: bool = False) -> socket.socket:
    """Return a connection, which the other side may have reset by now."""
    found = socket.create_connection(listener.getsockname())
    other, _ = listener.accept()
    if reset:
        sockets.reset(other)
    else:
        # Kept open for as long as the process of the test runs.
        other.detach()
    return found
