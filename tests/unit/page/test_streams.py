"""What each open browser is told: versions and times, from one reading for all."""

import asyncio
import json
import socket
import threading
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import anyio
import pytest
from aiohttp import ClientResponse, TCPConnector, web
from aiohttp.test_utils import TestClient, TestServer

from gang_scheduler.client.errors import ApiError
from gang_scheduler.inspection.cluster import Cluster
from gang_scheduler.page import sources, streams, view
from gang_scheduler.page.access import Access
from gang_scheduler.page.rights import Asked, Unanswered
from gang_scheduler.page.sources import OfFiles, Seen, Views
from gang_scheduler.page.streams import Streams
from gang_scheduler.page.view import Reading
from support.listed_clusters import gang, node
from support.page_users import PODS, Known, bearer, by_token, opened_for
from support.pages import opened, source_of

pytestmark = pytest.mark.usefixtures("quickly")
CLUSTER = [node("node-0"), *gang("waits", 2)]
MOST = 3
PATIENCE_SECONDS = 10.0
LARGEST_MESSAGE = 1000
LARGEST_BUFFER = 100_000
MANY = 100


class Changing:
    """A source whose cluster is replaced, breaks or hangs when a test says so."""

    still = False

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._of_files = source_of(directory, CLUSTER)
        self.readings = 0
        self.broken = ""
        self.free = threading.Event()
        self.free.set()

    def change(self) -> None:
        """Have one more gang from now on."""
        self._of_files = source_of(self._directory, [*CLUSTER, *gang("more", 1)])

    def read(self) -> Reading:
        """Return the cluster, or raise."""
        self.readings += 1
        self.free.wait()
        if self.broken:
            raise ApiError(0, self.broken)
        return self._of_files.read()

    def tried(self, manifests: str) -> Cluster:
        """Return the cluster with these."""
        return self._of_files.tried(manifests)

    def close(self) -> None:
        """Do nothing."""


@pytest.fixture
def quickly(monkeypatch: pytest.MonkeyPatch) -> None:
    """Read often."""
    monkeypatch.setattr(sources, "LEAST_SECONDS", 0.02)


@asynccontextmanager
async def client_of(
    source: Changing | OfFiles,
    beat_seconds: float = 15.0,
    most: int = MOST,
    clock: Callable[[], float] = time.monotonic,
) -> AsyncIterator["TestClient[Any, Any]"]:
    """Serve streams."""
    async with client_of_views(Views(source, clock), beat_seconds, most) as client:
        yield client


@asynccontextmanager
async def client_of_views(
    views: Any, beat_seconds: float = 15.0, most: int = MOST, door: Access | None = None
) -> AsyncIterator["TestClient[Any, Any]"]:
    """Serve streams of views."""
    served, made = Streams(views, door or Access(), most, beat_seconds), web.Application()
    made.add_routes([web.get("/events", served.answer)])

    async def end(_: web.Application) -> None:
        await served.close()
        await views.close()

    made.on_shutdown.append(end)
    connector = TCPConnector(limit=0)
    async with TestClient(TestServer(made), connector=connector) as client:
        yield client


class Hurried:
    """Views of which each look finds a newer version, as of a cluster that never rests."""

    still = False
    seconds_left = 0.0

    def __init__(self) -> None:
        self.number = 0

    @property
    def last(self) -> Seen:
        """The last version, with a long text."""
        return Seen(None, "x" * LARGEST_MESSAGE, str(self.number))

    async def renewed_within(self, _: float | None) -> bool:
        """Have a newer version."""
        self.number += 1
        return True

    async def close(self) -> None:
        """Do nothing."""


async def said(stream: ClientResponse, kind: str = "data: {") -> dict[str, Any]:
    """Return the next message of a stream."""
    while True:
        line = (await stream.content.readline()).decode()
        assert line, "the stream has ended"
        if line.startswith(kind):
            return json.loads(line.partition(" ")[2]) if "{" in line else {}


async def test_a_stream_begins_with_the_version_and_says_a_new_one(tmp_path: Path) -> None:
    source = Changing(tmp_path)
    async with client_of(source) as client:
        stream = await client.get("/events")
        first = await said(stream)
        source.change()
        second = await said(stream)

    assert "text/event-stream" == stream.headers["Content-Type"]
    assert "default-src 'self'" in stream.headers["Content-Security-Policy"]
    assert "" == first["problem"]
    assert first["version"] != second["version"]


async def test_a_cluster_that_stays_keeps_its_version_until_ages_are_old(tmp_path: Path) -> None:
    clock = [1000.0]
    views = Views(Changing(tmp_path), lambda: clock[0])
    first = await views.latest()
    clock[0] += sources.AGES_SECONDS / 2
    second = await views.latest()
    clock[0] += sources.AGES_SECONDS / 2
    third = await views.latest()
    await views.close()

    assert first.view is not second.view
    assert first.version == second.version
    assert second.version != third.version


async def test_what_no_reader_of_the_page_sees_makes_no_version(tmp_path: Path) -> None:
    source = Changing(tmp_path)
    first = view.of_reading(source.read())
    later = replace(source.read().cluster, read_at=source.read().cluster.read_at + 5)
    source.change()

    assert first.fingerprint == view.of_reading(Reading(later)).fingerprint
    assert first.fingerprint != view.of_reading(source.read()).fingerprint


async def test_a_stream_says_why_the_data_is_old_and_when_that_ends(tmp_path: Path) -> None:
    source = Changing(tmp_path)
    async with client_of(source) as client:
        stream = await client.get("/events")
        first = await said(stream)
        source.broken = "no route " * 1000
        broken = await said(stream)
        source.broken = ""
        again = await said(stream)

    assert broken["problem"].startswith("the cluster cannot be read: no route")
    assert LARGEST_MESSAGE > len(json.dumps(broken))
    assert first["readAt"] == broken["readAt"]
    assert "" == again["problem"]


async def test_many_streams_cost_no_more_readings_than_one(tmp_path: Path) -> None:
    source = Changing(tmp_path)
    source.free.clear()
    async with client_of(source) as client:
        streams = [await client.get("/events") for _ in range(MOST)]
        source.free.set()
        versions = {(await said(each))["version"] for each in streams}

        assert 1 == len(versions)
        source.free.clear()
        before = source.readings
        await asyncio.sleep(10 * sources.LEAST_WAIT_SECONDS)
        assert 1 >= source.readings - before
        source.free.set()


async def test_a_hundred_streams_hear_each_version_of_one_reading(tmp_path: Path) -> None:
    clock, source = [0.0], Changing(tmp_path)
    async with client_of(source, most=MANY, clock=lambda: clock[0]) as client:
        streams = [await client.get("/events") for _ in range(MANY)]
        first = {(await said(each))["version"] for each in streams}
        assert 1 == source.readings
        source.change()
        clock[0] += 2 * sources.LEAST_SECONDS
        second = {(await said(each))["version"] for each in streams}

    assert (1, 1) == (len(first), len(second))
    assert first != second
    assert 2 == source.readings


async def test_a_slow_reader_costs_no_memory_and_then_hears_the_newest(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    views, transports = Hurried(), []
    follow = Streams._follow

    async def seen(self: Streams, request: web.Request, response: web.StreamResponse) -> None:
        transports.append(request.transport)
        await follow(self, request, response)

    monkeypatch.setattr(Streams, "_follow", seen)
    async with client_of_views(views) as client:
        with socket.socket() as reader:
            # A small window: the kernel keeps little of what is sent.
            reader.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            reader.settimeout(0)
            loop = asyncio.get_running_loop()
            await loop.sock_connect(reader, ("127.0.0.1", client.port))
            await loop.sock_sendall(reader, b"GET /events HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
            with anyio.fail_after(PATIENCE_SECONDS):
                before = -1
                while before != views.number:
                    before = views.number
                    await asyncio.sleep(0.2)
            (transport,) = transports
            assert transport is not None
            assert 0 < transport.get_write_buffer_size() < LARGEST_BUFFER
            # The stream waits for its reader; meanwhile others move on.
            views.number += 1_000_000
            content = b""
            with anyio.fail_after(PATIENCE_SECONDS):
                while b"id: 1000" not in content[-200_000:]:
                    content += await loop.sock_recv(reader, 65536)
            assert content.count(b"\nid: ") < before + 1000


async def test_a_stream_is_not_silent_while_the_cluster_is_read(tmp_path: Path) -> None:
    source = Changing(tmp_path)
    source.free.clear()
    async with client_of(source, beat_seconds=0.05) as client:
        stream = await client.get("/events")
        await said(stream, "event: beat")
        await said(stream, "event: beat")
        source.free.set()
        await said(stream)


async def test_streams_beyond_the_limit_are_refused_until_one_ends(tmp_path: Path) -> None:
    async with client_of(Changing(tmp_path), beat_seconds=0.05) as client:
        streams = [await client.get("/events") for _ in range(MOST)]
        refused = await client.get("/events")
        streams[0].close()
        statuses = []
        for _ in range(100):
            answer = await client.get("/events")
            statuses.append(answer.status)
            answer.close()
            if 200 in statuses:
                break
            await asyncio.sleep(0.05)

    assert 503 == refused.status
    assert "30" == refused.headers["Retry-After"]
    assert 200 == statuses[-1]


@pytest.mark.parametrize("name", ["ruby", "system:serviceaccount:team:robot-{}"])
async def test_a_user_with_many_browsers_leaves_streams_for_others(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """So do the ServiceAccounts of a namespace."""

    class Named(Access):
        def user_name(self, request: web.Request) -> str:
            return request.headers["User"]

    monkeypatch.setattr(streams, "MOST_OF_USER", MOST - 1)
    async with client_of_views(Views(Changing(tmp_path)), door=Named()) as client:
        users = [*(name.format(each) for each in range(MOST)), "jade"]
        found = [await client.get("/events", headers={"User": each}) for each in users]

    assert [200] * (MOST - 1) + [503, 200] == [each.status for each in found]


async def test_files_never_change_so_there_is_no_stream(tmp_path: Path) -> None:
    async with client_of(source_of(tmp_path, CLUSTER)) as client:
        assert 204 == (await client.get("/events")).status


async def test_the_page_has_a_stream_for_its_own_user_alone(tmp_path: Path) -> None:
    async with opened(Changing(tmp_path), enter=False) as browser:
        assert 403 == (await browser.get("/events")).status


async def test_who_may_not_be_known_yet_is_asked_to_come_again(tmp_path: Path) -> None:
    class Silent(Known):
        silent = False

        async def may(self, asked: Asked) -> bool:
            if self.silent:
                raise Unanswered("SubjectAccessReview: no answer")
            return await super().may(asked)

    users = Silent({"good": "ruby", "poor": "jade"}, {"ruby": [(PODS, "team")]})
    async with opened_for(Changing(tmp_path), by_token(users)) as browser:
        assert 200 == (await browser.get("/gangs", **bearer("good"))).status
        refused = await browser.get("/events", **bearer("poor"))
        users.silent = True
        unknown = await browser.get("/events", **bearer("good"))

    assert (403, 503) == (refused.status, unknown.status)
    assert "does not say what you may see: SubjectAccessReview: no answer" in unknown.text
    assert "30" == unknown.headers["Retry-After"]


async def test_a_page_with_open_streams_ends(tmp_path: Path) -> None:
    async with opened(Changing(tmp_path)) as browser:
        stream = await browser.client.get("/events")
        await said(stream)
        with anyio.fail_after(PATIENCE_SECONDS):
            await browser.client.server.close()
