"""Snapshots of an API server, and of files."""

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final

import msgspec

from gang_scheduler import __version__
from gang_scheduler.decode.event_handlers import EventHandlers
from gang_scheduler.inspection import files as clusters_of_files
from gang_scheduler.inspection.clusters import Cluster
from gang_scheduler.inspection.snapshots import recording
from gang_scheduler.inspection.snapshots.files import Snapshot, counts
from gang_scheduler.inspection.snapshots.recording import Line, Recorder
from gang_scheduler.model.queues import Product
from gang_scheduler.settings.choices import QuotaOf
from gang_scheduler.settings.policy import Policy
from gang_scheduler.simulation import documents, snapshot_files
from gang_scheduler.simulation.documents import Document, Item, Problem
from gang_scheduler.simulation.objects import Objects, UnreadableInput
from gang_scheduler.simulation.snapshot_files import Header, Stored, Told
from gang_scheduler.state import kinds

if TYPE_CHECKING:
    from gang_scheduler.inspection.servers import Server

_SETTINGS: Final = {Product.KUEUE: "kueue", Product.VOLCANO: "volcano"}
"""The settings that say whether quota of a product is enforced."""


async def of_server(server: "Server") -> Snapshot:
    """Return the snapshot of a cluster. Raises ApiError, 403 if nodes or pods may not be listed."""
    # Here, since files need no Kubernetes client.
    from gang_scheduler.inspection import history, live, profiles  # noqa: PLC0415

    recorders: list[Recorder] = []

    def seen_by(event_handlers: EventHandlers) -> Recorder:
        recorders.append(Recorder(event_handlers))
        return recorders[0]

    operator = await profiles.read(server)
    cluster = await live.everything(server, operator, seen_by)
    events = await history.of_scheduler(server)
    kubernetes = await _version_of(server)
    return of_recorded(cluster, recorders[0], kubernetes=kubernetes, events=events)


def of_recorded(
    cluster: Cluster,
    recorder: Recorder,
    *,
    kubernetes: str = "",
    events: list[Told] | None = None,
) -> Snapshot:
    """Return the snapshot of a cluster whose objects were written down as it was filled."""
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
    """Return the version of an API server, "" where it does not tell."""
    from gang_scheduler.client.errors import UNREADABLE, ApiError  # noqa: PLC0415

    try:
        answer = await server.connection.request("GET", "/version")
        return str(msgspec.json.decode(answer, type=dict[str, Any]).get("gitVersion", ""))
    except (ApiError, *UNREADABLE):
        return ""


def of_files(filenames: Sequence[str], policy: Policy, at: int | None = None) -> Snapshot:
    """Return the snapshot of manifests, or a snapshot once more.

    Raises UnreadableInput with all that is wrong in the files.
    """
    return of_items(list(documents.read(filenames)), policy, at)


def of_items(items: Sequence[Item], policy: Policy, at: int | None = None) -> Snapshot:
    """Return the same of what was read of files."""
    stored = [each for each in items if isinstance(each, Stored)]
    manifest = next((each for each in items if isinstance(each, Document)), None)
    if stored and manifest is not None:
        must = f"is no part of the snapshot {stored[0].file}: take a snapshot of one or the other"
        raise UnreadableInput([Problem(f"{manifest.place}: {must}")])
    cluster, found = clusters_of_files.loaded(items, policy, at=at)
    if not stored:
        lines = tuple(_lines_of(found))
        header = _header(cluster, source=snapshot_files.FILES, counts=counts(lines))
        return Snapshot(header, lines, cluster)
    lines = tuple(sorted(map(_line_of, stored)))
    header = msgspec.structs.replace(
        stored[0].header, profile=_profile(cluster), taken_at=_text(cluster.read_at)
    )
    return Snapshot(header, lines, cluster)


def _lines_of(found: Objects) -> list[Line]:
    """Return the lines of manifests in their order, which is that of their age."""
    return [
        recording.line_of_body(each.gvr, each.body)
        for each in found.loaded
        if each.body is not None
    ]


def _line_of(stored: Stored) -> Line:
    """Return the line of an object of a snapshot, with what is read of it now."""
    body = msgspec.json.decode(stored.raw, type=dict[str, Any])
    kind = str(body.get("kind"))
    reader = next(
        row.reader
        for row in kinds.KINDS
        if row.reader.kind == kind
        and body.get("apiVersion") in {gvr.api_version for gvr in row.reader.versions}
    )
    return recording.line_of_body(reader.gvr, body)


def _header(cluster: Cluster, **more: Any) -> Header:  # noqa: ANN401 - other fields of a header.
    return Header(
        kind=snapshot_files.KIND,
        api_version=snapshot_files.API_VERSION,
        version=__version__,
        taken_at=_text(cluster.read_at),
        profile=_profile(cluster),
        profile_of=cluster.settings_of,
        **more,
    )


def _profile(cluster: Cluster) -> dict[str, Any]:
    """Return the settings; quota that another controller decides is not enforced."""
    found = cluster.policy.model_dump(mode="json")
    for product, setting in _SETTINGS.items():
        if product not in cluster.cache.queues.enforced:
            found[setting] = QuotaOf.IGNORE.value
    return found


def _served(cluster: Cluster) -> frozenset[Product]:
    return cluster.cache.queues.served


def _text(at: int) -> str:
    return datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
