"""Streams: they tell open browsers that there is a new version, and how old the data is.

A stream says versions only; the browser then asks for the screen that it shows. All streams wait
for the same reading, so many of them cost no more readings than one.
"""

import asyncio
import contextlib
import json
import time
from typing import Final

import anyio
from aiohttp import web

from gang_scheduler.model.wording import rfc3339
from gang_scheduler.page.access import HEADERS, Door
from gang_scheduler.page.rights import WITHOUT_RIGHTS, Unanswered
from gang_scheduler.page.sources import Seen, Views
from gang_scheduler.round_robin import party_of

MOST_STREAMS: Final = 500
"""At most this many browsers have a stream; others poll."""
MOST_OF_USER: Final = 50
"""A user with more browsers than this polls with them, so that others have streams, too."""
BEAT_SECONDS: Final = 15.0
"""A stream is never silent for longer."""
RETRY_SECONDS: Final = 2
AGAIN: Final = {"Retry-After": "30"}
LONGEST_PROBLEM: Final = 400
BEAT: Final = b"event: beat\ndata:\n\n"
TOO_MANY: Final = "too many browsers get changes as they happen; this one must ask for them\n"


class Streams:
    """Answers requests for a stream of versions (server-sent events)."""

    def __init__(
        self,
        views: Views,
        door: Door,
        most: int = MOST_STREAMS,
        beat_seconds: float = BEAT_SECONDS,
    ) -> None:
        self._views = views
        self._door = door
        self._most = most
        self._beat_seconds = beat_seconds
        self._open: dict[asyncio.Task[web.StreamResponse], str] = {}

    async def answer(self, request: web.Request) -> web.StreamResponse:
        """Send versions until the client leaves; 204 means that the data never changes."""
        if self._views.still:
            return web.Response(status=204)
        user = party_of(self._door.user_name(request))
        if len(self._open) >= self._most or (user and self._number_of(user) >= MOST_OF_USER):
            return web.Response(status=503, text=TOO_MANY, headers=AGAIN)
        try:
            if not await self._may_see(request):
                return web.Response(status=403, text=WITHOUT_RIGHTS)
        except Unanswered as error:
            said = f"the API server does not say what you may see: {error}\n"
            return web.Response(status=503, text=said, headers=AGAIN)
        sending = asyncio.create_task(self._sent(request))
        self._open[sending] = user
        sending.add_done_callback(lambda ended: self._open.pop(ended, None))
        return await sending

    def _number_of(self, user: str) -> int:
        return sum(each == user for each in self._open.values())

    async def _may_see(self, request: web.Request) -> bool:
        """Return whether the user sees anything: for others no cluster is watched.

        Raises Unanswered.
        """
        seen = self._views.last.view
        return seen is None or await self._door.viewer(request, seen) is not None

    async def _still_may_see(self, request: web.Request) -> bool:
        # A browser whose stream ends asks again; the answer then says why.
        try:
            return await self._door.admits(request) and await self._may_see(request)
        except Unanswered:
            return False

    async def close(self) -> None:
        """End all streams."""
        for each in [*self._open]:
            each.cancel()

    async def _sent(self, request: web.Request) -> web.StreamResponse:
        headers = {**HEADERS, "Cache-Control": "no-store", "Content-Type": "text/event-stream"}
        response = web.StreamResponse(headers=headers)
        await response.prepare(request)
        await response.write(f"retry: {1000 * RETRY_SECONDS}\n\n".encode())
        with contextlib.suppress(ConnectionError):
            await self._follow(request, response)
        return response

    async def _follow(self, request: web.Request, response: web.StreamResponse) -> None:
        sent, sent_at = b"", time.monotonic()
        while request.transport is not None and not request.transport.is_closing():
            left = self._beat_seconds - (time.monotonic() - sent_at)
            await self._views.renewed_within(max(0.0, left))
            if not await self._still_may_see(request):
                return
            message = _message(self._views.last)
            if message != sent or time.monotonic() - sent_at >= self._beat_seconds:
                await response.write(message if message != sent else BEAT)
                sent, sent_at = message, time.monotonic()
            await anyio.sleep(min(self._views.seconds_left, self._beat_seconds))


def _message(seen: Seen) -> bytes:
    """Return the message about a new view, in less than 1 kB."""
    said = {
        "version": seen.version,
        "readAt": rfc3339(seen.view.read_at) if seen.view is not None else None,
        "problem": seen.problem[:LONGEST_PROBLEM],
    }
    return f"id: {seen.version}\ndata: {json.dumps(said)}\n\n".encode()
