"""Writes into PodGroups what their gangs yield to and have saved, before any pod is deleted.

So a scheduler that crashes between the two forgets none of it. Nothing waits for long: if the API
server does not take the write, the eviction goes on, and `status_writer` writes it with the rest of
the status, until it is taken. A crash before that forgets what the gangs of this one plan yielded
to.
"""

from collections.abc import Collection
from typing import Final

import anyio

from gang_scheduler.api.kinds import GVR, POD_GROUPS, SCHED_PLUGINS_POD_GROUPS
from gang_scheduler.client.errors import ApiError
from gang_scheduler.client.port import Api
from gang_scheduler.internal_errors import confined
from gang_scheduler.model.refs import GangKey
from gang_scheduler.report.checkpoints import status as checkpoint_status
from gang_scheduler.report.queues.evictions import EvictionTexts
from gang_scheduler.state.cache import Cache
from gang_scheduler.telemetry import metrics

MOST_SECONDS: Final = 2.0
"""How long an eviction waits for it."""
_GROUPS: Final = frozenset({POD_GROUPS.group, SCHED_PLUGINS_POD_GROUPS.group})


class EvictionWriter:
    """Writes what gangs yield to, and what they have saved. Called by the evictor."""

    def __init__(self, api: Api, cache: Cache, texts: EvictionTexts) -> None:
        self._api = api
        self._cache = cache
        self._texts = texts

    async def write(self, keys: Collection[GangKey]) -> None:
        """Write what gangs yield to and have saved; return when all is written, or soon."""
        with anyio.move_on_after(MOST_SECONDS):
            async with anyio.create_task_group() as writes:
                for key in sorted(keys):
                    gvr = self._kind_of(key)
                    if gvr is not None:
                        writes.start_soon(self._write, gvr, key)

    def _kind_of(self, key: GangKey) -> GVR | None:
        """Return the kind of the object that can remember evictions, None where there is none."""
        info = self._cache.gang_queue.infos.get(key)
        spec = info.observed.spec if info is not None else None
        gvr = spec.gvr if spec is not None else None
        return gvr if gvr is not None and gvr.group in _GROUPS else None

    async def _write(self, gvr: GVR, key: GangKey) -> None:
        with confined("report", str(key)):
            evictions = self._texts.status_of(key)
            saved = checkpoint_status.status_of(self._cache.checkpoints.of(key), {})
            status = {**saved, **({} if evictions is None else {"evictions": evictions})}
            try:
                await self._api.patch_status(gvr, key.namespace, key.name, status)
            except ApiError as error:
                metrics.WRITES.labels("pod_group_evictions", error.kind.value).inc()
            else:
                metrics.WRITES.labels("pod_group_evictions", "written").inc()
