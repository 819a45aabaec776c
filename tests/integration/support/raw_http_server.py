"""A server that answers with any bytes at any time, and whose connections can be counted."""

import asyncio
import contextlib
import enum
import ssl
from collections import deque
from dataclasses import dataclass
from typing import Self


class Then(enum.Enum):
    """What becomes of a connection after an answer."""

    KEEP = enum.auto()
    CLOSE = enum.auto()
    RESET = enum.auto()
    DEAF = enum.auto()
    """It stays open, and nothing is read any more."""


@dataclass(frozen=True)
class ScriptedAnswer:
    """What is done about one request."""

    sends: bytes = b""
    then: Then = Then.KEEP
    reads_body: bool = True


def ok(body: bytes = b"ok", status: str = "200 OK") -> bytes:
    """Return an answer as it ought to be."""
    return b"HTTP/1.1 %s\r\nContent-Length: %d\r\n\r\n%s" % (status.encode(), len(body), body)


class RawServer:
    """Use as an async context manager. `plays` are used up; then comes `ok()`.

    `seen` is what was asked, `lines` on which connection, counted from 0; `left` tells how many
    connections the client has closed.
    """

    def __init__(self, tls: ssl.SSLContext | None = None) -> None:
        self.plays: deque[ScriptedAnswer] = deque()
        self.seen: list[bytes] = []
        self.lines: list[int] = []
        self.left = 0
        self.connections = 0
        self._tls = tls
        self._ends: list[asyncio.StreamWriter] = []
        self._tasks: set[asyncio.Task[None]] = set()

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._connected, "127.0.0.1", 0, ssl=self._tls)
        return self

    async def __aexit__(self, *_: object) -> None:
        for task in self._tasks:
            task.cancel()
        for each in self._ends:
            each.transport.abort()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        self._server.close()
        await self._server.wait_closed()

    @property
    def url(self) -> str:
        """Its address."""
        port = self._server.sockets[0].getsockname()[1]
        return f"{'https' if self._tls else 'http'}://127.0.0.1:{port}"

    def say(self, unasked: bytes) -> None:
        """Send something on all connections."""
        for each in self._ends:
            each.write(unasked)

    def hang_up(self) -> None:
        """Close all connections."""
        for each in self._ends:
            each.close()

    async def _connected(self, source: asyncio.StreamReader, sink: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        self._ends.append(sink)
        number = self.connections
        self.connections += 1
        with contextlib.suppress(OSError, asyncio.IncompleteReadError, asyncio.CancelledError):
            while True:
                await self._answer(source, sink, number)
        self.left += 1
        sink.close()

    async def _answer(
        self, source: asyncio.StreamReader, sink: asyncio.StreamWriter, number: int
    ) -> None:
        request = await source.readuntil(b"\r\n\r\n")
        play = self.plays.popleft() if self.plays else ScriptedAnswer(ok())
        _, _, length = request.partition(b"Content-Length: ")
        if play.reads_body and length:
            request += await source.readexactly(int(length.split(b"\r\n")[0]))
        self.seen.append(request)
        self.lines.append(number)
        sink.write(play.sends)
        await sink.drain()
        if play.then is Then.RESET:
            sink.transport.abort()
        elif play.then is Then.CLOSE:
            sink.close()
        elif play.then is Then.DEAF:
            await asyncio.Event().wait()
