"""Writes the last checkpoint of a gang on its Job, where it has no PodGroup with a status for that.

Only Jobs that are managed: the scheduler may patch no others.
"""

import asyncio
from collections.abc import Callable
from typing import Final

import msgspec

from gang_scheduler.api.annotations import CHECKPOINT_LATEST
from gang_scheduler.api.conditions import rfc3339
from gang_scheduler.api.kinds import JOBS
from gang_scheduler.client.errors import ApiError, Kind
from gang_scheduler.client.port import Api
from gang_scheduler.client.retry import Denials
from gang_scheduler.decode.gangs.gang_specs import GangSpec
from gang_scheduler.internal_errors import confined
from gang_scheduler.model.checkpoints import Checkpoints
from gang_scheduler.model.gang_sources import JOB
from gang_scheduler.model.refs import GangKey
from gang_scheduler.state.cache import Cache
from gang_scheduler.telemetry import metrics
from gang_scheduler.telemetry.logger import Logger

LOOK_SECONDS: Final = 0.5
PASSING: Final = frozenset({Kind.UNKNOWN, Kind.THROTTLED, Kind.CONFLICT})
"""Answers after which the same is written again."""
WHAT: Final = "checkpoint"

log = Logger()


class LatestCheckpoints:
    """Writes while `may_write()` says that we are the leader; what stands there is not repeated."""

    def __init__(
        self, api: Api, cache: Cache, *, may_write: Callable[[], bool] = lambda: True
    ) -> None:
        self._api = api
        self._cache = cache
        self._may_write = may_write
        self._denials = Denials()

    async def run(self) -> None:
        """Write what gangs save, until cancelled."""
        while True:
            await self.look()
            await asyncio.sleep(LOOK_SECONDS)

    async def look(self) -> None:
        """Write what has changed since the last look."""
        is_managed = JOB.name in self._cache.suspended.rules.kinds
        if not is_managed:
            return
        unwritten = self._cache.checkpoints.unwritten
        for key in sorted(unwritten):
            if not self._may_write():
                return
            unwritten.discard(key)
            with confined("report", str(key)):
                await self._write(key)

    async def _write(self, key: GangKey) -> None:
        info = self._cache.gang_queue.infos.get(key)
        spec = info.observed.spec if info is not None else None
        if spec is None or spec.gvr != JOBS:
            return
        text = text_of(self._cache.checkpoints.of(key))
        if text in ("", text_of(spec.checkpoints)):
            return
        try:
            await self._patch(spec, text)
        except ApiError as error:
            metrics.WRITES.labels(WHAT, error.kind.value).inc()
            if error.kind in PASSING or self._denials.may_pass(error, key):
                self._cache.checkpoints.unwritten.add(key)
            elif error.kind is not Kind.GONE:
                log.warning("checkpoint_not_written", gang=str(key), error=str(error))
        else:
            metrics.WRITES.labels(WHAT, "written").inc()

    async def _patch(self, spec: GangSpec, text: str) -> None:
        metadata = {"uid": spec.uid, "annotations": {CHECKPOINT_LATEST: text}}
        await self._api.patch(JOBS, spec.key.namespace, spec.key.name, {"metadata": metadata})


def text_of(found: Checkpoints | None) -> str:
    """Return what the annotation is to say of a gang; "" for one that has saved nothing."""
    last = found.last if found is not None else None
    if found is None or last is None:
        return ""
    said: dict[str, str | int] = {"doneAt": rfc3339(last.done_at)}
    if last.step is not None:
        said["step"] = last.step
    if last.path:
        said["path"] = last.path
    if last.request_id:
        said["requestId"] = last.request_id
    if found.resume_count:
        said["resumeCount"] = found.resume_count
    return msgspec.json.encode(said).decode()
