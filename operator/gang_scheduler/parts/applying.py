"""Builds what carries decisions out: what binds, evicts, starts, suspends and buys."""

import functools

from gang_scheduler import policy
from gang_scheduler.apply.binding.binder import Binder
from gang_scheduler.apply.binding.volume_binder import VolumeBinder
from gang_scheduler.apply.checkpoints.annotating import Annotating
from gang_scheduler.apply.checkpoints.grace import GracePeriods
from gang_scheduler.apply.checkpoints.posting import Posting
from gang_scheduler.apply.checkpoints.saving import Saving, Ways
from gang_scheduler.apply.eviction.degraded_evictions import DegradedEvictions
from gang_scheduler.apply.eviction.evictor import Evictor
from gang_scheduler.apply.eviction.preemption_run import StepWriter
from gang_scheduler.apply.provisioning.provisioner import Provisioner
from gang_scheduler.apply.workloads.admitter import Admitter
from gang_scheduler.apply.workloads.suspender import Suspender
from gang_scheduler.client.pod_http import PodHttpClient
from gang_scheduler.model.queues import Product
from gang_scheduler.outcome_handler import OutcomeHandler
from gang_scheduler.parts.shared import Reports, Shared, eviction_texts
from gang_scheduler.report.provisioning_events import ProvisioningEvents
from gang_scheduler.report.queues.eviction_writer import EvictionWriter
from gang_scheduler.report.workload_events import WorkloadEvents
from gang_scheduler.watch.source import Source


def binder(shared: Shared) -> Binder:
    """Return what binds gangs, and claims before their pods."""
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


def admitter(shared: Shared) -> Admitter:
    """Return what starts suspended workloads."""
    queues = shared.cache.queues
    return Admitter(
        *(shared.api, shared.settings.bind_concurrency),
        outcomes=shared.outcomes,
        may_write=shared.may_write,
        kueue_runs=lambda: Product.KUEUE not in queues.enforced,
    )


def suspender(shared: Shared) -> Suspender:
    """Return what suspends them again."""
    return Suspender(shared.api, outcomes=shared.outcomes, may_write=shared.may_write)


def evictor(shared: Shared, suspender: Suspender) -> Evictor:
    """Return what makes room: by deletions, and by suspending whole workloads."""
    settings = shared.settings
    return Evictor(
        *(shared.api, shared.cache, settings.bind_concurrency),
        naming=shared.naming,
        outcomes=shared.outcomes,
        grace_periods=GracePeriods(shared.cache, policy.ends(settings)),
        saving=functools.partial(_saving, shared),
        use_eviction_api=settings.use_eviction_api,
        managed=shared.cache.suspended,
        suspend=suspender.suspend,
        remember=EvictionWriter(shared.api, shared.cache, eviction_texts(shared)).write,
        may_write=shared.may_write,
    )


def _saving(shared: Shared, writer: StepWriter) -> Saving:
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


def degraded_evictions(shared: Shared, evictor: Evictor) -> DegradedEvictions:
    """Return what evicts gangs whole that cannot replace what they have lost."""
    return DegradedEvictions(shared.cache, evictor, may_write=shared.may_write)


def outcome_handler(shared: Shared, reports: Reports) -> OutcomeHandler:
    """Return what takes in what became of writes."""
    return OutcomeHandler(
        *(shared.cache, shared.outcomes, reports.gang_events, reports.measures),
        partial_gangs=shared.partial_gangs,
        lost_nominations=shared.lost_nominations,
        workload_events=WorkloadEvents(reports.events),
        naming=shared.naming,
    )


def provisioner(shared: Shared, reports: Reports, source: Source) -> Provisioner:
    """Return what writes requests for nodes."""
    return Provisioner(
        *(shared.api, shared.cache, shared.changes),
        not_served=lambda: source.not_served,
        may_write=shared.may_write,
        tell=ProvisioningEvents(shared.cache, reports.events).tell,
    )
