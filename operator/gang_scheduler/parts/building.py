"""Builds the parts of the operator and joins them; `app` keeps and runs them."""

from collections.abc import Callable
from dataclasses import dataclass

from gang_scheduler import policy
from gang_scheduler.api.kinds import CRDS
from gang_scheduler.apply.binding.binder import Binder
from gang_scheduler.apply.eviction.drainer import Drainer
from gang_scheduler.apply.eviction.evictor import Evictor
from gang_scheduler.apply.provisioning.provisioner import Provisioner
from gang_scheduler.apply.workloads.admitter import Admitter
from gang_scheduler.apply.workloads.suspender import Suspender
from gang_scheduler.client.connection import Connection
from gang_scheduler.client.kubernetes import KubernetesApi
from gang_scheduler.decode.event_handlers import EventHandlers
from gang_scheduler.decode.left_out import LeftOutObjects
from gang_scheduler.loop import Loop
from gang_scheduler.model.queues import Product
from gang_scheduler.outcome_handler import OutcomeHandler
from gang_scheduler.parts import applying, reporting
from gang_scheduler.parts.shared import Reports, Runs, Shared, shared_by_all
from gang_scheduler.report.left_out_events import LeftOutEvents
from gang_scheduler.report.queues.queue_writer import QueueWriter
from gang_scheduler.settings.choices import DegradedGangs, PodSource
from gang_scheduler.settings.run import Settings
from gang_scheduler.state import kinds
from gang_scheduler.state.cache import Cache
from gang_scheduler.watch import supervisor
from gang_scheduler.watch.deletion_grace import with_grace
from gang_scheduler.watch.quota_controllers import QuotaControllers
from gang_scheduler.watch.reflector import Reflector
from gang_scheduler.watch.relist import Relist
from gang_scheduler.watch.source import Source
from gang_scheduler.watch.supervisor import WatchSupervisor, WatchTrial
from gang_scheduler.watch.sweep import Sweep


@dataclass(frozen=True, slots=True, eq=False)
class Parts:
    """All parts, joined; none of them runs yet. `writers` work beside the loop."""

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
    writers: tuple[Runs, ...]


def build(
    settings: Settings,
    open_connection: Connection,
    *,
    may_write: Callable[[], bool],
    after_start: Callable[[], None],
) -> Parts:
    """Return all parts. `after_start` is called when the source has set its signal handlers."""
    shared = shared_by_all(settings, KubernetesApi(open_connection), may_write)
    binder, admitter = applying.binder(shared), applying.admitter(shared)
    suspender = applying.suspender(shared)
    evictor = applying.evictor(shared, suspender)
    reports = reporting.reports(shared, binder)
    left_out = LeftOutObjects()
    event_handlers = _event_handlers(shared, left_out)
    source = _source(shared, open_connection, event_handlers, after_start)
    outcomes = applying.outcome_handler(shared, reports)
    queue_writer = reporting.queue_writer(shared)
    quota_controllers = _quota_controllers(shared, reports, source)
    provisioner = applying.provisioner(shared, reports, source)
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
        writers=(
            *(outcomes, binder, evictor, quota_controllers, provisioner),
            *(admitter, suspender),
            Drainer(shared.cache, evictor, may_write=may_write),
            *reporting.writers(shared, reports),
            *((applying.degraded_evictions(shared, evictor),) if evicts else ()),
            *reporting.own_events(shared, reports, source),
            *reporting.queue_writers(shared, reports, queue_writer),
        ),
    )


def _event_handlers(shared: Shared, left_out: LeftOutObjects) -> EventHandlers:
    """Return what takes objects of all kinds into the cache."""
    sinks = kinds.sinks(shared.cache, policy.membership(shared.settings))
    grace = shared.settings.queue_deletion_grace_seconds
    return EventHandlers(with_grace(sinks, grace), left_out)


def _source(
    shared: Shared,
    open_connection: Connection,
    event_handlers: EventHandlers,
    after_start: Callable[[], None],
) -> Source:
    """Return what feeds the cache."""
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


def _supervisor(
    open_connection: Connection, event_handlers: EventHandlers, source: Source
) -> WatchSupervisor:
    """Return what looks after the watches of the source."""
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
        profile=policy.profile(shared.settings),
        changes=shared.changes,
        batch_seconds=shared.settings.batch_milliseconds / 1000,
        fresh=source.fresh,
    )


def _quota_controllers(shared: Shared, reports: Reports, source: Source) -> QuotaControllers:
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
