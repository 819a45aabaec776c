"""Compares the cache with a list: nothing that was deleted stays, and we know when all is there.

A watch that had to start anew tells nothing of what was deleted in between, and Kopf has no word
for "the first list is complete". Both are answered by the uids that the API server lists.
"""

import asyncio
from collections.abc import Mapping

import structlog

from gang_scheduler import telemetry
from gang_scheduler.cluster.cache import Cache
from gang_scheduler.cluster.errors import ApiError, Kind
from gang_scheduler.cluster.ports import Api, PodRef, Resource
from gang_scheduler.cluster.watching.watched import WATCHED

KINDS = tuple(each.versions for each in WATCHED)
"""Each kind in the versions it may be served in, the first that is counts."""

AFTER_LIST_SECONDS = 2.0
"""A watch's own list takes a moment to come in: look after it."""
LOOK_SECONDS = 0.05
LIST_AGAIN_SECONDS = 5.0

log = structlog.get_logger()
Versions = tuple[Resource, ...]


class Sweep:
    """Sweeps when asked to, and now and then in any case. `broken`: uids left out on purpose."""

    def __init__(self, api: Api, cache: Cache, broken: set[str], interval_seconds: float) -> None:
        self._api = api
        self._cache = cache
        self._broken = broken
        self._interval = interval_seconds
        self._asked = asyncio.Event()

    def listed(self, uid: str) -> None:
        """Note that an object has come with a list. If it was known, its watch has begun anew.

        Then deletions may have been missed: sweep soon.
        """
        if any(uid in self._cache.uids(versions[0]) for versions in KINDS):
            self._asked.set()

    async def wait_until_complete(self) -> None:
        """Return when the cache has everything that the API server listed and has not deleted."""
        clock = asyncio.get_running_loop().time
        required: dict[Versions, Mapping[str, PodRef]] = {}
        missing = dict.fromkeys(KINDS, 1)
        while any(missing.values()):
            try:
                listed = {versions: await self._uids(versions) for versions in KINDS}
            except ApiError as error:
                log.warning("list_failed", error=str(error))
                await asyncio.sleep(LIST_AGAIN_SECONDS)
                continue
            # What came after the first list is the watches' business, or this might never end.
            required = {
                each: {uid: ref for uid, ref in listed[each].items() if uid in first}
                for each, first in (required or listed).items()
            }
            until = clock() + LIST_AGAIN_SECONDS
            while any(missing.values()) and clock() < until:
                missing = {each: self._missing(each, required[each]) for each in KINDS}
                await asyncio.sleep(LOOK_SECONDS)
            log.info("cache_filling", missing={k[0].plural: n for k, n in missing.items() if n})

    async def run(self) -> None:
        """Sweep until cancelled."""
        while True:
            try:
                async with asyncio.timeout(self._interval):
                    await self._asked.wait()
                await asyncio.sleep(AFTER_LIST_SECONDS)
            except TimeoutError:
                pass
            await self.sweep_all()

    async def sweep_all(self) -> None:
        """Sweep every kind once."""
        self._asked.clear()
        for versions in KINDS:
            await self.sweep(versions)

    async def sweep(self, versions: Versions) -> None:
        """Drop the objects of one kind that are in the cache and not on the API server."""
        kind = versions[0]
        # Only what was known before the list was asked for can be missing from it by deletion.
        known = set(self._cache.uids(kind))
        try:
            listed = await self._uids(versions)
        except ApiError as error:
            log.warning("sweep_failed", kind=kind.plural, error=str(error))
            return
        gone = known - set(listed)
        for uid in gone:
            self._cache.uid_gone(kind, uid)
        if gone:
            telemetry.SWEPT.labels(kind.plural).inc(len(gone))
            log.info("swept", kind=kind.plural, gone=len(gone))

    def _missing(self, versions: Versions, listed: Mapping[str, PodRef]) -> int:
        known = self._cache.uids(versions[0])
        return sum(uid not in known and uid not in self._broken for uid in listed)

    async def _uids(self, versions: Versions) -> Mapping[str, PodRef]:
        for resource in versions:
            try:
                return await self._api.uids(resource)
            except ApiError as error:
                if error.kind is not Kind.GONE:
                    raise
        return {}  # The kind is not served: its CRD is not installed.
