"""The composition root: has the parts built, and owns the one task group that they run in."""

import asyncio
import gc
import os
import signal
import socket
import time
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from functools import partial
from secrets import token_hex
from typing import Any

import anyio
import structlog
import uvloop

from gang_scheduler import __version__, gc_tuning, internal_errors, parts
from gang_scheduler.beside import Beside
from gang_scheduler.client import connection, leader_election
from gang_scheduler.client.connection import Connection
from gang_scheduler.client.kubernetes import KubernetesApi
from gang_scheduler.client.leader_election import LeaderElector
from gang_scheduler.probes import Probes
from gang_scheduler.settings.run import Settings
from gang_scheduler.state import kinds
from gang_scheduler.telemetry import logs, metrics

SPARE_CONNECTIONS = 32
DRAIN_SECONDS = 10
CLOSE_SECONDS = 2
LEASE_CONNECTIONS = 2
BEAT_SECONDS = 1.0
STUCK_SECONDS = 120.0
"""After this it is not a long cycle any more: the process is better begun anew."""

log = structlog.get_logger()


def run(settings: Settings) -> None:
    """Run the operator until SIGTERM or SIGINT. Raises when it can no longer do its work."""
    logs.configure(settings)
    metrics.most_queues(settings.metrics_queues)
    metrics.BUILD_INFO.labels(__version__, settings.source.value).set(1)
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


class App:
    """Keeps the parts of the operator, and runs them."""

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
        self._elector = _elector(settings, for_lease)
        self._parts = parts.build(
            settings,
            open_connection,
            may_write=self._may_write,
            after_start=self._catch_signals,
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
            group.start_soon(self._parts.left_out_events.run)
            group.start_soon(self._parts.source.run)
            await self._parts.source.complete()
            self._complete = True
            # Keep the cache out of the collector's sight, too.
            gc.freeze()
            if settings.leader_elect:
                log.info("waiting_for_lease", lease=settings.lease_name)
                group.start_soon(self._beside.run, self._elector.run)
                await self._beside.run(self._elector.acquired.wait)
                await self._beside.run(self._elector.late_writes)
                # What a predecessor wrote last may not have been told of yet.
                await self._parts.source.catch_up()
            await self._parts.quota_controllers.look()
            # Before any gang is told that it lacks room: that would make an autoscaler buy.
            self._parts.provisioner.note_served()
            metrics.lead()
            log.info("scheduling", nodes=len(self._parts.cache.node_usage.table()))
            for part in self._parts.writers:
                group.start_soon(part.run)
            with self._deciding:
                await self._parts.loop.run()

    async def _stop_when_asked(self, everything: anyio.CancelScope) -> None:
        """Decide nothing more, finish the bindings and evictions that are begun, and end."""
        await self._stop.wait()
        log.info("stopping")
        self._deciding.cancel()
        self._parts.binder.close()
        # What may still be on its way must have arrived before another replica leads.
        self._elector.releases = False
        with anyio.move_on_after(DRAIN_SECONDS):
            await self._parts.binder.drain()
            await self._parts.evictor.drain()
            await self._parts.admitter.drain()
            await self._parts.suspender.drain()
            self._elector.releases = True
        with anyio.move_on_after(CLOSE_SECONDS):
            await self._parts.queue_writer.close()
        self._parts.outcomes.take_in()
        everything.cancel()

    def _catch_signals(self) -> None:
        loop = asyncio.get_running_loop()
        for each in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(each, self._stop.set)

    def _may_write(self) -> bool:
        return not self._settings.leader_elect or self._elector.is_leader()

    async def _beat(self) -> None:
        """Note now and then that this loop goes round, and how late."""
        while True:
            self._beat_at = time.monotonic()
            await asyncio.sleep(BEAT_SECONDS)
            late = time.monotonic() - self._beat_at - BEAT_SECONDS
            metrics.LOOP_LAG.observe(max(0, late))

    def _not_healthy(self) -> str:
        held_up = time.monotonic() - self._beat_at
        return f"nothing was done for {held_up:.0f} s" if held_up > STUCK_SECONDS else ""

    def _not_ready(self) -> str:
        # A replica that waits for the Lease is ready to take over: ready.
        return internal_errors.problem() if self._complete else "the first lists are not complete"


def _elector(settings: Settings, for_lease: Connection) -> LeaderElector:
    return LeaderElector(
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


def _namespace(settings: Settings) -> str:
    return settings.lease_namespace or connection.namespace_of_pod() or "kube-system"


def _identity() -> str:
    # A restarted container keeps its host name, and is another process all the same.
    return f"{os.environ.get('HOSTNAME') or socket.gethostname()}_{token_hex(8)}"
