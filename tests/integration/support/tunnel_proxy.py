"""A proxy that makes tunnels, or answers with any bytes instead."""

import asyncio
import contextlib
from typing import Self

import anyio

READ_BYTES = 1 << 16


class TunnelProxy:
    """Use as an async context manager. `asked` is the head of every request for a tunnel.

    A `reply` of its own is sent instead of a tunnel.
    """

    def __init__(self, reply: bytes = b"") -> None:
        self.asked: list[str] = []
        self._reply = reply
        self._tasks: set[asyncio.Task[None]] = set()

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._connected, "127.0.0.1", 0)
        return self

    async def __aexit__(self, *_: object) -> None:
        self._server.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self._server.wait_closed()

    def url(self, user: str = "") -> str:
        """Return its address, as a kubeconfig writes it."""
        port = self._server.sockets[0].getsockname()[1]
        return f"http://{user}127.0.0.1:{port}"

    async def _connected(self, near: asyncio.StreamReader, back: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        with contextlib.suppress(OSError, asyncio.IncompleteReadError, asyncio.CancelledError):
            await self._answer(near, back)
        back.transport.abort()

    async def _answer(self, near: asyncio.StreamReader, back: asyncio.StreamWriter) -> None:
        head = (await near.readuntil(b"\r\n\r\n")).decode()
        self.asked.append(head)
        if self._reply:
            back.write(self._reply)
            await back.drain()
            back.close()
            return
        host, _, port = head.split()[1].rpartition(":")
        far, forth = await asyncio.open_connection(host, int(port))
        back.write(b"HTTP/1.1 200 Connection established\r\n\r\n")
        try:
            async with anyio.create_task_group() as group:
                group.start_soon(_pass, near, forth)
                group.start_soon(_pass, far, back)
        finally:
            forth.transport.abort()


async def _pass(source: asyncio.StreamReader, sink: asyncio.StreamWriter) -> None:
    while received := await source.read(READ_BYTES):
        sink.write(received)
        await sink.drain()
    sink.close()
