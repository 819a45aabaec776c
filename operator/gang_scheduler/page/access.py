"""How users are let in to the page (doors), and the headers of every answer.

The door of this module is for the user who started the page: the printed address has a key that is
valid for one visit, and the visit gets a session. `sign_in` has the doors for users of a cluster.
"""

import asyncio
import hmac
import secrets
from collections.abc import Awaitable, Callable, Mapping
from typing import Final, Protocol

from aiohttp import web
from aiohttp.typedefs import Middleware

from gang_scheduler.page.restricted_views import EVERYTHING, Viewer
from gang_scheduler.page.view import View

HOST: Final = "127.0.0.1"
KEY: Final = "key"
METHODS: Final = ("GET", "HEAD")
OPEN: Final = "/static/"
"""Styles and scripts reveal nothing about a cluster."""
HEADERS: Final[Mapping[str, str]] = {
    "Content-Security-Policy": (
        "default-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'; "
        "object-src 'none'"
    ),
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
}
WITHOUT_SESSION: Final = (
    "This page is for the user who started it. Open the address that was printed, with its key. A "
    "key is good for one browser: for another one, start the page again.\n"
)

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]
Refuse = Callable[[web.Request], Awaitable["web.Response | None"]]
"""Returns the answer to a request that is refused; None if it is allowed."""


class Door(Protocol):
    """Lets requests in, and says what their users see."""

    has_tenants: bool
    """Whether there may be users who see only a part."""

    def middleware(self) -> Middleware:
        """Return the middleware through which every request goes."""

    def routes(self) -> list[web.RouteDef]:
        """Return the addresses of the door itself."""

    async def admits(self, request: web.Request) -> bool:
        """Return whether a request that was let in would still be let in."""

    async def viewer(self, request: web.Request, seen: View) -> Viewer | None:
        """Return what the user of a request sees of a view; None: nothing at all."""

    def user_name(self, request: web.Request) -> str:
        """Return the name of the user; "" if the page has only one."""


def guarding(refused: Refuse) -> Middleware:
    """Return the middleware that refuses requests, with the headers of every answer."""

    @web.middleware
    async def guarded(request: web.Request, handler: Handler) -> web.StreamResponse:
        try:
            refusal = await refused(request)
            response = refusal if refusal is not None else await handler(request)
        except web.HTTPException as error:
            error.headers.update(HEADERS)
            raise
        if not response.prepared:
            response.headers.update(HEADERS)
            response.headers.setdefault("Cache-Control", "no-cache")
        return response

    return guarded


class Access:
    """Lets in one request with the key, which begins a session, and then all of that session."""

    has_tenants = False

    def __init__(self, key: str = "") -> None:
        self._key = key or secrets.token_urlsafe(24)
        self._session = secrets.token_urlsafe(32)
        self._port = 0

    def address(self, port: int) -> str:
        """Return the address to open, for a server that listens on this port."""
        self._port = port
        return f"http://{HOST}:{port}/?{KEY}={self._key}"

    @property
    def cookie(self) -> str:
        """The name of the cookie. It has the port, because browsers share cookies between ports."""
        return f"py-gang-scheduler-page-{self._port}"

    def middleware(self) -> Middleware:
        """Return the middleware through which every request goes."""

        async def refused(request: web.Request) -> web.Response | None:
            return self._refused(request)

        return guarding(refused)

    def routes(self) -> list[web.RouteDef]:
        """Return no address: the key comes with the first one."""
        return []

    async def admits(self, _: web.Request) -> bool:
        """Return True: a session lasts as long as the page."""
        return True

    async def viewer(self, _: web.Request, _seen: View) -> Viewer | None:
        """Return EVERYTHING: the cluster was read with the rights of this user."""
        return EVERYTHING

    def user_name(self, _: web.Request) -> str:
        """Return "": there is only one user."""
        return ""

    def _refused(self, request: web.Request) -> web.Response | None:
        """Return the answer to a request that is refused; None if it is allowed."""
        # A request with another host name comes from a foreign page that tries to read this one.
        if request.host not in (f"{HOST}:{self._port}", f"localhost:{self._port}"):
            return text(421, f"the page is at {HOST}:{self._port}\n")
        if request.method not in METHODS:
            return text(405, "the page only reads\n", {"Allow": ", ".join(METHODS)})
        if request.path.startswith(OPEN):
            return None
        given = request.query.get(KEY)
        if given is not None and self._key and equal(given, self._key):
            self._key = ""
            return self._begun(request)
        if equal(request.cookies.get(self.cookie, ""), self._session):
            return None
        return text(403, WITHOUT_SESSION)

    def _begun(self, request: web.Request) -> web.Response:
        """Return a redirect to the same screen without the key, with a session."""
        rest = {name: value for name, value in request.query.items() if name != KEY}
        response = web.Response(
            status=303, headers={"Location": str(request.rel_url.with_query(rest))}
        )
        response.set_cookie(self.cookie, self._session, httponly=True, samesite="Strict", path="/")
        return response


def equal(given: str, known: str) -> bool:
    """Return whether two secrets are equal. The time does not reveal where they differ."""
    return hmac.compare_digest(given.encode(), known.encode())


def text(status: int, said: str, headers: Mapping[str, str] | None = None) -> web.Response:
    """Return an answer in plain words."""
    return web.Response(status=status, text=said, headers=headers)


async def serve(
    application: Callable[[Access], web.Application], port: int, ready: Callable[[str], None]
) -> None:
    """Serve a page on this machine until cancelled; `ready` gets the address. Raises OSError.

    Port 0 means any free port.
    """
    access = Access()
    runner = web.AppRunner(application(access), access_log=None, shutdown_timeout=0.5)
    await runner.setup()
    try:
        await web.TCPSite(runner, HOST, port).start()
        ready(access.address(runner.addresses[0][1]))
        await asyncio.Event().wait()
    finally:
        await runner.cleanup()
