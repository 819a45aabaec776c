"""The format of a recording, and how it is read: lines of JSON, the first of which is a header.

Each other line has the new state of an object, or says that a gang is complete or has ended.
However the recorder ends, the lines that it wrote can be read.
"""

import io
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Annotated, Any, Final

import msgspec
from msgspec import Meta

from gang_scheduler.api.parsing import InvalidField
from gang_scheduler.decode import fields

KIND: Final = "RecordingHeader"
API_VERSION: Final = "py-gang-scheduler.io/v1alpha1"
PACKED: Final = ".gz"
MOST_BYTES: Final = 4 * 2**30
"""The largest size after decompression: a small file could fill all memory."""
KEPT: Final = frozenset(
    {
        *("Node", "ClusterNetworkTopology", "Topology", "Queue", "ResourceFlavor", "ClusterQueue"),
        *("LocalQueue", "Cohort", "PriorityClass", "WorkloadPriorityClass", "Namespace"),
    }
)
"""The kinds of objects that a recording contains and a replay needs."""
NODE: Final = "Node"
_CHUNK: Final = 2**20
_GZIP: Final = 31
"""The option of zlib to expect the header and the end of gzip."""

Moment = Annotated[int, Meta(ge=0, le=2**40)]
Count = Annotated[int, Meta(ge=0, le=2**31 - 1)]
Number = Annotated[int, Meta(ge=1, le=100_000)]
Amount = Annotated[int, Meta(ge=0, le=2**63 - 1)]
"""An amount of a resource: pods may ask for as much as a quantity can say."""
Body = Mapping[str, Any]


class RecordingLine(msgspec.Struct, rename="camel", frozen=True, kw_only=True, omit_defaults=True):
    """Base of the lines of a recording: keys are in camelCase, and default values left out."""


class Header(RecordingLine, frozen=True, kw_only=True):
    """The first line. Times are RFC 3339 here, and seconds since the epoch in all other lines.

    `version` is the version of the program that wrote it. `profile` has the settings that decisions
    depend on, and `profileOf` says where they come from.
    """

    kind: str
    api_version: str
    version: str
    begun_at: str
    anonymized: bool = False
    profile: dict[str, Any] = msgspec.field(default_factory=dict)
    profile_of: str = ""

    @property
    def at(self) -> int:
        """When the recording began, in seconds since the epoch."""
        return fields.timestamp(self.begun_at)


class Gang(RecordingLine, frozen=True, kw_only=True):
    """A gang that is complete, with the fields of a file of jobs (`docs/replay.md`).

    `id` is its number in the recording. The amounts are requests of each of its `pods`. `others` is
    the number of pods with other requests, which are left out.
    """

    id: Count
    name: str
    namespace: str = "default"
    submit: Moment
    pods: Number = 1
    least: Number = msgspec.field(name="min", default=1)
    others: Count = 0
    gpu: Amount = 0
    cpu: str = ""
    memory: str = ""
    gpu_type: str = ""
    queue: str = ""
    priority: Annotated[int, Meta(ge=-(2**31), le=2**31 - 1)] = 0
    priority_class: str = ""
    limit: Annotated[int, Meta(ge=1, le=2**40)] | None = None
    topology: str = ""
    user: str = ""


class End(RecordingLine, frozen=True, kw_only=True):
    """The end of a gang, by the number of the gang.

    `started` is when its quorum was last placed on nodes, None if that never happened. `stopped` is
    when it lost its quorum after that, None if it kept it to the end. `pods` counts all its pods,
    also later ones. `evictions` counts how often it lost its nodes and waited again.
    """

    id: Count
    state: str
    started: Moment | None = None
    stopped: Moment | None = None
    pods: Annotated[int, Meta(ge=0, le=100_000)] = 0
    evictions: Count = 0


class Name(RecordingLine, frozen=True, kw_only=True):
    """The identity of an object that is gone."""

    kind: str
    namespace: str = ""
    name: str


class Line(RecordingLine, frozen=True, kw_only=True):
    """A line after the header: its time, and one of an object, its end, a gang, and its end."""

    at: Moment
    object: dict[str, Any] | None = None
    gone: Name | None = None
    gang: Gang | None = None
    ended: End | None = None

    @property
    def is_one(self) -> bool:
        """Whether the line has exactly one of these parts, as it must."""
        said = (self.object, self.gone, self.gang, self.ended)
        return sum(each is not None for each in said) == 1


_LINE: Final = msgspec.json.Decoder(Line)
_HEADER: Final = msgspec.json.Decoder(Header)
_ENCODER: Final = msgspec.json.Encoder()


def text_of(line: Header | Line) -> bytes:
    """Return the bytes of a line, with the newline."""
    return _ENCODER.encode(line) + b"\n"


# The content of a recording that was read.

UP, CLOSED, GONE = "up", "closed", "gone"
"""The states of a node: it takes new pods; it only keeps its pods; it has no pods."""


@dataclass(frozen=True, slots=True)
class NodeChange:
    """A change of a node's state, to UP, CLOSED or GONE, at a time in seconds since the epoch."""

    at: int
    name: str
    state: str


@dataclass(frozen=True, slots=True)
class RecordedGang:
    """A gang with its end, and the time of the end; None if it had not ended.

    `is_lost`: a later recorder has not found the gang, and its end is in no recording.
    """

    gang: Gang
    end: End | None = None
    ended_at: int = 0
    is_lost: bool = False


@dataclass(frozen=True, slots=True)
class Recorded:
    """The content of a recording.

    `objects` are the last states of all objects. In them nodes are ready and not cordoned;
    `changes` say when nodes were in another state. `is_cut`: the recorder ended within a line.
    """

    header: Header
    objects: Sequence[Body]
    gangs: Sequence[RecordedGang]
    changes: Sequence[NodeChange]
    is_cut: bool = False


class UnreadableRecording(ValueError):  # noqa: N818 - names what is wrong, like InvalidField
    """A recording that cannot be read; the message says which line, and why."""


def is_recording(content: bytes) -> bool:
    """Return whether the content of a file is a recording, by its first line."""
    return _is_header(content[: content.find(b"\n") + 1 or len(content)].strip())


def _is_header(line: bytes) -> bool:
    # Only at the beginning: users write what objects have in labels and annotations.
    return line.startswith(b'{"kind":"' + KIND.encode() + b'"')


def unpacked_so_far(raw: bytes) -> bytes:
    """Return the content of a compressed recording, even if the end of the file was never written.

    Raises ValueError for a file that is no recording, and for a broken file.
    """
    content = inflated(raw)
    if not is_recording(content):
        raise ValueError("is no whole gzip file: it ends too soon")
    return content


def inflated(raw: bytes) -> bytes:
    """Return the readable part of a compressed file. Raises ValueError for a broken file."""
    parts, size, rest = list[bytes](), 0, raw
    try:
        while rest.strip(b"\0"):
            unpacking = zlib.decompressobj(_GZIP)
            parts.append(unpacking.decompress(rest, MOST_BYTES + 1 - size))
            size += len(parts[-1])
            if size > MOST_BYTES:
                raise ValueError(f"has more than {MOST_BYTES} bytes")
            rest = unpacking.unused_data
    except zlib.error as error:
        raise ValueError(f"is no whole gzip file: {error}") from error
    return b"".join(parts)


def read(content: bytes) -> Recorded:
    """Return the content of a recording. Several recordings one after the other count as one.

    Half a line at the end is left out. Raises UnreadableRecording for any other damaged line.
    """
    reading = _Reading()
    lines = [pair for pair in enumerate(io.BytesIO(content), start=1) if pair[1].strip()]
    for place, (number, line) in enumerate(lines):
        try:
            reading.take(line)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError, InvalidField) as error:
            is_last = place == len(lines) - 1 and not line.endswith(b"\n")
            if not (is_last and reading.header is not None):
                raise UnreadableRecording(f"line {number}: {error}") from error
            reading.is_cut = True
    return reading.found()


Key = tuple[str, str, int, int]
"""Namespace, name and time of a gang, and how many equal gangs had ended before."""


@dataclass(slots=True)
class _Reading:
    """The content of the lines that were read so far."""

    header: Header | None = None
    is_cut: bool = False
    _begun_at: int = 0
    _objects: dict[tuple[str, str, str, str], Body] = field(default_factory=dict)
    _states: dict[str, str] = field(default_factory=dict)
    _changes: list[NodeChange] = field(default_factory=list)
    _listed: set[str] = field(default_factory=set)
    _gangs: dict[Key, RecordedGang] = field(default_factory=dict)
    _by_id: dict[int, Key] = field(default_factory=dict)
    _seen: set[Key] = field(default_factory=set)
    """The gangs that the recorder of the present part has found."""

    def take(self, text: bytes) -> None:
        """Add a line. Raises DecodeError and InvalidField."""
        if self.header is None or _is_header(text.strip()):
            self._begin(_HEADER.decode(text))
            return
        line = _LINE.decode(text)
        if not line.is_one:
            raise InvalidField("the line", text.decode()[:60], "must say one thing")
        if line.object is not None:
            self._take_object(line.at, line.object)
        elif line.gone is not None:
            gone = line.gone
            if gone.kind == NODE:
                self._turn(line.at, gone.name, GONE)
        elif line.gang is not None:
            self._take_gang(line.gang)
        elif line.ended is not None:
            self._take_end(line.at, line.ended)

    def found(self) -> Recorded:
        """Return the whole recording. Raises UnreadableRecording if it has no header."""
        if self.header is None:
            raise UnreadableRecording("has no header")
        self._leave_unlisted()
        return Recorded(
            self.header,
            tuple(self._objects.values()),
            tuple(self._found_gang(key, each) for key, each in self._gangs.items()),
            tuple(sorted(self._changes, key=lambda each: (each.at, each.name))),
            self.is_cut,
        )

    def _found_gang(self, key: Key, recorded: RecordedGang) -> RecordedGang:
        is_lost = recorded.end is None and key not in self._seen
        return replace(recorded, is_lost=True) if is_lost else recorded

    def _begin(self, header: Header) -> None:
        if header.kind != KIND:
            raise InvalidField("kind", header.kind, f"must be {KIND}")
        if header.api_version != API_VERSION:
            raise InvalidField("apiVersion", header.api_version, f"must be {API_VERSION}")
        begun_at = fields.timestamp(header.begun_at, "begunAt")
        if self.header is None:
            self.header = header
        else:
            self._leave_unlisted()
        self._begun_at, self._listed = begun_at, set()
        self._by_id.clear()
        self._seen.clear()

    def _leave_unlisted(self) -> None:
        """Note as gone the nodes that a recorder did not list when it began."""
        for name in sorted(self._states.keys() - self._listed):
            self._turn(self._begun_at, name, GONE)

    def _take_object(self, at: int, body: Body) -> None:
        metadata = body.get("metadata")
        if body.get("kind") not in KEPT or not isinstance(metadata, dict):
            raise InvalidField("object", body.get("kind"), "must be of a kind that is recorded")
        kind, name = str(body["kind"]), metadata.get("name")
        if not isinstance(name, str) or not name:
            raise InvalidField("object.metadata.name", name, "must be a name")
        key = (kind, str(body.get("apiVersion")), str(metadata.get("namespace", "")), name)
        if kind != NODE:
            self._objects[key] = body
            return
        state = state_of(body)
        if name not in self._states and self.header is not None and at > self.header.at:
            self._changes.append(NodeChange(0, name, GONE))
            self._states[name] = GONE
        self._listed.add(name)
        self._objects[key] = as_up(body)
        self._turn(at if name in self._states else 0, name, state)

    def _turn(self, at: int, name: str, state: str) -> None:
        if self._states.get(name, UP) != state:
            self._changes.append(NodeChange(at, name, state))
        self._states[name] = state

    def _take_gang(self, gang: Gang) -> None:
        number = 0
        # If one recording follows another, both have the gangs that existed when the second one
        # began.
        while (key := (gang.namespace, gang.name, gang.submit, number)) in self._gangs:
            if self._gangs[key].end is None:
                break
            number += 1
        self._by_id[gang.id] = key
        self._seen.add(key)
        self._gangs.setdefault(key, RecordedGang(gang))

    def _take_end(self, at: int, end: End) -> None:
        key = self._by_id.get(end.id)
        if key is None:
            raise InvalidField("ended.id", end.id, "must be that of a gang before")
        self._gangs[key] = replace(self._gangs[key], end=end, ended_at=at)


def state_of(node: Body) -> str:
    """Return the state of a node (UP, CLOSED or GONE) from its manifest."""
    if _is_ready(node):
        return CLOSED if (node.get("spec") or {}).get("unschedulable") else UP
    return GONE


def _is_ready(node: Body) -> bool:
    conditions = (node.get("status") or {}).get("conditions") or ()
    ready = (each.get("status") for each in conditions if each.get("type") == "Ready")
    return next(ready, "True") == "True"


def as_up(node: Body) -> Body:
    """Return the manifest of a node as it is when the node takes new pods."""
    spec = {k: v for k, v in (node.get("spec") or {}).items() if k != "unschedulable"}
    taints = [each for each in spec.get("taints") or () if not _is_of_state(each)]
    status = {k: v for k, v in (node.get("status") or {}).items() if k != "conditions"}
    conditions = [{"type": "Ready", "status": "True"}]
    return {
        **node,
        "spec": {**spec, "taints": taints},
        "status": {**status, "conditions": conditions},
    }


_OF_STATE: Final = "node.kubernetes.io/"


def _is_of_state(taint: Mapping[str, Any]) -> bool:
    """Return whether Kubernetes sets a taint only while the node is in some state."""
    return str(taint.get("key", "")).startswith(_OF_STATE)
