"""The form that tries a job: its screen, and limits for the work that this takes.

Trying a job takes a copy of the whole cluster and several cycles. So jobs are tried one at a time,
in a thread of their own, with pauses in between, and each user waits for its own.
"""

import asyncio
import time
from collections import Counter
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Final, NamedTuple, TypeVar

import anyio
from aiohttp import web

from gang_scheduler.client.errors import ApiError
from gang_scheduler.inspection.cluster import Source
from gang_scheduler.inspection.explaining.answers import Answer
from gang_scheduler.page import bodies, job_form
from gang_scheduler.page.answering import Answers, Asked
from gang_scheduler.page.bodies import Body
from gang_scheduler.page.job_form import Form, Tried
from gang_scheduler.page.restricted_views import WITHHELD, Viewer
from gang_scheduler.page.sources import Views
from gang_scheduler.page.view import View
from gang_scheduler.round_robin import party_of
from gang_scheduler.simulation.objects import UnreadableInput
from gang_scheduler.submit import verdict

T = TypeVar("T")

LARGEST_PART: Final = 0.5
"""At most this part of one processor is spent on trying jobs."""
MOST_OF_USER: Final = 2
"""A user may wait for one try while another of its tries is running."""
MOST_WAITING: Final = 16
OWN_TOO_MANY: Final = (
    f"{MOST_OF_USER} of your tries are being worked out. Wait for their answers, then try again."
)
ALL_TOO_MANY: Final = f"{MOST_WAITING} jobs wait to be tried. Try again in a minute."


class Busy(Exception):  # noqa: N818 - named after the problem.
    """Too many jobs wait to be tried; the text says whose."""


class Gone(Exception):  # noqa: N818 - named after the problem.
    """The answer is no longer wanted."""


class Turns:
    """Runs one task after another in a thread, with pauses as long as the tasks took."""

    def __init__(
        self,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], Awaitable[None]] = anyio.sleep,
    ) -> None:
        self._clock = clock
        self._sleep = sleep
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="try")
        self._turn = asyncio.Lock()
        self._free_at = float("-inf")
        self._of = Counter[str]()

    async def run(self, user: str, work: Callable[[], T], is_wanted: Callable[[], bool]) -> T:
        """Return the result of a task after its turn. Raises Busy, and Gone if not wanted."""
        user = party_of(user)
        if self._of[user] >= MOST_OF_USER:
            raise Busy(OWN_TOO_MANY)
        if self._of.total() >= MOST_WAITING:
            raise Busy(ALL_TOO_MANY)
        self._of[user] += 1
        try:
            async with self._turn:
                if (left := self._free_at - self._clock()) > 0:
                    await self._sleep(left)
                if not is_wanted():
                    raise Gone
                return await self._worked(work)
        finally:
            self._of[user] -= 1
            if not self._of[user]:
                del self._of[user]

    async def _worked(self, work: Callable[[], T]) -> T:
        began = self._clock()
        try:
            return await asyncio.get_running_loop().run_in_executor(self._thread, work)
        finally:
            now = self._clock()
            self._free_at = now + (now - began) * (1 / LARGEST_PART - 1)

    async def close(self) -> None:
        """End the thread after its present task."""
        await asyncio.to_thread(self._thread.shutdown, cancel_futures=True)


class _Plan(NamedTuple):
    """A job with the ways to create it, or the faults of its form, by field.

    `can_try` is false if the cluster is not known well enough.
    """

    tried: Tried | None
    wrong: dict[str, str]
    can_try: bool


class Trials:
    """Answers the form."""

    def __init__(self, answers: Answers, views: Views) -> None:
        self._answers = answers
        self._views = views
        self._turns = Turns()

    async def answer(self, request: web.Request, viewer: Viewer) -> web.Response:
        """Return the form, with the answer to what it asks."""
        form = job_form.form_of(request.query)
        given: dict[str, Any] = {"answer": None, "wrong": {}, "yaml": ""}
        status, found = 200, None
        if "nodes" in request.query:
            plan = await self._answers.ask(
                request, viewer, lambda asked: _planned(form, asked.seen)
            )
            given |= _ways(plan)
            try:
                found = await self._tried(request, plan)
            except Busy as error:
                status, given["wrong"] = 429, {"": str(error)}
            except UnreadableInput as error:
                given["wrong"] = {"": "; ".join(error.lines)}
            except ApiError as error:
                given["wrong"] = {"": f"the cluster cannot be read: {error.message}"}

        def drawn(asked: Asked) -> Body:
            return self._drawn(asked, form, given, found)

        body = await self._answers.ask(request, viewer, drawn)
        answer = bodies.answer(body, request, status)
        if status == web.HTTPTooManyRequests.status_code:
            answer.headers["Retry-After"] = "10"
        return answer

    async def close(self) -> None:
        """End the present tries."""
        await self._turns.close()

    async def _tried(self, request: web.Request, plan: _Plan) -> Answer | None:
        """Return the answer; None if there is nothing to try, or it is no longer wanted."""
        tried = plan.tried
        if tried is None or not plan.can_try:
            return None

        def answered() -> Answer:
            return verdict.explained(tried.plan, self._views.tried(tried.text))

        def is_wanted() -> bool:
            return request.transport is not None and not request.transport.is_closing()

        try:
            return await self._turns.run(self._answers.user(request), answered, is_wanted)
        except Gone:
            return None

    def _drawn(self, asked: Asked, form: Form, given: dict[str, Any], found: Answer | None) -> Body:
        seen = asked.seen
        layers = [line.domain.layer for tree in seen.trees for line in tree.lines]
        wrong = {name: _without_secrets(seen, said) for name, said in given["wrong"].items()}
        answer = seen.cleaned(found).document if found is not None else None
        return self._answers.screen(
            asked,
            "try.html",
            form=form,
            known_queues=[each.name for each in seen.queues],
            layers=list(dict.fromkeys(each for each in layers if each)),
            namespaces=seen.namespaces,
            can_try=_can_try(seen),
            **{**given, "wrong": wrong, "answer": answer},
        )


def _planned(form: Form, seen: View) -> _Plan:
    can_try = _can_try(seen)
    if form.namespace and not seen.shows(form.namespace):
        return _Plan(None, {"namespace": "you may not list pods there"}, can_try)
    return _Plan(*job_form.tried(form, seen.cluster), can_try)


def _can_try(seen: View) -> bool:
    return seen.cluster.source is not Source.WRITTEN


def _ways(plan: _Plan) -> dict[str, Any]:
    """Return the ways to create the job, and what is wrong with it."""
    if plan.tried is None:
        return {"wrong": plan.wrong}
    return {
        "yaml": plan.tried.text,
        "command": job_form.as_command(plan.tried.job),
        "python": job_form.as_python(plan.tried.job),
    }


def _without_secrets(seen: View, text: str) -> str:
    """Return a text; if it has a hidden name, only that it cannot be used."""
    return text if seen.may_say(text) else f"this cannot be used. {WITHHELD}"
