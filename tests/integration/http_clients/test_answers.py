"""Whatever a server answers, it is an answer or an error, and never the next one's."""

import contextlib
import ssl

import pytest

from gang_scheduler.client import http
from gang_scheduler.client.http import HttpClient, TooLongError
from integration.http_clients.conftest import Opens, only_builtin
from integration.support.raw_http_server import RawServer, ScriptedAnswer, Then, ok

CHUNKED = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
LONG = b"x" * 5_000_000


async def ask(
    client: HttpClient, method: str = "GET", body: bytes | None = None
) -> tuple[int, bytes]:
    answer = await client.ask(method, "/pods", {}, body, timeout_seconds=10)
    return answer.status, answer.body


@pytest.mark.parametrize(
    ("play", "expected"),
    [
        (ScriptedAnswer(ok(b"body")), (200, b"body", 1)),
        (ScriptedAnswer(ok(LONG)), (200, LONG, 1)),
        (ScriptedAnswer(ok(b"", "201 Created")), (201, b"", 1)),
        (ScriptedAnswer(b"HTTP/1.1 204 No Content\r\n\r\n"), (204, b"", 1)),
        (ScriptedAnswer(b"HTTP/1.1 304\r\n\r\n"), (304, b"", 1)),
        (ScriptedAnswer(CHUNKED + b"2\r\nab\r\n3\r\ncde\r\n0\r\n\r\n"), (200, b"abcde", 1)),
        (ScriptedAnswer(CHUNKED + b"1;x=y\r\na\r\n0\r\nTrailer: t\r\n\r\n"), (200, b"a", 1)),
        (ScriptedAnswer(b"HTTP/1.1 100 Continue\r\n\r\n" + ok()), (200, b"ok", 1)),
        (ScriptedAnswer(b"HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n" + ok()), (200, b"ok", 1)),
        (
            ScriptedAnswer(b"HTTP/1.1 200 OK\r\nEmpty:\r\nContent-Length: 1\r\n\r\na"),
            (200, b"a", 1),
        ),
        (
            ScriptedAnswer(
                b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 1\r\n\r\na", Then.CLOSE
            ),
            (200, b"a", 2),
        ),
        (ScriptedAnswer(b"HTTP/1.0 200 OK\r\nContent-Length: 1\r\n\r\na"), (200, b"a", 2)),
        (
            ScriptedAnswer(b"HTTP/1.1 502 Bad\r\n\r\nuntil the end", Then.CLOSE),
            (502, b"until the end", 2),
        ),
    ],
)
async def test_an_answer_is_read_and_its_connection_used_again_if_it_can_be(
    server: RawServer,
    opens: Opens,
    tls: ssl.SSLContext,
    play: ScriptedAnswer,
    expected: tuple[int, bytes, int],
) -> None:
    server.plays.append(play)
    client = opens(server.url, tls, {}, limit=1)

    found = await ask(client)
    again = await ask(client)
    await client.close()

    # The last is the number of connections.
    assert expected == (*found, server.connections)
    assert (200, b"ok") == again


@pytest.mark.parametrize(
    "head", [b"Content-Length: 5000000\r\n\r\n", b"Transfer-Encoding: chunked\r\n\r\n4c4b40\r\n"]
)
async def test_of_an_answer_that_is_too_long_the_rest_is_not_read(
    server: RawServer,
    opens: Opens,
    tls: ssl.SSLContext,
    monkeypatch: pytest.MonkeyPatch,
    head: bytes,
) -> None:
    monkeypatch.setattr(http, "LARGEST_ANSWER", 100_000)
    server.plays.append(ScriptedAnswer(b"HTTP/1.1 200 OK\r\n" + head + LONG[:200_000], Then.DEAF))
    client = opens(server.url, tls, {}, limit=1)

    with pytest.raises(TooLongError):
        await ask(client)
    again = await ask(client)
    await client.close()

    assert (200, b"ok") == again
    assert 2 == server.connections


@pytest.mark.parametrize("surplus", [b"HTTP/1.1 200 OK\r\n", ok(b"of what?"), b"garbage"])
async def test_what_comes_after_an_answer_is_not_the_next_one(
    server: RawServer, opens: Opens, tls: ssl.SSLContext, surplus: bytes
) -> None:
    server.plays.append(ScriptedAnswer(ok() + surplus))
    client = opens(server.url, tls, {}, limit=1)

    # To take the surplus for an error is to leave open what happened.
    with contextlib.suppress(ConnectionError):
        assert (200, b"ok") == await ask(client)
    again = await ask(client)
    await client.close()

    assert (200, b"ok") == again


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
    server: RawServer, opens: Opens, tls: ssl.SSLContext, sends: bytes, then: Then
) -> None:
    server.plays.append(ScriptedAnswer(sends, then))
    client = opens(server.url, tls, {}, limit=1)

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
    server: RawServer, opens: Opens, tls: ssl.SSLContext, sends: bytes
) -> None:
    server.plays.append(ScriptedAnswer(sends))
    client = opens(server.url, tls, {}, limit=1)

    with pytest.raises(ConnectionError, match="no HTTP"):
        await ask(client)
    again = await ask(client)
    await client.close()

    assert (200, b"ok") == again
    assert 2 == server.connections


@only_builtin
async def test_a_refusal_counts_before_the_request_was_sent_to_its_end(
    server: RawServer, opens: Opens, tls: ssl.SSLContext
) -> None:
    refusal = ok(b"too much", "413 Content Too Large")
    server.plays.append(ScriptedAnswer(refusal, Then.DEAF, reads_body=False))
    client = opens(server.url, tls, {}, limit=1)

    found = await ask(client, "POST", 2 * LONG)
    again = await ask(client)
    await client.close()

    assert (413, b"too much") == found
    assert (200, b"ok") == again
    assert 2 == server.connections
