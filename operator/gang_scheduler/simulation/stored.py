"""Objects of a snapshot, taken in as the watches of `run` take them in.

One that cannot be read counts as it does on a cluster: it is left out, and what still holds of it
holds.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Final

import msgspec

from gang_scheduler.api.kinds import GVR
from gang_scheduler.api.parsing import InvalidField
from gang_scheduler.decode import fields, unreadable
from gang_scheduler.decode.pods.membership import Membership
from gang_scheduler.decode.reader import Object, Reader, Unreadable
from gang_scheduler.simulation.snapshot_files import Stored
from gang_scheduler.state import kinds
from gang_scheduler.wire.metadata import Identified, Identity

_UNREADABLE: Final = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)


class _Peek(msgspec.Struct, rename="camel"):
    """What tells how a line is to be read."""

    kind: str = ""
    api_version: str = ""
    metadata: Identity = Identity()

    @property
    def key(self) -> tuple[str, str, str, str]:
        """What no two objects have: kind, API group, namespace and name."""
        group = self.api_version.rpartition("/")[0]
        return self.kind, group, self.metadata.namespace, self.metadata.name


_PEEK: Final = msgspec.json.Decoder(_Peek)


@dataclass(frozen=True, slots=True)
class Found:
    """The noun of an object of a snapshot, None if nothing holds of it, and a note for users."""

    gvr: GVR | None
    noun: object = None
    note: str = ""
    problem: str = ""


def key_of(stored: Stored) -> tuple[str, str, str, str]:
    """Return kind, API group, namespace and name of an object; empty ones of what is none."""
    try:
        return _PEEK.decode(stored.raw).key
    except _UNREADABLE:
        return _Peek().key


def load(objects: Iterable[Stored], membership: Membership) -> Iterator[Found]:
    """Yield what is found, an object at a time. Costs what `run` pays for its first lists."""
    readers = {
        (row.reader.kind, gvr.api_version): row.reader
        for row in kinds.rows(membership)
        for gvr in row.reader.versions
    }
    for each in objects:
        try:
            peek = _PEEK.decode(each.raw)
        except _UNREADABLE as error:
            yield Found(None, problem=f"{each.place}: {error}")
            continue
        reader = readers.get((peek.kind, peek.api_version))
        if reader is None:
            told = f"{each.place}: {peek.kind} ({peek.api_version}) is of no kind that is read here"
            yield Found(None, problem=told)
        else:
            yield _read(each, reader)


def _read(stored: Stored, reader: Reader[Any]) -> Found:
    if reader.direct is not None:
        try:
            return Found(reader.gvr, reader.direct.read(reader.direct.decoder.decode(stored.raw)))
        except (*_UNREADABLE, InvalidField):
            pass  # What is wrong is told below, unless it is only a null.
    body = msgspec.json.decode(stored.raw)
    try:
        fields.read(body, Identified)
        unreadable.check(unreadable.identity(body))
        return Found(reader.gvr, reader.read(body))
    except InvalidField as error:
        note = f"{stored.place}: {reader.kind} {unreadable.identity(body).key}: {error}; left out"
        return Found(reader.gvr, _what_holds(reader, body, error), note)


def _what_holds(reader: Reader[Any], body: Object, why: InvalidField) -> object:
    rule = reader.if_unreadable
    return None if isinstance(rule, Unreadable) else rule(body, why, None)
