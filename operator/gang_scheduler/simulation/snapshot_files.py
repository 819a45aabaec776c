"""Snapshot files: a header, then one object per line, usually compressed.

The objects were in a cluster in exactly this form. So no field is filled in, and no pods are made
from workloads. `inspection.snapshots` writes these files.
"""

import gzip
import io
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Final

import msgspec
from msgspec import field
from pydantic import ValidationError

from gang_scheduler.api.kinds import GVR
from gang_scheduler.api.parsing import IS, InvalidField, shortened
from gang_scheduler.decode import fields
from gang_scheduler.decode import reader as decode_reader
from gang_scheduler.decode.pods.membership import Membership
from gang_scheduler.decode.reader import Object, Reader, Unreadable
from gang_scheduler.model.scheduler_events import SchedulerEvent
from gang_scheduler.recording import file_format
from gang_scheduler.recording.file_format import Recorded
from gang_scheduler.settings.policy import Policy
from gang_scheduler.simulation import syntax
from gang_scheduler.state import kinds
from gang_scheduler.wire.base import Identified, Identity

KIND: Final = "SnapshotHeader"
API_VERSION: Final = "py-gang-scheduler.io/v1alpha1"
LIVE, FILES = "live", "files"
MOST_BYTES: Final = 4 * 2**30
"""The largest size after decompression: a small file could fill all memory."""
_GZIP: Final = b"\x1f\x8b"
_CHUNK: Final = 2**20


class Header(msgspec.Struct, rename="camel", frozen=True, kw_only=True):
    """The first line of a snapshot.

    `version` is the version of the program that wrote it, `kubernetes` the API server's. `source`
    is `live`, or `files` if the objects were manifests. `profile` has the settings that decisions
    depend on; `profileOf` says where they are from. `counts` has the number of objects of each
    served kind; `notReadable` are the kinds that could not be read. `events` are the Events of the
    scheduler, null if they are not known. With a `namespace`, other namespaces appear only as
    anonymous usage of nodes.
    """

    kind: str
    api_version: str
    version: str
    taken_at: str
    kubernetes: str = ""
    source: str = LIVE
    namespace: str = ""
    anonymized: bool = False
    profile: dict[str, Any] = field(default_factory=dict)
    profile_of: str = ""
    counts: dict[str, int] = field(default_factory=dict)
    not_readable: list[str] = field(default_factory=list)
    events: list[SchedulerEvent] | None = None

    @property
    def at(self) -> int:
        """When the snapshot was taken, in seconds since the epoch."""
        return fields.timestamp(self.taken_at)


@dataclass(frozen=True, slots=True)
class Stored:
    """An object of a snapshot, as it was in the cluster. `number` is its line in the file."""

    file: str
    number: int
    raw: bytes
    header: Header

    @property
    def place(self) -> str:
        """The place of the object, for messages."""
        return f"{self.file}: line {self.number}"


class UnreadableLine(ValueError):  # noqa: N818 - named after the problem, like InvalidField
    """A line that cannot be read; the message says which line, and why."""


class _Kind(msgspec.Struct):
    kind: str = ""


_KIND: Final = msgspec.json.Decoder(_Kind)
_HEADER: Final = msgspec.json.Decoder(Header)


def unpacked(raw: bytes) -> bytes:
    """Return the content of a file, decompressed if needed. Raises ValueError for a broken file.

    The end of a recording may be missing, if its recorder was killed.
    """
    if not raw.startswith(_GZIP):
        return raw
    parts, size = [], 0
    try:
        with gzip.open(io.BytesIO(raw)) as file:
            while part := file.read(_CHUNK):
                size += len(part)
                if size > MOST_BYTES:
                    raise ValueError(f"has more than {MOST_BYTES} bytes")
                parts.append(part)
    except EOFError:
        return file_format.unpacked_so_far(raw)
    except (OSError, zlib.error) as error:
        raise ValueError(f"is no whole gzip file: {error}") from error
    return b"".join(parts)


def header_of(file: str, content: bytes) -> Header | None:
    """Return the header of a snapshot; None for any other file. Raises UnreadableLine."""
    line = content[: content.find(b"\n") + 1 or len(content)].strip()
    if not line.startswith(b"{") or KIND.encode() not in line:
        return None
    try:
        if _KIND.decode(line).kind != KIND:
            return None
        return _checked(_HEADER.decode(line))
    except (msgspec.DecodeError, RecursionError, InvalidField) as error:
        raise UnreadableLine(f"{file}: line 1: {error}") from error


def _checked(header: Header) -> Header:
    """Return the header. Raises InvalidField for one that is not of this format."""
    if header.api_version != API_VERSION:
        raise InvalidField("apiVersion", header.api_version, f"must be {API_VERSION}")
    fields.timestamp(header.taken_at, "takenAt")
    return header


def header_of_recording(recorded: Recorded) -> Header:
    """Return a snapshot header with the settings and the time of a recording."""
    header = recorded.header
    return Header(
        kind=file_format.KIND,
        api_version=header.api_version,
        version=header.version,
        taken_at=header.begun_at,
        source=FILES,
        anonymized=header.anonymized,
        profile=header.profile,
        profile_of=header.profile_of,
    )


def lines(content: bytes) -> Iterator[tuple[int, bytes]]:
    """Yield the number and the text of each line that is not empty."""
    for number, line in enumerate(io.BytesIO(content), start=1):
        if text := line.strip():
            yield number, text


def value(file: str, number: int, line: bytes) -> dict[str, Any]:
    """Return the object of a line, without nulls, which count as absent. Raises UnreadableLine."""
    try:
        found = msgspec.json.decode(line, type=dict[str, Any])
        # Most lines have no null, and checking each value takes many times as long.
        return next(syntax.values(line.decode())) if b"null" in line else found
    except (
        msgspec.DecodeError,
        UnicodeDecodeError,
        RecursionError,
        syntax.UnreadableText,
    ) as error:
        raise UnreadableLine(f"{file}: line {number}: {error}") from error


def header_among(found: Iterable[object]) -> Header | None:
    """Return the header of the first snapshot of the input."""
    headers = (getattr(each, "header", None) for each in found)
    return next((each for each in headers if each is not None), None)


def policy_of(header: Header | None, given: Policy) -> tuple[Policy, tuple[str, ...]]:
    """Return a snapshot's settings, overridden by the `given` ones, and a note on the overridden.

    Raises InvalidField for settings that make no sense.
    """
    if header is None or not header.profile:
        return given, ()
    known = {name: each for name, each in header.profile.items() if name in Policy.model_fields}
    flags = {name: getattr(given, name) for name in given.model_fields_set}
    try:
        policy = Policy(**known | flags)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, ("profile", *first["loc"])))
        raise InvalidField(
            where, first["input"], f"is wrong ({shortened(first['msg'])})", IS
        ) from error
    of = f" of {header.profile_of}" if header.profile_of else ""
    where = "recording, begun" if header.kind == file_format.KIND else "snapshot, taken"
    notes = [f"settings{of} as in the {where} at {header.taken_at}"]
    if flags:
        notes[0] += f", but for {', '.join(sorted(flags))}"
    if strange := sorted(header.profile.keys() - known.keys()):
        notes.append(f"settings that are not known here: {', '.join(strange)}")
    return policy, tuple(notes)


# Objects of a snapshot, stored as the watches of `run` would store them. For an unreadable object
# the same rules hold as on a cluster.

_UNREADABLE: Final = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)


class _Peek(msgspec.Struct, rename="camel"):
    """The fields of a line that decide how the line is decoded."""

    kind: str = ""
    api_version: str = ""
    metadata: Identity = Identity()

    @property
    def key(self) -> tuple[str, str, str, str]:
        """The identity of the object: kind, API group, namespace and name."""
        group = self.api_version.rpartition("/")[0]
        return self.kind, group, self.metadata.namespace, self.metadata.name


_PEEK: Final = msgspec.json.Decoder(_Peek)


@dataclass(frozen=True, slots=True)
class Found:
    """The decoded object of a snapshot line, None if it is left out, and a note for users."""

    gvr: GVR | None
    decoded: object = None
    note: str = ""
    problem: str = ""


def key_of(stored: Stored) -> tuple[str, str, str, str]:
    """Return kind, API group, namespace and name; empty texts if it is not an object."""
    try:
        return _PEEK.decode(stored.raw).key
    except _UNREADABLE:
        return _Peek().key


def load_stored(objects: Iterable[Stored], membership: Membership) -> Iterator[Found]:
    """Yield the decoded objects one at a time. Costs as much as the first lists of `run`."""
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
            problem = (
                f"{each.place}: {peek.kind} ({peek.api_version}) is of no kind that is read here"
            )
            yield Found(None, problem=problem)
        else:
            yield _read(each, reader)


def _read(stored: Stored, reader: Reader[Any]) -> Found:
    if reader.direct is not None:
        try:
            return Found(reader.gvr, reader.direct.read(reader.direct.decoder.decode(stored.raw)))
        except (*_UNREADABLE, InvalidField):
            pass  # The fault is reported below, unless it is only a null.
    try:
        body = msgspec.json.decode(stored.raw)
    except _UNREADABLE as error:
        # A field that no model names may hold a number that nothing can hold.
        return Found(None, problem=f"{stored.place}: {error}")
    try:
        fields.read(body, Identified)
        decode_reader.check_readable(decode_reader.identity(body))
        return Found(reader.gvr, reader.read(body))
    except InvalidField as error:
        note = (
            f"{stored.place}: {reader.kind} {decode_reader.identity(body).key}: {error}; left out"
        )
        return Found(reader.gvr, _what_holds(reader, body, error), note)


def _what_holds(reader: Reader[Any], body: Object, why: InvalidField) -> object:
    rule = reader.if_unreadable
    return None if isinstance(rule, Unreadable) else rule(body, why, None)
