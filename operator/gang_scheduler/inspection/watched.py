"""A cluster that is kept up to date by watches, for answers that are asked for again and again.

Events are held back until a cluster is asked for. So a cluster that was returned stays as it was
until then, and one thread may compute answers from it while another one receives events.
"""

import threading
from collections import deque
from collections.abc import Callable, Collection
from dataclasses import replace
from typing import Any, Final

import msgspec
from msgspec.json import Decoder

from gang_scheduler import internal_errors
from gang_scheduler.api import kinds as api_kinds
from gang_scheduler.api.kinds import GVR
from gang_scheduler.api.parsing import InvalidField
from gang_scheduler.client.errors import ApiError
from gang_scheduler.decode import reader
from gang_scheduler.decode.events import EventHandlers, KindHandler
from gang_scheduler.decode.reader import HasMetadata, Identity, Object
from gang_scheduler.inspection import live
from gang_scheduler.inspection.cluster import Cluster, Source
from gang_scheduler.inspection.listing import waits
from gang_scheduler.inspection.live import OperatorSettings
from gang_scheduler.inspection.servers import Server
from gang_scheduler.state.changes import Changes
from gang_scheduler.watch.reflector import Reflector
from gang_scheduler.wire.base import Metadata, MetadataOnly

AGAIN_SECONDS: Final = 10
"""Decisions are made again after this time, even if nothing changes: some depend on the time."""

DELETED: Final = "DELETED"

Handle = Callable[[str, Any], None]
"""Takes in a change of an object."""


class _Event:
    """An event that is held back: of an object as a dict, or of one that was decoded."""

    __slots__ = ("change", "handle", "key", "source")

    def __init__(self, key: tuple[str, str], change: str, source: Any, handle: Handle) -> None:  # noqa: ANN401
        self.key = key
        self.change = change
        self.source = source
        self.handle = handle


class HeldBack:
    """Handlers that hold events back, in the order in which they come.

    Of an object that changes again while it waits only the newest state is kept, and of one that is
    deleted only its identity, so that a user who writes or creates objects often costs little
    memory. One thread may add events while another one takes them in.
    """

    def __init__(self, event_handlers: EventHandlers) -> None:
        self.versions = event_handlers.versions
        self._events = deque[_Event]()
        # The event of each object that waits, unless that is its deletion.
        self._last: dict[tuple[str, str], _Event] = {}
        self._lock = threading.Lock()
        self.all = tuple(_Holding(each, self._add) for each in event_handlers.all)

    def __len__(self) -> int:
        return len(self._events)

    def take_in(self) -> bool:
        """Handle all events that have come; return whether there were any."""
        found = False
        while (event := self._next()) is not None:
            found = True
            event.handle(event.change, event.source)
        return found

    def _add(self, event: _Event) -> None:
        with self._lock:
            known = self._last.get(event.key)
            if known is None:
                self._events.append(event)
                if event.key[1] and event.change != DELETED:
                    self._last[event.key] = event
                return
            known.source, known.handle = event.source, event.handle
            # To the cluster, an object that was added and then changed is new.
            if event.change == DELETED:
                known.change = DELETED
                del self._last[event.key]

    def _next(self) -> _Event | None:
        with self._lock:
            if not self._events:
                return None
            event = self._events.popleft()
            if self._last.get(event.key) is event:
                del self._last[event.key]
            return event


class _Holding:
    """Holds back the events of one kind."""

    def __init__(self, handler: KindHandler[Any], add: Callable[[_Event], None]) -> None:
        self.name = handler.name
        self.versions: tuple[GVR, ...] = handler.versions
        self.decoder: Decoder[Any] | None = handler.decoder
        self._handler = handler
        self._add = add

    def handle(self, event: Object) -> None:
        """Hold an event back."""
        found = reader.identity(event["object"])
        if event["type"] == DELETED:
            event = {"type": DELETED, "object": _identified(event["object"], found)}
        self._add(_Event((self.name, found.uid), event["type"], event, self._take_in))

    def handle_decoded(self, change: str, source: HasMetadata) -> None:
        """Hold an event back whose object was decoded."""
        found = source.metadata
        if change == DELETED:
            source = MetadataOnly(
                Metadata(
                    name=found.name,
                    namespace=found.namespace,
                    uid=found.uid,
                    resource_version=found.resource_version,
                )
            )
        self._add(_Event((self.name, found.uid), change, source, self._take_in_decoded))

    def _take_in(self, change: str, event: Object) -> None:
        found = reader.identity(event["object"])
        # Here no caller guards against a bug that one object triggers.
        with internal_errors.confined("take in", f"{self.name} {found.namespace}/{found.name}"):
            self._handler.handle({**event, "type": change})

    def _take_in_decoded(self, change: str, source: HasMetadata) -> None:
        metadata = source.metadata
        with internal_errors.confined(
            "take in", f"{self.name} {metadata.namespace}/{metadata.name}"
        ):
            try:
                self._handler.handle_decoded(change, source)
            except InvalidField:
                body = msgspec.json.decode(msgspec.json.encode(source))
                read = {"apiVersion": self.versions[0].api_version, **body}
                self._handler.handle({"type": change, "object": read})


def _identified(obj: Object, found: Identity) -> Object:
    """Return an object with nothing but its kind, its identity and its version."""
    return {
        "apiVersion": obj.get("apiVersion"),
        "kind": obj.get("kind"),
        "metadata": {
            "uid": found.uid,
            "namespace": found.namespace,
            "name": found.name,
            "resourceVersion": found.version,
        },
    }


class FollowedCluster:
    """The cluster that the events of `handlers` tell of, as the settings of an operator have it.

    For one thread. Only `take_in` and `cluster` change it.
    """

    def __init__(self, operator: OperatorSettings) -> None:
        self.operator = operator
        self._changes = Changes()
        self.cache, self._left_out, event_handlers = live.empty(
            operator.policy, changes=self._changes
        )
        self.handlers = HeldBack(event_handlers)
        self._nominated: tuple[str, ...] = ()
        self._last: Cluster | None = None
        self._decided_at = 0

    def take_in(self) -> bool:
        """Handle the events that have come; return whether there was anything."""
        return self.handlers.take_in()

    def cluster(
        self, now: int, not_served: Collection[str] = (), forbidden: Collection[str] = ()
    ) -> Cluster:
        """Return the cluster with all that has come. `now` is in seconds."""
        changed, last, unknown = self.take_in(), self._last, {*not_served, *forbidden}
        for _ in self._left_out.take_all():
            pass  # The operator reports them.
        self.cache.serve_provisioning(served=api_kinds.PROVISIONING_REQUESTS[0].name not in unknown)
        self.cache.serve_devices(served=api_kinds.RESOURCE_CLAIMS.name not in unknown)
        is_old = not self._decided_at <= now < self._decided_at + AGAIN_SECONDS
        unread = tuple(sorted(forbidden))
        if last is None or is_old or self._changes.cycle.is_set():
            self._last = self._to_decide(now, unread)
        else:
            revision = last.revision + changed
            self._last = replace(last, read_at=now, revision=revision, unread=unread)
        return self._last

    def _to_decide(self, now: int, unread: tuple[str, ...]) -> Cluster:
        """Return the cluster for new decisions, on all gangs that wait."""
        cache, last = self.cache, self._last
        cache.clear_nominations(self._nominated)
        self._nominated = waits.keep_room(cache)
        waits.set_aside_as_written(cache, now)
        queue = cache.gang_queue
        queue.changed.clear()
        queue.reworded.clear()
        queue.try_all()
        self._changes.cycle.clear()
        self._decided_at = now
        return Cluster(
            *(cache, self.operator.policy, now, Source.LIVE, self.operator.settings_of),
            notes=self.operator.notes,
            unread=unread,
            revision=1 if last is None else last.revision + 1,
            decision=1 if last is None else last.decision + 1,
        )


class WatchedCluster:
    """The cluster of a server, followed by watches.

    `run` receives events in its own event loop. `take_in` and `cluster` are for one other thread.
    """

    def __init__(self, server: Server, operator: OperatorSettings) -> None:
        self.operator = operator
        self.is_complete = False
        self._is_taken_in = False
        self._followed = FollowedCluster(operator)
        self._reflector = Reflector(server.connection, self._followed.handlers)
        self._quota = live.quota_controllers(
            server, self._followed.cache, lambda: self._reflector.not_served, lambda _: None
        )

    async def run(self) -> None:
        """Watch all kinds until cancelled."""
        await self._reflector.run()

    async def complete(self) -> None:
        """Return once all objects of the first lists have come."""
        await self._reflector.complete()
        self.is_complete = True

    async def look(self) -> None:
        """Find out which other controllers decide quota. Not while another thread computes."""
        await self._quota.look()

    @property
    def held_back(self) -> int:
        """How many events wait; 0 until the first lists were taken in, which takes its time."""
        return len(self._followed.handlers) if self._is_taken_in else 0

    @property
    def failure(self) -> ApiError | None:
        """Why events may be missing at present: of pods or nodes; at first, of any kind."""
        return self._reflector.failure(decisive=self.is_complete)

    @property
    def problem(self) -> str:
        """The kinds of which changes may be missing, and why; "" if there are none."""
        of = sorted(self._reflector.failures.items())
        return "; ".join(f"changes of {name} may be missing: {why.message}" for name, why in of)

    def take_in(self) -> None:
        """Handle the events that have come."""
        self._followed.take_in()

    def cluster(self, now: int) -> Cluster:
        """Return the cluster with all that has come. `now` is in seconds."""
        reflector = self._reflector
        found = self._followed.cluster(now, reflector.not_served, reflector.forbidden)
        self._is_taken_in = self.is_complete
        return found
