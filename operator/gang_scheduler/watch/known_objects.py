"""The known objects of one kind: takes in every object, and each deletion once."""

import re
from collections.abc import Collection, Sequence
from typing import Any, Final, Protocol, TypeVar

import msgspec
from msgspec import Raw
from msgspec.json import Decoder

from gang_scheduler import internal_errors
from gang_scheduler.api.kinds import GVR
from gang_scheduler.api.parsing import InvalidField
from gang_scheduler.client.errors import UNREADABLE, ApiError
from gang_scheduler.decode.events import Versions
from gang_scheduler.decode.reader import HasMetadata, Object
from gang_scheduler.telemetry import metrics
from gang_scheduler.wire import base
from gang_scheduler.wire.base import Identified, Identity, ListMetadata, Metadata, Wire

# The envelope of lists and watches. The objects in it are not decoded yet (`Raw`).


class Event(Wire, frozen=True):
    """A line of a watch."""

    type: str
    object: Raw


class Status(Wire, frozen=True):
    """The object of an event of type ERROR."""

    code: int = 0
    message: str = ""


class Page(Wire, frozen=True):
    """A page of a list. The items may be null if it is empty."""

    metadata: ListMetadata
    items: list[Raw] | None = None


EVENT: Final = Decoder(Event)
STATUS: Final = Decoder(Status)
PAGE: Final = Decoder(Page)
IDENTIFIED: Final = Decoder(Identified)

T = TypeVar("T")

DEEPEST: Final = 200
"""At most this many levels of nesting are read.

The decoder would fail a whole page at about a thousand.
"""
_TOKEN: Final = re.compile(rb'"(?:[^"\\]|\\.)*"|[\[\]{}]', re.DOTALL)


def decoded(text: bytes, decoder: Decoder[T]) -> T:
    """Return the decoded text. Raises msgspec.DecodeError.

    Values nested deeper than any field that is read count as null, so that one object cannot make
    all other objects of its page unreadable.
    """
    try:
        return decoder.decode(text)
    except RecursionError:
        return decoder.decode(_without_depths(text))


def _without_depths(text: bytes) -> bytes:
    """Return the JSON text with null in place of values that are too deep. Linear in its length."""
    kept, depth, begin = [], 0, 0
    for token in _TOKEN.finditer(text):
        mark = token[0][:1]
        if mark in (b"[", b"{"):
            depth += 1
            if depth == DEEPEST + 1:
                kept.append(text[begin : token.start()])
        elif mark in (b"]", b"}"):
            if depth == DEEPEST + 1:
                kept.append(b"null")
                begin = token.end()
            depth -= 1
    return b"".join((*kept, text[begin:]))


ANYTHING: Final = msgspec.json.Decoder()


class Handler(Protocol):
    """Handles the events of one kind; `decode.events` makes one for each watched kind."""

    @property
    def name(self) -> str:
        """The name of the kind, as its CRD has it."""

    @property
    def versions(self) -> tuple[GVR, ...]:
        """The API versions of the kind, best first."""

    @property
    def decoder(self) -> Decoder[Any] | None:
        """The decoder of an object's bytes for `handle_decoded`; None if the kind has none."""

    def handle(self, event: Object) -> None:
        """Handle an event whose object is a dict."""

    def handle_decoded(self, change: str, source: HasMetadata) -> None:
        """Handle an event whose object is a struct. Raises InvalidField without any effect."""


class Handlers(Protocol):
    """Handles the objects of all kinds; `EventHandlers` implements it."""

    @property
    def all(self) -> Sequence[Handler]:
        """The handlers of all kinds."""

    @property
    def versions(self) -> Versions:
        """The versions of all listed objects."""


class KnownObjects:
    """Passes the objects of a kind to its handler, and remembers which objects exist.

    `seen` has the versions of the objects of all kinds. A list is taken in by `begin`, `listed` for
    each object, and `end`, which deletes objects that are not in the list. A list that breaks off
    is started again.
    """

    def __init__(self, handler: Handler, seen: Versions) -> None:
        self._handler = handler
        self._seen = seen
        self._api_version = handler.versions[0].api_version
        # By uid: namespace and name.
        self._known: dict[str, tuple[str, str]] = {}
        self._unlisted: set[str] = set()
        self._newest_before = 0

    @property
    def uids(self) -> Collection[str]:
        """The uids of all known objects."""
        return self._known.keys()

    def begin(self, gvr: GVR) -> None:
        """Begin a new list; all its objects have the API version of `gvr`."""
        self._api_version = gvr.api_version
        self._unlisted = set(self._known)
        self._newest_before = self._seen.newest

    def as_of(self, version: str) -> None:
        """Record the version of a list that was requested after the call of `begin`."""
        self._seen.as_of(version, self._newest_before)

    def listed(self, item: Raw) -> None:
        """Handle an object of the list, unless it is known in this version.

        A new leader lists all pods and nodes, but few of them have changed.
        """
        # Kinds without a decoder may be served in several versions; the best version counts. During
        # the first list nothing is known yet, and checking would cost half as much as decoding.
        if self._handler.decoder is not None and self._unlisted:
            found = identity(item)
            if self._seen.has(found.uid, found.resource_version):
                self._unlisted.discard(found.uid)
                self._known[found.uid] = (found.namespace, found.name)
                return
        self._take("ADDED", item)

    def end(self) -> None:
        """Delete all objects that were known before the list and are not in it."""
        for uid in sorted(self._unlisted):
            namespace, name = self._known[uid]
            metadata = {"uid": uid, "namespace": namespace, "name": name}
            self._take("DELETED", Raw(msgspec.json.encode({"metadata": metadata})))
        self._unlisted = set()

    def forget(self) -> None:
        """Forget all objects: the kind may not be read, or its CRD is gone.

        If the objects are listed again, even an unchanged object must count as new.
        """
        known = [*self._known]
        self._unlisted = set(known)
        self.end()
        for uid in known:
            self._seen.forget(uid)

    def changed(self, line: bytes) -> str:
        """Handle a line of a watch; return the version to watch from, "" if it stays the same.

        Raises ApiError for an event of type ERROR, and for a line that is no event.
        """
        try:
            event = decoded(line, EVENT)
            if event.type == "ERROR":
                status = STATUS.decode(event.object)
                raise ApiError(status.code, status.message)
            if event.type == "BOOKMARK":
                return IDENTIFIED.decode(event.object).metadata.resource_version
        except UNREADABLE as error:
            raise ApiError(0, f"no event of a watch: {error}") from error
        return self._take(event.type, event.object)

    def _take(self, change: str, raw: Raw) -> str:
        """Handle an object, readable or not, and return its version."""
        try:
            found = self._hand_on(change, raw)
        except Exception as error:
            # A bug that one object triggers must not block all others.
            metrics.OBJECTS_BROKEN.labels(self._handler.name).inc()
            found = identity(raw)
            about = f"{self._handler.name} {found.namespace}/{found.name}"
            internal_errors.note("take in", about, error)
            # The object still exists, so its earlier state must not be reported as deleted.
            self._unlisted.discard(found.uid)
            return ""
        self._unlisted.discard(found.uid)
        if change == "DELETED":
            self._known.pop(found.uid, None)
        elif found.uid:
            self._known[found.uid] = (found.namespace, found.name)
        return found.resource_version

    def _hand_on(self, change: str, raw: Raw) -> Identity | Metadata:
        decoder = self._handler.decoder
        # Long texts of such an object are cut where it is taken in as a dict.
        if decoder is not None and len(memoryview(raw)) <= base.LONGEST_TEXT:
            try:
                found: HasMetadata = decoder.decode(raw)
                self._handler.handle_decoded(change, found)
            except (*UNREADABLE, InvalidField):
                pass  # The fault is reported below, unless it is only a null.
            else:
                return found.metadata
        # Lists of some kinds give the version only once, for the whole list.
        self._handler.handle({"type": change, **self._read(raw)})
        return identity(raw)

    def _read(self, raw: Raw) -> dict[str, Any]:
        """Return the object; or only its identity, and why the rest is unreadable."""
        try:
            return {"object": {"apiVersion": self._api_version, **ANYTHING.decode(raw)}}
        except UNREADABLE as error:
            metadata = msgspec.to_builtins(identity(raw))
            body = {"apiVersion": self._api_version, "metadata": metadata}
            why = InvalidField("the object", None, f"cannot be read: {error}")
            return {"object": body, "unreadable": why}


def identity(raw: Raw) -> Identity:
    """Return the identity of an object; empty if even that is unreadable."""
    try:
        return IDENTIFIED.decode(raw).metadata
    except UNREADABLE:
        return Identity()
