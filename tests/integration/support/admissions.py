"""Suspended Jobs on a server in memory, with what starts and suspends them."""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import asynccontextmanager
from typing import Any

from gang_scheduler.api.annotations import ADMITTED_AT, KUEUE_JOB_UID
from gang_scheduler.api.kinds import GVR, JOBS, KUEUE_WORKLOADS, MPI_JOBS
from gang_scheduler.apply.outcomes import AdmissionFailed, Outcomes, WriteOutcome
from gang_scheduler.apply.workloads.starts import Admitter, Suspender
from gang_scheduler.client.fake.client import FakeApi
from gang_scheduler.client.fake.cluster import SERVED, FakeCluster
from gang_scheduler.client.writing import Writes
from gang_scheduler.model.reasons import Cause
from gang_scheduler.model.suspended import Admission, ManagedWorkload, TemplateEdit

NOW = 1_767_323_045
AT = "2026-01-02T03:04:05Z"
SPOT = TemplateEdit(("spec", "template"), (("pool", "spot"),))


class Admissions:
    """A server with Jobs; an Admitter, a Suspender, and what came of their writes."""

    def __init__(
        self, cluster: FakeCluster, may_write: Callable[[], bool], *, kueue_runs: bool
    ) -> None:
        self.cluster = cluster
        self.api = FakeApi(cluster)
        self.outcomes = Outcomes()
        writes = Writes(may_write)
        self.admitter = Admitter(
            *(self.api, 4),
            outcomes=self.outcomes,
            writes=writes,
            kueue_runs=lambda: kueue_runs,
            clock=lambda: NOW,
        )
        self.suspender = Suspender(self.api, outcomes=self.outcomes, writes=writes)

    def job(self, name: str = "train", *, admitted: bool = False, **fields: Any) -> ManagedWorkload:
        """Create a Job that waits suspended, or that was admitted."""
        notes = {ADMITTED_AT: AT} if admitted else {}
        made = self.cluster.put(
            JOBS,
            {
                "kind": "Job",
                "metadata": {"name": name, "namespace": "ns", "annotations": notes},
                "spec": {"suspend": not admitted, "template": {"spec": {}}},
                **fields,
            },
        )["metadata"]
        return ManagedWorkload("Job", "ns", name, made["uid"], made["resourceVersion"])

    def mpi_job(self, name: str) -> ManagedWorkload:
        """Create a suspended MPIJob, of the older of its versions: the other is not served."""
        metadata = {"name": name, "namespace": "ns"}
        body = {"metadata": metadata, "spec": {"runPolicy": {"suspend": True}}}
        made = self.cluster.put(MPI_JOBS[-1], body)["metadata"]
        return ManagedWorkload("MPIJob", "ns", name, made["uid"], made["resourceVersion"])

    def kueue_workload(self, job: ManagedWorkload, name: str = "job-train-1a2b3") -> None:
        """Create the Workload by which Kueue manages a Job."""
        metadata = {"name": name, "namespace": "ns", "labels": {KUEUE_JOB_UID: job.uid}}
        self.cluster.put(KUEUE_WORKLOADS[1], {"metadata": metadata})

    def now(self, name: str = "train") -> dict[str, Any]:
        """Return a Job as it is now."""
        return self.cluster.get(JOBS, "ns", name)

    def is_suspended(self, name: str = "train") -> bool:
        """Return whether a Job is suspended."""
        return bool(self.now(name)["spec"]["suspend"])

    async def admit(self, *admissions: Admission) -> list[WriteOutcome]:
        """Have workloads started, and return what came of each."""
        for each in admissions:
            self.admitter.submit(each)
        await self.admitter.drain()
        return list(self.outcomes.take_all())

    async def why_not(self, admission: Admission) -> Cause:
        """Have a workload started, and return why it was not."""
        (outcome,) = await self.admit(admission)
        assert isinstance(outcome, AdmissionFailed)
        return outcome.why

    def requests(self) -> list[str]:
        """Return the methods that were called, in order."""
        return [each.method for each in self.api.calls]


@asynccontextmanager
async def admissions(
    may_write: Callable[[], bool] = lambda: True,
    *,
    kueue_runs: bool = False,
    kueue: Iterable[GVR] = KUEUE_WORKLOADS[1:],
) -> AsyncIterator[Admissions]:
    """Give a server, and run what writes to it. `kueue` are the versions of its Workloads."""
    cluster = FakeCluster([*SERVED, MPI_JOBS[-1], *kueue])
    made = Admissions(cluster, may_write, kueue_runs=kueue_runs)
    running = [asyncio.create_task(each.run()) for each in (made.admitter, made.suspender)]
    yield made
    for each in running:
        each.cancel()
    await asyncio.gather(*running, return_exceptions=True)
