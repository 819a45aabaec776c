"""The objects of a cluster that a recording has: nodes, networks, queues, and what these name.

They are noted on their way into a cache, with the fields that a snapshot has of them, but for what
changes without any meaning: uids and versions.
"""

from collections.abc import Iterator, Mapping
from typing import Any

import msgspec
from msgspec.json import Decoder

from gang_scheduler.api.kinds import GVR
from gang_scheduler.decode.events import EventHandlers, KindHandler
from gang_scheduler.decode.reader import HasMetadata, Object
from gang_scheduler.recording import whitelist
from gang_scheduler.recording.form import KEPT, NODE, Line, Name, as_up, state_of
from gang_scheduler.state import kinds

Body = dict[str, Any]
_METADATA = ("name", "namespace", "labels", "annotations", "creationTimestamp")


class Objects:
    """The handlers of all kinds, which note the objects that are recorded; and the lines of these.

    Each state is noted before the cache has it: one that cannot be read is recorded, too.
    """

    def __init__(self, event_handlers: EventHandlers) -> None:
        self.versions = event_handlers.versions
        self.all = tuple(
            _Noting(each, self) if _kind(each.versions[0]) in KEPT else each
            for each in event_handlers.all
        )
        self._now: dict[str, Body] = {}
        self._written: dict[str, Body] = {}
        self._changed: set[str] = set()

    def note(self, uid: str, body: Body | None) -> None:
        """Take in the state of an object; None: it is gone."""
        if body is None:
            self._now.pop(uid, None)
        else:
            self._now[uid] = _plain(body)
        self._changed.add(uid)

    def start_over(self) -> None:
        """Forget what is recorded: all that is there is recorded again, in another file."""
        self._written.clear()
        self._changed = set(self._now)

    def lines(self, now: int) -> Iterator[Line]:
        """Yield what is new, the oldest kinds of the table of kinds first."""
        changed, self._changed = self._changed, set()
        found = [(self._written.get(uid), self._now.get(uid), uid) for uid in changed]
        for before, after, uid in sorted(found, key=_place):
            if after is None:
                self._written.pop(uid, None)
                if before is not None:
                    yield Line(at=now, gone=_name(before))
            elif before is None or not _alike(before, after):
                self._written[uid] = after
                yield Line(at=now, object=after)


class _Noting:
    """Notes the objects of one kind, and passes them on."""

    def __init__(self, handler: KindHandler[Any], objects: Objects) -> None:
        self.name = handler.name
        self.versions = handler.versions
        self._kind = _kind(handler.versions[0])
        self._handler = handler
        self._objects = objects

    @property
    def decoder(self) -> Decoder[Any] | None:
        """The decoder of an object."""
        return self._handler.decoder

    def take(self, event: Object) -> None:
        """Take in an event, and note the object."""
        self._handler.take(event)
        body = event["object"]
        uid = str((body.get("metadata") or {}).get("uid", ""))
        if event["type"] == "DELETED":
            self._objects.note(uid, None)
        else:
            gvr = kinds.of(self.versions[0]).reader.gvr
            self._objects.note(uid, whitelist.of_body(gvr, self._kind, body))

    def take_decoded(self, change: str, source: HasMetadata) -> None:
        """Take in an event without a detour. Raises InvalidField, having done nothing."""
        self._handler.take_decoded(change, source)
        if change == "DELETED":
            self._objects.note(source.metadata.uid, None)
        else:
            text = whitelist.of_struct(self.versions[0], self._kind, source)
            self._objects.note(source.metadata.uid, msgspec.json.decode(text))


def _kind(gvr: GVR) -> str:
    return kinds.of(gvr).reader.kind


def _plain(body: Body) -> Body:
    """Return an object without what changes and means nothing."""
    metadata = body.get("metadata") or {}
    known = {name: metadata[name] for name in _METADATA if metadata.get(name)}
    found = {**body, "metadata": known}
    if body.get("kind") != NODE:
        return {name: each for name, each in found.items() if name != "status"}
    status = dict(body.get("status") or {})
    conditions = [
        {"type": "Ready", "status": str(each.get("status"))}
        for each in status.get("conditions") or ()
        if isinstance(each, Mapping) and each.get("type") == "Ready"
    ]
    return {**found, "status": {**status, "conditions": conditions}}


def _alike(before: Body, after: Body) -> bool:
    """Return whether a replay could not tell two states of an object from each other."""
    if before == after:
        return True
    if before.get("kind") != NODE:
        return False
    return state_of(before) == state_of(after) and as_up(before) == as_up(after)


def _name(body: Body) -> Name:
    metadata = body["metadata"]
    namespace = str(metadata.get("namespace", ""))
    return Name(kind=str(body["kind"]), namespace=namespace, name=str(metadata["name"]))


def _place(found: tuple[Body | None, Body | None, str]) -> tuple[str, str, str, str]:
    body = found[1] or found[0]
    if body is None:
        return "", "", "", found[2]
    metadata = body["metadata"]
    return (
        *(str(body["kind"]), str(metadata.get("namespace", "")), str(metadata.get("name", ""))),
        found[2],
    )
