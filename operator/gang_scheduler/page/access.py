"""The page is served on this machine only, and for the user who has its address.

The printed address has a key that is good for one visit. The visit gets a session.
"""

import asyncio
import hmac
import secrets
from collections.abc import Awaitable, Callable, Mapping
from typing import Final

from aiohttp import web
from aiohttp.typedefs import Middleware

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


class Access:
    """Lets in requests with the key, once, and then requests of the session that it begins."""

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

        @web.middleware
        async def guarded(request: web.Request, handler: Handler) -> web.StreamResponse:
            try:
                refused = self._refused(request)
                response = refused if refused is not None else await handler(request)
            except web.HTTPException as error:
                error.headers.update(HEADERS)
                raise
            response.headers.update(HEADERS)
            response.headers.setdefault("Cache-Control", "no-cache")
            return response

        return guarded

    def _refused(self, request: web.Request) -> web.Response | None:
        """Return the answer to a request that is refused; None if it is allowed."""
        # A request with another host name comes from a foreign page that tries to read this one.
        if request.host not in (f"{HOST}:{self._port}", f"localhost:{self._port}"):
            return _text(421, f"the page is at {HOST}:{self._port}\n")
        if request.method not in METHODS:
            return _text(405, "the page only reads\n", {"Allow": ", ".join(METHODS)})
        if request.path.startswith(OPEN):
            return None
        given = request.query.get(KEY)
        if given is not None and self._key and _equal(given, self._key):
            self._key = ""
            return self._begun(request)
        if _equal(request.cookies.get(self.cookie, ""), self._session):
            return None
        return _text(403, WITHOUT_SESSION)

    def _begun(self, request: web.Request) -> web.Response:
        """Return a redirect to the same screen without the key, with a session."""
        rest = {name: value for name, value in request.query.items() if name != KEY}
        response = web.Response(
            status=303, headers={"Location": str(request.rel_url.with_query(rest))}
        )
        response.set_cookie(self.cookie, self._session, httponly=True, samesite="Strict", path="/")
        return response


def _equal(given: str, known: str) -> bool:
    return hmac.compare_digest(given.encode(), known.encode())


def _text(status: int, text: str, headers: Mapping[str, str] | None = None) -> web.Response:
    return web.Response(status=status, text=text, headers=headers)


async def serve(
    application: Callable[[Access], web.Application], port: int, ready: Callable[[str], None]
) -> None:
    """Serve a page until cancelled; `ready` gets the address to open. Raises OSError.

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
