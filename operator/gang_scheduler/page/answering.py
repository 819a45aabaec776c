"""How a request is answered: from what its user sees of the last view, and once for all its users.

A screen or document is made in the thread of the views, in one go. So all of it is of one view: the
cluster changes with the next one.
"""

import functools
import time
from collections.abc import Awaitable, Callable, Hashable, Mapping, Sequence
from typing import Any, NamedTuple, TypeVar

from aiohttp import web

from gang_scheduler.model.scheduler_events import SchedulerEvent
from gang_scheduler.page import bodies, rendering
from gang_scheduler.page.access import Door
from gang_scheduler.page.bodies import HTML_TYPE, Bodies, Body
from gang_scheduler.page.lookups import Missing
from gang_scheduler.page.restricted_views import PartialViews, Viewer
from gang_scheduler.page.rights import WITHOUT_RIGHTS, Unanswered
from gang_scheduler.page.sources import Seen, TooManyQuestions, Views
from gang_scheduler.page.view import View

T = TypeVar("T")


class Asked(NamedTuple):
    """A request, and what its user sees: `seen` is the view, or a part of it, of `last`.

    `address` is the path with the query, and `named` are the parts of the path that are names.
    """

    path: str
    address: str
    query: Mapping[str, str]
    named: Mapping[str, str]
    user: str
    seen: View
    last: Seen

    @property
    def name(self) -> str:
        """The name in the address."""
        return self.named["name"]

    @property
    def problem(self) -> str:
        """Why the view is old; "" if it is not."""
        return self.last.problem


Handler = Callable[[Asked], Body]
Answering = Callable[[web.Request], Awaitable[web.StreamResponse]]


class Unread(Exception):  # noqa: N818 - named after the problem.
    """The cluster was never read."""


class NotAllowed(Exception):  # noqa: N818 - named after the problem.
    """The user may see nothing."""


class Several(Exception):  # noqa: N818 - named after the problem.
    """There are several things of that name."""


class Answers:
    """Answers requests from the views, each user with what it may see."""

    def __init__(self, views: Views, door: Door, title: str) -> None:
        self._views = views
        self._door = door
        self._title = title
        self._bodies = Bodies()
        self._partial = PartialViews()
        if door.has_tenants:
            views.note_each(self._partial.note)

    def kept(self, handler: Handler) -> Answering:
        """Answer with the body that a handler makes, once for each view and each kind of user."""

        async def answered(request: web.Request, viewer: Viewer, seen: Seen) -> web.Response:
            key = (self.user(request), viewer, request.path_qs)
            found = self._bodies.get(seen, key)
            if found is None:
                made = functools.partial(self._made, key, handler)
                found = await self.ask(request, viewer, made)
            return bodies.answer(found, request)

        return self._guarded(answered)

    def new(self, answer: Callable[[web.Request, Viewer], Awaitable[web.Response]]) -> Answering:
        """Answer each request by a call of the handler: nothing is kept."""

        async def answered(request: web.Request, viewer: Viewer, _: Seen) -> web.Response:
            return await answer(request, viewer)

        return self._guarded(answered)

    def user(self, request: web.Request) -> str:
        """Return the name of the user; "" if the page has only one."""
        return self._door.user_name(request)

    async def ask(self, request: web.Request, viewer: Viewer, question: Callable[[Asked], T]) -> T:
        """Ask about the last view, as a viewer sees it.

        Raises Unread, TooManyQuestions, and the errors of the question.
        """
        user = self.user(request)

        def answered(last: Seen) -> T:
            if last.view is None:
                raise Unread(last.problem)
            return question(
                Asked(
                    *(request.path, str(request.rel_url), request.query, request.match_info, user),
                    seen=self._partial.of(last.view, viewer),
                    last=last,
                )
            )

        return await self._views.ask(answered, user)

    def screen(self, asked: Asked, template: str, /, **given: Any) -> Body:  # noqa: ANN401 - values.
        """Return the body of a screen."""
        return self._screen(
            *(template, asked.path, asked.user),
            seen=asked.seen,
            version=asked.last.version,
            api=_document_of(asked),
            problem=asked.problem,
            **given,
        )

    def _screen(self, template: str, path: str, user: str, /, **given: Any) -> Body:  # noqa: ANN401
        events = "" if self._views.still else "/events"
        made = rendering.render(
            template, title=self._title, path=path, user=user, events=events, **given
        )
        return bodies.body(made, HTML_TYPE)

    def _made(self, key: Hashable, handler: Handler, asked: Asked) -> Body:
        """Return the body of this view; another request may have made it meanwhile."""
        found = self._bodies.get(asked.last, key)
        if found is None:
            found = handler(asked)
            self._bodies.keep(asked.last, key, found)
        return found

    def _guarded(
        self, answer: Callable[[web.Request, Viewer, Seen], Awaitable[web.Response]]
    ) -> Answering:
        """Return the handler with its errors as screens or documents."""

        async def guarded(request: web.Request) -> web.StreamResponse:
            seen = await self._views.latest()
            try:
                return await answer(request, await self._viewer(request, seen), seen)
            except Unread as error:
                return self._failed(request, 503, str(error))
            except TooManyQuestions as error:
                return self._failed(request, 429, str(error))
            except NotAllowed as error:
                return self._failed(request, 403, str(error))
            except Missing as error:
                return self._failed(request, 404, str(error), error.events)
            except Several as error:
                return bodies.answer(bodies.json_body({"error": str(error)}), request, 300)

        return guarded

    async def _viewer(self, request: web.Request, seen: Seen) -> Viewer:
        """Return what a user sees. Raises Unread and NotAllowed."""
        if seen.view is None:
            raise Unread(seen.problem)
        try:
            viewer = await self._door.viewer(request, seen.view)
        except Unanswered as error:
            raise Unread(f"the API server does not say what you may see: {error}") from None
        if viewer is None:
            raise NotAllowed(WITHOUT_RIGHTS)
        return viewer

    def _failed(
        self, request: web.Request, status: int, message: str, events: Sequence[SchedulerEvent] = ()
    ) -> web.Response:
        if request.path.startswith("/api/"):
            return bodies.answer(bodies.json_body({"error": message}), request, status)
        found = self._screen(
            *("failed.html", request.path, self.user(request)),
            seen=None,
            version="",
            api="",
            problem="",
            message=message,
            decisions=events,
            now=int(time.time()),
        )
        return bodies.answer(found, request, status)


def _document_of(asked: Asked) -> str:
    """Return the address of a screen's JSON; "" if it has none."""
    if asked.path == "/try":
        return ""
    return "/api/v1/overview" if asked.path == "/" else f"/api/v1{asked.address}"
