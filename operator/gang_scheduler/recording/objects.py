"""The objects of a cluster that a recording contains: nodes, networks, queues, and their names.

The objects are noted on their way into a cache, with the fields that a snapshot has of them, except
fields that change without meaning: uids and versions.
"""

import functools
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

import msgspec

from gang_scheduler.decode.events import LeftOut, Sink
from gang_scheduler.decode.reader import Direct, Object, Reader
from gang_scheduler.recording import wire_shapes
from gang_scheduler.recording.file_format import KEPT, NODE, Line, Name, as_up, state_of
from gang_scheduler.state import kinds

Body = dict[str, Any]
ReaderAndSink = tuple[Reader[Any], Sink[Any]]
_GVRS = {each.reader.kind: each.reader.gvr for each in kinds.KINDS if each.reader.kind in KEPT}
_METADATA = ("name", "namespace", "labels", "annotations", "creationTimestamp")


class Objects:
    """Notes objects of recorded kinds on their way into a cache, and makes their lines.

    Objects that cannot be read come through `left_out`.
    """

    def __init__(self) -> None:
        self._now: dict[str, Body] = {}
        self._written: dict[str, Body] = {}
        self._changed: set[str] = set()

    def noting(self, all_kinds: Iterable[ReaderAndSink]) -> list[ReaderAndSink]:
        """Return readers and sinks of all kinds; those of recorded kinds note each object."""
        return [
            _Noting(reader, sink, self).pair if reader.kind in KEPT else (reader, sink)
            for reader, sink in all_kinds
        ]

    def left_out(self, each: LeftOut) -> None:
        """Note an object of a recorded kind that the cache leaves out."""
        if each.kind in KEPT:
            body = wire_shapes.of_body(_GVRS[each.kind], each.kind, each.obj)
            self.note(str((each.obj.get("metadata") or {}).get("uid", "")), body)

    def note(self, uid: str, body: Body | None) -> None:
        """Note the state of an object; None if the object is gone."""
        if body is None:
            self._now.pop(uid, None)
        else:
            self._now[uid] = _plain(body)
        self._changed.add(uid)

    def start_over(self) -> None:
        """Forget which objects were recorded: the next file begins with all present objects."""
        self._written.clear()
        self._changed = set(self._now)

    def lines(self, now: int) -> Iterator[Line]:
        """Yield the lines for objects that have changed, sorted by kind."""
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


class _Noting(Sink[Any]):
    """A sink that also notes the objects of one kind, except states older than the known one.

    An object that is passed on was read just before: handlers do not await between the two.
    """

    def __init__(self, reader: Reader[Any], sink: Sink[Any], objects: Objects) -> None:
        self._reader = reader
        self._sink = sink
        self._objects = objects
        self._read: tuple[str, Body] | None = None

    @property
    def pair(self) -> ReaderAndSink:
        """A reader that notes what it reads, and this sink: they replace those of the kind."""
        known = self._reader.direct
        direct = known and Direct(known.decoder, functools.partial(self._read_decoded, known.read))
        return replace(self._reader, read=self._read_object, direct=direct), self

    def upsert(self, decoded: Any, /) -> None:  # noqa: ANN401 - of any kind.
        """Pass an object on, and note its state."""
        if self._read is not None:
            self._objects.note(*self._read)
        self._read = None
        self._sink.upsert(decoded)

    def delete(self, uid: str, /) -> None:
        """Pass a deletion on, and note that the object is gone."""
        self._objects.note(uid, None)
        self._sink.delete(uid)

    def uids(self) -> Collection[str]:
        """Return the uids of all known objects."""
        return self._sink.uids()

    def known(self, uid: str, /) -> Any:  # noqa: ANN401 - of any kind.
        """Return the known state of an object."""
        return self._sink.known(uid)

    def _read_object(self, obj: Object) -> Any:  # noqa: ANN401 - of any kind.
        reader = self._reader
        uid = str((obj.get("metadata") or {}).get("uid", ""))
        body = wire_shapes.of_body(reader.gvr, reader.kind, obj)
        self._read = None
        decoded = reader.read(obj)
        self._read = uid, body
        return decoded

    def _read_decoded(self, read: Callable[[Any], Any], source: Any) -> Any:  # noqa: ANN401 - of any kind.
        decoded = read(source)
        text = wire_shapes.of_struct(self._reader.gvr, self._reader.kind, source)
        self._read = source.metadata.uid, msgspec.json.decode(text)
        return decoded


def _plain(body: Body) -> Body:
    """Return an object without fields that change without meaning."""
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
    """Return whether two states of an object are the same for a replay."""
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
