"""All that is here runs on asyncio's own event loop and on the product's, with TLS and without."""

import asyncio
import ssl
import subprocess
from collections.abc import AsyncIterator, Callable, Mapping
from pathlib import Path

import pytest
import uvloop

from integration.support.raw_http_server import RawServer

SERVER_NAME = "api.internal"


def pytest_asyncio_loop_factories() -> Mapping[str, Callable[[], asyncio.AbstractEventLoop]]:
    return {"asyncio": asyncio.new_event_loop, "uvloop": uvloop.new_event_loop}


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
