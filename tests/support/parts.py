"""The parts of the operator that decide and write, joined as the operator joins them."""

import time
from collections.abc import Awaitable, Callable, Collection, Coroutine
from typing import Any, NamedTuple

from gang_scheduler.apply.attached_devices import AttachedDevices
from gang_scheduler.apply.binder import Binder
from gang_scheduler.apply.checkpoints import (
    Annotating,
    SaveModes,
    SaveRequests,
    Saving,
)
from gang_scheduler.apply.device_claims import DeviceClaims
from gang_scheduler.apply.disruption_target import Naming
from gang_scheduler.apply.evictor import Evictor
from gang_scheduler.apply.grace_periods import GracePeriods
from gang_scheduler.apply.lost_nominations import LostNominations
from gang_scheduler.apply.outcomes import Outcomes
from gang_scheduler.apply.preemption_run import StepWriter
from gang_scheduler.apply.volume_binder import VolumeBinder
from gang_scheduler.apply.workloads.starts import Admitter, Suspender
from gang_scheduler.client.fake.client import FakeApi
from gang_scheduler.client.interfaces import Api, PodHttp
from gang_scheduler.client.writing import Writes
from gang_scheduler.outcome_handler import OutcomeHandler
from gang_scheduler.report.events import Backpressure, Events
from gang_scheduler.report.failure_events import DegradedEvents
from gang_scheduler.report.gang_events import GangEvents
from gang_scheduler.report.gang_metrics import Measures
from gang_scheduler.report.missing_members import MissingMembers
from gang_scheduler.report.pod_events import PodEvents
from gang_scheduler.report.queues.gang_texts import EvictionTexts, QueuePlaces
from gang_scheduler.report.status_writer import StatusWriter
from gang_scheduler.report.workload_events import WorkloadEvents
from gang_scheduler.scheduler.profile import PROFILES
from gang_scheduler.scheduling_loop import Loop, always_fresh
from gang_scheduler.state.cache import Cache
from gang_scheduler.state.changes import Changes

CONCURRENCY = 4
BATCH_SECONDS = 0.02
NO_BACKPRESSURE = Backpressure(lambda: False)
"""Of bindings that never wait."""

POD_EVENT_SECONDS = 5


class Modes(NamedTuple):
    """The modes in which gangs are asked to save their work. None of `http`: not over HTTP."""

    annotates: bool = False
    http: PodHttp | None = None
    most_seconds: int = 300

    def saving(
        self,
        api: Api,
        cache: Cache,
        *,
        writes: Writes,
        clock: Callable[[], float] = time.time,
    ) -> Callable[[StepWriter], Saving]:
        """Return what makes the stage in which they do, of the writer of the evictor."""
        posting = None if self.http is None else SaveRequests(cache, self.http, clock=clock)

        def made(writer: StepWriter) -> Saving:
            save_modes = SaveModes(
                Annotating(api, cache.checkpoints, writer), self.annotates, posting
            )
            return Saving(
                *(cache, save_modes),
                naming=Naming(),
                most_seconds=self.most_seconds,
                writes=writes,
                clock=clock,
            )

        return made


NO_MODES = Modes()


class Parts:
    """All parts but what reads the cluster; none of them runs yet. `how` are of the evictor."""

    def __init__(
        self,
        api: Api,
        cache: Cache,
        changes: Changes,
        *,
        clock: Callable[[], float],
        may_write: Callable[[], bool] = lambda: True,
        backpressure: Backpressure = NO_BACKPRESSURE,
        fresh: Callable[[], Awaitable[None]] = always_fresh,
        modes: Modes = NO_MODES,
        not_served: Collection[str] = (),
        **how: Any,
    ) -> None:
        naming = Naming()
        outcomes = Outcomes()
        writes = Writes(may_write)
        self.device_claims = DeviceClaims(
            *(api, cache, CONCURRENCY), not_served=lambda: not_served, writes=writes
        )
        volume_binder = VolumeBinder(
            *(api, cache, CONCURRENCY),
            attached_devices=AttachedDevices(cache.devices),
            device_claims=self.device_claims,
            outcomes=outcomes,
            changes=changes,
            writes=writes,
        )
        self.lost_nominations = LostNominations(cache, naming)
        self.events = Events(api, backpressure, writes)
        self.pod_events = PodEvents(
            *(api, cache, backpressure),
            stands_seconds=POD_EVENT_SECONDS,
            writes=writes,
            clock=clock,
        )
        self.gang_events = GangEvents(cache, self.events, self.pod_events, naming)
        self.measures = Measures(cache, clock)
        self.binder = Binder(
            *(api, cache, CONCURRENCY),
            volume_binder=volume_binder,
            outcomes=outcomes,
            writes=writes,
        )
        self.admitter = Admitter(*(api, CONCURRENCY), outcomes=outcomes, writes=writes, clock=clock)
        self.suspender = Suspender(api, outcomes=outcomes, writes=writes)
        self.evictor = Evictor(
            *(api, cache, CONCURRENCY),
            suspend=self.suspender.suspend,
            naming=naming,
            outcomes=outcomes,
            grace_periods=GracePeriods(cache),
            saving=modes.saving(api, cache, writes=writes, clock=clock),
            writes=writes,
            clock=clock,
            **how,
        )
        self.outcomes = OutcomeHandler(
            *(cache, outcomes, self.gang_events, self.measures),
            partial_gangs=None,
            lost_nominations=self.lost_nominations,
            workload_events=WorkloadEvents(self.events),
            naming=naming,
            clock=clock,
        )
        self.loop = Loop(
            *(cache, self.binder, self.evictor, self.gang_events, self.outcomes),
            measures=self.measures,
            partial_gangs=None,
            lost_nominations=self.lost_nominations,
            starts=(self.admitter, self.suspender),
            profile=PROFILES["binpack"],
            changes=changes,
            batch_seconds=BATCH_SECONDS,
            clock=clock,
            fresh=fresh,
        )

    @property
    def that_run(self) -> tuple[Callable[[], Coroutine[Any, Any, None]], ...]:
        """What must run for decisions to be carried out; the loop is the last."""
        starts = (self.admitter.run, self.suspender.run)
        writers = (self.outcomes.run, self.device_claims.run, self.binder.run, self.evictor.run)
        return (*writers, *starts, self.loop.run)


def gang_events(cache: Cache, events: Events) -> GangEvents:
    """Return reports that name gangs of all namespaces, with no Events on pods."""
    return GangEvents(cache, events, pod_events(FakeApi(), cache, enabled=False), Naming())


def pod_events(
    api: Api, cache: Cache, clock: Callable[[], float] = time.time, *, enabled: bool = True
) -> PodEvents:
    """Return Events on pods that wait for no bindings."""
    return PodEvents(
        *(api, cache, NO_BACKPRESSURE),
        stands_seconds=POD_EVENT_SECONDS,
        enabled=enabled,
        writes=Writes(),
        clock=clock,
    )


def events(api: Api, clock: Callable[[], float] = time.time) -> Events:
    """Return Events that wait for no bindings."""
    return Events(api, NO_BACKPRESSURE, Writes(), clock)


def status_writer(
    api: Api,
    cache: Cache,
    *,
    clock: Callable[[], float],
    concurrency: int = 2,
    told_pods: PodEvents | None = None,
    places: QueuePlaces | None = None,
) -> StatusWriter:
    """Return a writer of statuses by itself, of gangs that never lose room."""
    return StatusWriter(
        *(api, cache),
        interval_seconds=1,
        concurrency=concurrency,
        writes=Writes(),
        lost_nominations=LostNominations(cache, Naming()),
        backpressure=NO_BACKPRESSURE,
        missing_members=MissingMembers(cache, events(api, clock)),
        degraded=DegradedEvents(cache, events(api, clock)),
        places=places or QueuePlaces(),
        evictions=EvictionTexts(cache, Naming()),
        pod_events=told_pods or pod_events(api, cache, clock, enabled=False),
        clock=clock,
    )
