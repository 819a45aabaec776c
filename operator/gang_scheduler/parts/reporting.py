"""Builds what tells of decisions: statuses, Events and metrics."""

from collections.abc import Collection, Iterator

from gang_scheduler import policy
from gang_scheduler.apply.binding.binder import Binder
from gang_scheduler.apply.eviction.stuck_victims import StuckVictims
from gang_scheduler.apply.stuck_members import StuckMembers
from gang_scheduler.largest_gangs import LargestGangs
from gang_scheduler.parts.shared import Reports, Runs, Shared, eviction_texts
from gang_scheduler.queue_reports import QueueReports
from gang_scheduler.report.backpressure import Backpressure
from gang_scheduler.report.checkpoints.announcer import CheckpointAnnouncer
from gang_scheduler.report.checkpoints.latest_writer import LatestCheckpoints
from gang_scheduler.report.degraded_events import DegradedEvents
from gang_scheduler.report.events import Events
from gang_scheduler.report.forbidden_kinds import ForbiddenKinds
from gang_scheduler.report.gang_events import GangEvents
from gang_scheduler.report.measures.measures import Measures
from gang_scheduler.report.missing_members import MissingMembers
from gang_scheduler.report.pod_events import PodEvents
from gang_scheduler.report.queues import unknown_names
from gang_scheduler.report.queues.queue_metrics import QueueMetrics
from gang_scheduler.report.queues.queue_notes import QueueNotes
from gang_scheduler.report.queues.queue_places import QueuePlaces
from gang_scheduler.report.queues.queue_writer import QueueWriter
from gang_scheduler.report.status_writer import StatusWriter
from gang_scheduler.report.topology_writer import TopologyWriter
from gang_scheduler.report.usage_sweep import UsageSweep
from gang_scheduler.state.cache import Cache
from gang_scheduler.volcano_jobs import VolcanoJobs
from gang_scheduler.watch.source import Source


def reports(shared: Shared, binder: Binder) -> Reports:
    """Return what tells of decisions, which waits while bindings queue."""
    backpressure = Backpressure(binder.is_busy)
    events = Events(shared.api, backpressure, shared.may_write)
    pod_events = PodEvents(
        *(shared.api, shared.cache, backpressure),
        enabled=shared.settings.pod_events,
        stands_seconds=shared.settings.pod_event_seconds,
        may_write=shared.may_write,
    )
    gang_events = GangEvents(shared.cache, events, pod_events, shared.naming)
    return Reports(
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


def writers(shared: Shared, reports: Reports) -> Iterator[Runs]:
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


def own_events(shared: Shared, reports: Reports, source: Source) -> Iterator[Runs]:
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


def _status_writer(shared: Shared, reports: Reports) -> StatusWriter:
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
        evictions=eviction_texts(shared),
    )


def queue_writer(shared: Shared) -> QueueWriter:
    """Return what writes the statuses of queues."""
    queues = shared.cache.queues
    return QueueWriter(
        *(shared.api, queues.declared),
        gpu_resources=queues.rules.gpu_resources,
        recent=shared.cache.recent_usages.of,
        may_write=shared.may_write,
    )


def queue_writers(shared: Shared, reports: Reports, writer: QueueWriter) -> Iterator[Runs]:
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
