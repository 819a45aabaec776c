"""Builds the parts of the operator and joins them; `app` keeps and runs them."""

import functools
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from typing import Protocol

from gang_scheduler import policy
from gang_scheduler.apply.binding.binder import Binder
from gang_scheduler.apply.binding.volume_binder import VolumeBinder
from gang_scheduler.apply.checkpoints.annotating import Annotating
from gang_scheduler.apply.checkpoints.grace import GracePeriods
from gang_scheduler.apply.checkpoints.posting import Posting
from gang_scheduler.apply.checkpoints.saving import Saving, Ways
from gang_scheduler.apply.eviction.degraded_evictions import DegradedEvictions
from gang_scheduler.apply.eviction.disruption_target import Naming
from gang_scheduler.apply.eviction.drainer import Drainer
from gang_scheduler.apply.eviction.evictor import Evictor
from gang_scheduler.apply.eviction.lost_nominations import LostNominations
from gang_scheduler.apply.eviction.preemption_run import StepWriter
from gang_scheduler.apply.eviction.stuck_victims import StuckVictims
from gang_scheduler.apply.outcomes import Outcomes
from gang_scheduler.apply.partial_gangs import PartialGangs
from gang_scheduler.apply.provisioning.provisioner import Provisioner
from gang_scheduler.apply.stuck_members import StuckMembers
from gang_scheduler.apply.workloads.admitter import Admitter
from gang_scheduler.apply.workloads.suspender import Suspender
from gang_scheduler.client.connection import Connection
from gang_scheduler.client.kubernetes import KubernetesApi
from gang_scheduler.client.pod_http import PodHttpClient
from gang_scheduler.decode.event_handlers import EventHandlers
from gang_scheduler.decode.left_out import LeftOutObjects
from gang_scheduler.largest_gangs import LargestGangs
from gang_scheduler.loop import Loop
from gang_scheduler.model.queues import Product
from gang_scheduler.outcome_handler import OutcomeHandler
from gang_scheduler.queue_reports import QueueReports
from gang_scheduler.report.backpressure import Backpressure
from gang_scheduler.report.checkpoints.announcer import CheckpointAnnouncer
from gang_scheduler.report.checkpoints.latest_writer import LatestCheckpoints
from gang_scheduler.report.degraded_events import DegradedEvents
from gang_scheduler.report.events import Events
from gang_scheduler.report.forbidden_kinds import ForbiddenKinds
from gang_scheduler.report.gang_events import GangEvents
from gang_scheduler.report.left_out_events import LeftOutEvents
from gang_scheduler.report.measures.measures import Measures
from gang_scheduler.report.missing_members import MissingMembers
from gang_scheduler.report.pod_events import PodEvents
from gang_scheduler.report.provisioning_events import ProvisioningEvents
from gang_scheduler.report.queues import unknown_names
from gang_scheduler.report.queues.eviction_writer import EvictionWriter
from gang_scheduler.report.queues.evictions import EvictionTexts
from gang_scheduler.report.queues.queue_metrics import QueueMetrics
from gang_scheduler.report.queues.queue_notes import QueueNotes
from gang_scheduler.report.queues.queue_places import QueuePlaces
from gang_scheduler.report.queues.queue_writer import QueueWriter
from gang_scheduler.report.status_writer import StatusWriter
from gang_scheduler.report.topology_writer import TopologyWriter
from gang_scheduler.report.usage_sweep import UsageSweep
from gang_scheduler.report.workload_events import WorkloadEvents
from gang_scheduler.settings.choices import DegradedGangs, OnPartialGang, PodSource
from gang_scheduler.settings.run import Settings
from gang_scheduler.state import kinds
from gang_scheduler.state.cache import Cache
from gang_scheduler.state.changes import Changes
from gang_scheduler.volcano_jobs import VolcanoJobs
from gang_scheduler.watch.quota_controllers import QuotaControllers
from gang_scheduler.watch.reflector import Reflector
from gang_scheduler.watch.relist import Relist
from gang_scheduler.watch.source import Source
from gang_scheduler.watch.sweep import Sweep


class Runs(Protocol):
    """A part of the operator."""

    async def run(self) -> None:
        """Work until cancelled."""


@dataclass(frozen=True, slots=True, eq=False)
class Parts:
    """All parts, joined; none of them runs yet. `writers` work beside the loop."""

    cache: Cache
    source: Source
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
    writers: tuple[Runs, ...]


@dataclass(frozen=True, slots=True, eq=False)
class _Shared:
    """What most parts share."""

    settings: Settings
    api: KubernetesApi
    may_write: Callable[[], bool]
    cache: Cache
    changes: Changes
    naming: Naming
    outcomes: Outcomes
    lost_nominations: LostNominations
    partial_gangs: PartialGangs | None


@dataclass(frozen=True, slots=True, eq=False)
class _Reports:
    """What tells users of decisions."""

    backpressure: Backpressure
    events: Events
    pod_events: PodEvents
    gang_events: GangEvents
    queue_metrics: QueueMetrics
    measures: Measures
    queue_notes: QueueNotes
    queue_places: QueuePlaces


def build(
    settings: Settings,
    open_connection: Connection,
    *,
    may_write: Callable[[], bool],
    after_start: Callable[[], None],
) -> Parts:
    """Return all parts. `after_start` is called when the source has set its signal handlers."""
    shared = _shared(settings, KubernetesApi(open_connection), may_write)
    binder, admitter, suspender = _binder(shared), _admitter(shared), _suspender(shared)
    evictor = _evictor(shared, suspender)
    reports = _reports(shared, binder)
    left_out = LeftOutObjects()
    source = _source(shared, open_connection, left_out, after_start)
    outcomes = _outcome_handler(shared, reports)
    queue_writer = _queue_writer(shared)
    quota_controllers = _quota_controllers(shared, reports, source)
    provisioner = _provisioner(shared, reports, source)
    evicts = settings.degraded_gangs is DegradedGangs.EVICT
    return Parts(
        cache=shared.cache,
        source=source,
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
        writers=(
            *(outcomes, binder, evictor, quota_controllers, provisioner),
            *(admitter, suspender),
            Drainer(shared.cache, evictor, may_write=may_write),
            *_writers(shared, reports),
            *((_degraded_evictions(shared, evictor),) if evicts else ()),
            *_own_events(shared, reports, source),
            *_queue_writers(shared, reports, queue_writer),
        ),
    )


def _shared(settings: Settings, api: KubernetesApi, may_write: Callable[[], bool]) -> _Shared:
    changes, naming = Changes(), policy.naming(settings)
    cache = policy.cache(settings, changes, most_checkpoints=settings.max_checkpoints)
    releases = settings.on_partial_gang is OnPartialGang.RELEASE
    return _Shared(
        settings=settings,
        api=api,
        may_write=may_write,
        cache=cache,
        changes=changes,
        naming=naming,
        outcomes=Outcomes(),
        lost_nominations=LostNominations(cache, naming),
        partial_gangs=PartialGangs(api, cache, may_write) if releases else None,
    )


def _binder(shared: _Shared) -> Binder:
    volume_binder = VolumeBinder(
        *(shared.api, shared.cache, shared.settings.bind_concurrency),
        outcomes=shared.outcomes,
        changes=shared.changes,
        hold_seconds=shared.settings.claim_timeout_seconds,
        may_write=shared.may_write,
    )
    return Binder(
        *(shared.api, shared.cache, shared.settings.bind_concurrency),
        volume_binder=volume_binder,
        outcomes=shared.outcomes,
        may_write=shared.may_write,
    )


def _admitter(shared: _Shared) -> Admitter:
    queues = shared.cache.queues
    return Admitter(
        *(shared.api, shared.settings.bind_concurrency),
        outcomes=shared.outcomes,
        may_write=shared.may_write,
        kueue_runs=lambda: Product.KUEUE not in queues.enforced,
    )


def _suspender(shared: _Shared) -> Suspender:
    return Suspender(shared.api, outcomes=shared.outcomes, may_write=shared.may_write)


def _evictor(shared: _Shared, suspender: Suspender) -> Evictor:
    settings = shared.settings
    return Evictor(
        *(shared.api, shared.cache, settings.bind_concurrency),
        naming=shared.naming,
        outcomes=shared.outcomes,
        grace_periods=GracePeriods(shared.cache, settings.max_grace_period_seconds),
        saving=functools.partial(_saving, shared),
        use_eviction_api=settings.use_eviction_api,
        managed=shared.cache.suspended,
        suspend=suspender.suspend,
        remember=EvictionWriter(shared.api, shared.cache, _eviction_texts(shared)).write,
        may_write=shared.may_write,
    )


def _saving(shared: _Shared, writer: StepWriter) -> Saving:
    """Return what has gangs save their work, in the modes that the settings allow."""
    settings, cache = shared.settings, shared.cache
    ways = Ways(
        Annotating(shared.api, cache.checkpoints, writer),
        annotates=settings.checkpoint_annotations,
        posting=Posting(cache, PodHttpClient()) if settings.checkpoint_http else None,
    )
    return Saving(
        *(cache, ways),
        naming=shared.naming,
        most_seconds=settings.max_checkpoint_seconds,
        may_write=shared.may_write,
    )


def _degraded_evictions(shared: _Shared, evictor: Evictor) -> DegradedEvictions:
    return DegradedEvictions(shared.cache, evictor, may_write=shared.may_write)


def _eviction_texts(shared: _Shared) -> EvictionTexts:
    return EvictionTexts(shared.cache, shared.naming)


def _reports(shared: _Shared, binder: Binder) -> _Reports:
    backpressure = Backpressure(binder.is_busy)
    events = Events(shared.api, backpressure, shared.may_write)
    pod_events = PodEvents(
        *(shared.api, shared.cache, backpressure),
        enabled=shared.settings.pod_events,
        stands_seconds=shared.settings.pod_event_seconds,
        may_write=shared.may_write,
    )
    gang_events = GangEvents(shared.cache, events, pod_events, shared.naming)
    return _Reports(
        *(backpressure, events, pod_events, gang_events),
        queue_metrics=QueueMetrics(shared.cache),
        measures=Measures(shared.cache),
        queue_notes=QueueNotes(
            *(shared.cache.queues.declared, events),
            checks=shared.cache.kueue_objects.admission_checks.all,
            resources=lambda: _counted(shared.cache),
        ),
        queue_places=QueuePlaces(),
    )


def _counted(cache: Cache) -> Collection[str]:
    """Return the resources that pods can be charged for."""
    return unknown_names.counted(cache.node_usage.table(), cache.queues.rules.requests)


def _source(
    shared: _Shared,
    open_connection: Connection,
    left_out: LeftOutObjects,
    after_start: Callable[[], None],
) -> Source:
    """Return what feeds the cache."""
    event_handlers = EventHandlers(
        kinds.sinks(shared.cache, policy.membership(shared.settings)), left_out
    )
    if shared.settings.source is PodSource.REFLECTOR:
        return Reflector(open_connection, event_handlers)
    # Here, since nothing else needs Kopf.
    from gang_scheduler.watch.kopf_source import KopfSource  # noqa: PLC0415

    return KopfSource(
        open_connection,
        event_handlers,
        Sweep(shared.api, event_handlers, shared.settings.sweep_seconds),
        Relist(open_connection, event_handlers),
        after_start=after_start,
    )


def _outcome_handler(shared: _Shared, reports: _Reports) -> OutcomeHandler:
    return OutcomeHandler(
        *(shared.cache, shared.outcomes, reports.gang_events, reports.measures),
        partial_gangs=shared.partial_gangs,
        lost_nominations=shared.lost_nominations,
        workload_events=WorkloadEvents(reports.events),
        naming=shared.naming,
    )


def _loop(
    shared: _Shared,
    reports: _Reports,
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
        profile=policy.profile(shared.settings),
        changes=shared.changes,
        batch_seconds=shared.settings.batch_milliseconds / 1000,
        fresh=source.fresh,
    )


def _writers(shared: _Shared, reports: _Reports) -> Iterator[Runs]:
    """Yield all that writes and takes no part in bindings."""
    victim_seconds = shared.settings.victim_timeout_seconds
    yield StuckVictims(shared.cache, victim_seconds, shared.outcomes)
    yield StuckMembers(
        *(shared.api, shared.cache, shared.settings.force_delete_stuck_pods_seconds),
        may_write=shared.may_write,
    )
    yield _status_writer(shared, reports)
    yield reports.measures
    yield CheckpointAnnouncer(shared.cache, reports.gang_events)
    yield LatestCheckpoints(shared.api, shared.cache, may_write=shared.may_write)
    yield LargestGangs(shared.cache, policy.profile(shared.settings), shared.settings.gauge_shapes)
    yield TopologyWriter(
        *(shared.api, shared.cache, reports.events),
        changes=shared.changes,
        may_write=shared.may_write,
    )
    yield from (reports.gang_events.decision_log, reports.events, reports.pod_events)
    if shared.partial_gangs is not None:
        yield shared.partial_gangs
    if shared.settings.volcano_jobs:
        yield VolcanoJobs(shared.api, shared.cache, reports.events, may_write=shared.may_write)


def _own_events(shared: _Shared, reports: _Reports, source: Source) -> Iterator[Runs]:
    """Yield what tells of the scheduler itself, where it is known what it runs as."""
    settings = shared.settings
    if settings.lease_namespace:
        yield ForbiddenKinds(
            *(shared.api, reports.events),
            forbidden=lambda: source.forbidden,
            namespace=settings.lease_namespace,
            name=settings.lease_name,
            may_write=shared.may_write,
        )


def _status_writer(shared: _Shared, reports: _Reports) -> StatusWriter:
    settings = shared.settings
    return StatusWriter(
        *(shared.api, shared.cache),
        interval_seconds=settings.status_interval_milliseconds / 1000,
        concurrency=settings.status_concurrency,
        may_write=shared.may_write,
        lost_nominations=shared.lost_nominations,
        backpressure=reports.backpressure,
        missing_members=MissingMembers(shared.cache, reports.events),
        degraded=DegradedEvents(shared.cache, reports.events),
        pod_events=reports.pod_events,
        follow=reports.measures.gangs.changed,
        places=reports.queue_places,
        evictions=_eviction_texts(shared),
    )


def _quota_controllers(shared: _Shared, reports: _Reports, source: Source) -> QuotaControllers:
    """Return what looks whether the controllers of other products decide quota."""
    return QuotaControllers(
        *(shared.api, shared.cache),
        namespaces={
            Product.KUEUE: shared.settings.kueue_namespace,
            Product.VOLCANO: shared.settings.volcano_namespace,
        },
        tell=reports.queue_notes.decided_elsewhere,
        not_served=lambda: source.not_served,
    )


def _provisioner(shared: _Shared, reports: _Reports, source: Source) -> Provisioner:
    """Return what writes requests for nodes."""
    return Provisioner(
        *(shared.api, shared.cache, shared.changes),
        not_served=lambda: source.not_served,
        may_write=shared.may_write,
        tell=ProvisioningEvents(shared.cache, reports.events).tell,
    )


def _queue_writer(shared: _Shared) -> QueueWriter:
    queues = shared.cache.queues
    return QueueWriter(
        *(shared.api, queues.declared),
        gpu_resources=queues.rules.gpu_resources,
        recent=shared.cache.recent_usages.of,
        may_write=shared.may_write,
    )


def _queue_writers(shared: _Shared, reports: _Reports, writer: QueueWriter) -> Iterator[Runs]:
    """Yield all that tells of queues."""
    yield writer
    yield QueueReports(
        *(shared.cache, policy.profile(shared.settings).queues),
        writer=writer,
        metrics=reports.queue_metrics,
        places=reports.queue_places,
        changes=shared.changes,
    )
    yield reports.queue_notes
    yield UsageSweep(shared.cache)
