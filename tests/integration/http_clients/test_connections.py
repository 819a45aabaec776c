"""Connections are kept, counted, and given up as soon as they could mix up answers."""

import asyncio
import ssl
import time
from collections.abc import AsyncIterator, Callable

import anyio
import pytest

from gang_scheduler.client import http
from gang_scheduler.client.http import HttpClient, NotSentError
from integration.http_clients.conftest import Opens, only_builtin, usable
from integration.support.raw_http_server import RawServer, ScriptedAnswer, Then, ok
from integration.support.threaded_server import ThreadedServer

HANGS = ScriptedAnswer()
"""An answer that never comes."""
HANGS_UP = ScriptedAnswer(then=Then.CLOSE)


@pytest.fixture
async def client(server: RawServer, opens: Opens, tls: ssl.SSLContext) -> AsyncIterator[HttpClient]:
    """Give one that has two connections at most."""
    opened = opens(server.url, tls, {}, limit=2)
    yield opened
    await opened.close()


async def ask(client: HttpClient, method: str = "GET", seconds: float = 10) -> bytes:
    return (await client.ask(method, "/pods", {}, None, seconds)).body


async def until(holds: Callable[[], bool]) -> None:
    with anyio.fail_after(10):
        while not holds():  # noqa: ASYNC110 - what the other side has done sets no event.
            await asyncio.sleep(0.001)


@only_builtin
async def test_the_freshest_connection_is_used_again(server: RawServer, client: HttpClient) -> None:
    await asyncio.gather(ask(client), ask(client))
    for _ in range(3):
        await ask(client)

    assert 2 == server.connections
    assert 1 == len(set(server.lines[1:]))


async def test_a_request_that_comes_when_all_connections_are_in_use_waits_in_line(
    server: RawServer, client: HttpClient
) -> None:
    asked = [client.ask("GET", f"/{number}", {}, None, 10) for number in range(20)]

    await asyncio.gather(*asked)

    arrived = [int(each.partition(b" HTTP")[0].removeprefix(b"GET /")) for each in server.seen]
    assert [*range(20)] == sorted(arrived)
    # They are sent in line; which of two sockets is read first is not for us to say.
    for connection in (0, 1):
        on_it = [n for n, line in zip(arrived, server.lines, strict=True) if line == connection]
        assert sorted(on_it) == on_it
    assert 2 == server.connections


async def test_a_connection_that_was_closed_while_idle_is_not_used(
    server: RawServer, client: HttpClient
) -> None:
    await ask(client)

    server.hang_up()
    await until(lambda: not usable(client))

    assert b"ok" == await ask(client, "POST")
    assert 2 == server.connections


async def test_a_connection_that_says_something_unasked_is_not_used(
    server: RawServer, client: HttpClient
) -> None:
    await ask(client)

    server.say(ok(b"of whom?", "408 Request Timeout"))
    await until(lambda: not usable(client))

    assert b"ok" == await ask(client, "POST")


async def test_reading_is_tried_again_where_a_kept_connection_ends(
    server: RawServer, client: HttpClient
) -> None:
    await ask(client)
    server.plays.append(HANGS_UP)

    assert b"ok" == await ask(client)
    assert [0, 0, 1] == server.lines


@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH", "DELETE"])
async def test_what_may_have_been_written_is_not_written_again(
    server: RawServer, client: HttpClient, method: str
) -> None:
    await ask(client)
    server.plays.append(HANGS_UP)

    with pytest.raises(ConnectionError):
        await ask(client, method)

    assert [0, 0] == server.lines


@pytest.mark.parametrize("body", [None, b"{}"])
async def test_what_could_not_be_sent_in_time_is_not_sent_at_all(
    server: RawServer, client: HttpClient, monkeypatch: pytest.MonkeyPatch, body: bytes | None
) -> None:
    await ask(client)
    monkeypatch.setattr(http, "SEND_SECONDS", -1)
    with pytest.raises(TimeoutError):
        await client.ask("POST", "/pods", {}, body, 10)

    # Reading does no harm at any time.
    await ask(client)

    assert ["GET", "GET"] == [each.partition(b" ")[0].decode() for each in server.seen]


async def test_reading_is_not_tried_for_ever(server: RawServer, client: HttpClient) -> None:
    await ask(client)
    server.plays.extend([HANGS_UP, HANGS_UP])

    with pytest.raises(ConnectionError):
        await ask(client)

    assert 3 == len(server.seen)


@only_builtin
async def test_reading_is_not_tried_again_where_an_answer_began(
    server: RawServer, client: HttpClient
) -> None:
    await ask(client)
    server.plays.append(ScriptedAnswer(b"HTTP/1.1 2", Then.CLOSE))

    with pytest.raises(ConnectionError):
        await ask(client)

    assert 2 == len(server.seen)


async def test_a_late_answer_goes_to_no_request(server: RawServer, client: HttpClient) -> None:
    server.plays.append(HANGS)
    hanging = asyncio.create_task(ask(client))
    await until(lambda: len(server.seen) == 1)

    hanging.cancel()
    await asyncio.wait([hanging])
    server.say(ok(b"late"))

    assert b"ok" == await ask(client)
    assert 2 == server.connections


async def test_to_wait_in_line_is_part_of_the_time(server: RawServer, client: HttpClient) -> None:
    server.plays.extend([HANGS, HANGS])
    hanging = [asyncio.create_task(ask(client)) for _ in range(2)]
    await until(lambda: len(server.seen) == 2)

    with pytest.raises(TimeoutError):
        await ask(client, seconds=0.05)

    for each in hanging:
        each.cancel()
    await asyncio.wait(hanging)
    assert [b"ok", b"ok", b"ok"] == await asyncio.gather(*(ask(client) for _ in range(3)))


@pytest.mark.parametrize("steps", [0, 1, 2, 3, 5, 8, 13, 21])
async def test_a_request_that_is_cancelled_leaves_room_for_the_next(
    client: HttpClient, steps: int
) -> None:
    asked = [asyncio.create_task(ask(client)) for _ in range(6)]
    for _ in range(steps):
        await asyncio.sleep(0)
    for each in asked:
        each.cancel()
    await asyncio.wait(asked)

    assert [b"ok"] * 6 == await asyncio.gather(*(ask(client) for _ in range(6)))
    assert usable(client) <= 2


async def test_idle_connections_are_closed(
    server: RawServer, opens: Opens, tls: ssl.SSLContext, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(http, "KEEP_SECONDS", 0.02)
    client = opens(server.url, tls, {}, limit=2)
    await asyncio.gather(ask(client), ask(client))

    await until(lambda: server.left == 2)

    assert not usable(client)
    assert b"ok" == await ask(client)
    await client.close()


async def test_to_close_ends_what_is_under_way(server: RawServer, client: HttpClient) -> None:
    server.plays.append(HANGS)
    hanging = asyncio.create_task(ask(client))
    await until(lambda: len(server.seen) == 1)

    await client.close()

    with pytest.raises(ConnectionError):
        await hanging


@pytest.mark.parametrize("steps", [0, 1, 2, 3, 5, 8, 13, 21])
async def test_after_closing_nothing_is_open_whatever_was_under_way(
    client: HttpClient, steps: int
) -> None:
    asked = [asyncio.create_task(ask(client)) for _ in range(6)]
    for _ in range(steps):
        await asyncio.sleep(0)
    await client.close()

    outcomes = await asyncio.gather(*asked, return_exceptions=True)
    await until(lambda: not usable(client))

    assert all(each == b"ok" or isinstance(each, ConnectionError) for each in outcomes)


async def test_a_client_that_is_closed_asks_nothing(server: RawServer, client: HttpClient) -> None:
    await client.close()

    with pytest.raises(ConnectionError, match="closed"):
        await ask(client)

    assert not server.connections


async def test_a_request_is_sent_as_it_is_and_a_name_in_its_path_stays_one(
    server: RawServer, opens: Opens, tls: ssl.SSLContext
) -> None:
    client = opens(f"{server.url}/k8s/c-1/", tls, {"User-Agent": "us"}, limit=1)

    await client.ask("POST", "/pods/a b\r\nc?x=1&y=ü", {"Accept": "*/*"}, b"{}", 10)
    await client.close()

    name = server.url.rpartition("/")[2]
    expected = "POST /k8s/c-1/pods/a%20b%0D%0Ac?x=1&y=%C3%BC HTTP/1.1\r\n"
    expected += f"Host: {name}\r\nUser-Agent: us\r\nAccept: */*\r\nContent-Length: 2\r\n\r\n{{}}"
    assert [expected.encode()] == server.seen


@pytest.mark.parametrize("own_tls", ["https"], indirect=True)
async def test_a_server_that_no_authority_vouches_for_is_not_asked(
    server: RawServer, opens: Opens
) -> None:
    client = opens(server.url, ssl.create_default_context(), {}, limit=1)

    with pytest.raises(ssl.SSLCertVerificationError):
        await ask(client)
    await client.close()

    assert not server.seen


@pytest.mark.parametrize("own_tls", ["https"], indirect=True)
async def test_a_server_of_another_name_is_not_asked(
    server: RawServer, opens: Opens, tls: ssl.SSLContext
) -> None:
    client = opens(server.url.replace("127.0.0.1", "localhost"), tls, {}, limit=1)

    with pytest.raises(ssl.SSLCertVerificationError):
        await ask(client)
    await client.close()

    assert not server.seen


@pytest.mark.parametrize("body", [None, b"{}"])
async def test_a_write_is_sent_only_if_it_may_be_at_that_moment(
    server: RawServer, client: HttpClient, body: bytes | None
) -> None:
    await ask(client)
    with pytest.raises(NotSentError):
        await client.ask("POST", "/pods", {}, body, 10, may_send=lambda: False)

    # Reading does no harm, and the connection is none the worse.
    await client.ask("GET", "/pods", {}, None, 10, may_send=lambda: False)

    assert ["GET", "GET"] == [each.partition(b" ")[0].decode() for each in server.seen]


async def test_whether_a_write_may_be_sent_is_asked_when_its_turn_has_come(
    server: RawServer, client: HttpClient
) -> None:
    server.plays.extend([HANGS, HANGS])
    hanging = [asyncio.create_task(ask(client)) for _ in range(2)]
    await until(lambda: len(server.seen) == 2)
    allowed = True
    waits = asyncio.create_task(
        client.ask("POST", "/pods", {}, b"{}", 10, may_send=lambda: allowed)
    )
    await asyncio.sleep(0)

    allowed = False
    for each in hanging:
        each.cancel()
    with pytest.raises(NotSentError):
        await waits

    assert 2 == len(server.seen)


@only_builtin
async def test_a_write_that_may_be_sent_is_sent_before_the_loop_does_anything_else(
    own_tls: ssl.SSLContext | None, opens: Opens, tls: ssl.SSLContext
) -> None:
    with ThreadedServer(own_tls) as server:
        client = opens(server.url, tls, {}, limit=1)
        await ask(client)

        async def stand_still() -> bool:
            latest = time.monotonic() + 10
            while not server.written.is_set() and time.monotonic() < latest:
                pass
            return server.written.is_set()

        # In one turn of the loop: the request, and then what holds the loop up.
        writes, has_come = asyncio.create_task(ask(client, "POST")), stand_still()
        assert await asyncio.create_task(has_come)
        await writes
        await client.close()
