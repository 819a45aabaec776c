"""Snapshots of an API server or of files, written to a file and checked against the cluster."""

import gzip
import io
import os
import tempfile
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Final, NamedTuple

import msgspec
from msgspec.json import Decoder

from gang_scheduler import __version__
from gang_scheduler.api.kinds import GVR
from gang_scheduler.decode.events import EventHandlers, KindHandler
from gang_scheduler.decode.reader import HasMetadata, Object
from gang_scheduler.from_settings import written_settings
from gang_scheduler.inspection import files
from gang_scheduler.inspection.cluster import Cluster
from gang_scheduler.model.gangs import Gang
from gang_scheduler.model.plan import Bind, Plan, Preemption
from gang_scheduler.model.queues import Product
from gang_scheduler.model.scheduler_events import SchedulerEvent
from gang_scheduler.model.wording import rfc3339
from gang_scheduler.recording import wire_shapes
from gang_scheduler.scheduler.cycle import schedule
from gang_scheduler.settings.policy import Policy
from gang_scheduler.simulation import documents, snapshot_files
from gang_scheduler.simulation.documents import Document, Item, Problem
from gang_scheduler.simulation.objects import Objects, UnreadableInput
from gang_scheduler.simulation.snapshot_files import Header, Stored
from gang_scheduler.state import kinds

if TYPE_CHECKING:
    from gang_scheduler.inspection.servers import Server


# The objects are recorded while the cache is filled, so both are of the same moment.

PLACES: Mapping[str, int] = {each.reader.name: i for i, each in enumerate(kinds.KINDS)}
"""The order of kinds in a snapshot."""


class Line(NamedTuple):
    """An object of a snapshot: the place of its kind, its name, and its JSON text."""

    place: int
    namespace: str
    name: str
    uid: str
    text: bytes


def line_of_body(gvr: GVR, body: Mapping[str, Any]) -> Line:
    """Return the line for an object of the API, with the fields that a snapshot has."""
    reader = kinds.of(gvr).reader
    written = wire_shapes.of_body(reader.gvr, reader.kind, body)
    return line_of_written(PLACES[reader.name], written)


def line_of_written(place: int, written: Mapping[str, Any]) -> Line:
    """Return the line for the fields that a snapshot has of an object."""
    metadata = written.get("metadata") or {}
    namespace, name, uid = (str(metadata.get(each, "")) for each in ("namespace", "name", "uid"))
    return Line(place, namespace, name, uid, msgspec.json.encode(written))


class Recorder:
    """Records the line of each object, by kind and uid, before the handlers get the object."""

    def __init__(self, event_handlers: EventHandlers) -> None:
        self.versions = event_handlers.versions
        self.lines: dict[tuple[str, str], Line] = {}
        self.all = tuple(_Recording(each, self.lines) for each in event_handlers.all)


class _Recording:
    """Records the objects of one kind, and passes them on to its handler."""

    def __init__(self, handler: KindHandler[Any], lines: dict[tuple[str, str], Line]) -> None:
        self.name = handler.name
        self.versions = handler.versions
        self._kind = kinds.of(handler.versions[0]).reader.kind
        self._handler = handler
        self._lines = lines

    @property
    def decoder(self) -> Decoder[Any] | None:
        """The decoder of an object."""
        return self._handler.decoder

    def handle(self, event: Object) -> None:
        """Handle an event, and record the object."""
        self._handler.handle(event)
        line = line_of_body(self.versions[0], event["object"])
        if event["type"] == "DELETED":
            self._lines.pop((self.name, line.uid), None)
        else:
            self._lines[self.name, line.uid] = line

    def handle_decoded(self, change: str, source: HasMetadata) -> None:
        """Handle a decoded event, and record the object.

        Raises InvalidField without any effect.
        """
        self._handler.handle_decoded(change, source)
        metadata, gvr = source.metadata, self.versions[0]
        text = wire_shapes.of_struct(gvr, self._kind, source)
        self._lines[self.name, metadata.uid] = Line(
            *(PLACES[self.name], metadata.namespace, metadata.name, metadata.uid), text
        )


# The content of a snapshot file: a header, and a line for each object. Equal objects give equal
# bytes.

PACKED: Final = ".gz"
LEVEL: Final = 6
"""The level of compression. The next level takes twice as long and saves a hundredth."""


@dataclass(frozen=True, slots=True, eq=False)
class Snapshot:
    """A header and the lines of objects in their order, with the cluster they were read from."""

    header: Header
    lines: tuple[Line, ...]
    cluster: Cluster

    def content(self) -> Iterator[bytes]:
        """Yield the lines of the file."""
        yield msgspec.json.encode(self.header) + b"\n"
        for each in self.lines:
            yield each.text + b"\n"


def counts(lines: Iterable[Line]) -> dict[str, int]:
    """Return how many objects there are, by the name of their kind."""
    found = Counter(each.place for each in lines)
    return {kinds.KINDS[place].reader.name: found[place] for place in sorted(found)}


def packed(content: Iterable[bytes]) -> bytes:
    """Return compressed lines. Name and time are left out, so equal lines give equal bytes."""
    into = io.BytesIO()
    with gzip.GzipFile("", "wb", LEVEL, into, mtime=0) as file:
        file.writelines(content)
    return into.getvalue()


def write_files(content: bytes, path: Path) -> None:
    """Write a file that only its owner may read; on an error no file is left. Raises OSError."""
    with replacing(path) as file:
        file.write(content)


@contextmanager
def replacing(path: Path) -> Iterator[IO[bytes]]:
    """Provide a new file that replaces the file at a path, unless an error is raised."""
    descriptor, beside = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(descriptor, "wb") as file:
            yield file
        Path(beside).replace(path)
    except BaseException:
        Path(beside).unlink(missing_ok=True)
        raise


async def of_server(server: "Server") -> Snapshot:
    """Return the snapshot of a cluster. Raises ApiError, 403 if nodes or pods may not be listed."""
    # Here, since files need no Kubernetes client.
    from gang_scheduler.inspection import live, past_events  # noqa: PLC0415

    recorders: list[Recorder] = []

    def seen_by(event_handlers: EventHandlers) -> Recorder:
        recorders.append(Recorder(event_handlers))
        return recorders[0]

    operator = await live.read_profiles(server)
    cluster = await live.everything(server, operator, seen_by)
    events = await past_events.of_scheduler(server)
    kubernetes = await _version_of(server)
    return of_recorded(cluster, recorders[0], kubernetes=kubernetes, events=events)


def of_recorded(
    cluster: Cluster,
    recorder: Recorder,
    *,
    kubernetes: str = "",
    events: list[SchedulerEvent] | None = None,
) -> Snapshot:
    """Return the snapshot of a cluster from the objects recorded while it was filled."""
    lines = tuple(sorted(recorder.lines.values()))
    served = (gvr.name for each, gvr in kinds.QUEUES_NAMED.items() if each in _served(cluster))
    header = _header(
        cluster,
        kubernetes=kubernetes,
        counts=dict.fromkeys(served, 0) | counts(lines),
        not_readable=list(cluster.unread),
        events=events,
    )
    return Snapshot(header, lines, cluster)


async def _version_of(server: "Server") -> str:
    """Return the version of an API server; "" if it does not tell."""
    from gang_scheduler.client.errors import UNREADABLE, ApiError  # noqa: PLC0415

    try:
        answer = await server.connection.request("GET", "/version")
        return str(msgspec.json.decode(answer, type=dict[str, Any]).get("gitVersion", ""))
    except (ApiError, *UNREADABLE):
        return ""


def of_files(filenames: Sequence[str], policy: Policy, at: int | None = None) -> Snapshot:
    """Return the snapshot of manifests, or of a snapshot.

    Raises UnreadableInput with all faults in the files.
    """
    return of_items(list(documents.read(filenames)), policy, at)


def of_items(items: Sequence[Item], policy: Policy, at: int | None = None) -> Snapshot:
    """Return the snapshot of the items of files."""
    stored = [each for each in items if isinstance(each, Stored)]
    manifest = next((each for each in items if isinstance(each, Document)), None)
    if stored and manifest is not None:
        must = f"is a manifest, but {stored[0].file} is a snapshot: give only one of both"
        raise UnreadableInput([Problem(f"{manifest.place}: {must}")])
    cluster, found = files.loaded(items, policy, at=at)
    if not stored:
        lines = tuple(_lines_of(found))
        header = _header(cluster, source=snapshot_files.FILES, counts=counts(lines))
        return Snapshot(header, lines, cluster)
    lines = tuple(sorted(map(_line_of, stored)))
    header = msgspec.structs.replace(
        stored[0].header,
        profile=written_settings(cluster.policy, cluster.cache),
        taken_at=rfc3339(cluster.read_at),
    )
    return Snapshot(header, lines, cluster)


def _lines_of(found: Objects) -> list[Line]:
    """Return the lines of manifests, in the order of age that the manifests have."""
    return [line_of_body(each.gvr, each.body) for each in found.loaded if each.body is not None]


def _line_of(stored: Stored) -> Line:
    """Return the line of an object of a snapshot, with the fields that are read now."""
    body = msgspec.json.decode(stored.raw, type=dict[str, Any])
    kind = str(body.get("kind"))
    reader = next(
        row.reader
        for row in kinds.KINDS
        if row.reader.kind == kind
        and body.get("apiVersion") in {gvr.api_version for gvr in row.reader.versions}
    )
    return line_of_body(reader.gvr, body)


def _header(cluster: Cluster, **more: Any) -> Header:  # noqa: ANN401 - other fields of a header.
    return Header(
        kind=snapshot_files.KIND,
        api_version=snapshot_files.API_VERSION,
        version=__version__,
        taken_at=rfc3339(cluster.read_at),
        profile=written_settings(cluster.policy, cluster.cache),
        profile_of=cluster.settings_of,
        **more,
    )


def _served(cluster: Cluster) -> frozenset[Product]:
    return cluster.cache.queues.served


# Checks that the scheduler decides on the file as on the cluster.

Rename = Callable[[str], str]
Pods = tuple[tuple[str, str], ...]


class Decisions(NamedTuple):
    """The decisions of a cycle, in its order: pods by uid, with their nodes."""

    placed: tuple[tuple[str, Pods], ...]
    preemptions: tuple[tuple[str, Pods, tuple[str, ...]], ...]
    refused: tuple[tuple[str, str], ...]
    reservations: tuple[tuple[str, int | None], ...]


def decisions(cluster: Cluster, rename: Rename = str) -> Decisions:
    """Return the decisions of the next cycle, with replaced names."""
    plan: Plan = schedule(cluster.snapshot(), cluster.profile, to_the_end=True)
    return Decisions(
        tuple((_key(each.gang, rename), _pods(each.binds, rename)) for each in plan.placed),
        tuple(_preemption(each, rename) for each in plan.preemptions),
        tuple((_key(each.gang, rename), each.reason.value) for each in plan.refused),
        tuple((_keys(each.gangs, rename), each.start) for each in plan.reservations),
    )


def differences(name: str, content: bytes, cluster: Cluster, rename: Rename = str) -> Iterator[str]:
    """Yield a line for each kind of decision that differs between file and cluster.

    Raises UnreadableInput if the content cannot be read back.
    """
    read_back, _ = files.loaded(list(documents.of_content(name, content)), Policy())
    found, expected = decisions(read_back), decisions(cluster, rename)
    for what, one, other in zip(Decisions._fields, expected, found, strict=True):
        if one != other:
            pairs = zip((*one, None), (*other, None), strict=False)
            first, instead = next(pair for pair in pairs if pair[0] != pair[1])
            yield f"{name}: {what} differ from those of the cluster: {instead} instead of {first}"


def _preemption(preemption: Preemption, rename: Rename) -> tuple[str, Pods, tuple[str, ...]]:
    victims = tuple(sorted(rename(each.pod.uid) for each in preemption.victims))
    gangs = _keys(preemption.gangs, rename)
    return gangs, _pods(preemption.nominations, rename), victims


def _pods(binds: tuple[Bind, ...], rename: Rename) -> Pods:
    return tuple((rename(each.pod.uid), rename(each.node)) for each in binds)


def _keys(gangs: tuple[Gang, ...], rename: Rename) -> str:
    return " ".join(_key(each, rename) for each in gangs)


def _key(gang: Gang, rename: Rename) -> str:
    """Return the source, namespace and name of a gang."""
    source, namespace, name = gang.key
    return f"{source} {rename(namespace)}/{rename(name)}"
