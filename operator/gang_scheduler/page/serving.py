"""The page as a server for the users of a cluster; probes are answered on another port."""

import asyncio
import functools
import ssl
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Final, NamedTuple

from aiohttp import web

from gang_scheduler.client.connection import Connection
from gang_scheduler.inspection import servers
from gang_scheduler.page import rights
from gang_scheduler.page.access import Door
from gang_scheduler.page.rights import ServerReviews
from gang_scheduler.page.sign_in import ByProxy, ByToken

OWN_NAMES: Final = ("localhost", "127.0.0.1", "[::1]")
"""Names under which `kubectl port-forward` shows the page."""
TOKEN, PROXY = "token", "proxy"
ENDING_SECONDS: Final = 0.5


class Listening(NamedTuple):
    """Where the page listens, under which names, and with which files of TLS; "" for none.

    `proxy_ca` signs the certificates of proxies. A `probes_port` of 0 means no probes.
    """

    host: str
    port: int
    names: Sequence[str] = ()
    certificate: str = ""
    key: str = ""
    proxy_ca: str = ""
    probes_port: int = 0


class UnusableFilesError(Exception):
    """The files of TLS cannot be used; the text says which, and why."""


class Users(NamedTuple):
    """How users sign in, and the API server that knows them.

    With `map_for_all`, users that may not list nodes see the map without their names.
    """

    auth: str
    kubeconfig: str
    context: str
    title: str
    map_for_all: bool = True


async def serve(
    application: Callable[[Door], web.Application],
    users: Users,
    listening: Listening,
    ready: Callable[[str], None],
) -> None:
    """Serve until cancelled; `ready` gets the address. Raises OSError and UnusableFilesError."""
    tls = context_of(listening)
    async with AsyncExitStack() as stack:
        opened = servers.connected(users.kubeconfig, users.context)
        server = await stack.enter_async_context(opened)
        door = _door(users, listening, server.connection)
        made = application(door)
        port = await stack.enter_async_context(running(made, listening.host, listening.port, tls))
        if listening.probes_port:
            beside = web.Application()
            beside.add_routes([web.get("/healthz", _well)])
            await stack.enter_async_context(
                running(beside, listening.host, listening.probes_port, None)
            )
        ready(f"{'https' if tls else 'http'}://{listening.host}:{port}/")
        await asyncio.Event().wait()


def context_of(listening: Listening) -> ssl.SSLContext | None:
    """Return the TLS context of the server; None without a certificate.

    With `proxy_ca`, a client without a certificate that it signed is refused.
    """
    if not listening.certificate:
        return None
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    try:
        context.load_cert_chain(listening.certificate, listening.key)
    except (OSError, ValueError) as error:
        raise UnusableFilesError(f"--tls-certificate: {listening.certificate}: {error}") from None
    if listening.proxy_ca:
        try:
            context.load_verify_locations(listening.proxy_ca)
        except (OSError, ValueError) as error:
            raise UnusableFilesError(f"--proxy-ca: {listening.proxy_ca}: {error}") from None
        context.verify_mode = ssl.CERT_REQUIRED
    return context


def _door(users: Users, listening: Listening, connection: Connection) -> Door:
    ask = functools.partial(connection.request, "POST", timeout_seconds=rights.TIMEOUT_SECONDS)
    reviews = ServerReviews(ask)
    names = (*OWN_NAMES, *listening.names)
    if users.auth == PROXY:
        return ByProxy(reviews, names, map_for_all=users.map_for_all)
    return ByToken(reviews, names, users.title, map_for_all=users.map_for_all)


@asynccontextmanager
async def running(
    application: web.Application, host: str, port: int, tls: ssl.SSLContext | None
) -> AsyncIterator[int]:
    """Serve an application, and give its port."""
    runner = web.AppRunner(application, access_log=None, shutdown_timeout=ENDING_SECONDS)
    await runner.setup()
    try:
        await web.TCPSite(runner, host, port, ssl_context=tls).start()
        yield runner.addresses[0][1]
    finally:
        await runner.cleanup()


async def _well(_: web.Request) -> web.Response:
    return web.Response(text="ok\n")
