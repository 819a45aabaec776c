"""HTTP/1.1 client for short requests to one API server, over connections that are kept open.

It covers only the features that such requests need, because most of a binding's CPU time was spent
here. `Client` sends a request over a free connection, or `dial` makes a new one, through a tunnel
if a proxy is on the way. A `Channel` is one such connection, and an `AnswerReader` assembles its
answers. The parser is llhttp, by httptools.
"""

import asyncio
import math
import socket
import time
from collections import deque
from collections.abc import Mapping
from typing import cast

import aiohappyeyeballs
import anyio
import httptools

from gang_scheduler.client import http
from gang_scheduler.client.address import Address, Proxy
from gang_scheduler.client.http import (
    Answer,
    BrokenError,
    MaySend,
    NotSentError,
    TooLongError,
)

# Assembles answers from the bytes of a connection, in whatever pieces they arrive. No I/O.

HTTP_ERRORS = (httptools.HttpParserError, httptools.HttpParserUpgrade)
FRAMED = {b"content-length", b"transfer-encoding"}
"""The headers that say where a body ends. Without them, the body ends with the connection."""


class AnswerReader:
    """Reads the answers of one connection in order. Implements the callbacks of httptools."""

    def __init__(self) -> None:
        self._parser = httptools.HttpResponseParser(self)
        self._answer: Answer | None = None
        self._is_open_ended = False
        self._has_surplus = False
        self._reason = b""
        self._headers: dict[bytes, bytes] = {}
        self._parts: list[bytes] = []
        self._size = 0

    def feed(self, received: bytes) -> Answer | None:
        """Take in the next bytes; return the answer if they complete one, else None.

        Raises BrokenError if the bytes are not HTTP, and TooLongError for too many of them.
        """
        try:
            self._parser.feed_data(received)
        except HTTP_ERRORS as error:
            if self._answer is None:
                raise BrokenError(f"the answer is no HTTP: {error}") from error
            self._has_surplus = True
        if self._size > http.LARGEST_ANSWER:
            raise TooLongError
        answer, self._answer = self._answer, None
        # Bytes after an answer would be mistaken for the next answer.
        return answer._replace(lasts=False) if answer and self._has_surplus else answer

    def end(self) -> Answer | None:
        """Return the answer that ends with the connection, if there is such an answer."""
        return self._whole(lasts=False) if self._is_open_ended else None

    def on_message_begin(self) -> None:
        """Start a new answer. If the last one was not fetched, the server sent two: an error."""
        self._has_surplus = self._answer is not None
        self._reason = b""
        self._headers = {}
        self._parts, self._size = [], 0

    def on_status(self, reason: bytes) -> None:
        """Collect the reason, which may come in pieces."""
        self._reason += reason

    def on_header(self, name: bytes, value: bytes) -> None:
        """Keep a header."""
        self._headers[name.lower()] = value

    def on_headers_complete(self) -> None:
        """Note whether the end of the connection is the end of the body."""
        self._is_open_ended = self._headers.keys().isdisjoint(FRAMED)

    def on_body(self, part: bytes) -> None:
        """Keep a part of the body."""
        self._parts.append(part)
        self._size += len(part)

    def on_message_complete(self) -> None:
        """Keep the answer, unless it is informational (1xx) and the real answer follows."""
        self._is_open_ended = False
        if self._answer is None and self._parser.get_status_code() >= 200:
            self._answer = self._whole(lasts=self._parser.should_keep_alive())

    def _whole(self, *, lasts: bool) -> Answer:
        reason = self._reason.decode(errors="replace")
        status = self._parser.get_status_code()
        return Answer(status, reason, self._headers, b"".join(self._parts), lasts)


AT_ONCE = 1 << 16
"""A longer request may be refused before all of it is sent. (Under TLS this cannot be detected.)"""


class UnansweredError(BrokenError):
    """A connection ended before the first byte of an answer, perhaps after being idle too long."""


class Channel(asyncio.Protocol):
    """An open connection. A caller of `ask` uses it alone until the answer is complete.

    `ended` is done when the connection is closed. `idle_since` is set by the owner of idle
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
        """Keep the transport, by which requests are sent."""
        self._transport = cast("asyncio.Transport", transport)

    def data_received(self, data: bytes) -> None:
        """Pass the answer to the waiting request once it is complete."""
        waiter = self._pending()
        if waiter is None:  # Not an answer: a server may say that it closes an idle connection.
            self.abort()
            return
        self._is_answering = True
        try:
            answer = self._reader.feed(data)
        except (BrokenError, TooLongError) as error:
            waiter.set_exception(error)
        else:
            if answer is not None:
                waiter.set_result(answer)

    def eof_received(self) -> None:
        """End an answer at EOF if its headers do not say how long it is."""
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


# A tunnel through the HTTP proxy in front of the API server, opened by CONNECT.

LONGEST_REPLY = 1 << 14
"""In bytes. A proxy that refuses may send a page; its first line is enough."""


class ProxyError(ConnectionError):
    """The proxy opens no tunnel to the API server."""


async def open_tunnel(proxy: Proxy, connected: socket.socket, target: str) -> None:
    """Turn a connection to the proxy into a tunnel to the API server. Raises OSError."""
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
    """Raise unless the tunnel is open and has sent no byte yet."""
    status, _, _ = reply.partition(b"\r\n")
    version, code, *_ = [*status.split(b" ", 2), b"", b""]
    # The API server waits for our first byte, so early bytes do not come from it.
    if version.startswith(b"HTTP/1.") and code == b"200" and reply.endswith(b"\r\n\r\n"):
        return
    told = status[:200].decode(errors="replace") or "nothing"
    raise ProxyError(f"the proxy {proxy.host}:{proxy.port} opens no tunnel: it answers {told!r}")


NEXT_ADDRESS_SECONDS = 0.25
"""After this time, the next address of a host is tried in parallel: the first may be dead."""


async def dial(address: Address) -> Channel:
    """Return a new connection. Raises OSError if none can be opened."""
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


class Client:
    """Sends requests over at most `limit` connections at once; later requests wait in line.

    A request gets the idle connection that was used last, so that the others can be closed when
    they get old.
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
        """Return the answer.

        Raises OSError if none comes in time. Keeps the promises of `HttpClient`.
        """
        request = self._bytes_of(method, path, headers, body)
        # The loop's clock stands still during a callback, and timeouts run after reads.
        reads = method == "GET"
        latest = time.monotonic() + (math.inf if reads else http.SEND_SECONDS)
        allowed = http.always if reads else may_send

        def due() -> bool:
            return time.monotonic() <= latest and allowed()

        # This costs half as much as an anyio scope for each binding; nothing here waits when
        # cancelled.
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
        """Close all connections. Running requests and all later ones end with an error."""
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
            raise NotSentError("it could not be sent in time")
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
        if self._is_closed:  # Closed while the connection was made.
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
        """Close connections that were idle for long, and check again when the next one is due."""
        loop = asyncio.get_running_loop()
        while self._idle and self._idle[0].idle_since + http.KEEP_SECONDS <= loop.time():
            self._idle.popleft().abort()
        self._sweep = None
        if self._idle:
            due = self._idle[0].idle_since + http.KEEP_SECONDS
            self._sweep = loop.call_at(due, self._close_idle)


def _lines(headers: Mapping[str, str]) -> str:
    return "".join([f"{name}: {value}\r\n" for name, value in headers.items()])
