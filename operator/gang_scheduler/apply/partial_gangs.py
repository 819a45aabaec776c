"""Deletes the bound members of a gang whose rest found no room in time, if the settings say so.

Only a crash, or a binding that the API server refused, leaves a gang partially bound. By default
the bound members stay and wait (`Hold`): to delete running pods is the administrator's decision.
"""

import asyncio
from collections.abc import Callable, Iterable

from gang_scheduler.client.errors import ApiError, Kind
from gang_scheduler.client.port import Api
from gang_scheduler.internal_errors import confined
from gang_scheduler.model.plan import Refused
from gang_scheduler.model.refs import GangKey, PodRef
from gang_scheduler.state.cache import Cache
from gang_scheduler.telemetry import metrics
from gang_scheduler.telemetry.logger import Logger

log = Logger()


class PartialGangs:
    """Deletes the bound members of gangs that stay partially bound past their schedule timeout."""

    def __init__(
        self, api: Api, cache: Cache, may_write: Callable[[], bool] = lambda: True
    ) -> None:
        self._api = api
        self._cache = cache
        self._may_write = may_write
        self._queue: asyncio.Queue[GangKey] = asyncio.Queue()
        self._queued: set[GangKey] = set()

    def consider(self, refused: Iterable[Refused], now: int) -> None:
        """Queue the refused gangs that are late and partially bound. `now` is in seconds."""
        for key in (each.gang.key for each in refused if each.gang.partially_bound):
            info = self._cache.gang_queue.infos.get(key)
            deadline = self._cache.gang_queue.deadlines.of(info) if info else None
            if deadline is not None and now >= deadline and key not in self._queued:
                self._queued.add(key)
                self._queue.put_nowait(key)

    async def run(self) -> None:
        """Delete until cancelled."""
        while True:
            key = await self._queue.get()
            self._queued.discard(key)
            with confined("release", str(key)):
                await self._release(key)

    async def _release(self, key: GangKey) -> None:
        info = self._cache.gang_queue.infos.get(key)
        # The gang may have become whole since.
        if info is None or info.attempt.was_whole:
            return
        bound = [pod for pod in info.observed.living if pod.node and not pod.assumed]
        if not bound:  # Only other gangs of its group are bound.
            return
        if self._may_write():
            log.warning("gang_released", gang=str(key), pods=len(bound))
        for pod in bound:
            # Each deletion takes its time, and another replica may lead by the next one.
            if not self._may_write():
                return
            await self._delete(PodRef(pod.namespace, pod.name, pod.uid))

    async def _delete(self, pod: PodRef) -> None:
        try:
            await self._api.delete_pod(pod)
        except ApiError as error:
            metrics.WRITES.labels("pod_delete", error.kind.value).inc()
            if error.kind not in (Kind.GONE, Kind.CONFLICT):
                # The gang is refused again before long, and then considered again.
                log.warning("release_failed", pod=f"{pod.namespace}/{pod.name}", error=str(error))
        else:
            metrics.WRITES.labels("pod_delete", "written").inc()
