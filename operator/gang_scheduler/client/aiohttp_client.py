"""Requests over an aiohttp session, with the promises of `http1` and a widely used parser.

By default, a session repeats PUT and DELETE when a kept connection ends. It also takes bytes that
arrived on an idle connection as the answer to the next request. This client does neither.
"""

import asyncio
import math
import ssl
import time
from collections.abc import Mapping
from dataclasses import dataclass
from types import SimpleNamespace

import aiohttp
import anyio
from aiohttp import connector, tracing

from gang_scheduler.client import http
from gang_scheduler.client.address import Address
from gang_scheduler.client.http import Answer, BrokenError, MaySend, NotSentError, TooLongError

TIMEOUT = aiohttp.ClientTimeout(total=None, sock_connect=http.CONNECT_SECONDS)
"""aiohttp has no time limit of its own: this module times the whole request, with any waiting."""


def session_of(
    tls: ssl.SSLContext, headers: Mapping[str, str], proxy_url: str | None
) -> aiohttp.ClientSession:
    """Return a session for any number of requests and watches."""
    return aiohttp.ClientSession(
        connector=_Connector(limit=0, ssl=tls, keepalive_timeout=http.KEEP_SECONDS),
        headers=headers,
        # Send exactly the given headers.
        skip_auto_headers=("Accept-Encoding", "Content-Type"),
        cookie_jar=aiohttp.DummyCookieJar(),
        proxy=proxy_url,
        trace_configs=[_traces()],
    )


class AiohttpClient:
    """Sends requests over a session, at most `limit` at once; later requests wait in line."""

    def __init__(self, session: aiohttp.ClientSession, address: Address, limit: int) -> None:
        self._session = session
        self._address = address
        self._slots = asyncio.Semaphore(limit)

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
        reads = method == "GET"
        latest = time.monotonic() + (math.inf if reads else http.SEND_SECONDS)
        sending = _Sending(latest, http.always if reads else may_send)
        url = self._address.url(path)
        with anyio.fail_after(timeout_seconds):
            async with self._slots:
                try:
                    return await self._exchange(sending, method, url, headers, body)
                except BrokenError:
                    if not reads or not sending.was_kept:
                        raise
                return await self._exchange(sending, method, url, headers, body)

    async def close(self) -> None:
        """Close the session. Running requests and all later ones end with an error."""
        await self._session.close()

    async def _exchange(
        self,
        sending: "_Sending",
        method: str,
        url: str,
        headers: Mapping[str, str],
        body: bytes | None,
    ) -> Answer:
        if self._session.closed:
            raise BrokenError("the client is closed")
        try:
            async with self._session.request(
                method,
                url,
                headers=headers,
                data=body,
                allow_redirects=False,
                auto_decompress=False,
                timeout=TIMEOUT,
                middlewares=(_once,),
                trace_request_ctx=sending,
            ) as answer:
                return await _whole(answer)
        except aiohttp.ClientError as error:
            if isinstance(error, TimeoutError | ssl.SSLError):
                raise
            raise BrokenError(_words(error)) from error


def _words(error: aiohttp.ClientError) -> str:
    """Return the error in words, as short as the words of `http1`."""
    match error:
        case aiohttp.ClientHttpProxyError():
            return f"the proxy opens no tunnel: it answers {error.status} {error.message}"
        case aiohttp.ClientResponseError():
            return f"the answer is no HTTP: {' '.join(error.message.split())}"
        case _:
            return f"{type(error).__name__}: {error}"


async def _whole(answer: aiohttp.ClientResponse) -> Answer:
    if answer.status < 200:
        raise BrokenError(f"the answer is no HTTP: {answer.status} {answer.reason}")
    headers = {name.lower(): value for name, value in answer.raw_headers}
    try:
        body = await http.joined(answer.content.iter_any())
    except TooLongError:
        answer.close()
        raise
    return Answer(answer.status, answer.reason or "", headers, body)


async def _once(
    request: aiohttp.ClientRequest, send: aiohttp.ClientHandlerType
) -> aiohttp.ClientResponse:
    """Send a request, and make sure that the session does not repeat it by itself."""
    try:
        return await send(request)
    except (aiohttp.ClientOSError, aiohttp.ServerDisconnectedError) as error:
        if isinstance(error, ssl.SSLError):
            raise
        raise aiohttp.ClientConnectionError(str(error)) from error


class _Connector(aiohttp.TCPConnector):
    """Drops idle connections on which bytes have arrived: they would count as the next answer."""

    async def connect(
        self,
        req: aiohttp.ClientRequest,
        traces: list[tracing.Trace],
        timeout: aiohttp.ClientTimeout,  # noqa: ASYNC109 - aiohttp's signature.
    ) -> connector.Connection:
        """Return a connection without leftover bytes of an earlier answer."""
        while True:
            found = await super().connect(req, traces, timeout)
            if found.protocol is None or not found.protocol.should_close:
                return found
            found.close()


@dataclass(slots=True)
class _Sending:
    """A request that is sent only while allowed, and not after `latest` on the monotonic clock."""

    latest: float
    may_send: MaySend
    was_kept: bool = False


def _traces() -> aiohttp.TraceConfig:
    """Return the hooks that the session calls for each request."""
    found = aiohttp.TraceConfig()
    found.on_connection_reuseconn.append(_kept)
    # The head is not sent before the body if there is one, and the body waits for its own turn.
    found.on_request_headers_sent.append(_about_to_send)
    found.on_request_chunk_sent.append(_about_to_send)
    return found


async def _kept(_: aiohttp.ClientSession, context: SimpleNamespace, __: object) -> None:
    sending: _Sending | None = context.trace_request_ctx
    if sending is not None:
        sending.was_kept = True


async def _about_to_send(_: aiohttp.ClientSession, context: SimpleNamespace, __: object) -> None:
    sending: _Sending | None = context.trace_request_ctx
    if sending is None:
        return
    if time.monotonic() > sending.latest or not sending.may_send():
        raise NotSentError("it could not be sent in time")
