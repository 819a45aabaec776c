"""The network between a source and the API server, which a test can cut and mend."""

import asyncio
import contextlib
import urllib.parse
from typing import Self

READ_BYTES = 1 << 16


class BreakableLink:
    """Passes TCP on to the server of a URL. Use as an async context manager."""

    def __init__(self, url: str) -> None:
        self._address = urllib.parse.urlsplit(url)
        self._is_cut = False
        self._flows = asyncio.Event()
        self._flows.set()
        self._stalled: list[asyncio.Event] = []
        self._ends: set[asyncio.StreamWriter] = set()
        self._passing: set[asyncio.Future[tuple[None, None]]] = set()

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._connected, "127.0.0.1", 0)
        return self

    async def __aexit__(self, *_: object) -> None:
        self.cut()
        self._server.close()
        await self._server.wait_closed()
        await asyncio.gather(*self._passing)

    @property
    def url(self) -> str:
        """The address at which the server is reached."""
        port = self._server.sockets[0].getsockname()[1]
        return f"{self._address.scheme}://127.0.0.1:{port}"

    def cut(self) -> None:
        """Break all connections, and refuse new ones."""
        self._is_cut = True
        for stalled in self._stalled:
            stalled.set()
        for each in self._ends:
            each.transport.abort()

    def stall(self) -> asyncio.Event:
        """Hold back all on the connections that there are, until the event is set.

        New ones are well.
        """
        stalled = self._flows
        stalled.clear()
        self._stalled.append(stalled)
        self._flows = asyncio.Event()
        self._flows.set()
        return stalled

    def mend(self) -> None:
        """Accept connections again."""
        self._is_cut = False

    async def _connected(self, near: asyncio.StreamReader, back: asyncio.StreamWriter) -> None:
        if self._is_cut:
            back.transport.abort()
            return
        far, forth = await asyncio.open_connection(self._address.hostname, self._address.port)
        self._ends |= {back, forth}
        passing = asyncio.gather(_pass(near, forth, self._flows), _pass(far, back, self._flows))
        self._passing.add(passing)
        await passing
        self._passing.remove(passing)
        self._ends -= {back, forth}


async def _pass(
    source: asyncio.StreamReader, sink: asyncio.StreamWriter, flows: asyncio.Event
) -> None:
    with contextlib.suppress(OSError):
        while received := await source.read(READ_BYTES):
            await flows.wait()
            sink.write(received)
            await sink.drain()
    sink.close()
