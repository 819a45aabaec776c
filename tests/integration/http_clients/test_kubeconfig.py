"""What a kubeconfig says of the way to the API server, by each of the clients that go it."""

import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path

import pytest
from aiohttp import ClientError
from kopf._cogs.clients.auth import APIContext
from kubernetes_asyncio.client import Configuration

from gang_scheduler.client.connection import Connection, UnusableConfigurationError
from gang_scheduler.client.errors import ApiError
from gang_scheduler.settings.choices import HttpClientName
from gang_scheduler.watch import kopf
from integration.http_clients.conftest import SERVER_NAME
from integration.support.raw_http_server import RawServer
from integration.support.tunnel_proxy import TunnelProxy

Asks = Callable[[Connection], Awaitable[bytes]]


async def by_request(connection: Connection) -> bytes:
    return await connection.request("GET", "/pods")


async def by_stream(connection: Connection) -> bytes:
    async with connection.stream("/pods", silence_seconds=10) as chunks:
        return b"".join([each async for each in chunks])


async def by_kopf(connection: Connection) -> bytes:
    """Ask as Kopf does, with its own session."""
    context = APIContext(await kopf.credentials(connection))
    try:
        async with context.session.get(f"{context.server}/pods") as answer:
            return await answer.read()
    finally:
        await context.close()


@dataclass(frozen=True)
class Asker:
    """A client, and how it asks."""

    by: Asks
    http_client: HttpClientName = HttpClientName.BUILTIN

    def connection(self, found: Configuration) -> Connection:
        """Return a connection that is its own."""
        return Connection(found, http_client=self.http_client)


CLIENTS = {
    **{each.value: Asker(by_request, each) for each in HttpClientName},
    "watches": Asker(by_stream),
    "Kopf": Asker(by_kopf),
}
each_client = pytest.mark.parametrize("ask", CLIENTS.values(), ids=CLIENTS)


@pytest.fixture
async def named(named_certificate: Path) -> AsyncIterator[RawServer]:
    """Give a server that proves a name which is not that of its URL."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(named_certificate)
    async with RawServer(context) as started:
        yield started


@pytest.fixture
async def proxy() -> AsyncIterator[TunnelProxy]:
    async with TunnelProxy() as started:
        yield started


def configuration(
    url: str, trusted: Path, *, server_name: str | None = None, proxy_url: str | None = None
) -> Configuration:
    """Return what is read of a kubeconfig."""
    found = Configuration(host=url)
    found.ssl_ca_cert = str(trusted)
    found.tls_server_name = server_name
    found.proxy = proxy_url
    return found


@each_client
async def test_the_server_proves_the_name_of_the_kubeconfig(
    named: RawServer, named_certificate: Path, ask: Asker
) -> None:
    async with ask.connection(
        configuration(named.url, named_certificate, server_name=SERVER_NAME)
    ) as connection:
        assert b"ok" == await ask.by(connection)


@pytest.mark.parametrize("server_name", [None, "another.internal"])
@each_client
async def test_a_server_that_proves_another_name_is_not_asked(
    named: RawServer, named_certificate: Path, ask: Asker, server_name: str | None
) -> None:
    async with ask.connection(
        configuration(named.url, named_certificate, server_name=server_name)
    ) as connection:
        with pytest.raises((ApiError, OSError), match="CERTIFICATE_VERIFY_FAILED"):
            await ask.by(connection)

    assert not named.seen


@each_client
async def test_the_certificate_of_the_kubeconfig_says_which_user_asks(
    certificate: Path, ask: Asker
) -> None:
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH, cafile=str(certificate))
    context.verify_mode = ssl.CERT_REQUIRED
    context.load_cert_chain(certificate)
    async with RawServer(context) as strict:
        found = configuration(strict.url, certificate)
        async with ask.connection(found) as connection:
            with pytest.raises((ApiError, OSError, ClientError)):
                await ask.by(connection)
        found.cert_file = str(certificate)
        async with ask.connection(found) as connection:
            assert b"ok" == await ask.by(connection)

    assert 1 == len(strict.seen)


@pytest.mark.parametrize("own_tls", ["https"], indirect=True)
@each_client
async def test_the_proxy_of_the_kubeconfig_is_on_the_way(
    server: RawServer, certificate: Path, proxy: TunnelProxy, ask: Asker
) -> None:
    async with ask.connection(
        configuration(server.url, certificate, proxy_url=proxy.url())
    ) as connection:
        assert b"ok" == await ask.by(connection)

    target = server.url.rpartition("/")[2]
    assert [f"CONNECT {target} HTTP/1.1"] == [each.splitlines()[0] for each in proxy.asked]
    assert 1 == len(server.seen)


@each_client
async def test_a_proxy_does_not_change_whose_name_is_proved(
    named: RawServer, named_certificate: Path, proxy: TunnelProxy, ask: Asker
) -> None:
    found = configuration(
        named.url, named_certificate, server_name=SERVER_NAME, proxy_url=proxy.url()
    )
    async with ask.connection(found) as connection:
        assert b"ok" == await ask.by(connection)

    found.tls_server_name = None
    async with ask.connection(found) as connection:
        with pytest.raises((ApiError, OSError), match="CERTIFICATE_VERIFY_FAILED"):
            await ask.by(connection)

    assert 2 == len(proxy.asked)


@pytest.mark.parametrize("own_tls", ["https"], indirect=True)
@each_client
async def test_the_proxy_gets_the_user_of_its_url(
    server: RawServer, certificate: Path, proxy: TunnelProxy, ask: Asker
) -> None:
    found = configuration(server.url, certificate, proxy_url=proxy.url("us:p%40ss@"))
    async with ask.connection(found) as connection:
        await ask.by(connection)

    assert "Proxy-Authorization: Basic dXM6cEBzcw==" in proxy.asked[0].splitlines()
    # The API server is not the one to know it.
    assert b"dXM6cEBzcw==" not in server.seen[0]


@pytest.mark.parametrize("own_tls", ["https"], indirect=True)
@pytest.mark.parametrize(
    ("reply", "expected"),
    [
        (b"HTTP/1.1 403 Forbidden\r\n\r\n", "403 Forbidden"),
        (b"HTTP/1.1 407 Proxy Authentication Required\r\n\r\nsign in", "407"),
        (b"HTTP/1.1 200 OK\r\n\r\nthis is no tunnel", "opens no tunnel"),
        (b"HTTP/1.1 200 OK\r\n", "opens no tunnel"),
        (b"SSH-2.0-OpenSSH_9.6\r\n\r\n", "SSH"),
        (b"x" * (1 << 15), "opens no tunnel"),
    ],
)
async def test_a_proxy_that_makes_no_tunnel_is_no_answer(
    server: RawServer,
    certificate: Path,
    http_client: HttpClientName,
    reply: bytes,
    expected: str,
) -> None:
    async with TunnelProxy(reply) as refusing:
        found = configuration(server.url, certificate, proxy_url=refusing.url("us:secret@"))
        async with Connection(found, http_client=http_client) as connection:
            with pytest.raises(ApiError) as raised:
                await by_request(connection)

    assert 0 == raised.value.status
    assert "secret" not in str(raised.value)
    if http_client is HttpClientName.BUILTIN:
        assert expected in str(raised.value)
    assert not server.seen


@pytest.mark.parametrize(
    ("url", "proxy_url", "expected"),
    [
        ("https://k8s.example", "socks5://u:secret@p:1080", "proxy-url: only .*, not socks5://"),
        ("https://k8s.example", "https://proxy:3128", "proxy-url: only .*, not https://"),
        ("https://k8s.example", "proxy:3128", "proxy-url: only .*, not one without a scheme"),
        ("https://k8s.example", "http://", "proxy-url: only "),
        ("http://k8s.example", "http://proxy:3128", "proxy-url: a server without TLS"),
    ],
)
async def test_a_proxy_that_cannot_be_used_is_refused_by_name_at_the_start(
    certificate: Path, url: str, proxy_url: str, expected: str
) -> None:
    with pytest.raises(UnusableConfigurationError, match=expected) as raised:
        async with Connection(configuration(url, certificate, proxy_url=proxy_url)):
            pass

    assert "secret" not in str(raised.value)
