"""Watch events: decoded, counted and handed to the state, even if objects are malformed.

A handler never raises: an exception would make Kopf drop later events of the object for minutes. An
unreadable object is left out, and the fault is reported; `reader` defines which part of it still
counts. A state older than the known one is dropped silently.
"""

import asyncio
import sys
import time
from collections.abc import Callable, Collection, Iterable, Iterator
from typing import Any, Final, Generic, NamedTuple, Protocol, TypeVar

from msgspec.json import Decoder

from gang_scheduler import internal_errors
from gang_scheduler.api.kinds import GVR
from gang_scheduler.api.parsing import InvalidField
from gang_scheduler.current_work import Work, note
from gang_scheduler.decode import fields, reader
from gang_scheduler.decode.reader import HasMetadata, Identity, Object, Reader, Unreadable
from gang_scheduler.telemetry import metrics
from gang_scheduler.wire.base import Identified

# Unreadable objects that were left out, as values in one queue. The event handlers put them there
# without knowing the reader of the queue.


class LeftOut(NamedTuple):
    """An object that was left out: its kind as in manifests, and the fault.

    `holds` is the decoded part that still counts; None if none counts, or the earlier state does.
    """

    kind: str
    obj: Object
    why: InvalidField
    holds: object = None


class LeftOutObjects:
    """The queue of left-out objects, oldest first. It has no limit: no event waits for its reader.

    `follow` is called with each object as soon as it is added.
    """

    def __init__(self, follow: Callable[[LeftOut], None] = lambda _: None) -> None:
        self._queue: asyncio.Queue[LeftOut] = asyncio.Queue()
        self._follow = follow

    def put(self, left_out: LeftOut) -> None:
        """Add an object."""
        self._follow(left_out)
        self._queue.put_nowait(left_out)

    async def next(self) -> LeftOut:
        """Wait for an object and return it."""
        return await self._queue.get()

    def take_all(self) -> Iterator[LeftOut]:
        """Yield all objects that are in the queue already."""
        while not self._queue.empty():
            yield self._queue.get_nowait()


# Tells newer states of an object from older ones by resourceVersion. A list and a watch at the same
# time may deliver states of one object in any order, and a stalled connection delivers minutes
# later. The API server gives every write a larger resourceVersion, so of two states the one with
# the smaller version is older (KEP-5504 makes that a promise).

GONE_SECONDS: Final = 600.0
"""A deletion is remembered for at least this long, and at most twice as long.

No event of an object comes later than that.
"""
MOST_DIGITS: Final = 20
FOR_GOOD: Final = sys.maxsize
"""Stands for the version of an object that a list no longer has. No uid is used twice."""


class Versions:
    """The newest version seen of every object, by uid; `newest` is the newest of all objects."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self.newest = 0
        self._newest: dict[str, int] = {}
        self._clock = clock
        # Two halves by age; the older half is dropped as a whole.
        self._gone: dict[str, int] = {}
        self._gone_before: dict[str, int] = {}
        self._began_at = clock()

    def seen(self, uid: str, version: str) -> bool:
        """Note a state, and return True, unless a newer one is known or the object is gone."""
        number = number_of(version)
        if number and number <= max(self._gone.get(uid, 0), self._gone_before.get(uid, 0)):
            return False
        if number and number < self._newest.get(uid, 0):
            return False
        self._gone.pop(uid, None)
        self._gone_before.pop(uid, None)
        self._newest[uid] = number
        self.newest = max(self.newest, number)
        return True

    def has(self, uid: str, version: str) -> bool:
        """Return whether this is the newest state that is known of an object."""
        number = number_of(version)
        return number > 0 and self._newest.get(uid) == number

    def gone(self, uid: str, version: str) -> None:
        """Note a deletion at this version; without a version, at the newest known one."""
        self._note_gone(uid, max(self._newest.get(uid, 0), number_of(version)))

    def missing(self, uid: str) -> None:
        """Note that an object is missing from a list."""
        self._note_gone(uid, FOR_GOOD)

    def forget(self, uid: str) -> None:
        """Drop all knowledge of an object: the same state may be delivered again."""
        for known in (self._newest, self._gone, self._gone_before):
            known.pop(uid, None)

    def as_of(self, version: str, before: int) -> None:
        """Note the version of a list; `before` was the newest version when it was requested.

        If the list is older than `before`, etcd was restored from a backup: all versions are
        forgotten.
        """
        if 0 < number_of(version) < before:
            self._newest.clear()
            self._gone.clear()
            self._gone_before.clear()
            self.newest = 0

    def _note_gone(self, uid: str, version: int) -> None:
        self._newest.pop(uid, None)
        now = self._clock()
        if now - self._began_at > GONE_SECONDS:
            self._gone_before, self._gone, self._began_at = self._gone, {}, now
        self._gone[uid] = version


def number_of(version: str) -> int:
    """Return a resourceVersion as a number; 0 without one, or if it is not a number."""
    is_number = len(version) <= MOST_DIGITS and version.isascii() and version.isdigit()
    return int(version) if is_number else 0


# Expensive objects are delayed, so that others get a turn. Reading a suspended workload of ten
# thousand pods takes tens of milliseconds or more, and users can change an object as often as they
# like. So the CPU time of each change is measured. Once an object was expensive twice, its next
# change is read only after ten times as long; changes in between are skipped. Other expensive
# objects of its namespace wait as well, one after another. New objects, deletions and lists are
# never delayed, and nothing is delayed without an event loop.

DEAR_SECONDS: Final = 0.005
"""A change that takes more CPU than this is expensive."""
TIMES: Final = 2
"""An object is delayed after this many expensive changes in a row: one may be chance."""
PAUSES: Final = 10
"""The pause for expensive objects of a namespace, as a multiple of the time of the last change."""
LONGEST_SECONDS: Final = 10.0
"""The longest wait, in seconds."""
MOST_NAMESPACES: Final = 1000
"""At least this many pauses are kept: finding expired ones takes a step for each."""

Handle = Callable[[], None]


class Pacing:
    """Delays changes of expensive objects, and takes them in one by one in each namespace."""

    def __init__(
        self,
        clock: Callable[[], float] = time.monotonic,
        cpu_clock: Callable[[], float] = time.thread_time,
    ) -> None:
        self._clock = clock
        self._cpu_clock = cpu_clock
        self._dear: dict[str, int] = {}
        self._held: dict[str, Handle] = {}
        self._free_at: dict[str, float] = {}

    def handle(self, uid: str, namespace: str, handle: Handle, *, may_wait: bool) -> None:
        """Handle a change of an object, now or later.

        The change replaces an earlier change of the object that still waits.
        """
        if may_wait and self._dear.get(uid, 0) >= TIMES and self._wait(namespace) > 0:
            loop = _running_loop()
            if loop is not None:
                if uid not in self._held:
                    loop.call_later(self._wait(namespace), self._later, loop, uid, namespace)
                self._held[uid] = handle
                return
        self._held.pop(uid, None)
        self._now(uid, namespace, handle)

    def forget(self, uid: str) -> None:
        """Forget a deleted object, and its change that still waits."""
        self._held.pop(uid, None)
        self._dear.pop(uid, None)

    def _later(self, loop: asyncio.AbstractEventLoop, uid: str, namespace: str) -> None:
        handle = self._held.get(uid)
        if handle is None:
            return
        wait = self._wait(namespace)
        if wait > 0:
            loop.call_later(wait, self._later, loop, uid, namespace)
            return
        del self._held[uid]
        self._now(uid, namespace, handle)

    def _wait(self, namespace: str) -> float:
        return self._free_at.get(namespace, 0.0) - self._clock()

    def _now(self, uid: str, namespace: str, handle: Handle) -> None:
        begun = self._cpu_clock()
        handle()
        spent = self._cpu_clock() - begun
        if spent <= DEAR_SECONDS or not uid:
            self._dear.pop(uid, None)
            return
        self._dear[uid] = self._dear.get(uid, 0) + 1
        now = self._clock()
        if len(self._free_at) > MOST_NAMESPACES:
            self._free_at = {key: at for key, at in self._free_at.items() if at > now}
        pause = min(PAUSES * spent, LONGEST_SECONDS)
        self._free_at[namespace] = now + pause


def _running_loop() -> asyncio.AbstractEventLoop | None:
    try:
        return asyncio.get_running_loop()
    except RuntimeError:
        return None


# The interface through which decoded objects of one kind arrive. `state.kinds` joins it with the
# cache.

T = TypeVar("T")


class HasUid(Protocol):
    """A decoded object with a uid."""

    @property
    def uid(self) -> str:
        """The uid of the object."""


class Sink(Protocol[T]):
    """The store of objects of one kind.

    The meaning of a change for gangs is not the caller's concern.
    """

    def upsert(self, decoded: T, /) -> None:
        """Add or replace an object."""

    def delete(self, uid: str, /) -> None:
        """Delete an object; an unknown one is no error."""

    def uids(self) -> Collection[str]:
        """Return the uids of all known objects."""

    def known(self, uid: str, /) -> T | None:
        """Return the known state of an object; always None for a kind that does not need it."""


class EventHandlers:
    """The event handlers of all kinds: each decodes events of a source and passes them to a sink.

    `broken` has the uids of objects that were left out, `versions` the latest version of every
    object. Objects that are left out go to `left_out` with their faults.
    """

    def __init__(
        self, kinds: Iterable[tuple[Reader[Any], Sink[Any]]], left_out: LeftOutObjects
    ) -> None:
        self.versions = Versions()
        self.broken: set[str] = set()
        pacing = Pacing()
        self.all = tuple(
            KindHandler(reader, sink, self.versions, self.broken, left_out, pacing=pacing)
            for reader, sink in kinds
        )
        self._by_gvr = {gvr: each for each in self.all for gvr in each.versions}

    def of(self, gvr: GVR) -> "KindHandler[Any]":
        """Return the handler of a kind, for any of its versions."""
        return self._by_gvr[gvr]

    def names(self) -> dict[GVR, str]:
        """Return the name of each kind, by its versions."""
        return {gvr: each.name for gvr, each in self._by_gvr.items()}

    def start_over(self) -> None:
        """Expect other versions of each kind: there may be a different API server now."""
        for each in self.all:
            each.start_over()


class KindHandler(Generic[T]):
    """Handles the events of one kind."""

    def __init__(
        self,
        reader: Reader[T],
        sink: Sink[T],
        seen: Versions,
        broken: set[str],
        left_out: LeftOutObjects,
        *,
        pacing: Pacing,
    ) -> None:
        self.versions = reader.versions
        self.name = reader.name
        self.plural = reader.gvr.plural
        self.decoder: Decoder[Any] | None = reader.direct.decoder if reader.direct else None
        self._reader = reader
        self._direct = reader.direct
        self._kind = reader.kind
        self._sink = sink
        self._seen = seen
        self._broken = broken
        self._left_out = left_out
        self._pacing = pacing
        self._objects_seen = metrics.OBJECTS_SEEN.labels(self.name)
        self.start_over()

    def start_over(self) -> None:
        """Expect the kind in other versions."""
        self._rank = len(self.versions)

    def uids(self) -> Collection[str]:
        """Return the uids of all objects that are known."""
        return self._sink.uids()

    def missing(self, uid: str) -> None:
        """Forget an object that a list no longer has, and accept no older state of it."""
        self._seen.missing(uid)
        self._drop(uid)

    def forget(self, uid: str) -> None:
        """Forget an object that can no longer be seen; the same state may be delivered again."""
        self._seen.forget(uid)
        self._drop(uid)

    def handle(self, event: Object) -> None:
        """Handle an event. If the object is expensive to read, this may happen a bit later."""
        found = reader.identity(event["object"])
        self._pacing.handle(
            *(found.uid, found.namespace),
            lambda: self._take(event, found),
            may_wait=event["type"] == "MODIFIED",
        )

    def _take(self, event: Object, found: Identity) -> None:
        obj = event["object"]
        if self._reader.best_version_counts and self._is_lesser(obj):
            return
        note(Work.EVENT, f"{self._kind} {found.key}")
        if event["type"] == "DELETED":
            self._pacing.forget(found.uid)
            self._deleted(found)
            return
        if found.uid and not self._seen.seen(found.uid, found.version):
            return
        self._count(found.uid)
        try:
            _check(event, found)
            self._sink.upsert(self._reader.read(obj))
        except InvalidField as error:
            self._leave_out(obj, found, error)
        except Exception as error:
            # A bug that one object triggers must not block later objects.
            internal_errors.note("take in", f"{self._kind} {found.key}", error)
            why = InvalidField("the object", None, f"cannot be taken in: {error!r}")
            self._leave_out(obj, found, why)

    def handle_decoded(self, change: str, source: HasMetadata) -> None:
        """Handle an event whose object was read by `decoder`.

        Raises InvalidField without any effect. `handle` then reports the fault.
        """
        metadata = source.metadata
        note(Work.EVENT, f"{self._kind} {metadata.namespace}/{metadata.name}")
        reader.check_readable(Identity(metadata.uid, metadata.namespace, metadata.name))
        if change == "DELETED":
            self._pacing.forget(metadata.uid)
            self._seen.gone(metadata.uid, metadata.resource_version)
            self._sink.delete(metadata.uid)
        elif self._direct is not None:
            decoded = self._direct.read(source)
            if not self._seen.seen(metadata.uid, metadata.resource_version):
                return
            self._sink.upsert(decoded)
        self._count(metadata.uid)

    def _is_lesser(self, obj: Object) -> bool:
        """Return whether an object comes in an older API version than the best one seen so far."""
        version = str(obj.get("apiVersion", "")).rpartition("/")[2]
        versions = [gvr.version for gvr in self.versions]
        rank = versions.index(version) if version in versions else 0
        if rank > self._rank:
            return True
        self._rank = rank
        return False

    def _deleted(self, found: Identity) -> None:
        self._count(found.uid)
        if found.uid:
            self._seen.gone(found.uid, found.version)
            self._sink.delete(found.uid)

    def _drop(self, uid: str) -> None:
        self._pacing.forget(uid)
        self._broken.discard(uid)
        self._sink.delete(uid)

    def _leave_out(self, obj: Object, found: Identity, why: InvalidField) -> None:
        metrics.OBJECTS_BROKEN.labels(self.name).inc()
        holds = None
        if found.uid:
            self._broken.add(found.uid)
            holds = self._keep_what_holds(obj, found.uid, why)
        self._left_out.put(LeftOut(self._kind, obj, why, holds))

    def _keep_what_holds(self, obj: Object, uid: str, why: InvalidField) -> T | None:
        rule = self._reader.if_unreadable
        if rule is Unreadable.KEEP:
            return None
        holds = None
        if not isinstance(rule, Unreadable):
            holds = rule(obj, why, self._sink.known(uid))
        if holds is None:
            self._sink.delete(uid)
        else:
            self._sink.upsert(holds)
        return holds

    def _count(self, uid: str) -> None:
        self._objects_seen.inc()
        self._broken.discard(uid)


def _check(event: Object, found: Identity) -> None:
    """Raise InvalidField for an object without an identity, or one that was not decoded."""
    if (why := event.get("unreadable")) is not None:
        raise why
    fields.read(event["object"], Identified)
    reader.check_readable(found)
