"""Suspended workloads: started once admitted, and suspended again when they are evicted."""

import time
from collections.abc import Awaitable, Callable
from typing import Final

from gang_scheduler.api.annotations import ADMITTED_AT, KUEUE_JOB_UID
from gang_scheduler.api.kinds import GVR, KUEUE_WORKLOADS
from gang_scheduler.apply.outcomes import (
    AdmissionFailed,
    AdmissionWritten,
    Outcomes,
    WorkloadSuspended,
)
from gang_scheduler.apply.workloads import patches
from gang_scheduler.background_tasks import Workers
from gang_scheduler.client.errors import ApiError, Kind
from gang_scheduler.client.interfaces import Api, Body
from gang_scheduler.client.writing import GIVE_UP_SECONDS, RACED, Writes, count
from gang_scheduler.internal_errors import confined
from gang_scheduler.model.causes.gangs import ApiAnswer, InternalError, NotLeading
from gang_scheduler.model.causes.queues import (
    KueueManages,
    PatchForbidden,
    TemplateGone,
    WorkloadChanged,
    WorkloadGone,
)
from gang_scheduler.model.reasons import Cause
from gang_scheduler.model.suspended import Admission, ManagedWorkload, Suspension
from gang_scheduler.model.wording import rfc3339
from gang_scheduler.telemetry.logger import Logger
from gang_scheduler.workloads import table


class WorkloadObjects:
    """Workloads of all kinds that may be patched, by their kind as in manifests."""

    def __init__(self, api: Api) -> None:
        self._api = api
        self._served: dict[str, GVR] = {}

    async def read(self, workload: ManagedWorkload) -> Body:
        """Return the object of a workload. Raises ApiError."""
        return await self._of_served_version(
            workload, lambda gvr: self._api.get(gvr, workload.namespace, workload.name)
        )

    async def patch(self, workload: ManagedWorkload, patch: Body, *, manager: str = "") -> None:
        """Send a merge patch for a workload's object, with the preconditions of `Api.patch`."""
        await self._of_served_version(
            workload,
            lambda gvr: self._api.patch(
                gvr, workload.namespace, workload.name, patch, manager=manager
            ),
        )

    async def forget_start(self, workload: ManagedWorkload) -> None:
        """Make a suspended Job forget that it was started before. Raises ApiError."""
        gvr = table.SUSPENDABLE[workload.kind].versions[0]
        await self._api.patch_status(gvr, workload.namespace, workload.name, {"startTime": None})

    async def kueue_workload_of(self, workload: ManagedWorkload) -> str:
        """Return the name of Kueue's Workload object for a workload; "" for none.

        Raises ApiError.
        """
        for gvr in KUEUE_WORKLOADS:
            try:
                found = await self._api.names(gvr, workload.namespace, KUEUE_JOB_UID, workload.uid)
            except ApiError as error:
                if error.kind is not Kind.GONE:
                    raise
            else:
                return min(found, default="")
        return ""

    async def _of_served_version(
        self, workload: ManagedWorkload, request: Callable[[GVR], Awaitable[Body]]
    ) -> Body:
        """Make a request in the best version that is served: an unserved one answers GONE."""
        versions = table.PATCHED[workload.kind].versions
        known = self._served.get(workload.kind)
        for gvr in (known,) if known else versions:
            try:
                answer = await request(gvr)
            except ApiError as error:
                if error.kind is not Kind.GONE or gvr in (known, versions[-1]):
                    raise
            else:
                self._served[workload.kind] = gvr
                return answer
        raise AssertionError("the last version returns or raises")


# Each admitted workload is started by one patch, for the version on which the scheduler decided.
# The state holds room and quota before the patch is sent. If the API server refuses the patch,
# nothing changes: the workload waits and is decided on again. After a crash the object itself says
# whether it was admitted, so no patch is written twice.

ADMISSION: Final = "admission"
INVALID = 422
"""The status code for a change of an immutable field."""

log = Logger()


class _NotOursError(Exception):
    """Kueue manages the workload, or it is not known whether Kueue does."""

    def __init__(self, cause: Cause) -> None:
        super().__init__(cause)
        self.cause = cause


class Admitter(Workers[Admission]):
    """Admits with bounded concurrency.

    Every submitted admission goes to `outcomes`, written or failed. While `kueue_runs()`, workloads
    that Kueue manages are left alone: Kueue may manage even workloads that name none of its queues.
    """

    def __init__(
        self,
        api: Api,
        concurrency: int,
        *,
        outcomes: Outcomes,
        writes: Writes,
        kueue_runs: Callable[[], bool] = lambda: False,
        clock: Callable[[], float] = time.time,
    ) -> None:
        super().__init__("admitter", "admit", concurrency)
        self._objects = WorkloadObjects(api)
        self._outcomes = outcomes
        self._writes = writes
        self._kueue_runs = kueue_runs
        self._clock = clock

    async def work(self, item: Admission) -> None:
        """Write an admission, and report whether it is written."""
        why: Cause | None = None
        with confined("admit", item.workload) as step:
            why = await self._admit(item)
        if step.error is not None:
            why = InternalError.of(step.error)
        self._report(item, why)

    def about(self, item: Admission) -> object:
        """Return the workload."""
        return item.workload

    def namespace_of(self, item: Admission) -> str:
        """Return the namespace of the workload."""
        return item.workload.namespace

    def _report(self, admission: Admission, why: Cause | None) -> None:
        name, kind = str(admission.workload), admission.workload.kind
        if why is None:
            log.info("workload_admitted", workload=name, queue=admission.queue)
            self._outcomes.put(AdmissionWritten(admission))
            return
        if isinstance(why, PatchForbidden):
            log.warning("admission_forbidden", workload=name, kind=kind)
        self._outcomes.put(AdmissionFailed(admission, why))

    async def _admit(self, admission: Admission) -> Cause | None:
        """Write an admission; return why it failed, None if it did not."""
        at = rfc3339(int(self._clock()))
        workload = admission.workload

        async def write() -> None:
            await self._leave_to_kueue(workload)
            await self._write(admission, at)

        try:
            refusal = await self._writes.send(
                *(ADMISSION, write), about=workload.kind, seconds=GIVE_UP_SECONDS
            )
        except LookupError as error:
            return TemplateGone(str(error))
        except _NotOursError as error:
            return error.cause
        if refusal is None:
            return None
        if refusal.error is None:
            return NotLeading()
        if refusal.kind is Kind.CONFLICT:
            return await self._after_conflict(admission, at)
        return self._why(admission, refusal.error)

    async def _leave_to_kueue(self, workload: ManagedWorkload) -> None:
        """Raise an error if Kueue runs and manages a workload, or if that is not known."""
        if not self._kueue_runs():
            return
        try:
            name = await self._objects.kueue_workload_of(workload)
        except ApiError as error:
            refused = error.kind in (Kind.REFUSED, Kind.DENIED)
            if not refused or self._writes.denial_may_pass(ADMISSION, error, workload.kind):
                raise
            # If two schedulers decided, they would undo each other's writes.
            raise _NotOursError(ApiAnswer(str(error))) from error
        if name:
            raise _NotOursError(KueueManages(name))

    async def _write(self, admission: Admission, at: str) -> None:
        """Send the patch, with the changes of templates. Raises ApiError."""
        workload = admission.workload
        if not (admission.edits or workload.edited):
            await self._objects.patch(workload, patches.starting(admission, at))
            return
        found = await self._unchanged(admission)
        try:
            patch = patches.starting_from(found, admission, at)
            await self._objects.patch(workload, patch)
        except ApiError as error:
            if error.status != INVALID or not _has_started(workload.kind, found):
                raise
            # Before Kubernetes 1.36, this is the only way to change the template of a Job that has
            # run.
            await self._objects.forget_start(workload)
            again = await self._objects.read(workload)
            patch = patches.starting_from(again, admission, at)
            await self._objects.patch(workload, patch)

    async def _unchanged(self, admission: Admission) -> Body:
        """Return the object if it still has the version that was decided on.

        Raises ApiError, CONFLICT if not.
        """
        found = await self._objects.read(admission.workload)
        if found["metadata"]["resourceVersion"] != admission.workload.resource_version:
            raise ApiError(409, f"{admission.workload} has changed")
        return found

    async def _after_conflict(self, admission: Admission, at: str) -> Cause | None:
        """Return None if the object is already as the patch makes it: an earlier try succeeded."""
        workload = admission.workload
        try:
            found = await self._objects.read(workload)
        except ApiError as error:
            # If the write did succeed, the watch will show it.
            return WorkloadGone() if error.kind is Kind.GONE else WorkloadChanged()
        if found["metadata"]["uid"] != workload.uid:
            return WorkloadGone()
        noted = patches.annotations_of(found).get(ADMITTED_AT)
        if noted == at and patches.is_managed(found, workload):
            count(ADMISSION)
            return None
        return WorkloadChanged()

    @staticmethod
    def _why(admission: Admission, error: ApiError) -> Cause:
        if error.kind is Kind.GONE:
            return WorkloadGone()
        if error.kind is Kind.DENIED:
            return PatchForbidden(table.SUSPENDABLE[admission.workload.kind].versions[0].name)
        return ApiAnswer(str(error))


def _has_started(kind: str, found: Body) -> bool:
    """Return whether a workload is a Job that was started once."""
    return kind == "Job" and bool((found.get("status") or {}).get("startTime"))


# A suspended workload's controller ends its pods and counts no failure. The newest version of the
# object is patched, as long as the scheduler still manages it: a workload that a user has
# suspended, or taken away from the scheduler, is left alone. Every write may happen twice: a
# workload that is already suspended counts as done.

WORKERS = 4


class Suspender(Workers[Suspension]):
    """Suspends the submitted workloads.

    Each suspended workload goes to `outcomes`; the others are decided on again.
    """

    def __init__(self, api: Api, *, outcomes: Outcomes, writes: Writes) -> None:
        super().__init__("suspender", "suspend", WORKERS)
        self._objects = WorkloadObjects(api)
        self._outcomes = outcomes
        self._writes = writes
        self._queued: set[str] = set()

    def submit(self, item: Suspension) -> None:
        """Queue a suspension, unless the workload is about to be suspended."""
        uid = item.workload.uid
        if uid not in self._queued:
            self._queued.add(uid)
            super().submit(item)

    def about(self, item: Suspension) -> object:
        """Return the workload."""
        return item.workload

    def namespace_of(self, item: Suspension) -> str:
        """Return the namespace of the workload."""
        return item.workload.namespace

    async def suspend(self, workload: ManagedWorkload) -> bool:
        """Suspend a workload if it is still ours; return whether its pods end. Raises ApiError.

        They also end if a user has suspended or deleted it.
        """
        try:
            found = await self._objects.read(workload)
        except ApiError as error:
            if error.kind is Kind.GONE:
                return True
            raise
        if not patches.is_managed(found, workload):
            is_another = found["metadata"]["uid"] != workload.uid
            return is_another or patches.is_suspended(found, workload.kind)
        patch = patches.suspending(found, workload.kind)
        await self._objects.patch(workload, patch)
        return True

    async def work(self, item: Suspension) -> None:
        """Suspend a workload. It may be submitted again after that."""
        try:
            await self._suspend(item)
        finally:
            self._queued.discard(item.workload.uid)

    async def _suspend(self, suspension: Suspension) -> None:
        workload = suspension.workload
        refusal = await self._writes.send(
            *("suspension", lambda: self.suspend(workload)),
            passing=RACED,
            about=workload.kind,
            seconds=GIVE_UP_SECONDS,
        )
        if refusal is None:
            log.info("workload_suspended", workload=str(workload), why=suspension.why.value)
            self._outcomes.put(WorkloadSuspended(suspension))
        elif refusal.error is not None:
            log.warning("suspension_failed", workload=str(workload), error=str(refusal.error))
