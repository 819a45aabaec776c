"""Whatever a server answers, it is an answer or an error, and never the next one's."""

import ssl

import pytest

from gang_scheduler.client.http1.client import Client
from integration.support.raw_http_server import RawServer, ScriptedAnswer, Then, ok

CHUNKED = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
LONG = b"x" * 5_000_000


async def ask(client: Client, method: str = "GET", body: bytes | None = None) -> tuple[int, bytes]:
    answer = await client.ask(method, "/pods", {}, body, timeout_seconds=10)
    return answer.status, answer.body


@pytest.mark.parametrize(
    ("play", "expected", "lasts"),
    [
        (ScriptedAnswer(ok(b"body")), (200, b"body"), True),
        (ScriptedAnswer(ok(LONG)), (200, LONG), True),
        (ScriptedAnswer(ok(b"", "201 Created")), (201, b""), True),
        (ScriptedAnswer(b"HTTP/1.1 204 No Content\r\n\r\n"), (204, b""), True),
        (ScriptedAnswer(b"HTTP/1.1 304\r\n\r\n"), (304, b""), True),
        (ScriptedAnswer(CHUNKED + b"2\r\nab\r\n3\r\ncde\r\n0\r\n\r\n"), (200, b"abcde"), True),
        (ScriptedAnswer(CHUNKED + b"1;x=y\r\na\r\n0\r\nTrailer: t\r\n\r\n"), (200, b"a"), True),
        (ScriptedAnswer(b"HTTP/1.1 100 Continue\r\n\r\n" + ok()), (200, b"ok"), True),
        (ScriptedAnswer(b"HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n" + ok()), (200, b"ok"), True),
        (
            ScriptedAnswer(b"HTTP/1.1 200 OK\r\nEmpty:\r\nContent-Length: 1\r\n\r\na"),
            (200, b"a"),
            True,
        ),
        (
            ScriptedAnswer(
                b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 1\r\n\r\na", Then.CLOSE
            ),
            (200, b"a"),
            False,
        ),
        (ScriptedAnswer(b"HTTP/1.0 200 OK\r\nContent-Length: 1\r\n\r\na"), (200, b"a"), False),
        (
            ScriptedAnswer(b"HTTP/1.1 502 Bad\r\n\r\nuntil the end", Then.CLOSE),
            (502, b"until the end"),
            False,
        ),
        (ScriptedAnswer(ok() + b"HTTP/1.1 200 OK\r\n"), (200, b"ok"), False),
        (ScriptedAnswer(ok() + ok(b"of whom?")), (200, b"ok"), False),
        (ScriptedAnswer(ok() + b"garbage"), (200, b"ok"), False),
    ],
)
async def test_an_answer_is_read_and_its_connection_used_again_if_it_can_be(
    server: RawServer,
    tls: ssl.SSLContext,
    play: ScriptedAnswer,
    expected: tuple[int, bytes],
    lasts: bool,  # noqa: FBT001 - a column of the table.
) -> None:
    server.plays.append(play)
    client = Client(server.url, tls, {}, limit=1)

    found = await ask(client)
    again = await ask(client)
    await client.close()

    assert expected == found
    assert (200, b"ok") == again
    assert (1 if lasts else 2) == server.connections


@pytest.mark.parametrize("then", [Then.CLOSE, Then.RESET])
@pytest.mark.parametrize(
    "sends",
    [
        b"",
        b"HTTP/1.1 2",
        b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf",
        b"HTTP/1.1 100 Continue\r\n\r\n",
        CHUNKED + b"5\r\nhalf",
        CHUNKED + b"4\r\nhalf\r\n",
    ],
)
async def test_an_answer_that_is_cut_is_none(
    server: RawServer, tls: ssl.SSLContext, sends: bytes, then: Then
) -> None:
    server.plays.append(ScriptedAnswer(sends, then))
    client = Client(server.url, tls, {}, limit=1)

    with pytest.raises(ConnectionError):
        await ask(client)
    again = await ask(client)
    await client.close()

    assert (200, b"ok") == again


@pytest.mark.parametrize(
    "sends",
    [
        b"SSH-2.0-OpenSSH_9.6\r\n",
        b"HTTP/1.1 two hundred\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n",
        b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: Upgrade\r\n\r\n",
        CHUNKED + b"many\r\n",
    ],
)
async def test_garbage_is_no_answer_and_nothing_else_is_awaited(
    server: RawServer, tls: ssl.SSLContext, sends: bytes
) -> None:
    server.plays.append(ScriptedAnswer(sends))
    client = Client(server.url, tls, {}, limit=1)

    with pytest.raises(ConnectionError, match="no HTTP"):
        await ask(client)
    again = await ask(client)
    await client.close()

    assert (200, b"ok") == again
    assert 2 == server.connections


async def test_a_refusal_counts_before_the_request_was_sent_to_its_end(
    server: RawServer, tls: ssl.SSLContext
) -> None:
    refusal = ok(b"too much", "413 Content Too Large")
    server.plays.append(ScriptedAnswer(refusal, Then.DEAF, reads_body=False))
    client = Client(server.url, tls, {}, limit=1)

    found = await ask(client, "POST", 2 * LONG)
    again = await ask(client)
    await client.close()

    assert (413, b"too much") == found
    assert (200, b"ok") == again
    assert 2 == server.connections
