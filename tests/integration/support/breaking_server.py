"""A TLS server on a thread of its own, which breaks connections at any point of their lives."""

import asyncio
import contextlib
import socket
import ssl
import threading
from random import Random
from typing import Self

from support import sockets


class BreakingServer:
    """Use as a context manager. It answers with the path that was asked for, if it answers.

    Two of three connections break: before, in or after the handshake, or instead of an answer.
    With `is_calm` none does.
    """

    def __init__(self, tls: ssl.SSLContext, seed: int) -> None:
        self.is_calm = False
        self._tls = tls
        self._dice = Random(seed)  # noqa: S311 - for faults, not for secrets.
        self._listener = socket.create_server(("127.0.0.1", 0), backlog=512)
        self._listener.settimeout(0)
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_until_complete, args=[self._serve()])
        self._ends = asyncio.Event()
        self._accepted: list[socket.socket] = []

    @property
    def url(self) -> str:
        """Its address."""
        return f"https://127.0.0.1:{self._listener.getsockname()[1]}"

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._loop.call_soon_threadsafe(self._ends.set)
        self._thread.join()
        self._loop.close()
        for each in (self._listener, *self._accepted):
            each.close()

    async def _serve(self) -> None:
        accepting = asyncio.create_task(self._accept())
        await self._ends.wait()
        others = asyncio.all_tasks() - {asyncio.current_task()}
        for each in others:
            each.cancel()
        await asyncio.gather(accepting, *others, return_exceptions=True)

    async def _accept(self) -> None:
        tasks = set()
        while True:
            accepted, _ = await self._loop.sock_accept(self._listener)
            self._accepted.append(accepted)
            tasks.add(task := asyncio.create_task(self._live(accepted)))
            task.add_done_callback(tasks.discard)

    async def _live(self, accepted: socket.socket) -> None:
        fate = 1.0 if self.is_calm else self._dice.random()
        if fate < 0.3:
            # A client may write its first bytes before the reset comes, or after it.
            await asyncio.sleep(self._dice.choice((0, 0, 0.001, 0.01)))
            sockets.reset(accepted)
        elif fate < 0.4:
            accepted.close()
        else:
            with contextlib.suppress(OSError, asyncio.IncompleteReadError):
                await self._answer(accepted)

    async def _answer(self, accepted: socket.socket) -> None:
        source = asyncio.StreamReader()
        protocol = asyncio.StreamReaderProtocol(source)
        transport, _ = await self._loop.connect_accepted_socket(
            lambda: protocol, accepted, ssl=self._tls
        )
        try:
            while True:
                path = (await source.readuntil(b"\r\n\r\n")).split()[1]
                if not self.is_calm and self._dice.random() < 0.2:
                    return
                head = b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n"
                transport.write(head % len(path) + path)
        finally:
            transport.abort()
