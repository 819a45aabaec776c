"""Writes down what a cache is filled with: the same objects, of the same moment."""

from collections.abc import Mapping
from typing import Any, NamedTuple

import msgspec
from msgspec.json import Decoder

from gang_scheduler.api.kinds import GVR
from gang_scheduler.decode.event_handlers import EventHandlers, KindHandler
from gang_scheduler.decode.reader import HasMetadata, Object
from gang_scheduler.inspection.snapshots import whitelist
from gang_scheduler.state import kinds

PLACES: Mapping[str, int] = {each.reader.name: i for i, each in enumerate(kinds.KINDS)}
"""The order of kinds in a snapshot."""


class Line(NamedTuple):
    """An object of a snapshot: its kind by its place among all, its name, and its text."""

    place: int
    namespace: str
    name: str
    uid: str
    text: bytes


def line_of_body(gvr: GVR, body: Mapping[str, Any]) -> Line:
    """Return what is written of an object that is a value."""
    reader = kinds.of(gvr).reader
    written = whitelist.of_body(reader.gvr, reader.kind, body)
    return line_of_written(PLACES[reader.name], written)


def line_of_written(place: int, written: Mapping[str, Any]) -> Line:
    """Return the line of what is written of an object."""
    metadata = written.get("metadata") or {}
    namespace, name, uid = (str(metadata.get(each, "")) for each in ("namespace", "name", "uid"))
    return Line(place, namespace, name, uid, msgspec.json.encode(written))


class Recorder:
    """Stands before the handlers of all kinds, and has a line of each object, by kind and uid."""

    def __init__(self, event_handlers: EventHandlers) -> None:
        self.versions = event_handlers.versions
        self.lines: dict[tuple[str, str], Line] = {}
        self.all = tuple(_Recording(each, self.lines) for each in event_handlers.all)


class _Recording:
    """Stands before the handler of one kind."""

    def __init__(self, handler: KindHandler[Any], lines: dict[tuple[str, str], Line]) -> None:
        self.name = handler.name
        self.versions = handler.versions
        self._kind = kinds.of(handler.versions[0]).reader.kind
        self._handler = handler
        self._lines = lines

    @property
    def decoder(self) -> Decoder[Any] | None:
        """What reads the bytes of an object."""
        return self._handler.decoder

    def take(self, event: Object) -> None:
        """Take in an event, and write the object down as it is now."""
        self._handler.take(event)
        line = line_of_body(self.versions[0], event["object"])
        if event["type"] == "DELETED":
            self._lines.pop((self.name, line.uid), None)
        else:
            self._lines[self.name, line.uid] = line

    def take_decoded(self, change: str, source: HasMetadata) -> None:
        """Take in an event without a detour. Raises InvalidField, having done nothing."""
        self._handler.take_decoded(change, source)
        metadata, gvr = source.metadata, self.versions[0]
        text = whitelist.of_struct(gvr, self._kind, source)
        self._lines[self.name, metadata.uid] = Line(
            *(PLACES[self.name], metadata.namespace, metadata.name, metadata.uid), text
        )
