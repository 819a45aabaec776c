"""All that is here runs with both clients, both event loops, with TLS and without.

The loops are asyncio's own and the product's.
"""

import asyncio
import ssl
import subprocess
from collections.abc import AsyncIterator, Callable, Mapping
from pathlib import Path

import pytest

from gang_scheduler.client import aiohttp_client
from gang_scheduler.client.address import Address
from gang_scheduler.client.aiohttp_client import AiohttpClient
from gang_scheduler.client.http import HttpClient
from gang_scheduler.client.http1 import Client
from gang_scheduler.event_loops import EventLoop
from gang_scheduler.settings.choices import HttpClientName
from integration.support.raw_http_server import RawServer

SERVER_NAME = "api.internal"


def pytest_asyncio_loop_factories() -> Mapping[str, Callable[[], asyncio.AbstractEventLoop]]:
    return {"asyncio": asyncio.new_event_loop, "ours": EventLoop}


@pytest.fixture(scope="session")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Make a certificate of 127.0.0.1, with its key in the same file."""
    return _certificate(tmp_path_factory.mktemp("tls") / "server.pem", "IP:127.0.0.1")


@pytest.fixture(scope="session")
def named_certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Make a certificate of a name that no URL of a test has, with its key in the same file."""
    return _certificate(tmp_path_factory.mktemp("tls") / "named.pem", f"DNS:{SERVER_NAME}")


def _certificate(made: Path, subject: str) -> Path:
    command = "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2"
    names = ["-subj", "/CN=odd", "-addext", f"subjectAltName={subject}"]
    files = ["-keyout", str(made), "-out", str(made.with_suffix(".crt"))]
    subprocess.run([*command.split(), *names, *files], check=True, capture_output=True)
    made.write_text(made.read_text() + made.with_suffix(".crt").read_text())
    return made


@pytest.fixture(params=["http", "https"])
def own_tls(request: pytest.FixtureRequest) -> ssl.SSLContext | None:
    """Give the server's side of TLS, and the way without it."""
    if request.param == "http":
        return None
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(request.getfixturevalue("certificate"))
    return context


@pytest.fixture
def tls(certificate: Path) -> ssl.SSLContext:
    """Trust the server."""
    return ssl.create_default_context(cafile=str(certificate))


@pytest.fixture
async def server(own_tls: ssl.SSLContext | None) -> AsyncIterator[RawServer]:
    async with RawServer(own_tls) as started:
        yield started


Opens = Callable[..., HttpClient]


def opens_builtin(url: str, tls: ssl.SSLContext, headers: Mapping[str, str], limit: int) -> Client:
    """Return the client that is ours."""
    return Client(Address.of(url, tls), headers, limit)


def opens_aiohttp(
    url: str, tls: ssl.SSLContext, headers: Mapping[str, str], limit: int
) -> AiohttpClient:
    """Return the client with a session of its own."""
    session = aiohttp_client.session_of(tls, headers, proxy_url=None)
    return AiohttpClient(session, Address.of(url, tls), limit)


OPENS: Mapping[HttpClientName, Opens] = {
    HttpClientName.BUILTIN: opens_builtin,
    HttpClientName.AIOHTTP: opens_aiohttp,
}


@pytest.fixture
def opens(http_client: HttpClientName) -> Opens:
    """Give a way to open a client of a server."""
    return OPENS[http_client]


only_builtin = pytest.mark.parametrize("http_client", [HttpClientName.BUILTIN], indirect=True)
"""What is no part of the contract: where the other client is slower, or as safe in another way."""


def usable(client: HttpClient) -> int:
    """Return how many connections of a client another request could go over."""
    if isinstance(client, Client):
        return len(client._open)
    assert isinstance(client, AiohttpClient)
    if client._session.connector is None:
        return 0
    kept = [each for line in client._session.connector._conns.values() for each, _ in line]
    return sum(each.is_connected() and not each.should_close for each in kept)
