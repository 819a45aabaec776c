"""The composition root: builds the parts, joins them, and owns the one task group."""

import asyncio
import gc
import os
import signal
import socket
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from functools import partial
from pathlib import Path
from secrets import token_hex
from typing import Any, Protocol

import anyio
import structlog
import uvloop

from gang_scheduler import __version__, gc_tuning, internal_errors, policy, telemetry
from gang_scheduler.apply.binder import Binder
from gang_scheduler.apply.evictor import Evictor
from gang_scheduler.apply.lost_nominations import LostNominations
from gang_scheduler.apply.outcomes import Outcomes
from gang_scheduler.apply.partial_gangs import PartialGangs
from gang_scheduler.apply.stuck_victims import StuckVictims
from gang_scheduler.apply.volume_binder import VolumeBinder
from gang_scheduler.beside import Beside
from gang_scheduler.client import connection, leader_election
from gang_scheduler.client.connection import Connection
from gang_scheduler.client.kubernetes import KubernetesApi
from gang_scheduler.client.leader_election import LeaderElector
from gang_scheduler.decode.event_handlers import EventHandlers
from gang_scheduler.decode.left_out import LeftOutObjects
from gang_scheduler.loop import Loop
from gang_scheduler.outcome_handler import OutcomeHandler
from gang_scheduler.probes import Probes
from gang_scheduler.report.backpressure import Backpressure
from gang_scheduler.report.events import Events
from gang_scheduler.report.gang_events import GangEvents
from gang_scheduler.report.left_out_events import LeftOutEvents
from gang_scheduler.report.missing_members import MissingMembers
from gang_scheduler.report.pod_events import PodEvents
from gang_scheduler.report.status_writer import StatusWriter
from gang_scheduler.report.topology_writer import TopologyWriter
from gang_scheduler.settings import OnPartialGang, PodSource, Settings
from gang_scheduler.state import kinds
from gang_scheduler.state.changes import Changes
from gang_scheduler.watch.reflector import Reflector
from gang_scheduler.watch.relist import Relist
from gang_scheduler.watch.source import Source
from gang_scheduler.watch.sweep import Sweep

NAMESPACE_FILE = Path("/var/run/secrets/kubernetes.io/serviceaccount/namespace")
SPARE_CONNECTIONS = 32
DRAIN_SECONDS = 10
LEASE_CONNECTIONS = 2
BEAT_SECONDS = 1.0
STUCK_SECONDS = 120.0
"""After this it is not a long cycle any more: the process is better begun anew."""

log = structlog.get_logger()


def run(settings: Settings) -> None:
    """Run the operator until SIGTERM or SIGINT. Raises when it can no longer do its work."""
    telemetry.configure(settings)
    gc_tuning.collect_rarely()
    uvloop.run(main(settings))


async def main(settings: Settings) -> None:
    """Run the operator on the current event loop, until it is told to stop."""
    log.info("starting", version=__version__, **settings.model_dump(mode="json"))
    configuration = await connection.load(settings.kubeconfig)
    # A token that is read anew is each loop's own.
    for_lease = Connection(
        await connection.load(settings.kubeconfig), LEASE_CONNECTIONS, settings.http_client
    )
    # Bindings and evictions go beside each other, and every kind may be listed meanwhile.
    limit = 2 * settings.bind_concurrency + settings.status_concurrency + SPARE_CONNECTIONS
    limit += len(kinds.KINDS)
    async with (
        Beside() as beside,
        Connection(configuration, limit, settings.http_client) as open_connection,
        _entered(for_lease, beside),
    ):
        await App(settings, open_connection, for_lease, beside).run()
    log.info("stopped")


@asynccontextmanager
async def _entered(
    context: AbstractAsyncContextManager[Any], beside: Beside
) -> AsyncIterator[None]:
    """Enter a context on the loop beside the main one, and leave it there."""
    await beside.run(context.__aenter__)
    try:
        yield
    finally:
        with anyio.CancelScope(shield=True):
            await beside.run(partial(context.__aexit__, None, None, None))


class Runs(Protocol):
    """A part of the operator."""

    async def run(self) -> None:
        """Work until cancelled."""


class App:
    """The parts of the operator, joined."""

    def __init__(
        self,
        settings: Settings,
        open_connection: Connection,
        for_lease: Connection,
        beside: Beside,
    ) -> None:
        self._settings = settings
        self._beside = beside
        self._beat_at = time.monotonic()
        self._stop = asyncio.Event()
        self._deciding = anyio.CancelScope()
        self._complete = False
        api = KubernetesApi(open_connection)
        self._elector = LeaderElector(
            KubernetesApi(for_lease),
            _namespace(settings),
            settings.lease_name,
            _identity(),
            lease_seconds=leader_election.LEASE_SECONDS,
            renew_deadline=leader_election.RENEW_DEADLINE_SECONDS,
            retry_seconds=leader_election.RETRY_SECONDS,
            request_seconds=leader_election.REQUEST_SECONDS,
            clock=time.monotonic,
        )
        changes = Changes()
        self._cache = policy.cache(settings, changes)
        naming = policy.naming(settings)
        lost_nominations = LostNominations(self._cache, naming)
        outcomes = Outcomes()
        volume_binder = VolumeBinder(
            api,
            self._cache,
            settings.bind_concurrency,
            outcomes=outcomes,
            changes=changes,
            hold_seconds=settings.claim_timeout_seconds,
            may_write=self._may_write,
        )
        self._binder = Binder(
            *(api, self._cache, settings.bind_concurrency),
            volume_binder=volume_binder,
            outcomes=outcomes,
            may_write=self._may_write,
        )
        self._evictor = Evictor(
            api,
            self._cache,
            settings.bind_concurrency,
            naming=naming,
            outcomes=outcomes,
            use_eviction_api=settings.use_eviction_api,
            may_write=self._may_write,
        )
        self._stuck_victims = StuckVictims(self._cache, settings.victim_timeout_seconds, outcomes)
        backpressure = Backpressure(self._binder.is_busy)
        self._events = Events(api, backpressure, self._may_write)
        self._pod_events = PodEvents(
            *(api, self._cache, backpressure),
            enabled=settings.pod_events,
            may_write=self._may_write,
        )
        gang_events = GangEvents(self._cache, self._events, self._pod_events, naming)
        self._decision_log = gang_events.decision_log
        self._partial_gangs = None
        if settings.on_partial_gang is OnPartialGang.RELEASE:
            self._partial_gangs = PartialGangs(api, self._cache, self._may_write)
        left_out = LeftOutObjects()
        self._left_out_events = LeftOutEvents(left_out, self._events, self._cache.schedulers)
        self._source = self._source_of(
            open_connection, api, EventHandlers(kinds.sinks(self._cache), left_out)
        )
        self._outcomes = OutcomeHandler(
            *(self._cache, outcomes, gang_events),
            partial_gangs=self._partial_gangs,
            lost_nominations=lost_nominations,
            naming=naming,
        )
        self._loop = Loop(
            *(self._cache, self._binder, self._evictor, gang_events, self._outcomes),
            partial_gangs=self._partial_gangs,
            lost_nominations=lost_nominations,
            profile=policy.profile(settings),
            changes=changes,
            batch_seconds=settings.batch_milliseconds / 1000,
            fresh=self._source.fresh,
        )
        self._status = StatusWriter(
            api,
            self._cache,
            interval_seconds=settings.status_interval_milliseconds / 1000,
            concurrency=settings.status_concurrency,
            may_write=self._may_write,
            lost_nominations=lost_nominations,
            backpressure=backpressure,
            missing_members=MissingMembers(self._cache, self._events),
            pod_events=self._pod_events,
        )
        self._topologies = TopologyWriter(
            *(api, self._cache, self._events), changes=changes, may_write=self._may_write
        )

    async def run(self) -> None:
        """Run until a signal; end with an error when a part cannot go on."""
        self._catch_signals()
        settings = self._settings
        probes = Probes(
            settings.http_host, settings.http_port, healthy=self._not_healthy, ready=self._not_ready
        )
        async with _entered(probes, self._beside), anyio.create_task_group() as group:
            group.start_soon(self._stop_when_asked, group.cancel_scope)
            group.start_soon(self._beat)
            # 1. See the cluster. 2. Lead. 3. Only then decide and write.
            group.start_soon(self._left_out_events.run)
            group.start_soon(self._source.run)
            await self._source.complete()
            self._complete = True
            # Keep the cache out of the collector's sight, too.
            gc.freeze()
            if settings.leader_elect:
                log.info("waiting_for_lease", lease=settings.lease_name)
                group.start_soon(self._beside.run, self._elector.run)
                await self._beside.run(self._elector.acquired.wait)
                await self._beside.run(self._elector.late_writes)
                # What a predecessor wrote last may not have been told of yet.
                await self._source.catch_up()
            telemetry.LEADER.set(1)
            log.info("scheduling", nodes=len(self._cache.node_usage.table()))
            for part in self._writers():
                group.start_soon(part.run)
            with self._deciding:
                await self._loop.run()

    def _source_of(
        self, open_connection: Connection, api: KubernetesApi, event_handlers: EventHandlers
    ) -> Source:
        """Return what feeds the cache."""
        settings = self._settings
        if settings.source is PodSource.REFLECTOR:
            return Reflector(open_connection, event_handlers)
        # Here, since nothing else needs Kopf.
        from gang_scheduler.watch.kopf_source import KopfSource  # noqa: PLC0415

        return KopfSource(
            open_connection,
            event_handlers,
            Sweep(api, event_handlers, settings.sweep_seconds),
            Relist(open_connection, event_handlers),
            after_start=self._catch_signals,
        )

    def _writers(self) -> Iterator[Runs]:
        """Yield all that works beside the loop and writes."""
        yield from (self._outcomes, self._binder, self._evictor, self._stuck_victims)
        yield from (self._status, self._topologies, self._decision_log)
        yield from (self._events, self._pod_events)
        if self._partial_gangs is not None:
            yield self._partial_gangs

    async def _stop_when_asked(self, everything: anyio.CancelScope) -> None:
        """Decide nothing more, finish the bindings and evictions that are begun, and end."""
        await self._stop.wait()
        log.info("stopping")
        self._deciding.cancel()
        self._binder.close()
        # What may still be on its way must have arrived before another replica leads.
        self._elector.releases = False
        with anyio.move_on_after(DRAIN_SECONDS):
            await self._binder.drain()
            await self._evictor.drain()
            self._elector.releases = True
        self._outcomes.take_in()
        everything.cancel()

    def _catch_signals(self) -> None:
        loop = asyncio.get_running_loop()
        for each in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(each, self._stop.set)

    def _may_write(self) -> bool:
        return not self._settings.leader_elect or self._elector.is_leader()

    async def _beat(self) -> None:
        """Note now and then that this loop goes round."""
        while True:
            self._beat_at = time.monotonic()
            await asyncio.sleep(BEAT_SECONDS)

    def _not_healthy(self) -> str:
        held_up = time.monotonic() - self._beat_at
        return f"nothing was done for {held_up:.0f} s" if held_up > STUCK_SECONDS else ""

    def _not_ready(self) -> str:
        # A replica that waits for the Lease is ready to take over: ready.
        return internal_errors.problem() if self._complete else "the first lists are not complete"


def _namespace(settings: Settings) -> str:
    if settings.lease_namespace:
        return settings.lease_namespace
    return NAMESPACE_FILE.read_text().strip() if NAMESPACE_FILE.exists() else "kube-system"


def _identity() -> str:
    # A restarted container keeps its host name, and is another process all the same.
    return f"{os.environ.get('HOSTNAME') or socket.gethostname()}_{token_hex(8)}"
