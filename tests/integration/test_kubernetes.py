"""What only a real API server, or a server that misbehaves, can tell of the connection."""

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable

import anyio
import pytest
from aiohttp import test_utils, web
from kubernetes_asyncio.client import Configuration
from kubernetes_asyncio.config import ConfigException
from structlog.testing import capture_logs

from gang_scheduler.api.kinds import NODES, PODS
from gang_scheduler.client import connection, kubernetes
from gang_scheduler.client.connection import Connection
from gang_scheduler.client.errors import ApiError, Kind
from gang_scheduler.client.fence import Fence
from gang_scheduler.client.kubernetes import KubernetesApi
from gang_scheduler.client.leader_election import LeaderElector
from gang_scheduler.model.refs import PodRef
from gang_scheduler.settings.choices import HttpClientName
from integration.support import contract_servers
from tools import controlplane

Handler = Callable[[web.Request], Awaitable[web.Response]]


def _anywhere(handler: Handler) -> web.Application:
    application = web.Application()
    application.router.add_route("*", "/{path:.*}", handler)
    return application


async def answer_to(handler: Handler, http_client: HttpClientName, seconds: float = 5) -> ApiError:
    """Return the error that an answer becomes."""
    async with test_utils.TestServer(_anywhere(handler)) as server:
        found = Configuration(host=str(server.make_url("")).rstrip("/"))
        async with Connection(found, http_client=http_client) as opened:
            with pytest.raises(ApiError) as raised:
                await opened.request("GET", "/api/v1/pods", timeout_seconds=seconds)
    return raised.value


@pytest.mark.parametrize(("header", "expected"), [("7", 7.0), ("0.5", 0.5), ("Fri, 01 Jan", 0.0)])
async def test_a_throttling_answer_says_when_to_come_back(
    header: str, expected: float, http_client: HttpClientName
) -> None:
    async def handler(_: web.Request) -> web.Response:
        return web.json_response(
            {"message": "too many"}, status=429, headers={"Retry-After": header}
        )

    error = await answer_to(handler, http_client)

    assert (Kind.THROTTLED, expected) == (error.kind, error.retry_after)
    assert "429: too many" == str(error)


@pytest.mark.parametrize(("level", "expected"), [(logging.DEBUG, [429]), (logging.INFO, [])])
async def test_at_level_debug_every_request_is_a_line_with_the_status_of_its_answer(
    caplog: pytest.LogCaptureFixture,
    level: int,
    expected: list[int],
    http_client: HttpClientName,
) -> None:
    async def handler(_: web.Request) -> web.Response:
        return web.json_response({"message": "too many"}, status=429)

    caplog.set_level(level, logger="gang_scheduler")
    with capture_logs() as lines:
        await answer_to(handler, http_client)

    found = [(each["event"], each["method"], each["path"], each["status"]) for each in lines]
    assert [("request", "GET", "/api/v1/pods", status) for status in expected] == found


@pytest.mark.parametrize("body", ["<html>bad gateway</html>", "[]", "{}", "null", "\xff"])
async def test_an_error_without_a_status_object_is_reported_as_it_is(
    body: str, http_client: HttpClientName
) -> None:
    async def handler(_: web.Request) -> web.Response:
        return web.Response(text=body, status=502)

    error = await answer_to(handler, http_client)

    assert (Kind.UNKNOWN, body) == (error.kind, error.message)


READS: dict[str, Callable[[KubernetesApi], Awaitable[object]]] = {
    "a list": lambda api: api.uids(PODS),
    "a pod": lambda api: api.bound_node(PodRef("default", "a", "1")),
    "an object": lambda api: api.get(PODS, "default", "a"),
    "a Lease": lambda api: api.get_lease("default", "a"),
    "a written Lease": lambda api: api.put_lease("default", "a", {"metadata": {}}),
}


@pytest.mark.parametrize("read", READS.values(), ids=READS)
@pytest.mark.parametrize(
    "body",
    [
        b"",
        b'{"metadata": {"na',
        b"<html>sign in</html>",
        b"[]",
        b'{"metadata": "\xff"}',
        b"[" * 9999,
    ],
)
async def test_a_success_that_says_something_else_leaves_open_what_happened(
    read: Callable[[KubernetesApi], Awaitable[object]], body: bytes, http_client: HttpClientName
) -> None:
    async def handler(_: web.Request) -> web.Response:
        return web.Response(body=body)

    async with test_utils.TestServer(_anywhere(handler)) as server:
        found = Configuration(host=str(server.make_url("")).rstrip("/"))
        async with Connection(found, http_client=http_client) as opened:
            with pytest.raises(ApiError) as raised:
                await read(KubernetesApi(opened))

    assert (Kind.UNKNOWN, 0) == (raised.value.kind, raised.value.status)


async def test_to_be_sent_elsewhere_is_no_success(http_client: HttpClientName) -> None:
    async def handler(_: web.Request) -> web.Response:
        return web.Response(text="moved", status=307, headers={"Location": "/elsewhere"})

    error = await answer_to(handler, http_client)

    assert (Kind.REFUSED, 307, "moved") == (error.kind, error.status, error.message)


async def test_a_connection_that_breaks_leaves_open_what_happened(
    http_client: HttpClientName,
) -> None:
    async def handler(request: web.Request) -> web.Response:
        assert request.transport is not None
        request.transport.close()
        return web.Response()

    error = await answer_to(handler, http_client)

    assert (Kind.UNKNOWN, 0) == (error.kind, error.status)


async def test_an_answer_that_never_comes_leaves_open_what_happened(
    http_client: HttpClientName,
) -> None:
    async def handler(_: web.Request) -> web.Response:
        await asyncio.sleep(1)
        return web.Response()

    error = await answer_to(handler, http_client, seconds=0.2)

    assert (Kind.UNKNOWN, 0) == (error.kind, error.status)


async def test_a_server_that_is_not_there_is_no_answer(http_client: HttpClientName) -> None:
    found = Configuration(host=f"http://127.0.0.1:{test_utils.unused_port()}")
    async with Connection(found, http_client=http_client) as opened:
        with pytest.raises(ApiError) as raised:
            await opened.request("GET", "/api/v1/pods")

    assert (Kind.UNKNOWN, 0) == (raised.value.kind, raised.value.status)


@pytest.mark.parametrize(
    "error", [OSError("the token's volume is gone"), ConfigException("the token is empty")]
)
async def test_a_token_that_cannot_be_read_is_an_api_error(
    error: Exception, http_client: HttpClientName
) -> None:
    async def refresh(_: Configuration) -> None:
        raise error

    configuration = Configuration(host="http://127.0.0.1:1")
    configuration.api_key = {"BearerToken": "Bearer old"}
    configuration.refresh_api_key_hook = refresh
    async with Connection(configuration, http_client=http_client) as opened:
        with pytest.raises(ApiError):
            await opened.request("GET", "/api/v1/pods")
        with pytest.raises(ApiError):
            async with opened.stream("/api/v1/pods", silence_seconds=1):
                pass


async def test_a_token_is_sent_without_the_end_of_its_line(http_client: HttpClientName) -> None:
    seen = []

    async def handler(request: web.Request) -> web.Response:
        seen.append(request.headers["Authorization"])
        return web.Response()

    async with test_utils.TestServer(_anywhere(handler)) as server:
        configuration = Configuration(host=str(server.make_url("")))
        configuration.api_key = {"BearerToken": "Bearer secret\n"}
        async with Connection(configuration, http_client=http_client) as opened:
            await opened.request("GET", "/api/v1/pods")

    assert ["Bearer secret"] == seen


async def test_a_token_that_was_replaced_is_sent_within_a_minute(
    http_client: HttpClientName, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = []

    async def handler(request: web.Request) -> web.Response:
        seen.append(request.headers["Authorization"])
        return web.Response()

    async def read(configuration: Configuration) -> None:
        configuration.api_key = {"BearerToken": f"Bearer {len(seen)}"}

    monkeypatch.setattr(connection, "TOKEN_SECONDS", -1)
    async with test_utils.TestServer(_anywhere(handler)) as server:
        configuration = Configuration(host=str(server.make_url("")))
        configuration.refresh_api_key_hook = read
        async with Connection(configuration, http_client=http_client) as opened:
            await opened.request("GET", "/api/v1/pods")
            await opened.request("GET", "/api/v1/pods")

    assert ["Bearer 0", "Bearer 1"] == seen


# On a real API server.


@pytest.fixture
async def api(
    plane: controlplane.ControlPlane, http_client: HttpClientName
) -> AsyncIterator[KubernetesApi]:
    async with Connection(contract_servers.configuration(plane), http_client=http_client) as opened:
        yield KubernetesApi(opened)


@pytest.mark.e2e
async def test_a_long_list_is_read_page_by_page(
    plane: controlplane.ControlPlane,
    api: KubernetesApi,
    http_client: HttpClientName,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    prefix = f"paged-{http_client}-"
    names = await asyncio.to_thread(plane.nodes, 7, prefix)
    monkeypatch.setattr(kubernetes, "PAGE", 2)

    found = await api.uids(NODES)

    assert set(names) == {ref.name for ref in found.values() if ref.name.startswith(prefix)}


@pytest.mark.e2e
async def test_a_wrong_token_is_denied(
    plane: controlplane.ControlPlane, http_client: HttpClientName
) -> None:
    configuration = contract_servers.configuration(plane)
    configuration.api_key = {"BearerToken": "Bearer wrong"}
    async with Connection(configuration, http_client=http_client) as opened:
        with pytest.raises(ApiError) as raised:
            await KubernetesApi(opened).uids(PODS)

    assert (Kind.DENIED, 401) == (raised.value.kind, raised.value.status)


@pytest.mark.e2e
async def test_an_elector_takes_renews_and_releases_a_real_lease(
    api: KubernetesApi, http_client: HttpClientName
) -> None:
    lease = f"elected-{http_client}"
    electors = [
        LeaderElector(api, "default", lease, name, lease_seconds=2, renew_deadline=1.5,
                      retry_seconds=0.2)
        for name in ("a", "b")
    ]  # fmt: skip
    first, second = (asyncio.create_task(each.run()) for each in electors)
    with anyio.fail_after(10):
        await asyncio.wait(
            [asyncio.create_task(each.acquired.wait()) for each in electors],
            return_when=asyncio.FIRST_COMPLETED,
        )
        await asyncio.sleep(2.5)
        assert 1 == sum(each.is_leader() for each in electors)
        leader, task = (electors[0], first) if electors[0].is_leader() else (electors[1], second)
        other = electors[1] if leader is electors[0] else electors[0]
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        await other.acquired.wait()

    spec = (await api.get_lease("default", lease))["spec"]
    assert 1 == spec["leaseTransitions"]
    for each in (first, second):
        each.cancel()
    await asyncio.gather(first, second, return_exceptions=True)
    assert "" == (await api.get_lease("default", lease))["spec"]["holderIdentity"]


class Leads:
    """Leads, for a while."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds

    def is_leader(self) -> bool:
        """Return whether it leads."""
        return self.seconds > 4

    def seconds_left(self) -> float:
        """Return for how long no other can."""
        return self.seconds


async def test_a_write_says_how_long_it_may_last_and_is_sent_by_the_leader_alone(
    http_client: HttpClientName,
) -> None:
    asked: list[tuple[str, str]] = []

    async def handler(request: web.Request) -> web.Response:
        asked.append((request.method, request.query_string))
        return web.json_response({})

    leads, pod = Leads(10), PodRef("default", "a", "1")
    async with test_utils.TestServer(_anywhere(handler)) as server:
        found = Configuration(host=str(server.make_url("")).rstrip("/"))
        fence = Fence(leads)
        async with Connection(found, http_client=http_client, fence=fence) as opened:
            api = KubernetesApi(opened)
            await api.bind(pod, "n0", {})
            await api.evict(pod, dry_run=True)
            await api.get(PODS, "default", "a")
            leads.seconds = 4
            with pytest.raises(ApiError) as not_sent:
                await api.bind(pod, "n0", {})
            await api.get(PODS, "default", "a")
            leads.seconds = 10
            fence.close()
            with pytest.raises(ApiError):
                await api.delete_pod(pod)

    assert Kind.UNKNOWN is not_sent.value.kind
    expected = [("POST", "timeout=9.000s"), ("POST", "dryRun=All&timeout=9.000s")]
    assert [*expected, ("GET", ""), ("GET", "")] == asked
