"""One kind as it comes from the API server: every object is taken in, every deletion once."""

from collections.abc import Collection
from typing import Any, Final

import msgspec
import structlog
from msgspec import Raw

from gang_scheduler import telemetry
from gang_scheduler.api.kinds import GVR
from gang_scheduler.api.parsing import InvalidField
from gang_scheduler.client.errors import UNREADABLE, ApiError
from gang_scheduler.decode.event_handlers import EventHandlers
from gang_scheduler.watch import envelope
from gang_scheduler.watch.watched_kinds import Watched
from gang_scheduler.wire import nodes as node_wire
from gang_scheduler.wire import pods as pod_wire
from gang_scheduler.wire.metadata import Identity, Metadata

ANYTHING: Final = msgspec.json.Decoder()

log = structlog.get_logger()


class KnownObjects:
    """Hands the objects of a kind to the event handlers, and remembers which objects there are.

    A list is `begin`, `listed` for each object, and `end`, which deletes the objects that are not
    in the list. A list that breaks off is begun again.
    """

    def __init__(self, kind: Watched, event_handlers: EventHandlers) -> None:
        self._kind = kind
        self._event_handlers = event_handlers
        self._api_version = kind.versions[0].api_version
        # By uid: namespace and name.
        self._known: dict[str, tuple[str, str]] = {}
        self._unlisted: set[str] = set()
        self._newest_before = 0

    @property
    def uids(self) -> Collection[str]:
        """The uids of all known objects."""
        return self._known.keys()

    def begin(self, gvr: GVR) -> None:
        """Expect a list, in this version of the kind."""
        self._api_version = gvr.api_version
        self._unlisted = set(self._known)
        self._newest_before = self._event_handlers.versions.newest

    def as_of(self, version: str) -> None:
        """Note the version of the list that was requested after `begin`."""
        self._event_handlers.versions.as_of(version, self._newest_before)

    def listed(self, item: Raw) -> None:
        """Take in an object of the list."""
        self._take("ADDED", item)

    def end(self) -> None:
        """Delete all objects that were known before the list and are not in it."""
        for uid in sorted(self._unlisted):
            namespace, name = self._known[uid]
            metadata = {"uid": uid, "namespace": namespace, "name": name}
            self._take("DELETED", Raw(msgspec.json.encode({"metadata": metadata})))
        self._unlisted = set()

    def changed(self, line: bytes) -> str:
        """Take in a line of a watch; return the version to watch from, "" if it stays the same.

        Raises ApiError for an event of type ERROR, and for a line that is no event.
        """
        try:
            event = envelope.decoded(line, envelope.EVENT)
            if event.type == "ERROR":
                status = envelope.STATUS.decode(event.object)
                raise ApiError(status.code, status.message)
            if event.type == "BOOKMARK":
                return envelope.IDENTIFIED.decode(event.object).metadata.resource_version
        except UNREADABLE as error:
            raise ApiError(0, f"no event of a watch: {error}") from error
        return self._take(event.type, event.object)

    def _take(self, change: str, raw: Raw) -> str:
        """Take in an object, readable or not, and return its version."""
        try:
            found = self._hand_on(change, raw)
        except Exception:
            # A bug that one object triggers must not keep all other objects away.
            telemetry.OBJECTS_BROKEN.labels(self._kind.name).inc()
            log.exception("object_lost", kind=self._kind.name, change=change)
            # The object exists all the same: what is known of it must not be deleted.
            self._unlisted.discard(_identity(raw).uid)
            return ""
        self._unlisted.discard(found.uid)
        if change == "DELETED":
            self._known.pop(found.uid, None)
        elif found.uid:
            self._known[found.uid] = (found.namespace, found.name)
        return found.resource_version

    def _hand_on(self, change: str, raw: Raw) -> Identity | Metadata:
        if (direct := self._kind.direct) is not None:
            try:
                found: pod_wire.Pod | node_wire.Node = direct.decoder.decode(raw)
                direct.take(self._event_handlers, change, found)
            except (*UNREADABLE, InvalidField):
                pass  # The problem is reported below, unless it is only a null.
            else:
                return found.metadata
        # Lists of some kinds leave the version to the list.
        self._kind.take(self._event_handlers, {"type": change, **self._read(raw)})
        return _identity(raw)

    def _read(self, raw: Raw) -> dict[str, Any]:
        """Return the object; or only its identity, and why the rest cannot be read."""
        try:
            return {"object": {"apiVersion": self._api_version, **ANYTHING.decode(raw)}}
        except UNREADABLE as error:
            metadata = msgspec.to_builtins(_identity(raw))
            body = {"apiVersion": self._api_version, "metadata": metadata}
            why = InvalidField("the object", None, f"cannot be read: {error}")
            return {"object": body, "unreadable": why}


def _identity(raw: Raw) -> Identity:
    """Return the identity of an object; empty if even that cannot be read."""
    try:
        return envelope.IDENTIFIED.decode(raw).metadata
    except UNREADABLE:
        return Identity()
