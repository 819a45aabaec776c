"""Requests to one server, over connections that are kept for the next."""

import asyncio
import math
import time
from collections import deque
from collections.abc import Mapping

import anyio

from gang_scheduler.client import http
from gang_scheduler.client.address import Address
from gang_scheduler.client.http import Answer, BrokenError, MaySend, NotSentError
from gang_scheduler.client.http1.channel import Channel, UnansweredError
from gang_scheduler.client.http1.dialing import dial


class Client:
    """Asks over at most `limit` connections at once; a later request waits in line.

    Of the idle connections the freshest is taken: the others can be closed when they get old.
    """

    def __init__(self, address: Address, headers: Mapping[str, str], limit: int) -> None:
        self._address = address
        self._constant = f" HTTP/1.1\r\nHost: {address.name}\r\n{_lines(headers)}"
        self._slots = asyncio.Semaphore(limit)
        self._open: set[Channel] = set()
        self._idle: deque[Channel] = deque()
        self._sweep: asyncio.TimerHandle | None = None
        self._is_closed = False

    async def ask(
        self,
        method: str,
        path: str,
        headers: Mapping[str, str],
        body: bytes | None,
        timeout_seconds: float,
        *,
        may_send: MaySend = http.always,
    ) -> Answer:
        """Return the answer. Raises OSError if none comes in time. As `HttpClient` promises."""
        request = self._bytes_of(method, path, headers, body)
        # The loop's clock stands still while a callback runs, and timeouts come after what is read.
        reads = method == "GET"
        latest = time.monotonic() + (math.inf if reads else http.SEND_SECONDS)
        allowed = http.always if reads else may_send

        def due() -> bool:
            return time.monotonic() <= latest and allowed()

        # Half of what a scope of anyio costs, in each binding; nothing here waits when cancelled.
        async with asyncio.timeout(timeout_seconds), self._slots:  # noqa: TID251
            kept = self._freshest()
            if kept is not None:
                try:
                    return await self._exchange(kept, request, due)
                except UnansweredError:
                    if not reads:
                        raise
            return await self._exchange(await self._dial(), request, due)

    async def close(self) -> None:
        """Close all connections. What is under way ends with an error, and so does what follows."""
        self._is_closed = True
        if self._sweep is not None:
            self._sweep.cancel()
        for each in self._open:
            each.abort()
        if self._open:
            await asyncio.wait([each.ended for each in self._open])

    def _bytes_of(
        self, method: str, path: str, headers: Mapping[str, str], body: bytes | None
    ) -> bytes:
        length = "" if body is None else f"Content-Length: {len(body)}\r\n"
        target = self._address.target(path)
        head = f"{method} {target}{self._constant}{_lines(headers)}{length}\r\n"
        return head.encode() + (body or b"")

    async def _exchange(self, channel: Channel, request: bytes, due: MaySend) -> Answer:
        if not due():
            self._keep(channel)
            raise NotSentError("there was no way to send it in time")
        answer = await channel.ask(request)
        if channel.is_open:
            self._keep(channel)
        return answer

    async def _dial(self) -> Channel:
        if self._is_closed:
            raise BrokenError("the client is closed")
        with anyio.fail_after(http.CONNECT_SECONDS):
            channel = await dial(self._address)
        self._open.add(channel)
        channel.ended.add_done_callback(lambda _: self._open.discard(channel))
        if self._is_closed:  # While it was made.
            channel.abort()
        return channel

    def _freshest(self) -> Channel | None:
        while self._idle:
            channel = self._idle.pop()
            if channel.is_open:
                return channel
        return None

    def _keep(self, channel: Channel) -> None:
        loop = asyncio.get_running_loop()
        channel.idle_since = loop.time()
        self._idle.append(channel)
        if self._sweep is None:
            self._sweep = loop.call_later(http.KEEP_SECONDS, self._close_idle)

    def _close_idle(self) -> None:
        """Close what was not needed for long, and look again when the next one may be due."""
        loop = asyncio.get_running_loop()
        while self._idle and self._idle[0].idle_since + http.KEEP_SECONDS <= loop.time():
            self._idle.popleft().abort()
        self._sweep = None
        if self._idle:
            due = self._idle[0].idle_since + http.KEEP_SECONDS
            self._sweep = loop.call_at(due, self._close_idle)


def _lines(headers: Mapping[str, str]) -> str:
    return "".join([f"{name}: {value}\r\n" for name, value in headers.items()])
