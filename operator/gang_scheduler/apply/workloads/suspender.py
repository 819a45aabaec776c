"""Suspends workloads that were admitted: their controllers end the pods, and count no failure.

The newest version of the object is patched, as long as it is still ours: one that a user has
suspended, or taken from us, is left as it is. Every write may come twice: one that is suspended
already is done.
"""

import asyncio
from collections.abc import Callable

import anyio

from gang_scheduler.api.suspend_fields import SUSPEND_FIELDS
from gang_scheduler.apply.outcomes import Outcomes, WorkloadSuspended
from gang_scheduler.apply.workloads import workload_patches
from gang_scheduler.apply.workloads.workload_objects import WorkloadObjects
from gang_scheduler.client.errors import ApiError, Kind
from gang_scheduler.client.port import Api
from gang_scheduler.client.retry import Backoff, Denials
from gang_scheduler.internal_errors import confined
from gang_scheduler.model.suspended import ManagedWorkload, Suspension
from gang_scheduler.telemetry import metrics
from gang_scheduler.telemetry.logger import Logger

WORKERS = 4
GIVE_UP_SECONDS = 60.0
"""After this time the decision is better made anew."""
PASSING = frozenset({Kind.UNKNOWN, Kind.THROTTLED, Kind.CONFLICT})
"""Answers after which the object is read and patched again."""

log = Logger()


class Suspender:
    """Suspends what is submitted, and only while `may_write()` says that we are the leader.

    What was suspended comes to `outcomes`; what could not be is decided on again.
    """

    def __init__(
        self, api: Api, *, outcomes: Outcomes, may_write: Callable[[], bool] = lambda: True
    ) -> None:
        self._objects = WorkloadObjects(api)
        self._outcomes = outcomes
        self._may_write = may_write
        self._denials = Denials()
        self._queue: asyncio.Queue[Suspension] = asyncio.Queue()
        self._queued: set[str] = set()

    def submit(self, suspension: Suspension) -> None:
        """Queue a suspension, unless the workload is about to be suspended."""
        uid = suspension.workload.uid
        if uid not in self._queued:
            self._queued.add(uid)
            self._queue.put_nowait(suspension)

    async def run(self) -> None:
        """Suspend until cancelled."""
        async with anyio.create_task_group() as workers:
            for number in range(WORKERS):
                workers.start_soon(self._work, name=f"suspender {number}")

    async def drain(self) -> None:
        """Return when all that was submitted is done."""
        await self._queue.join()

    async def suspend(self, workload: ManagedWorkload) -> bool:
        """Suspend a workload if it is still ours; return whether its pods end. Raises ApiError.

        They do as well if a user has suspended or deleted it.
        """
        try:
            found = await self._objects.read(workload)
        except ApiError as error:
            if error.kind is Kind.GONE:
                return True
            raise
        if not workload_patches.is_managed(found, workload):
            is_another = found["metadata"]["uid"] != workload.uid
            return is_another or workload_patches.is_suspended(found, workload.kind)
        patch = workload_patches.suspending(found, SUSPEND_FIELDS[workload.kind])
        await self._objects.patch(workload, patch)
        return True

    async def _work(self) -> None:
        while True:
            suspension = await self._queue.get()
            with confined("suspend", suspension.workload):
                await self._suspend(suspension)
            self._queued.discard(suspension.workload.uid)
            self._queue.task_done()

    async def _suspend(self, suspension: Suspension) -> None:
        clock = asyncio.get_running_loop().time
        backoff, deadline = Backoff(), clock() + GIVE_UP_SECONDS
        while self._may_write():
            try:
                await self.suspend(suspension.workload)
            except ApiError as error:
                metrics.WRITES.labels("suspension", error.kind.value).inc()
                kind = suspension.workload.kind
                passes = error.kind in PASSING or self._denials.may_pass(error, kind)
                if not passes or clock() >= deadline:
                    name = str(suspension.workload)
                    log.warning("suspension_failed", workload=name, error=str(error))
                    return
                await backoff.after(error, most=deadline - clock())
            else:
                metrics.WRITES.labels("suspension", "written").inc()
                name, why = str(suspension.workload), suspension.why.value
                log.info("workload_suspended", workload=name, why=why)
                self._outcomes.put(WorkloadSuspended(suspension))
                return
