"""Compares the cache with lists of uids, to find deletions and to know when the cache is complete.

A watch that is restarted does not report deletions in between, and Kopf has no event for "the first
list is complete". The uids that the API server lists answer both.

The uids also show whether Kopf watches a kind at all. Kopf looks up the served kinds only when a
CRD changes. It misses a kind that the API server serves a moment later, or whose CRD appeared while
no watch was open.
"""

import asyncio
import contextlib
from collections.abc import Collection, Iterable, Mapping
from typing import Any

import anyio

from gang_scheduler.client.backoff import Backoff
from gang_scheduler.client.errors import ApiError
from gang_scheduler.client.interfaces import Api
from gang_scheduler.decode.events import EventHandlers, KindHandler
from gang_scheduler.model.refs import PodRef
from gang_scheduler.telemetry import metrics
from gang_scheduler.telemetry.logger import Logger
from gang_scheduler.watch import kinds, synced
from gang_scheduler.watch.kinds import OptionalKinds

AFTER_LIST_SECONDS = 2.0
"""The pause between a watch's own list and a sweep: objects take a moment to arrive."""
LOOK_SECONDS = 0.05
LIST_AGAIN_SECONDS = 5.0
ASK_AGAIN_SECONDS = 1.0
STALLS = 6
"""After this many lists in a row without progress, missing objects count as not watched.

It is twice as many after a restart of Kopf: a page of a slow API server may just take longer.
"""
LOOK_FOR_KINDS_SECONDS = 10.0

log = Logger()
Handler = KindHandler[Any]


class KindsNotWatchedError(Exception):
    """The API server has objects that no watch reports."""


class Sweep:
    """Looks for missed deletions after each restart of a watch, and at an interval."""

    def __init__(self, api: Api, event_handlers: EventHandlers, interval_seconds: float) -> None:
        self._api = api
        self._handlers = event_handlers.all
        self._broken = event_handlers.broken
        self._interval = interval_seconds
        self._asked = asyncio.Event()
        self._patience = STALLS
        self._not_served: set[str] = set()
        self._optional_kinds = OptionalKinds()

    @property
    def not_served(self) -> list[str]:
        """The kinds that the API server did not serve when they were last listed: no CRD."""
        return sorted(self._not_served)

    @property
    def forbidden(self) -> list[str]:
        """The kinds that may not be read, as of when they were last listed."""
        return self._optional_kinds.forbidden

    def listed(self, handler: Handler, uid: str) -> None:
        """Note that a list has delivered an object.

        If the object was known, its watch was restarted and may have missed deletions, so a sweep
        comes soon.
        """
        if uid in handler.uids():
            self._asked.set()

    async def wait_until_complete(self) -> None:
        """Return when the cache has every object that the API server listed and has not deleted.

        Raises KindsNotWatchedError if missing objects do not arrive.
        """
        required: dict[Handler, set[str]] = {}
        missing = dict.fromkeys(self._handlers, 1)
        stalls = 0
        while any(missing.values()):
            listed = {each: set(await self._insist(each)) for each in self._handlers}
            # Objects that came after the first list are left to the watches, or this might never
            # end.
            required = {each: uids & listed[each] for each, uids in (required or listed).items()}
            before, missing = missing, await self._fill(required)
            stalls = stalls + 1 if missing == before else 0
            if stalls == self._patience:
                self._patience *= 2
                raise KindsNotWatchedError(_names(each for each, n in missing.items() if n))
        self._patience = STALLS

    async def look_for_kinds(self) -> None:
        """Compare until cancelled. Raises KindsNotWatchedError for kinds that lack objects twice.

        A kind that is not served or has no objects costs one small request for each check. A kind
        with an object in the cache costs nothing, unless it could not be listed before.
        """
        missing: dict[Handler, set[str]] = {}
        while True:
            await asyncio.sleep(LOOK_FOR_KINDS_SECONDS)
            before, missing = missing, await self._unwatched(missing)
            lacking = [
                each
                for each, uids in missing.items()
                if each in before and (not each.uids() or uids & before[each])
            ]
            if lacking:
                raise KindsNotWatchedError(_names(lacking))

    async def run(self) -> None:
        """Look for missed deletions until cancelled."""
        while True:
            with anyio.move_on_after(self._interval) as waiting:
                await self._asked.wait()
            if not waiting.cancelled_caught:
                await asyncio.sleep(AFTER_LIST_SECONDS)
            await self.sweep_all()

    async def sweep_all(self) -> None:
        """Sweep every kind once."""
        self._asked.clear()
        for handler in self._handlers:
            await self.sweep(handler)

    async def sweep(self, handler: Handler) -> None:
        """Drop the objects of one kind that are in the cache but not on the API server."""
        # Only objects that were known before the list was requested can be missing because of a
        # deletion.
        known = set(handler.uids())
        try:
            listed = await self._uids(handler)
        except ApiError as error:
            log.warning("sweep_failed", kind=handler.plural, error=str(error))
            return
        if self._optional_kinds.may_be_brief(handler.name):
            return
        gone = known - set(listed)
        # Objects that could not be listed may come back unchanged.
        drop = handler.forget if handler.name in self._not_served else handler.missing
        for uid in gone:
            drop(uid)
        if gone:
            metrics.SWEPT.labels(handler.name).inc(len(gone))
            log.info("swept", kind=handler.plural, gone=len(gone))

    async def _fill(self, required: Mapping[Handler, set[str]]) -> dict[Handler, int]:
        """Wait for watches to deliver the required objects; return how many are still missing.

        An object that has arrived is no longer required: it may be deleted before the last one
        arrives. If pods come and go all the time, the cache never has every listed object at one
        moment.
        """
        clock = asyncio.get_running_loop().time
        until = clock() + LIST_AGAIN_SECONDS
        while True:
            for each, uids in required.items():
                uids.intersection_update(self._missing(each, uids))
            missing = {each: len(uids) for each, uids in required.items()}
            if clock() >= until or not any(missing.values()):
                break
            await asyncio.sleep(LOOK_SECONDS)
        log.info("cache_filling", missing={each.plural: n for each, n in missing.items() if n})
        return missing

    async def _unwatched(self, before: Collection[Handler]) -> dict[Handler, set[str]]:
        """Return the objects of kinds that the API server has and the cache has none of.

        Kinds that were found `before`, or could not be listed, are checked even with objects in the
        cache: their objects may have been forgotten, and no watch brings them back.
        """
        found = {}
        for handler in self._handlers:
            is_doubtful = handler in before or handler.name in self._not_served
            if not handler.uids() or is_doubtful:
                with contextlib.suppress(ApiError):
                    if missing := self._missing(handler, await self._uids(handler)):
                        found[handler] = missing
        return found

    def _missing(self, handler: Handler, listed: Iterable[str]) -> set[str]:
        known = handler.uids()
        return {uid for uid in listed if uid not in known and uid not in self._broken}

    async def _insist(self, handler: Handler) -> Mapping[str, PodRef]:
        """List a kind, repeatedly until it is answered."""
        backoff = Backoff(ASK_AGAIN_SECONDS, ASK_AGAIN_SECONDS)
        while True:
            try:
                return await self._uids(handler)
            except ApiError as error:
                log.warning("list_failed", kind=handler.plural, error=str(error))
                await backoff.after(error)

    async def _uids(self, handler: Handler) -> Mapping[str, PodRef]:
        for gvr in handler.versions:
            try:
                listed = await self._api.uids(gvr)
            except ApiError as error:
                if not self._optional_kinds.is_absent(handler.name, error):
                    raise
            else:
                self._optional_kinds.listed(handler.name)
                self._not_served.discard(handler.name)
                return listed
        kinds.require_absent(handler.name)
        self._not_served.add(handler.name)
        synced.not_served(handler.name)
        return {}  # Its CRD is not installed, or it may not be read.


def _names(handlers: Iterable[Handler]) -> str:
    return ", ".join(sorted(each.name for each in handlers))
