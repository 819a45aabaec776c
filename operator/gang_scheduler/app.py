"""The composition root: builds all parts, and owns the one task group in which they run."""

import asyncio
import gc
import os
import signal
import socket
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from functools import partial
from secrets import token_hex
from typing import Any

import anyio
import uvloop

from gang_scheduler import __version__, gc_tuning, internal_errors, wiring
from gang_scheduler.api.annotations import SET_ASIDE
from gang_scheduler.background_tasks import never_ending
from gang_scheduler.client import connection
from gang_scheduler.client.connection import Connection
from gang_scheduler.client.fence import Fence, boot_time
from gang_scheduler.client.kubernetes import KubernetesApi
from gang_scheduler.client.leader_election import LeaderElector, LeadershipLost, annotations_of
from gang_scheduler.event_loops import EventLoop, SecondLoop
from gang_scheduler.probes import Probes
from gang_scheduler.report.administrator_events import LeaderEvents
from gang_scheduler.settings.choices import PodSource
from gang_scheduler.settings.run import Settings
from gang_scheduler.state import kinds
from gang_scheduler.state.gangs import set_aside
from gang_scheduler.telemetry import logs, metrics
from gang_scheduler.telemetry.logger import Logger
from gang_scheduler.watch import source_choice
from gang_scheduler.watch.supervisor import WatchDeadError
from gang_scheduler.watchdog import CUT_SIGNAL, Watchdog

SPARE_CONNECTIONS = 32
DRAIN_SECONDS = 10
CLOSE_SECONDS = 2
QUIET_SECONDS = 8
"""The time to wait for answers to writes. After that, the Lease must run out."""
TELL_SECONDS = 2
LEASE_CONNECTIONS = 2
BEAT_SECONDS = 1.0
STUCK_SECONDS = 120.0
"""A cycle that takes longer is stuck: the process should be restarted."""

log = Logger()


def run(settings: Settings) -> None:
    """Run the operator until SIGTERM or SIGINT. Raises if it can no longer do its work.

    It raises LeadershipLost, with a line in the log, if it no longer leads.
    """
    logs.configure(settings)
    metrics.most_queues(settings.metrics_queues)
    gc_tuning.collect_rarely()
    connection.import_for_watches()
    try:
        uvloop.run(main(settings), loop_factory=EventLoop)
    except ExceptionGroup as errors:
        lost, others = errors.split(LeadershipLost)
        if lost is None or others is not None:
            raise
        why = _only(lost)
        # No traceback: this is no bug, and the message says it all.
        log.error("leadership_lost", why=str(why))  # noqa: TRY400
        raise why from None


async def main(settings: Settings) -> None:
    """Run the operator on the current event loop, until a signal stops it."""
    log.info("starting", version=__version__, **settings.model_dump(mode="json"))
    configuration = await connection.load(settings.kubeconfig)
    # Each event loop renews the token of its own connection.
    for_lease = Connection(
        await connection.load(settings.kubeconfig), LEASE_CONNECTIONS, settings.http_client
    )
    elector = _elector(settings, for_lease)
    fence = Fence(elector if settings.leader_elect else None)
    # Bindings and evictions run concurrently, and every kind may be listed at the same time.
    limit = 2 * settings.bind_concurrency + settings.status_concurrency + SPARE_CONNECTIONS
    limit += len(kinds.KINDS)
    async with (
        SecondLoop() as second_loop,
        Connection(configuration, limit, settings.http_client, fence) as open_connection,
        _entered(for_lease, second_loop),
    ):
        leader_events = LeaderEvents(
            KubernetesApi(for_lease), elector.identity, lambda: elector.lease
        )
        watched_by = await source_choice.choose(settings.source, KubernetesApi(open_connection))
        metrics.BUILD_INFO.labels(__version__, watched_by.value).set(1)
        app = App(
            *(settings, open_connection, elector, leader_events, second_loop), watched_by=watched_by
        )
        await app.run()
    log.info("stopped")


@asynccontextmanager
async def _entered(
    context: AbstractAsyncContextManager[Any], second_loop: SecondLoop
) -> AsyncIterator[None]:
    """Enter and leave a context on the second event loop."""
    await second_loop.run(context.__aenter__)
    try:
        yield
    finally:
        with anyio.CancelScope(shield=True):
            await second_loop.run(partial(context.__aexit__, None, None, None))


class App:
    """Holds the parts of the operator, and runs them."""

    def __init__(
        self,
        settings: Settings,
        open_connection: Connection,
        elector: LeaderElector,
        leader_events: LeaderEvents,
        second_loop: SecondLoop,
        *,
        watched_by: PodSource,
    ) -> None:
        self._settings = settings
        self._second_loop = second_loop
        self._fence = open_connection.fence
        self._beat_at = time.monotonic()
        self._stop = asyncio.Event()
        self._deciding = anyio.CancelScope()
        self._complete = False
        self._has_taken_over = False
        self._dead_watch: WatchDeadError | None = None
        self._elector = elector
        self._leader_events = leader_events
        self._parts = wiring.build(
            settings,
            open_connection,
            watched_by=watched_by,
            may_write=self._fence.allows,
            after_start=self._catch_signals,
        )
        self._watchdog = Watchdog(self._parts.loop.decision_times, self._tell_successors)

    async def run(self) -> None:
        """Run until a signal; end with an error when a part cannot continue.

        Raises WatchDeadError after the same orderly end.
        """
        self._catch_signals()
        settings = self._settings
        probes = Probes(
            settings.http_host, settings.http_port, healthy=self._not_healthy, ready=self._not_ready
        )
        async with _entered(probes, self._second_loop), self._end_announced():
            await self._work()
        if self._dead_watch is not None:
            raise self._dead_watch

    async def _work(self) -> None:
        settings = self._settings
        async with anyio.create_task_group() as group:
            group.start_soon(self._stop_when_asked, group.cancel_scope)

            def begin(name: str, work: Callable[[], Awaitable[None]]) -> None:
                group.start_soon(never_ending, name, work, name=name)

            begin("beat", self._beat)
            begin("watchdog", partial(self._second_loop.run, self._watchdog.run))
            # 1. See the cluster. 2. Lead. 3. Only then decide and write.
            begin("left-out events", self._parts.left_out_events.run)
            begin("source", self._parts.source.run)
            group.start_soon(self._supervise_watches)
            await self._parts.source.complete()
            self._complete = True
            # Keep the cache out of the collector's sight, too.
            gc.freeze()
            if settings.leader_elect:
                log.info("waiting_for_lease", lease=settings.lease_name)
                begin("elector", partial(self._second_loop.run, self._elector.run))
                await self._second_loop.run(self._elector.acquired.wait)
                await self._second_loop.run(self._elector.late_writes)
                # The last writes of a predecessor may not have arrived in the watches yet.
                await self._parts.source.catch_up()
                self._take_over()
            await self._parts.quota_controllers.look()
            # This must come before any message that a gang lacks room, since such a message would
            # make an autoscaler buy nodes.
            self._parts.provisioner.note_served()
            # Before any gang with claims of devices is tried, or refused.
            self._parts.device_claims.note_served()
            metrics.lead()
            log.info("scheduling", nodes=len(self._parts.cache.node_usage.table()))
            if settings.leader_elect:
                group.start_soon(self._second_loop.run, self._tell_of_the_begin())
            for part in self._parts.writers:
                begin(type(part).__name__, part.run)
            with self._deciding:
                await self._parts.loop.run()

    async def _supervise_watches(self) -> None:
        """End this process if it no longer sees a kind, so that another replica takes over.

        The Lease is released in order. When this replica starts again, it begins with lists.
        """
        try:
            await self._parts.watch_supervisor.run()
        except WatchDeadError as error:
            self._dead_watch = error
            self._stop.set()

    async def _stop_when_asked(self, everything: anyio.CancelScope) -> None:
        """Stop deciding, finish the bindings and evictions that have begun, and end."""
        await self._stop.wait()
        log.info("stopping")
        self._deciding.cancel()
        self._parts.binder.close()
        # Writes that are still on their way must arrive before another replica leads.
        self._elector.releases = False
        with anyio.move_on_after(DRAIN_SECONDS):
            await self._parts.binder.drain()
            await self._parts.evictor.drain()
            await self._parts.admitter.drain()
            await self._parts.suspender.drain()
        with anyio.move_on_after(CLOSE_SECONDS):
            await self._parts.queue_writer.close()
        self._parts.outcomes.take_in()
        self._fence.close()
        if self._fence.is_needed:
            with anyio.move_on_after(QUIET_SECONDS):
                await self._fence.quiet()
                self._elector.releases = True
        everything.cancel()

    def _take_over(self) -> None:
        """Set gangs aside that were set aside by an earlier leader, or on which it was stuck."""
        costly = set_aside.read(annotations_of(self._elector.lease).get(SET_ASIDE, ""))
        if costly:
            log.warning("begins_with_gangs_set_aside", gangs=[str(each.key) for each in costly])
        self._parts.cache.gang_queue.set_aside.take_over(costly, int(time.time()))
        self._has_taken_over = True

    def _tell_successors(self, suspects: Sequence[set_aside.Costly]) -> None:
        """Write the gangs that are set aside, and the decisions that take too long, into the Lease.

        Called on the second loop, which renews the Lease even while the main loop is held up.
        """
        if self._has_taken_over:
            costly = set_aside.with_suspects(
                self._parts.cache.gang_queue.set_aside.costly, suspects
            )
            self._elector.annotations = {SET_ASIDE: set_aside.written(costly)}

    def _tell_of_the_begin(self) -> Callable[[], Coroutine[Any, Any, None]]:
        """Record how long the takeover took, and return the function that writes the Event."""
        predecessor, seconds = self._elector.predecessor, 0.0
        if predecessor is not None:
            seconds = boot_time() - predecessor.led_at
            metrics.HANDOVER_SECONDS.labels(predecessor.ended.value).observe(seconds)
        return partial(self._leader_events.began, predecessor, seconds)

    @asynccontextmanager
    async def _end_announced(self) -> AsyncIterator[None]:
        """When this replica stops leading, write an Event and set the metric."""
        try:
            yield
        finally:
            metrics.LEADER.set(0)
            if self._elector.acquired.is_set():
                with anyio.move_on_after(TELL_SECONDS, shield=True):
                    ended = partial(self._leader_events.ended, released=self._elector.released)
                    await self._second_loop.run(ended)

    def _catch_signals(self) -> None:
        loop = asyncio.get_running_loop()
        for each in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(each, self._stop.set)
        # Not through the event loop, which does not run during a decision.
        signal.signal(CUT_SIGNAL, lambda _signal, _frame: self._parts.loop.decision_times.cut())

    async def _beat(self) -> None:
        """Record now and then that this loop runs, and with which delay."""
        while True:
            self._beat_at = time.monotonic()
            await asyncio.sleep(BEAT_SECONDS)
            late = time.monotonic() - self._beat_at - BEAT_SECONDS
            metrics.LOOP_LAG.observe(max(0, late))

    def _not_healthy(self) -> str:
        held_up = time.monotonic() - self._beat_at
        return f"nothing was done for {held_up:.0f} s" if held_up > STUCK_SECONDS else ""

    def _not_ready(self) -> str:
        if not self._complete:
            return "the first lists are not complete"
        # A replica that waits for the Lease is ready to take over, so it counts as ready.
        return self._parts.watch_supervisor.problem() or internal_errors.problem()


def _only(errors: Exception) -> Exception:
    """Return the first error in nested exception groups."""
    while isinstance(errors, ExceptionGroup):
        errors = errors.exceptions[0]
    return errors


def _elector(settings: Settings, for_lease: Connection) -> LeaderElector:
    return LeaderElector(
        KubernetesApi(for_lease),
        _namespace(settings),
        settings.lease_name,
        _identity(),
        lease_seconds=settings.lease_duration_seconds,
        renew_deadline=settings.renew_deadline_seconds,
        retry_seconds=settings.retry_period_seconds,
        clock=boot_time,
    )


def _namespace(settings: Settings) -> str:
    return settings.lease_namespace or connection.namespace_of_pod() or "kube-system"


def _identity() -> str:
    # A restarted container keeps its host name, but it is another process.
    return f"{os.environ.get('HOSTNAME') or socket.gethostname()}_{token_hex(8)}"
