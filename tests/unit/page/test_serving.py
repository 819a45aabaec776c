"""The page as a server: its certificate, and the proxies that it believes."""

import ssl
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from aiohttp import ClientError, ClientSession, TCPConnector, web

from gang_scheduler.page import serving, sign_in
from gang_scheduler.page.serving import Listening, UnusableFilesError, context_of


@pytest.fixture(autouse=True)
def blocking_is_an_error() -> Iterator[None]:
    """Allow it: certificates are made and read."""
    return iter(())


def certificate(directory: Path, name: str) -> tuple[str, str]:
    """Make a certificate that is its own CA; return its files."""
    made, key = directory / f"{name}.crt", directory / f"{name}.key"
    command = [
        *("openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "1"),
        *("-keyout", str(key), "-out", str(made), "-subj", f"/CN={name}"),
        *("-addext", "subjectAltName=IP:127.0.0.1"),
    ]
    subprocess.run(command, check=True, capture_output=True)
    return str(made), str(key)


def test_without_a_certificate_there_is_no_tls() -> None:
    assert context_of(Listening("127.0.0.1", 0)) is None


def test_files_that_cannot_be_used_are_named(tmp_path: Path) -> None:
    made, key = certificate(tmp_path, "page")
    for given, words in (
        (Listening("", 0, (), str(tmp_path / "none"), key), "--tls-certificate: "),
        (Listening("", 0, (), made, key, str(tmp_path / "none")), "--proxy-ca: "),
        (Listening("", 0, (), made, key, key), "--proxy-ca: "),
    ):
        with pytest.raises(UnusableFilesError, match=words):
            context_of(given)


async def test_a_client_without_a_certificate_of_the_ca_does_not_get_through(
    tmp_path: Path,
) -> None:
    made, key = certificate(tmp_path, "page")
    proxy = certificate(tmp_path, "proxy")
    stranger = certificate(tmp_path, "stranger")
    seen: list[object] = []

    async def answer(request: web.Request) -> web.Response:
        seen.append(sign_in.certificate_of(request))
        return web.Response()

    application = web.Application()
    application.add_routes([web.get("/", answer)])
    tls = context_of(Listening("127.0.0.1", 0, (), made, key, proxy[0]))
    async with serving.running(application, "127.0.0.1", 0, tls) as port:
        for shown in (None, stranger, proxy):
            context = ssl.create_default_context(cafile=made)
            if shown is not None:
                context.load_cert_chain(*shown)
            async with ClientSession(connector=TCPConnector(ssl=context)) as client:
                if shown is proxy:
                    async with client.get(f"https://127.0.0.1:{port}/") as found:
                        assert 200 == found.status
                else:
                    with pytest.raises(ClientError):
                        await client.get(f"https://127.0.0.1:{port}/")
    (only,) = seen
    assert only
