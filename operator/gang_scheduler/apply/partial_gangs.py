"""Takes back what was bound of a gang whose rest found no room in time, where settings ask for it.

Only a crash, or a binding that the API server refused, leaves a gang in part. By default the
bound members stay and wait (`Hold`): deleting what runs is the administrator's decision.
"""

import asyncio
from collections.abc import Callable, Iterable

import structlog

from gang_scheduler import telemetry
from gang_scheduler.client.errors import ApiError, Kind
from gang_scheduler.client.port import Api
from gang_scheduler.internal_errors import confined
from gang_scheduler.model.gangs import GangKey
from gang_scheduler.model.plan import Refused
from gang_scheduler.model.refs import PodRef
from gang_scheduler.state.cache import Cache

log = structlog.get_logger()


class PartialGangs:
    """Deletes the bound members of a gang that stays in part past its schedule timeout."""

    def __init__(
        self, api: Api, cache: Cache, may_write: Callable[[], bool] = lambda: True
    ) -> None:
        self._api = api
        self._cache = cache
        self._may_write = may_write
        self._queue: asyncio.Queue[GangKey] = asyncio.Queue()
        self._queued: set[GangKey] = set()

    def consider(self, refused: Iterable[Refused], now: int) -> None:
        """Queue those of the refused gangs that are late and bound in part. `now` in seconds."""
        for key in (each.gang.key for each in refused if each.gang.partially_bound):
            info = self._cache.gang_queue.infos.get(key)
            deadline = self._cache.gang_queue.deadline(info) if info else None
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
        # It may have become whole since.
        if info is None or info.was_whole or not self._may_write():
            return
        bound = [pod for pod in info.living() if pod.node and not pod.assumed]
        if not bound:  # It is a group's rest.
            return
        log.warning("gang_released", gang=str(key), pods=len(bound))
        for pod in bound:
            await self._delete(PodRef(pod.namespace, pod.name, pod.uid))

    async def _delete(self, pod: PodRef) -> None:
        try:
            await self._api.delete_pod(pod)
        except ApiError as error:
            telemetry.WRITES.labels("pod_delete", error.kind.value).inc()
            if error.kind not in (Kind.GONE, Kind.CONFLICT):
                # The gang is refused again before long, and with that considered again.
                log.warning("release_failed", pod=f"{pod.namespace}/{pod.name}", error=str(error))
        else:
            telemetry.WRITES.labels("pod_delete", "written").inc()
