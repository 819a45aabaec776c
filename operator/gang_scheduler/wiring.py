"""Builds the parts of the operator from its settings and joins them; `app` runs them."""

import functools
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from gang_scheduler import from_settings
from gang_scheduler.api.kinds import CRDS
from gang_scheduler.apply.abandoned_claims import AbandonedClaims
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
from gang_scheduler.apply.forced_deletions import PartialGangs, StuckMembers
from gang_scheduler.apply.gang_evictions import DegradedEvictions, Drainer
from gang_scheduler.apply.grace_periods import GracePeriods
from gang_scheduler.apply.lost_nominations import LostNominations
from gang_scheduler.apply.outcomes import Outcomes
from gang_scheduler.apply.preemption_run import StepWriter
from gang_scheduler.apply.provisioning import Provisioner
from gang_scheduler.apply.stuck_victims import StuckVictims
from gang_scheduler.apply.volume_binder import VolumeBinder
from gang_scheduler.apply.workloads.replicas import Resizer, Shrinking
from gang_scheduler.apply.workloads.starts import Admitter, Suspender
from gang_scheduler.client.connection import Connection
from gang_scheduler.client.kubernetes import KubernetesApi
from gang_scheduler.client.pod_http import PodHttpClient
from gang_scheduler.client.writing import Writes
from gang_scheduler.decode.events import EventHandlers, LeftOutObjects
from gang_scheduler.model.queues import Product
from gang_scheduler.model.refs import GangKey
from gang_scheduler.outcome_handler import OutcomeHandler
from gang_scheduler.periodic.device_gauge import DeviceGauge
from gang_scheduler.periodic.largest_fit import LargestGangs
from gang_scheduler.periodic.queue_reports import QueueReports, UsageSweep
from gang_scheduler.periodic.replica_scaler import ReplicaScaler
from gang_scheduler.periodic.volcano_enqueue import VolcanoEnqueue
from gang_scheduler.recording import recorder
from gang_scheduler.recording.files import RotatedFiles
from gang_scheduler.recording.objects import Objects
from gang_scheduler.recording.recorder import Recorder
from gang_scheduler.report.administrator_events import ForbiddenKinds, LeftOutEvents
from gang_scheduler.report.checkpoints import CheckpointAnnouncer, EvictionWriter, LatestCheckpoints
from gang_scheduler.report.events import Backpressure, Events
from gang_scheduler.report.failure_events import DegradedEvents
from gang_scheduler.report.gang_events import GangEvents
from gang_scheduler.report.gang_metrics import Measures
from gang_scheduler.report.missing_members import MissingMembers
from gang_scheduler.report.pod_events import PodEvents
from gang_scheduler.report.queues import notes
from gang_scheduler.report.queues.gang_texts import EvictionTexts, QueuePlaces
from gang_scheduler.report.queues.notes import QueueNotes
from gang_scheduler.report.queues.queue_metrics import QueueMetrics
from gang_scheduler.report.queues.status import QueueWriter
from gang_scheduler.report.status_writer import StatusWriter
from gang_scheduler.report.topology_status import TopologyWriter
from gang_scheduler.report.workload_events import ProvisioningEvents, WorkloadEvents
from gang_scheduler.scheduling_loop import Loop
from gang_scheduler.settings.choices import DegradedGangs, OnPartialGang, PodSource
from gang_scheduler.settings.run import Settings
from gang_scheduler.state import kinds
from gang_scheduler.state.cache import Cache
from gang_scheduler.state.changes import Changes
from gang_scheduler.watch import supervisor
from gang_scheduler.watch.kinds import with_grace
from gang_scheduler.watch.kopf import Relist
from gang_scheduler.watch.quota_controllers import QuotaControllers
from gang_scheduler.watch.reflector import Reflector
from gang_scheduler.watch.supervisor import WatchSupervisor, WatchTrial
from gang_scheduler.watch.sweep import Sweep
from gang_scheduler.watch.synced import Source

# Settings, API server, state and reports, which most parts share.


class Runs(Protocol):
    """A part of the operator."""

    async def run(self) -> None:
        """Work until cancelled."""


@dataclass(frozen=True, slots=True, eq=False)
class Shared:
    """Objects that most parts share."""

    settings: Settings
    api: KubernetesApi
    writes: Writes
    cache: Cache
    changes: Changes
    naming: Naming
    outcomes: Outcomes
    lost_nominations: LostNominations
    partial_gangs: PartialGangs | None
    resizer: Resizer


@dataclass(frozen=True, slots=True, eq=False)
class Reports:
    """The parts that inform users about decisions."""

    backpressure: Backpressure
    events: Events
    pod_events: PodEvents
    gang_events: GangEvents
    queue_metrics: QueueMetrics
    measures: Measures
    devices: DeviceGauge
    queue_notes: QueueNotes
    queue_places: QueuePlaces


def shared_by_all(settings: Settings, api: KubernetesApi, writes: Writes) -> Shared:
    """Return the shared objects for these settings."""
    changes, naming = Changes(), from_settings.naming(settings)
    cache = from_settings.cache(settings, changes, most_checkpoints=settings.max_checkpoints)
    releases = settings.on_partial_gang is OnPartialGang.RELEASE
    return Shared(
        settings=settings,
        api=api,
        writes=writes,
        cache=cache,
        changes=changes,
        naming=naming,
        outcomes=Outcomes(),
        lost_nominations=LostNominations(cache, naming),
        partial_gangs=PartialGangs(api, cache, writes) if releases else None,
        resizer=Resizer(api, writes=writes),
    )


def eviction_texts(shared: Shared) -> EvictionTexts:
    """Return the texts about evictions, for gangs that are evicted for others."""
    return EvictionTexts(shared.cache, shared.naming)


# Parts that carry out decisions: they bind, evict, start, suspend and request nodes.


def build_device_claims(shared: Shared, source: Source) -> DeviceClaims:
    """Return the part that gives devices to claims, and takes them back."""
    return DeviceClaims(
        *(shared.api, shared.cache, shared.settings.bind_concurrency),
        not_served=lambda: source.not_served,
        writes=shared.writes,
    )


def build_binder(shared: Shared, device_claims: DeviceClaims) -> Binder:
    """Return the part that binds gangs, and their claims before the pods."""
    volume_binder = VolumeBinder(
        *(shared.api, shared.cache, shared.settings.bind_concurrency),
        device_claims=device_claims,
        attached_devices=AttachedDevices(
            shared.cache.devices, shared.settings.device_binding_timeout_seconds
        ),
        outcomes=shared.outcomes,
        changes=shared.changes,
        hold_seconds=shared.settings.claim_timeout_seconds,
        writes=shared.writes,
    )
    return Binder(
        *(shared.api, shared.cache, shared.settings.bind_concurrency),
        volume_binder=volume_binder,
        outcomes=shared.outcomes,
        writes=shared.writes,
    )


def build_admitter(shared: Shared) -> Admitter:
    """Return the part that starts suspended workloads."""
    queues = shared.cache.queues
    return Admitter(
        *(shared.api, shared.settings.bind_concurrency),
        outcomes=shared.outcomes,
        writes=shared.writes,
        kueue_runs=lambda: Product.KUEUE not in queues.enforced,
    )


def build_suspender(shared: Shared) -> Suspender:
    """Return the part that suspends started workloads again."""
    return Suspender(shared.api, outcomes=shared.outcomes, writes=shared.writes)


def build_evictor(shared: Shared, suspender: Suspender) -> Evictor:
    """Return the part that makes room: by deletions, and by suspending whole workloads."""
    settings = shared.settings
    return Evictor(
        *(shared.api, shared.cache, settings.bind_concurrency),
        naming=shared.naming,
        outcomes=shared.outcomes,
        grace_periods=GracePeriods(shared.cache, settings.rules.preemption),
        saving=functools.partial(_saving, shared),
        use_eviction_api=settings.rules.preemption.use_eviction_api,
        managed=shared.cache.suspended,
        suspend=suspender.suspend,
        shrinking=Shrinking(shared.cache, shared.resizer, settings.rules.workloads.elastic_kinds),
        remember=EvictionWriter(
            *(shared.api, shared.cache, eviction_texts(shared), shared.writes)
        ).write,
        writes=shared.writes,
    )


def _saving(shared: Shared, writer: StepWriter) -> Saving:
    """Return the part that asks gangs to save their work, in the modes that settings allow."""
    settings, cache = shared.settings, shared.cache
    save_modes = SaveModes(
        Annotating(shared.api, cache.checkpoints, writer),
        annotates=settings.checkpoint_annotations,
        posting=SaveRequests(cache, PodHttpClient()) if settings.checkpoint_http else None,
    )
    return Saving(
        *(cache, save_modes),
        naming=shared.naming,
        most_seconds=settings.max_checkpoint_seconds,
        writes=shared.writes,
    )


def degraded_evictions(shared: Shared, evictor: Evictor) -> DegradedEvictions:
    """Return the part that evicts whole gangs that cannot replace their losses."""
    return DegradedEvictions(shared.cache, evictor, writes=shared.writes)


def outcome_handler(shared: Shared, reports: Reports) -> OutcomeHandler:
    """Return the part that records the outcomes of writes."""
    return OutcomeHandler(
        *(shared.cache, shared.outcomes, reports.gang_events, reports.measures),
        partial_gangs=shared.partial_gangs,
        lost_nominations=shared.lost_nominations,
        workload_events=WorkloadEvents(reports.events),
        naming=shared.naming,
    )


def build_provisioner(shared: Shared, reports: Reports, source: Source) -> Provisioner:
    """Return the part that writes requests for nodes."""
    return Provisioner(
        *(shared.api, shared.cache, shared.changes),
        not_served=lambda: source.not_served,
        writes=shared.writes,
        tell=ProvisioningEvents(shared.cache, reports.events).tell,
    )


# Parts that inform users about decisions: statuses, Events and metrics.


def build_reports(shared: Shared, binder: Binder) -> Reports:
    """Return the parts that inform users. They wait while bindings queue."""
    backpressure = Backpressure(binder.is_busy)
    events = Events(shared.api, backpressure, shared.writes)
    pod_events = PodEvents(
        *(shared.api, shared.cache, backpressure),
        enabled=shared.settings.pod_events,
        stands_seconds=shared.settings.pod_event_seconds,
        writes=shared.writes,
    )
    gang_events = GangEvents(shared.cache, events, pod_events, shared.naming)
    devices = DeviceGauge(shared.cache)
    return Reports(
        *(backpressure, events, pod_events, gang_events),
        queue_metrics=QueueMetrics(shared.cache),
        measures=Measures(shared.cache, offered=devices.offered),
        devices=devices,
        queue_notes=QueueNotes(
            *(shared.cache.queues.declared, events),
            checks=shared.cache.kueue_objects.admission_checks.all,
            resources=lambda: _counted(shared.cache),
        ),
        queue_places=QueuePlaces(),
    )


def _counted(cache: Cache) -> Collection[str]:
    """Return the resources that pods can be charged for."""
    return notes.counted(cache.node_usage.table(), cache.queues.requests)


def status_writers(
    shared: Shared, reports: Reports, recording: Recorder | None = None
) -> Iterator[Runs]:
    """Yield all parts that write, except the parts for bindings."""
    if recording is not None:
        yield recording
    victim_seconds = shared.settings.rules.preemption.victim_timeout_seconds
    yield StuckVictims(shared.cache, victim_seconds, shared.outcomes)
    yield StuckMembers(
        *(shared.api, shared.cache, shared.settings.force_delete_stuck_pods_seconds),
        writes=shared.writes,
    )
    yield _status_writer(shared, reports, recording)
    yield reports.measures
    yield reports.devices
    yield CheckpointAnnouncer(shared.cache, reports.gang_events)
    yield LatestCheckpoints(shared.api, shared.cache, writes=shared.writes)
    yield LargestGangs(
        shared.cache, from_settings.profile(shared.settings), shared.settings.gauge_shapes
    )
    yield TopologyWriter(
        *(shared.api, shared.cache, reports.events),
        changes=shared.changes,
        writes=shared.writes,
    )
    yield from (reports.gang_events.decision_log, reports.events, reports.pod_events)
    if shared.partial_gangs is not None:
        yield shared.partial_gangs
    if shared.settings.rules.workloads.elastic_kinds:
        yield ReplicaScaler(
            *(shared.cache, shared.resizer, reports.events, from_settings.profile(shared.settings)),
            kinds=shared.settings.rules.workloads.elastic_kinds,
            writes=shared.writes,
        )
    if shared.settings.volcano_jobs:
        yield VolcanoEnqueue(shared.api, shared.cache, reports.events, writes=shared.writes)


def own_events(shared: Shared, reports: Reports, source: Source) -> Iterator[Runs]:
    """Yield the parts that report on the scheduler itself, if its own object is known."""
    settings = shared.settings
    if settings.lease_namespace:
        yield ForbiddenKinds(
            *(shared.api, reports.events),
            forbidden=lambda: source.forbidden,
            namespace=settings.lease_namespace,
            name=settings.lease_name,
            writes=shared.writes,
        )


def build_recorder(shared: Shared, objects: Objects) -> Recorder:
    """Return the part that writes recordings of gangs and nodes into files."""
    settings = shared.settings
    files = RotatedFiles(
        Path(settings.record_to), settings.record_megabytes * 10**6, settings.record_files
    )
    profile_of = f"{settings.lease_namespace}/{settings.lease_name}"
    begins = functools.partial(
        recorder.header_of, shared.cache, settings, profile_of=profile_of.removeprefix("/")
    )
    return Recorder(shared.cache, objects, files, begins=begins)


def _status_writer(shared: Shared, reports: Reports, recording: Recorder | None) -> StatusWriter:
    settings = shared.settings

    def followed(keys: Collection[GangKey]) -> None:
        reports.measures.gangs.changed(keys)
        if recording is not None:
            recording.changed(keys)

    return StatusWriter(
        *(shared.api, shared.cache),
        interval_seconds=settings.status_interval_milliseconds / 1000,
        concurrency=settings.status_concurrency,
        writes=shared.writes,
        lost_nominations=shared.lost_nominations,
        backpressure=reports.backpressure,
        missing_members=MissingMembers(shared.cache, reports.events),
        degraded=DegradedEvents(shared.cache, reports.events),
        pod_events=reports.pod_events,
        follow=followed,
        places=reports.queue_places,
        evictions=eviction_texts(shared),
    )


def build_queue_writer(shared: Shared) -> QueueWriter:
    """Return the part that writes the statuses of queues."""
    queues = shared.cache.queues
    return QueueWriter(
        *(shared.api, queues.declared),
        gpu_resources=queues.rules.gpu_resources,
        recent=shared.cache.recent_usages.of,
        writes=shared.writes,
    )


def queue_writers(shared: Shared, reports: Reports, writer: QueueWriter) -> Iterator[Runs]:
    """Yield all parts that report on queues."""
    yield writer
    yield QueueReports(
        *(shared.cache, shared.settings.rules),
        writer=writer,
        metrics=reports.queue_metrics,
        places=reports.queue_places,
        changes=shared.changes,
    )
    yield reports.queue_notes
    yield UsageSweep(shared.cache)


@dataclass(frozen=True, slots=True, eq=False)
class Parts:
    """All parts, joined; none of them runs yet. `writers` run concurrently with the loop."""

    cache: Cache
    source: Source
    watch_supervisor: WatchSupervisor
    left_out_events: LeftOutEvents
    loop: Loop
    binder: Binder
    evictor: Evictor
    admitter: Admitter
    suspender: Suspender
    outcomes: OutcomeHandler
    queue_writer: QueueWriter
    quota_controllers: QuotaControllers
    provisioner: Provisioner
    device_claims: DeviceClaims
    writers: tuple[Runs, ...]


def build(
    settings: Settings,
    open_connection: Connection,
    *,
    watched_by: PodSource,
    may_write: Callable[[], bool],
    after_start: Callable[[], None],
) -> Parts:
    """Return all parts. `after_start` is called when the source has set its signal handlers."""
    shared = shared_by_all(settings, KubernetesApi(open_connection), Writes(may_write))
    objects = Objects() if settings.record_to else None
    left_out = LeftOutObjects(objects.left_out) if objects is not None else LeftOutObjects()
    recording = build_recorder(shared, objects) if objects is not None else None
    event_handlers = _event_handlers(shared, left_out, objects)
    source = _source(shared, watched_by, open_connection, event_handlers, after_start)
    device_claims = build_device_claims(shared, source)
    binder, admitter = build_binder(shared, device_claims), build_admitter(shared)
    suspender = build_suspender(shared)
    evictor = build_evictor(shared, suspender)
    reports = build_reports(shared, binder)
    outcomes = outcome_handler(shared, reports)
    queue_writer = build_queue_writer(shared)
    quota_controllers = _quota_controllers(shared, reports, source)
    provisioner = build_provisioner(shared, reports, source)
    evicts = settings.degraded_gangs is DegradedGangs.EVICT
    return Parts(
        cache=shared.cache,
        source=source,
        watch_supervisor=_supervisor(open_connection, event_handlers, source),
        left_out_events=LeftOutEvents(left_out, reports.events, shared.cache.schedulers),
        loop=_loop(shared, reports, (binder, evictor, outcomes), (admitter, suspender), source),
        binder=binder,
        evictor=evictor,
        admitter=admitter,
        suspender=suspender,
        outcomes=outcomes,
        queue_writer=queue_writer,
        quota_controllers=quota_controllers,
        provisioner=provisioner,
        device_claims=device_claims,
        writers=(
            *(outcomes, device_claims, binder, evictor, quota_controllers, provisioner),
            *(admitter, suspender),
            AbandonedClaims(shared.api, shared.cache, writes=shared.writes),
            Drainer(shared.cache, evictor, writes=shared.writes),
            *status_writers(shared, reports, recording),
            *((degraded_evictions(shared, evictor),) if evicts else ()),
            *own_events(shared, reports, source),
            *queue_writers(shared, reports, queue_writer),
        ),
    )


def _event_handlers(
    shared: Shared, left_out: LeftOutObjects, recorded: Objects | None
) -> EventHandlers:
    """Return the handlers that take objects of all kinds into the cache, and note them."""
    sinks = kinds.sinks(shared.cache, from_settings.membership(shared.settings))
    grace = shared.settings.queue_deletion_grace_seconds
    found = with_grace(sinks, grace)
    return EventHandlers(recorded.noting(found) if recorded is not None else found, left_out)


def _source(
    shared: Shared,
    watched_by: PodSource,
    open_connection: Connection,
    event_handlers: EventHandlers,
    after_start: Callable[[], None],
) -> Source:
    """Return the source that feeds the cache."""
    if watched_by is PodSource.REFLECTOR:
        return Reflector(open_connection, event_handlers)
    # Imported here, since no other code needs Kopf.
    from gang_scheduler.watch.kopf import KopfSource  # noqa: PLC0415

    return KopfSource(
        open_connection,
        event_handlers,
        Sweep(shared.api, event_handlers, shared.settings.sweep_seconds),
        Relist(open_connection, event_handlers),
        after_start=after_start,
    )


def _supervisor(
    open_connection: Connection, event_handlers: EventHandlers, source: Source
) -> WatchSupervisor:
    """Return the supervisor of the source's watches."""
    watched = (*(each.versions for each in event_handlers.all), (CRDS,))
    return WatchSupervisor(
        WatchTrial(open_connection, watched), source.begin_anew, supervisor.DEFAULT
    )


def _loop(
    shared: Shared,
    reports: Reports,
    applied_by: tuple[Binder, Evictor, OutcomeHandler],
    starts: tuple[Admitter, Suspender],
    source: Source,
) -> Loop:
    binder, evictor, outcomes = applied_by
    return Loop(
        *(shared.cache, binder, evictor, reports.gang_events, outcomes),
        measures=reports.measures,
        partial_gangs=shared.partial_gangs,
        lost_nominations=shared.lost_nominations,
        starts=starts,
        profile=from_settings.profile(shared.settings),
        changes=shared.changes,
        batch_seconds=shared.settings.batch_milliseconds / 1000,
        fresh=source.fresh,
    )


def _quota_controllers(shared: Shared, reports: Reports, source: Source) -> QuotaControllers:
    """Return the part that checks whether controllers of other products decide quota."""
    return QuotaControllers(
        *(shared.api, shared.cache),
        namespaces={
            Product.KUEUE: shared.settings.kueue_namespace,
            Product.VOLCANO: shared.settings.volcano_namespace,
        },
        tell=reports.queue_notes.decided_elsewhere,
        not_served=lambda: source.not_served,
    )
