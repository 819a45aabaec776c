"""A connection that carries one request at a time."""

import asyncio
from typing import cast

from gang_scheduler.client.http import Answer, BrokenError
from gang_scheduler.client.http1.answers import AnswerReader

AT_ONCE = 1 << 16
"""A longer request may be refused before all of it is sent. (Under TLS that cannot be known.)"""


class UnansweredError(BrokenError):
    """A connection ended before one byte of an answer came: an idle connection may be too old."""


class Channel(asyncio.Protocol):
    """An open connection. A caller of `ask` has it exclusively until the answer is there.

    `ended` is done when the connection is closed. `idle_since` belongs to the keeper of idle
    connections, in the event loop's time.
    """

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self.ended: asyncio.Future[None] = self._loop.create_future()
        self.idle_since = 0.0
        self._reader = AnswerReader()
        self._waiter: asyncio.Future[Answer] | None = None
        self._is_answering = False

    @property
    def is_open(self) -> bool:
        """Whether another request can be sent."""
        return not self._transport.is_closing()

    async def ask(self, request: bytes) -> Answer:
        """Send a request and return its answer. Raises BrokenError if none comes.

        Closes the connection if it cannot carry another request: above all when cancelled, since
        the next request would get the answer of this one.
        """
        self._is_answering = False
        self._waiter = self._loop.create_future()
        self._transport.write(request)
        try:
            answer = await self._waiter
        except BaseException:
            self.abort()
            raise
        refused_early = answer.status >= 400 and len(request) > AT_ONCE
        if not answer.lasts or refused_early:
            self.abort()
        return answer

    def abort(self) -> None:
        """Close without ceremony."""
        self._transport.abort()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Begin."""
        self._transport = cast("asyncio.Transport", transport)

    def data_received(self, data: bytes) -> None:
        """Hand the answer over when it is whole."""
        waiter = self._pending()
        if waiter is None:  # Not an answer: a server may say that it closes an idle connection.
            self.abort()
            return
        self._is_answering = True
        try:
            answer = self._reader.feed(data)
        except BrokenError as error:
            waiter.set_exception(error)
        else:
            if answer is not None:
                waiter.set_result(answer)

    def eof_received(self) -> None:
        """Take EOF for the end of an answer whose headers do not say where it ends."""
        answer = self._reader.end()
        waiter = self._pending()
        if answer is not None and waiter is not None:
            waiter.set_result(answer)
        self.abort()

    def connection_lost(self, exc: Exception | None) -> None:
        """Fail the request that waits for an answer."""
        self.ended.set_result(None)
        waiter = self._pending()
        if waiter is not None:
            kind = BrokenError if self._is_answering else UnansweredError
            waiter.set_exception(kind(str(exc or "the connection was closed")))

    def _pending(self) -> asyncio.Future[Answer] | None:
        waiter = self._waiter
        return None if waiter is None or waiter.done() else waiter
