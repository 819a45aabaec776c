"""Events for users: aggregated by gang, rate-limited, and never in the way of scheduling."""

import asyncio
import functools
import os
import secrets
import socket
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, NamedTuple

from gang_scheduler.client.errors import ApiError, Kind
from gang_scheduler.client.interfaces import Api, Body
from gang_scheduler.client.writing import Writes, count
from gang_scheduler.internal_errors import confined
from gang_scheduler.model.pods import Pod
from gang_scheduler.model.refs import GangKey
from gang_scheduler.round_robin import ByNamespace
from gang_scheduler.state.gangs.gang_info import GangInfo
from gang_scheduler.workloads import table

# Bindings go first: statuses and Events wait while bindings are queued, but not for long. A status
# costs the API server more than two bindings, and while a gang is being bound, every binding makes
# its status outdated.

LONGEST_SECONDS = 5.0
LOOK_SECONDS = 0.1


class Backpressure:
    """Waits while `busy()` says that bindings wait for a worker."""

    def __init__(self, busy: Callable[[], bool] = lambda: False) -> None:
        self._busy = busy

    async def wait(self, since: float) -> None:
        """Return when no bindings wait, or LONGEST_SECONDS after `since` (event loop's time)."""
        clock = asyncio.get_running_loop().time
        # Polled, because nothing else needs to be notified when bindings stop waiting.
        while self._busy() and clock() - since < LONGEST_SECONDS:  # noqa: ASYNC110
            await asyncio.sleep(LOOK_SECONDS)


# A token bucket like the rate limiter of client-go: a number per second, and a burst.


class TokenBucket:
    """Holds up to `burst` tokens, which come back at `per_second`. Full at the start."""

    def __init__(self, per_second: float, burst: float) -> None:
        self._per_second = per_second
        self._burst = burst
        self._tokens = burst
        self._at = 0.0

    async def take(self) -> None:
        """Take a token, and wait for it if there is none. For one task at a time."""
        now = asyncio.get_running_loop().time()
        earned = (now - self._at) * self._per_second
        self._tokens, self._at = min(self._burst, self._tokens + earned) - 1, now
        if self._tokens < 0:
            await asyncio.sleep(-self._tokens / self._per_second)


CONTROLLER = "py-gang-scheduler"
LONGEST_NOTE = 1024
"""In bytes."""
CUT = " ..."
"""kube-scheduler ends a note that is too long like this."""
REPEAT_SECONDS = 300
REWORD_SECONDS = 30
QUEUE_LENGTH = 1000
PER_SECOND = 50.0
BURST = 100.0


@dataclass(frozen=True, slots=True)
class About:
    """The object that an Event is about, and the gang if the Event concerns one.

    One JobSet or Job may describe several gangs: each gang has a rate limit of its own.
    """

    api_version: str
    kind: str
    namespace: str
    name: str
    uid: str
    gang: GangKey | None = None

    @classmethod
    def of_pod(cls, pod: Pod, gang: GangKey | None = None) -> "About":
        """Return a pod as the subject of an Event, with its gang if the Event concerns it."""
        return cls("v1", "Pod", pod.namespace, pod.name, pod.uid, gang)

    @classmethod
    def of_gang(cls, info: GangInfo) -> "About":
        """Return the object that describes a gang, or else its first member by name."""
        pods = info.observed.living or info.observed.members.values()
        return described(info) or cls.of_first(pods, info.key)

    @classmethod
    def of_first(cls, pods: Iterable[Pod], gang: GangKey) -> "About":
        """Return the member of a gang whose name comes first."""
        return cls.of_pod(min(pods, key=lambda each: each.name), gang)


def described(info: GangInfo) -> About | None:
    """Return the object that describes a gang; None if only pods do."""
    spec = info.observed.spec
    if spec is None or spec.gvr is None:
        return None
    kind = table.BY_NAME[info.key.source].object_kind
    owner = info.key.name.partition("/")[0]  # A JobSet's gang is called after its job, too.
    return About(spec.gvr.api_version, kind, info.key.namespace, owner, spec.uid, info.key)


class _Kind(NamedTuple):
    """Similar Events: a new one replaces the old one."""

    uid: str
    gang: GangKey | None
    reason: str
    warning: bool
    failed_attempt: bool = False


class _Queued(NamedTuple):
    """A waiting Event: `since` is in the event loop's time, `at` since the epoch, in seconds.

    Its body is made when it is sent: if very many wait, most are dropped before.
    """

    since: float
    namespace: str
    about: About
    reason: str
    note: str
    at: float
    warning: bool

    def body(self) -> dict[str, Any]:
        """Make the body of the Event, with a new name each time."""
        return event_of(self.about, self.reason, self.note, self.at, warning=self.warning)


class _Said(NamedTuple):
    """The last note of a kind, when it was sent, and when one was last requested."""

    note: str
    at: float
    asked_at: float


class Events:
    """Takes Events at once and sends them as fast as the rate allows.

    The same Event about the same object and gang is not repeated for REPEAT_SECONDS, and an Event
    of the same reason with another note not for REWORD_SECONDS. Namespaces take turns. If the queue
    is full, the oldest Event of the namespace with most Events is dropped, so that the queue can be
    empty again within 25 seconds. Conditions have the current state; Events are only its history.
    """

    def __init__(
        self,
        api: Api,
        backpressure: Backpressure,
        writes: Writes,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._api = api
        self._writes = writes
        self._clock = clock
        self._backpressure = backpressure
        self._queue: ByNamespace[int, _Queued] = ByNamespace()
        self._number = 0
        self._is_queued = asyncio.Event()
        self._last: dict[_Kind, _Said] = {}
        self._pruned_at = clock()

    def is_quiet(self, uid: str, gang: GangKey, reason: str, *, warning: bool = False) -> bool:
        """Return whether it is too early for another Event of this kind on an object and gang.

        This check is cheap: call it before making the text.
        """
        said = self._last.get(_Kind(uid, gang, reason, warning))
        return said is not None and self._clock() - said.asked_at < REWORD_SECONDS

    def record(
        self,
        about: About,
        reason: str,
        note: str,
        *,
        warning: bool = False,
        failed_attempt: bool = False,
    ) -> None:
        """Queue an Event, unless the same was just sent.

        `failed_attempt`: the Event is about an attempt that failed. Events on why a gang waits have
        the same reason, and do not delay it.
        """
        now = self._clock()
        note = cut(note)
        kind = _Kind(about.uid, about.gang, reason, warning, failed_attempt)
        if self._said_lately(kind, note, now):
            return
        namespace = about.namespace or "default"
        if len(self._queue) >= QUEUE_LENGTH:
            self._queue.drop()
            count("event", "dropped")
        since = asyncio.get_running_loop().time()
        queued = _Queued(since, namespace, about, reason, note, now, warning)
        self._number += 1
        self._queue.put(namespace, self._number, queued)
        self._is_queued.set()
        self._last[kind] = _Said(note, now, now)

    async def run(self) -> None:
        """Send until cancelled, at PER_SECOND on average and BURST at once."""
        bucket = TokenBucket(PER_SECOND, BURST)
        while True:
            await self._is_queued.wait()
            queued = self.take()
            await self._backpressure.wait(queued.since)
            await bucket.take()
            with confined("write", "an Event"):
                await self._send(queued)

    def take(self) -> _Queued:
        """Take out the Event whose turn it is. Raises KeyError if there is none."""
        _, queued = self._queue.take()
        if not len(self._queue):
            self._is_queued.clear()
        return queued

    async def _send(self, queued: _Queued) -> None:
        write = functools.partial(create, self._api, queued.namespace, queued.body())
        await self._writes.send("event", write)

    def _said_lately(self, kind: _Kind, note: str, now: float) -> bool:
        if now - self._pruned_at > REPEAT_SECONDS:
            self._pruned_at = now
            self._last = {k: v for k, v in self._last.items() if now - v.at < REPEAT_SECONDS}
        said = self._last.get(kind)
        if said is None:
            return False
        self._last[kind] = said._replace(asked_at=now)
        return now - said.at < (REPEAT_SECONDS if note == said.note else REWORD_SECONDS)


async def create(api: Api, namespace: str, event: Body) -> None:
    """Create an Event. Raises ApiError.

    The request is sent once more if there was no answer, since the connection may be stale. It is
    not sent more often, since that would delay other Events. The API server refuses a second Event
    of the same name.
    """
    try:
        await api.create_event(namespace, event)
    except ApiError as error:
        if error.kind is not Kind.UNKNOWN:
            raise
        await api.create_event(namespace, event)


def event_of(about: About, reason: str, note: str, now: float, *, warning: bool) -> dict[str, Any]:
    """Return the body of an Event at `now` (seconds since the epoch), with a unique name."""
    return {
        "apiVersion": "events.k8s.io/v1",
        "kind": "Event",
        "metadata": {
            "name": f"{about.name[:230]}.{secrets.token_hex(8)}",
            "namespace": about.namespace or "default",
        },
        "eventTime": micro_time(now),
        "reportingController": CONTROLLER,
        "reportingInstance": _instance(),
        "action": "Scheduling",
        "reason": reason,
        "note": note,
        "type": "Warning" if warning else "Normal",
        "regarding": {
            "apiVersion": about.api_version,
            "kind": about.kind,
            "namespace": about.namespace,
            "name": about.name,
            "uid": about.uid,
        },
    }


def micro_time(moment: float) -> str:
    """Return a time, in seconds since the epoch, as Kubernetes writes it in Events."""
    return datetime.fromtimestamp(moment, UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def cut(note: str) -> str:
    """Return a note, cut if it has more bytes than Kubernetes accepts."""
    if len(note.encode()) <= LONGEST_NOTE:
        return note
    kept = note.encode()[: LONGEST_NOTE - len(CUT)]
    return kept.decode(errors="ignore") + CUT


@functools.cache
def _instance() -> str:
    return f"{CONTROLLER}-{os.environ.get('HOSTNAME') or socket.gethostname()}"[:128]
