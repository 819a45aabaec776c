"""Doors for users of a cluster: by a token of the API server, or by a proxy that vouches for them.

A token comes with each request, or once by the form: then a session stands for it. Tokens are in
memory only, in no log and in no answer, and the API server is asked about each again every minute.
"""

import abc
import hashlib
import secrets
import time
from collections import OrderedDict
from collections.abc import Callable, Collection
from dataclasses import replace
from typing import Final, NamedTuple
from urllib.parse import quote

from aiohttp import web
from aiohttp.typedefs import Middleware

from gang_scheduler.page import access, rendering, rights
from gang_scheduler.page.access import METHODS, OPEN, text
from gang_scheduler.page.restricted_views import Viewer, namespaces_of
from gang_scheduler.page.rights import Reviews, Unanswered, User
from gang_scheduler.page.view import View
from gang_scheduler.round_robin import ByNamespace, party_of

SIGN_IN: Final = "/sign-in"
SIGN_OUT: Final = "/sign-out"
COOKIE: Final = "py-gang-scheduler-page"
SESSION_SECONDS: Final = 8 * 3600.0
MOST_SESSIONS: Final = 10_000
MOST_CLIENTS: Final = 20_000
A_SECOND: Final = 20.0
"""This many requests of a client are answered each second, and twice as many at once.

A client is a token, or an address without a token that is known.
"""
OF_PARTY_A_SECOND: Final = 100.0
"""The same for all tokens of a user, or of the ServiceAccounts of a namespace."""
LONGEST_TOKEN: Final = 16_384
USER: Final = web.RequestKey("user", User)
NAME_HEADER: Final = "X-Remote-User"
GROUP_HEADER: Final = "X-Remote-Group"
REFUSED: Final = "The API server does not know this token, or it has expired."


class Session(NamedTuple):
    """A visit that began with a token."""

    token: str
    began: float


class Sessions:
    """Keeps the tokens of visits, for eight hours at most."""

    def __init__(self, clock: Callable[[], float], most: int = MOST_SESSIONS) -> None:
        self._clock = clock
        self._most = most
        self._open: ByNamespace[str, Session] = ByNamespace()

    def begin(self, token: str, party: str) -> str:
        """Return the id of a new session. If there are too many, the party with most loses one."""
        made = secrets.token_urlsafe(32)
        self._open.put(party, _hash(made), Session(token, self._clock()))
        while len(self._open) > self._most:
            self._open.drop()
        return made

    def token(self, session: str) -> str:
        """Return the token of a session; "" if there is none, or it lasted too long."""
        key = _hash(session)
        found = self._open.get(key)
        if found is None:
            return ""
        if self._clock() - found.began >= SESSION_SECONDS:
            self._open.remove(key)
            return ""
        return found.token

    def end(self, session: str) -> None:
        """Forget a session."""
        self._open.discard(_hash(session))


class Rates:
    """Counts requests by client: each may have some a second."""

    def __init__(self, clock: Callable[[], float], a_second: float = A_SECOND) -> None:
        self._clock = clock
        self._a_second = a_second
        self._left: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def takes(self, client: str) -> bool:
        """Return whether one more request of a client is answered now."""
        now, most = self._clock(), 2 * self._a_second
        left, at = self._left.get(client, (most, now))
        left = min(most, left + (now - at) * self._a_second)
        self._left[client] = (left - 1 if left >= 1 else left, now)
        self._left.move_to_end(client)
        while len(self._left) > MOST_CLIENTS:
            self._left.popitem(last=False)
        return left >= 1


class _Guarded(abc.ABC):
    """A door that knows the user of each request."""

    has_tenants = True

    def __init__(
        self,
        reviews: Reviews,
        hosts: Collection[str],
        clock: Callable[[], float] = time.monotonic,
        *,
        map_for_all: bool = True,
    ) -> None:
        self._reviews = reviews
        self._hosts = frozenset(hosts)
        self._map_for_all = map_for_all
        self._rates = Rates(clock)
        self._party_rates = Rates(clock, OF_PARTY_A_SECOND)

    def middleware(self) -> Middleware:
        """Return the middleware through which every request goes."""
        return access.guarding(self._refused)

    def routes(self) -> list[web.RouteDef]:
        """Return the addresses of the door itself."""
        return []

    async def admits(self, request: web.Request) -> bool:
        """Return whether a request that was let in would still be let in."""
        try:
            return await self._user_of(request) is not None
        except Unanswered:
            return False

    async def viewer(self, request: web.Request, seen: View) -> Viewer | None:
        """Return what the user of a request sees of a view. Raises Unanswered."""
        found = await rights.viewer_of(request[USER], self._reviews, namespaces_of(seen))
        return replace(found, map=self._map_for_all) if found is not None else None

    def user_name(self, request: web.Request) -> str:
        """Return the name of the user."""
        user = request.get(USER)
        return user.name if user is not None else ""

    async def _refused(self, request: web.Request) -> web.Response | None:
        refused = self._out_of_order(request)
        is_open = request.path.startswith(OPEN) or request.path in (SIGN_IN, SIGN_OUT)
        if refused is not None or is_open:
            return refused
        try:
            user = await self._user_of(request)
        except Unanswered as error:
            return text(503, f"the API server does not know you yet: {error}\n")
        if user is None:
            return self._unknown(request)
        request[USER] = user
        return None if self._party_rates.takes(party_of(user.name)) else _too_many()

    def _out_of_order(self, request: web.Request) -> web.Response | None:
        """Return the answer to a request that no user may send; None for others."""
        host = request.host.rpartition(":")[0] or request.host
        if host not in self._hosts and request.host not in self._hosts:
            return text(421, "the page has no such name; --allowed-host gives it one\n")
        if request.method not in METHODS and not self._may_post(request):
            return text(405, "the page only reads\n", {"Allow": ", ".join(METHODS)})
        if not request.path.startswith(OPEN) and not self._rates.takes(self._client(request)):
            return _too_many()
        return None

    def _may_post(self, _: web.Request) -> bool:
        return False

    def _client(self, request: web.Request) -> str:
        return request.remote or ""

    @abc.abstractmethod
    async def _user_of(self, request: web.Request) -> User | None:
        """Return the user of a request; None for an unknown one. Raises Unanswered."""

    def _unknown(self, _: web.Request) -> web.Response:
        return text(401, "the proxy says no user\n")


class ByToken(_Guarded):
    """Lets in requests with a token, and sessions that a token began."""

    def __init__(
        self,
        reviews: Reviews,
        hosts: Collection[str],
        title: str,
        clock: Callable[[], float] = time.monotonic,
        *,
        map_for_all: bool = True,
    ) -> None:
        super().__init__(reviews, hosts, clock, map_for_all=map_for_all)
        self._title = title
        self._sessions = Sessions(clock)
        # Without a session any text may be sent as a token: few of them reach the API server.
        self._guesses = Rates(clock)

    def routes(self) -> list[web.RouteDef]:
        """Return the addresses: the form, and the one to which it is sent."""
        return [
            web.get(SIGN_IN, self._form),
            web.post(SIGN_IN, self._signed_in),
            web.post(SIGN_OUT, self._signed_out),
        ]

    def _may_post(self, request: web.Request) -> bool:
        # A form of a foreign page must not sign anyone in or out.
        own = request.headers.get("Sec-Fetch-Site", "same-origin") == "same-origin"
        origin = request.headers.get("Origin", "").partition("://")[2]
        return (
            request.method == "POST"
            and request.path in (SIGN_IN, SIGN_OUT)
            and own
            and origin in ("", request.host)
        )

    def _client(self, request: web.Request) -> str:
        # All guesses from one address count as one client, so few of them reach the API server.
        given = self._given(request)
        return _hash(given) if self._reviews.knows(given) else request.remote or ""

    def _given(self, request: web.Request) -> str:
        """Return the token of a request, or that of its session; "" without one."""
        kind, _, token = request.headers.get("Authorization", "").partition(" ")
        if kind.lower() == "bearer" and token.strip():
            return token.strip()[:LONGEST_TOKEN]
        return self._sessions.token(request.cookies.get(COOKIE, ""))

    async def _user_of(self, request: web.Request) -> User | None:
        token = self._given(request)
        return await self._reviews.user_of(token) if token else None

    def _unknown(self, request: web.Request) -> web.Response:
        is_screen = not request.path.startswith("/api/") and request.path != "/events"
        if is_screen and request.headers.get("Sec-Fetch-Mode", "navigate") == "navigate":
            to = quote(str(request.rel_url), safe="/?=&")
            return web.Response(status=303, headers={"Location": f"{SIGN_IN}?to={quote(to)}"})
        return text(401, "sign in, or send a token\n", {"WWW-Authenticate": "Bearer"})

    async def _form(self, request: web.Request) -> web.Response:
        return self._shown(_own_path(request.query.get("to", "")), "")

    def _shown(self, to: str, wrong: str, status: int = 200) -> web.Response:
        made = rendering.render("sign_in.html", title=self._title, to=to, wrong=wrong)
        return web.Response(status=status, text=made, content_type="text/html")

    async def _signed_in(self, request: web.Request) -> web.Response:
        given = await request.post()
        to = _own_path(str(given.get("to", "")))
        token = "".join(str(given.get("token", "")).split())[:LONGEST_TOKEN]
        if not self._guesses.takes(request.remote or ""):
            return self._shown(to, "Too many tries. Wait a second.", 429)
        try:
            user = await self._reviews.user_of(token) if token else None
        except Unanswered as error:
            return self._shown(to, f"The API server does not answer: {error}.", 503)
        if user is None:
            return self._shown(to, REFUSED if token else "A token is needed.", 403)
        response = web.Response(status=303, headers={"Location": to})
        response.set_cookie(
            COOKIE,
            self._sessions.begin(token, party_of(user.name)),
            max_age=int(SESSION_SECONDS),
            httponly=True,
            secure=True,
            samesite="Strict",
        )
        return response

    async def _signed_out(self, request: web.Request) -> web.Response:
        self._sessions.end(request.cookies.get(COOKIE, ""))
        response = web.Response(status=303, headers={"Location": SIGN_IN})
        response.del_cookie(COOKIE, path="/", secure=True, httponly=True, samesite="Strict")
        return response


class ByProxy(_Guarded):
    """Lets in users whom a proxy names, which showed its certificate when it connected."""

    async def _user_of(self, request: web.Request) -> User | None:
        name = request.headers.get(NAME_HEADER, "")
        if not certificate_of(request) or not name:
            return None
        groups = (each.strip() for each in request.headers.getall(GROUP_HEADER, ()))
        return User(name, (*filter(None, groups), "system:authenticated"))

    def _client(self, request: web.Request) -> str:
        # Without the certificate, anyone may claim a name: this must not use up the requests of its
        # owner.
        name = request.headers.get(NAME_HEADER, "") if certificate_of(request) else ""
        return name or super()._client(request)


def _too_many() -> web.Response:
    return text(429, "too many requests\n", {"Retry-After": "1"})


def certificate_of(request: web.Request) -> object:
    """Return the certificate that the client of a request showed, if a CA of ours signed it."""
    transport = request.transport
    return transport.get_extra_info("peercert") if transport is not None else None


def _own_path(to: str) -> str:
    """Return a path on this page, for texts that may lead elsewhere."""
    # Browsers leave out tabs and ends of lines, so "/\t/host" would lead to another host.
    is_plain = to.isprintable() and not to.startswith(("//", "/\\", SIGN_IN))
    return to if to.startswith("/") and is_plain else "/"


def _hash(secret: str) -> str:
    return hashlib.sha256(secret.encode()).hexdigest()
