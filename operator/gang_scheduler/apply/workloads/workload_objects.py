"""Reads and patches workloads, in whatever version their kind is served."""

from collections.abc import Awaitable, Callable

from gang_scheduler.api.annotations import KUEUE_JOB_UID
from gang_scheduler.api.kinds import GVR, KUEUE_WORKLOADS
from gang_scheduler.api.suspend_fields import SUSPEND_FIELDS
from gang_scheduler.client.errors import ApiError, Kind
from gang_scheduler.client.port import Api, Body
from gang_scheduler.model.suspended import ManagedWorkload


class WorkloadObjects:
    """Workloads of all kinds that can be suspended, by their kind as in manifests."""

    def __init__(self, api: Api) -> None:
        self._api = api
        self._served: dict[str, GVR] = {}

    async def read(self, workload: ManagedWorkload) -> Body:
        """Return the object of this name. Raises ApiError."""
        return await self._of_served_version(
            workload, lambda gvr: self._api.get(gvr, workload.namespace, workload.name)
        )

    async def patch(self, workload: ManagedWorkload, patch: Body) -> None:
        """Merge into the object of this name, with the preconditions of the patch. See the port."""
        await self._of_served_version(
            workload, lambda gvr: self._api.patch(gvr, workload.namespace, workload.name, patch)
        )

    async def forget_start(self, workload: ManagedWorkload) -> None:
        """Have a suspended Job forget that it was started once. Raises ApiError."""
        gvr = SUSPEND_FIELDS[workload.kind].versions[0]
        await self._api.patch_status(gvr, workload.namespace, workload.name, {"startTime": None})

    async def kueue_workload_of(self, workload: ManagedWorkload) -> str:
        """Return the name of the object by which Kueue manages a workload; "" for none.

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
        versions = SUSPEND_FIELDS[workload.kind].versions
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
