"""The sources of the page's clusters, and the one thread that reads them and computes views.

A view is made when a client asks and the last view is old, so nothing is read while no browser
asks, unless the history is kept in a file. All clients get the same view. The watches of a server
go on in another thread.
"""

import asyncio
import contextlib
import functools
import secrets
import tempfile
import threading
import time
from collections.abc import Callable, Coroutine, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Final, NamedTuple, Protocol, TypeGuard, TypeVar
from weakref import WeakValueDictionary

import anyio
import msgspec

from gang_scheduler import internal_errors
from gang_scheduler.api.kinds import LEASES
from gang_scheduler.api.parsing import InvalidField
from gang_scheduler.client.connection import UnusableConfigurationError
from gang_scheduler.client.errors import UNREADABLE, ApiError, Kind
from gang_scheduler.decode import fields
from gang_scheduler.inspection import files, live, past_events, servers
from gang_scheduler.inspection.cluster import Cluster, Source
from gang_scheduler.inspection.servers import Server
from gang_scheduler.inspection.snapshots import taking
from gang_scheduler.inspection.watched import WatchedCluster
from gang_scheduler.model.scheduler_events import SchedulerEvent
from gang_scheduler.page import view
from gang_scheduler.page.history import Past
from gang_scheduler.page.view import Heartbeat, Reading, View
from gang_scheduler.round_robin import party_of
from gang_scheduler.settings.policy import Policy
from gang_scheduler.watch import list_once
from gang_scheduler.wire.cluster import Lease

T = TypeVar("T")

LEAST_SECONDS: Final = 1.0
"""A view is kept at least this long."""
LEAST_WAIT_SECONDS: Final = 0.05
LARGEST_PART: Final = 0.25
"""At most this part of the time is spent on reading the cluster again."""
AGES_SECONDS: Final = 10.0
"""A version lasts no longer, because screens show ages."""
UNASKED_SECONDS: Final = 60.0
"""How often a page with a history file reads the cluster while no browser asks."""
EVENTS_SECONDS: Final = 5.0
"""Events are not listed more often than this: a cluster has many.

The settings of the operator and the Leases of other controllers are read as often.
"""
FIRST_LISTS_SECONDS: Final = 120
REFUSED_SECONDS: Final = 300.0
"""Watches that were forbidden are tried again after this time: a refusal may pass."""
MOST_OF_USER: Final = 32
"""At most this many requests of a user may wait: in a large cluster, some take seconds.

Users count by `party_of`.
"""
MOST_HELD_BACK: Final = 100_000
"""With more pending events than this, the watches end, and the next reading lists everything."""
WITHOUT_SETTINGS: Final = "kube-system/py-gang-scheduler"
"""The namespace of the Lease if the chart did not name the operator's Deployment."""


class ClusterSource(Protocol):
    """Provides readings of one cluster, all of them in one thread."""

    still: bool
    """Whether the cluster never changes, like that of a file. Then every reading is the same."""

    def read(self) -> Reading:
        """Return the cluster as it is now. Raises ApiError."""

    def tried(self, manifests: str) -> Cluster:
        """Return the cluster with the objects of manifests, as in `simulate`, for one other thread.

        Raises ApiError, and UnreadableInput for faults in the manifests.
        """

    def close(self) -> None:
        """Close open connections."""


class OfFiles:
    """Provides the cluster of manifests or of a snapshot, which was read before."""

    still = True

    def __init__(
        self, cluster: Cluster, filenames: Sequence[str], policy: Policy, namespace: str = ""
    ) -> None:
        self._cluster = cluster
        self._filenames = filenames
        self._policy = policy
        self._namespace = namespace

    def read(self) -> Reading:
        """Return the cluster, with the Events that are in a snapshot."""
        return Reading(self._cluster, self._namespace, self._cluster.events)

    def tried(self, manifests: str) -> Cluster:
        """Return the cluster of the files together with the manifests."""
        at = self._cluster.read_at
        with _file(manifests.encode(), ".yaml") as name:
            return files.read([*self._filenames, name], self._policy, at=at)

    def close(self) -> None:
        """Do nothing."""


class LoopThread:
    """An event loop in a thread of its own, in which watches go on between two readings."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="watch", daemon=True)
        self._thread.start()

    def run(self, asked: Coroutine[Any, Any, T]) -> T:
        """Run a coroutine in the loop, and return its result. For any other thread."""
        return asyncio.run_coroutine_threadsafe(asked, self._loop).result()

    def close(self) -> None:
        """End the loop and the thread."""
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()


class OfServer:
    """Watches the cluster of a kubeconfig with the rights of its user.

    Without the right to watch nodes and pods of all namespaces, each reading lists what the user
    may list. If nothing is read for `unasked_seconds`, the watches end until the next reading.
    """

    still = False

    def __init__(
        self,
        kubeconfig: str,
        context: str,
        request_seconds: float,
        namespace: str,
        policy: Policy,
        *,
        unasked_seconds: float = 3 * UNASKED_SECONDS,
    ) -> None:
        self._opening = functools.partial(servers.connected, kubeconfig, context, request_seconds)
        self._namespace = namespace
        self._policy = policy
        self._unasked_seconds = unasked_seconds
        self._loop: LoopThread | None = None
        self._open = contextlib.AsyncExitStack()
        self._server: Server | None = None
        self._may_watch_at = float("-inf")
        self._watched: WatchedCluster | None = None
        self._watching: asyncio.Task[None] | None = None
        self._asked_at = 0.0
        self._last_events: list[SchedulerEvent] | None = None
        self._events_at = 0.0

    def read(self) -> Reading:
        """Return the cluster with the Events and the Lease of its scheduler."""
        if time.monotonic() >= self._may_watch_at:
            events, beat = self._run(self._about_watched)
            cluster = self._watched_cluster()
            if cluster is not None:
                watched = self._watched
                problem = watched.problem if watched is not None else ""
                return Reading(cluster, self._namespace, events, beat, problem)
            self._may_watch_at = time.monotonic() + REFUSED_SECONDS
        found: Reading = self._run(self._listed)
        return found

    def tried(self, manifests: str) -> Cluster:
        """Take a snapshot, and return its cluster together with the objects of the manifests."""
        taken = self._run(taking.of_server)
        content = b"".join(taken.content())
        with _file(content, ".jsonl") as snapshot, _file(manifests.encode(), ".yaml") as name:
            return files.read([snapshot, name], self._policy)

    def close(self) -> None:
        """End the watches, and close the connection."""
        if self._loop is not None:
            self._loop.run(self._closed())
            self._loop.close()

    def _run(self, ask: Callable[[Server], Any]) -> Any:  # noqa: ANN401 - the question's answer.
        # One loop for all readings: connections stay open, and plugins for credentials do not run
        # each second.
        if self._loop is None:
            self._loop = LoopThread()
        return self._loop.run(self._asked(ask))

    async def _asked(self, ask: Callable[[Server], Any]) -> Any:  # noqa: ANN401
        if self._server is None:
            self._server = await self._open.enter_async_context(self._opening())
        return await ask(self._server)

    async def _closed(self) -> None:
        await self._end_watches()
        await self._open.aclose()

    # By watches.

    async def _about_watched(self, server: Server) -> tuple[list[SchedulerEvent] | None, Heartbeat]:
        """Begin to watch unless watches run; return the facts that no watch brings."""
        now = self._asked_at = time.monotonic()
        if self._watched is None or self._must_ask(now):
            operator = live.overridden(self._policy, await live.read_profiles(server))
            if self._watched is None or operator != self._watched.operator:
                await self._end_watches()
                self._watched = WatchedCluster(server, operator)
                self._watching = asyncio.create_task(self._watch(self._watched))
            await self._watched.look()
        events = await self._events(server, now)
        return events, await heartbeat(server, self._watched.operator.settings_of)

    async def _watch(self, watched: WatchedCluster) -> None:
        """Watch until cancelled, or until nothing was read for long, or until the watches fail."""
        try:
            with internal_errors.confined("watch", "the cluster of the page"):
                await self._watch_while_asked(watched)
        finally:
            if self._watched is watched:
                self._watched = None

    async def _watch_while_asked(self, watched: WatchedCluster) -> None:
        async with anyio.create_task_group() as group:
            group.start_soon(watched.run)
            group.start_soon(watched.complete)
            await self._unasked(watched)
            group.cancel_scope.cancel()

    async def _unasked(self, watched: WatchedCluster) -> None:
        """Return once nothing was read for long, or too many events wait."""
        while watched.held_back < MOST_HELD_BACK:
            left = self._asked_at + self._unasked_seconds - time.monotonic()
            if left <= 0:
                return
            await anyio.sleep(min(left, LEAST_SECONDS))

    async def _end_watches(self) -> None:
        if self._watching is not None:
            self._watching.cancel()
            await asyncio.wait({self._watching})
        self._watched = self._watching = None

    def _watched_cluster(self) -> Cluster | None:
        """Return the cluster once it is complete; None if nodes or pods may not be watched.

        Raises ApiError if events may be missing.
        """
        watched = self._watched
        deadline = time.monotonic() + FIRST_LISTS_SECONDS
        while self._is_watched(watched) and not watched.is_complete and watched.failure is None:
            if time.monotonic() > deadline:
                raise ApiError(0, f"its first lists take more than {FIRST_LISTS_SECONDS} s")
            watched.take_in()
            time.sleep(LEAST_WAIT_SECONDS)
        if not self._is_watched(watched):
            raise ApiError(0, "its watches have ended")
        failure = watched.failure
        if failure is None:
            return watched.cluster(int(time.time()))
        if failure.status != list_once.FORBIDDEN:
            raise failure
        self._run(lambda _: self._end_watches())
        return None

    def _is_watched(self, watched: WatchedCluster | None) -> TypeGuard[WatchedCluster]:
        """Return whether a cluster is still watched. For any thread."""
        return watched is not None and self._watched is watched

    # By lists.

    async def _listed(self, server: Server) -> Reading:
        asked = self._namespace or server.namespace
        cluster = await live.read(server, asked, self._policy)
        if cluster.source is Source.WRITTEN:
            return Reading(cluster, asked)
        events = await self._events(server, time.monotonic())
        beat = await heartbeat(server, cluster.settings_of)
        return Reading(cluster, self._namespace, events, beat)

    async def _events(self, server: Server, now: float) -> list[SchedulerEvent] | None:
        """Return the Events of the scheduler, as they were some seconds ago at most."""
        if self._must_ask(now):
            self._last_events, self._events_at = await past_events.of_scheduler(server), now
        return self._last_events

    def _must_ask(self, now: float) -> bool:
        return not self._events_at or now - self._events_at >= EVENTS_SECONDS


async def heartbeat(server: Server, settings_of: str) -> Heartbeat:
    """Return the Lease of the scheduler; the chart gives it the name of the Deployment."""
    namespace, _, name = (settings_of or WITHOUT_SETTINGS).partition("/")
    where = f"Lease {namespace}/{name}"
    try:
        answer = await server.connection.request(
            "GET", LEASES.path(namespace, name), timeout_seconds=server.request_seconds
        )
        spec = fields.read(msgspec.json.decode(answer), Lease).spec
        renewed = fields.timestamp(spec.renew_time, "spec.renewTime")
    except ApiError as error:
        if error.kind is Kind.GONE:
            return Heartbeat(problem=f"no {where}: it has no leader election, or does not run")
        return Heartbeat(problem=f"{where} cannot be read: {error.message}")
    except (InvalidField, *UNREADABLE) as error:
        return Heartbeat(problem=f"{where} cannot be read: {error}")
    return Heartbeat(spec.holder_identity, renewed, spec.lease_duration_seconds)


@contextlib.contextmanager
def _file(content: bytes, suffix: str) -> Any:  # noqa: ANN401 - a context manager of a name.
    with tempfile.TemporaryDirectory(prefix="py-gang-scheduler-page-") as directory:
        path = Path(directory) / f"tried{suffix}"
        path.write_bytes(content)
        yield str(path)


class Seen(NamedTuple):
    """The last view, and why there is no newer one: "" if there is no problem.

    Views of one `version` show the same, except for ages.
    """

    view: View | None
    problem: str = ""
    version: str = ""


class TooManyQuestions(Exception):  # noqa: N818 - named after the problem.
    """A user has too many questions that are not answered yet."""


class _Asked:
    """The questions of a user: how many are not answered, and a lock for the one in the thread."""

    def __init__(self) -> None:
        self.number = 0
        self.turn = asyncio.Lock()


class Views:
    """Makes views in its own thread, at most one a second for all clients."""

    def __init__(
        self,
        source: ClusterSource,
        clock: Callable[[], float] = time.monotonic,
        past: Past | None = None,
    ) -> None:
        self._source = source
        self._clock = clock
        self._past = past or Past()
        self._note: Callable[[View], None] = lambda _: None
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="view")
        self._asked: WeakValueDictionary[str, _Asked] = WeakValueDictionary()
        self._renewing: asyncio.Task[None] | None = None
        self._seen = Seen(None)
        self._until = float("-inf")
        # Versions of an earlier page at the same address must not look like those of this one.
        self._life = secrets.token_hex(4)
        self._number = 0
        self._versioned_at = float("-inf")

    @property
    def still(self) -> bool:
        """Whether the cluster never changes, like that of a file. Then all views are the same."""
        return self._source.still

    @property
    def last(self) -> Seen:
        """The last view, however old."""
        return self._seen

    @property
    def seconds_left(self) -> float:
        """How long the last view counts as new; infinite if it never gets old."""
        return max(LEAST_WAIT_SECONDS, self._until - self._clock())

    async def latest(self) -> Seen:
        """Return the view, made again if it is old; the last view if the cluster cannot be read."""
        await self.renewed_within(None)
        return self._seen

    async def renewed_within(self, seconds: float | None) -> bool:
        """Return whether the last view is new, or was made again in this time."""
        if self._clock() < self._until:
            return True
        # A client that disconnects does not end a reading for which other clients wait.
        done, _ = await asyncio.wait({self._renewal()}, timeout=seconds)
        for each in done:
            each.result()
        return bool(done)

    async def keep_reading(self) -> None:
        """Read now and then even while no client asks, if the history is kept in a file."""
        while self._past.in_file and not self.still:
            await self.latest()
            await anyio.sleep(UNASKED_SECONDS)

    def note_each(self, note: Callable[[View], None]) -> None:
        """Call `note` with each view, in the thread of the views, before anything else sees it."""
        self._note = note

    async def ask(self, question: Callable[[Seen], T], user: str = "") -> T:
        """Ask about the last view, in the thread of the views, and return the answer.

        The cluster is that of this view until the question is answered. Users take turns, however
        many questions each has. Raises TooManyQuestions.
        """
        asked = self._asked.setdefault(party_of(user), _Asked())
        if asked.number >= MOST_OF_USER:
            raise TooManyQuestions(f"{MOST_OF_USER} of your requests wait for an answer")
        asked.number += 1
        try:
            async with asked.turn:
                return await self._run(lambda: question(self._seen))
        finally:
            asked.number -= 1

    def tried(self, manifests: str) -> Cluster:
        """Return the cluster with the objects of manifests. Raises as the source does."""
        return self._source.tried(manifests)

    async def close(self) -> None:
        """End the thread."""
        if self._renewing is not None:
            await asyncio.wait({self._renewing})
        await self._run(self._source.close)
        await self._run(self._past.close)
        self._thread.shutdown()

    async def _run(self, work: Callable[[], T]) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._thread, work)

    def _renewal(self) -> "asyncio.Task[None]":
        """Return the task that makes the next view, the same for all clients."""
        if self._renewing is None or self._renewing.done():
            self._renewing = asyncio.create_task(self._run(self._renew))
        return self._renewing

    def _renew(self) -> None:
        """Make the next view. In the thread of the views: with it the cluster changes."""
        began = self._clock()
        seen, problem = self._seen.view, ""
        try:
            try:
                reading = self._source.read()
            finally:
                read_at, work_began = self._clock(), time.thread_time()
            seen = self._made(reading)
            problem = seen.reading.problem
        except UnusableConfigurationError as error:
            problem = str(error)
        except ApiError as error:
            problem = f"the cluster cannot be read: {error.message}"
        now = self._clock()
        self._seen = Seen(seen, problem, self._version(seen, problem, now))
        # Only lists keep the API server busy. The other work is done in this thread, and takes long
        # while other programs have the processor.
        took = read_at - began + time.thread_time() - work_began
        pause = max(LEAST_SECONDS, took * (1 / LARGEST_PART - 1))
        self._until = float("inf") if self._source.still else now + pause

    def _version(self, seen: View | None, problem: str, now: float) -> str:
        """Return the version of a view: a new one if it shows something else, or ages are old."""
        last = self._seen
        shows_the_same = (
            last.view is not None
            and seen is not None
            and last.problem == problem
            and last.view.fingerprint == seen.fingerprint
        )
        if not shows_the_same or now - self._versioned_at >= AGES_SECONDS:
            self._number += 1
            self._versioned_at = now
        return f"{self._life}.{self._number}"

    def _made(self, reading: Reading) -> View:
        made = view.of_reading(reading, self._seen.view)
        if not self._source.still:
            known = self._past.noted(made.read_at, made.events, made.rows, made.use)
            made = view.remembered(made, known)
        self._note(made)
        return made
