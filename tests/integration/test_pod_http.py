"""HTTP to pods, on real connections: hostile answers cost no more than they may."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from gang_scheduler.apply.checkpoints import AT_ONCE
from gang_scheduler.client.interfaces import PodAnswer, PodRequest
from gang_scheduler.client.pod_http import LONGEST_ANSWER, LONGEST_BODY, SECONDS, PodHttpClient

Serve = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]
HOST = "127.0.0.1"
SHORT = 0.3
ENDLESS = 1 << 30
SECURITY = Path(__file__).parents[2] / "docs" / "security.md"


@asynccontextmanager
async def serving(serve: Serve, host: str = HOST) -> AsyncIterator[int]:
    """Serve connections on a free port."""

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            await serve(reader, writer)
        except OSError:
            pass  # The client has gone away: it may.
        finally:
            writer.transport.abort()

    server = await asyncio.start_server(handle, host, 0)
    try:
        yield server.sockets[0].getsockname()[1]
    finally:
        server.close()
        await server.wait_closed()


def answering(*parts: bytes) -> Serve:
    """Return what reads a request, and answers with these bytes."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        for each in parts:
            writer.write(each)
            await writer.drain()
        writer.write_eof()
        await reader.read()

    return serve


async def ask(
    serve: Serve, *, seconds: float = 5, body: bytes | None = b"{}", host: str = HOST
) -> PodAnswer:
    """Return the answer to a request."""
    async with serving(serve, host) as port:
        method = "GET" if body is None else "POST"
        request = PodRequest(method, host, port, "/save", "r1", body)
        return await PodHttpClient(seconds).ask(request)


def with_length(body: bytes, status: bytes = b"200 OK") -> bytes:
    return b"HTTP/1.1 %s\r\nContent-Length: %d\r\n\r\n%s" % (status, len(body), body)


# As they should be.


@pytest.mark.parametrize("body", [b'{"requestId": "r1"}', None])
@pytest.mark.parametrize("host", [HOST, "::1"])
async def test_a_request_says_what_it_must_and_nothing_else(body: bytes | None, host: str) -> None:
    asked: list[str] = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        asked.append((head + await reader.readexactly(len(body or b""))).decode())
        writer.write(with_length(b"{}"))

    assert PodAnswer(200, b"{}") == await ask(serve, body=body, host=host)
    head, _, sent = asked[0].partition("\r\n\r\n")
    first, *lines = head.split("\r\n")
    assert f"{'GET' if body is None else 'POST'} /save HTTP/1.1" == first
    names = {line.partition(":")[0] for line in lines}
    of_body = {"Content-Type", "Content-Length"} if body is not None else set[str]()
    assert {
        "Host",
        "Accept",
        "Connection",
        "User-Agent",
        "Checkpoint-Request-Id",
    } | of_body == names
    assert (body or b"").decode() == sent


@pytest.mark.parametrize(
    ("parts", "expected"),
    [
        ([with_length(b"")], PodAnswer(200)),
        ([with_length(b"", b"202 Accepted")], PodAnswer(202)),
        ([b"HTTP/1.1 200 OK\r\n\r\n", b"until ", b"the end"], PodAnswer(200, b"until the end")),
        (
            [b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", b"2\r\nab\r\n0\r\n\r\n"],
            PodAnswer(200, b"ab"),
        ),
        ([b"HTTP/1.1 100 Continue\r\n\r\n", with_length(b"x")], PodAnswer(200, b"x")),
        ([bytes([each]) for each in with_length(b"x")], PodAnswer(200, b"x")),
        ([with_length(b"x" * LONGEST_BODY)], PodAnswer(200, b"x" * LONGEST_BODY)),
    ],
)
async def test_answers_in_any_form(parts: list[bytes], expected: PodAnswer) -> None:
    assert expected == await ask(answering(*parts))


async def test_a_redirect_is_an_answer_and_leads_nowhere() -> None:
    visited = []

    async def elsewhere(reader: asyncio.StreamReader, _: asyncio.StreamWriter) -> None:
        visited.append(await reader.read(1))

    async with serving(elsewhere) as port:
        location = b"Location: http://127.0.0.1:%d/\r\n" % port
        answer = await ask(answering(b"HTTP/1.1 302 Found\r\n" + location + b"\r\n"))

    assert (PodAnswer(302), []) == (answer, visited)


# As they should not be.


HEAD = b"HTTP/1.1 200 OK\r\n"


@pytest.mark.parametrize(
    "parts",
    [
        [b""],
        [b"SSH-2.0-OpenSSH_9.9\r\n"],
        [HEAD + b"Content-Length: 10\r\n\r\nshort"],
        [with_length(b"x" * (LONGEST_BODY + 1))],
        [HEAD + b"Content-Length: 999999999999\r\n\r\n", *[b"x" * 65536] * 50],
        [HEAD + b"X: " + b"x" * 100_000],
        [HEAD, *[b"X: y\r\n"] * 10_000],
        [HEAD + b"Transfer-Encoding: chunked\r\n\r\n", *[b"ffff\r\n" + b"x" * 65535 + b"\r\n"] * 9],
        [HEAD + b"Content-Length: -1\r\n\r\n"],
        [b"\x00" * 9000],
    ],
)
async def test_what_is_no_short_answer_is_none(parts: list[bytes]) -> None:
    with pytest.raises(OSError):  # noqa: PT011 - which one it is concerns no caller.
        await ask(answering(*parts))


@pytest.mark.parametrize(
    "head",
    [
        HEAD + b"Content-Length: 9999999999\r\n\r\n",
        HEAD + b"\r\n",
        HEAD + b"Transfer-Encoding: chunked\r\n\r\nfffffff\r\n",
        HEAD + b"X: ",
    ],
)
async def test_of_an_answer_without_an_end_little_more_is_taken_than_may_be(head: bytes) -> None:
    """What was sent and not read is in buffers of the kernel: some megabytes, never all."""
    sent = 0

    async def endless(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal sent
        writer.write(head)
        while sent < ENDLESS and not writer.is_closing():
            writer.write(b"x" * 65536)
            await writer.drain()
            sent += 65536

    with pytest.raises(OSError):  # noqa: PT011 - which one it is concerns no caller.
        await ask(endless)
    assert sent < ENDLESS


async def test_a_pod_that_takes_too_long_is_left() -> None:
    async def silent(reader: asyncio.StreamReader, _: asyncio.StreamWriter) -> None:
        await reader.read()
        await reader.read()

    with pytest.raises(TimeoutError):
        await ask(silent, seconds=SHORT)


async def test_a_pod_that_sends_a_byte_now_and_then_is_left_too() -> None:
    async def slow(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(HEAD)
        while not writer.is_closing():
            writer.write(b"X")
            await writer.drain()
            await asyncio.sleep(SHORT / 10)

    with pytest.raises(TimeoutError):
        await ask(slow, seconds=SHORT)


async def test_a_port_where_nothing_listens() -> None:
    async with serving(answering(b"")) as port:
        pass
    with pytest.raises(ConnectionError):
        await PodHttpClient().ask(PodRequest("GET", HOST, port, "/", "r1"))


def test_the_page_on_security_has_the_figures() -> None:
    assert "8 KiB are read, for 5 s, of 16 gangs of a namespace at once" in SECURITY.read_text()
    assert (8 << 10, 5.0, 16) == (LONGEST_ANSWER, SECONDS, AT_ONCE)
