"""A cluster at one moment, from any source, and the origin of the answers about it."""

import enum
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final

from gang_scheduler import from_settings
from gang_scheduler.api.kinds import NAMESPACES
from gang_scheduler.model.scheduler_events import SchedulerEvent
from gang_scheduler.model.snapshot import Snapshot
from gang_scheduler.model.wording import counted, rfc3339
from gang_scheduler.scheduler.devices.extended import with_devices
from gang_scheduler.scheduler.policies import Profile
from gang_scheduler.settings.policy import Policy
from gang_scheduler.state.cache import Cache

if TYPE_CHECKING:
    from gang_scheduler.inspection.servers import Server


class Source(enum.StrEnum):
    """Where an answer comes from.

    WRITTEN: nothing is computed. Only texts that the scheduler wrote into objects are known.
    """

    LIVE = "live"
    FILES = "files"
    WRITTEN = "written"


Objects = Mapping[str, Sequence[Mapping[str, Any]]]
"""Objects as they are on the API server, by the CRD name of their kind."""


@dataclass(frozen=True, slots=True, eq=False)
class Cluster:
    """A cluster as it was read. Its `cache` stays while answers are computed.

    `read_at` is in seconds since the epoch. `settings_of` names the operator whose settings are in
    `policy`, "" if they are the defaults or come from flags. `notes` are for stderr, a line each.
    `unread` are the CRD names of the kinds that may not be listed.

    If the source is WRITTEN, only one `namespace` is known, and no nodes: `written` has its
    PodGroups and pods, with the statuses that the scheduler wrote. `namespaces` are the ones that
    files mention. `of_snapshot`: the files are a snapshot of an API server. Its Events from the
    scheduler are in `events`, None if it has none.

    Of one cache, clusters of the same `revision` have the same objects, and clusters with the same
    number of `decision` need no new decisions.
    """

    cache: Cache
    policy: Policy
    read_at: int
    source: Source
    settings_of: str = ""
    notes: tuple[str, ...] = field(default=())
    unread: tuple[str, ...] = ()
    namespace: str = ""
    written: Objects = field(default_factory=dict)
    namespaces: frozenset[str] = frozenset()
    of_snapshot: bool = False
    events: Sequence[SchedulerEvent] | None = None
    revision: int = 0
    decision: int = 0
    _snapshots: list[Snapshot] = field(default_factory=list)

    @property
    def profile(self) -> Profile:
        """The policies that make decisions."""
        return from_settings.profile(self.policy)

    def snapshot(self) -> Snapshot:
        """Return the snapshot that a cycle would decide on now, the same each time.

        The cache has each waiting gang ready for a try only once: a second snapshot would lack it.
        """
        if not self._snapshots:
            self.cache.find_gone_nodes()
            self._snapshots.append(with_devices(self.cache.snapshot(self.read_at)))
        return self._snapshots[0]


# The origin of an answer: the last line of text, and the first fields of JSON.

DEFAULTS = "default settings"
NOT_READABLE = f"with {DEFAULTS}: no ConfigMap py-gang-scheduler-profile can be read"

ASK_FOR_ALL: Final = (
    "for all of it ask an administrator for a ClusterRoleBinding to the ClusterRole of the chart "
    "that ends in :reader"
)
ASK_FOR_QUEUES: Final = (
    "queues are cluster-scoped, and a RoleBinding does not reach them: ask an administrator for a "
    "ClusterRoleBinding to the ClusterRole of the chart that ends in :queue-viewer"
)


def short_line(cluster: Cluster) -> str:
    """Return the last line of a list, which does not say why the settings are defaults."""
    return origin_line(cluster).replace(NOT_READABLE, DEFAULTS)


def origin_line(cluster: Cluster) -> str:
    """Return the last line of an answer: when the cluster was read, and with which settings."""
    when = f"read at {datetime.fromtimestamp(cluster.read_at, UTC):%H:%M:%S} UTC"
    if cluster.source is Source.WRITTEN:
        return (
            f"as the scheduler wrote it in namespace {cluster.namespace}, {when}; "
            "not known with your rights: other namespaces and nodes"
        )
    nodes = counted(len(cluster.cache.node_usage.table()), "node")
    pods = counted(len(cluster.cache.pod_store), "pod")
    return f"computed from {nodes} and {pods}, {_of(cluster, when)}"


def origin_document(cluster: Cluster) -> dict[str, object]:
    """Return the fields about the origin of a document. Equal answers differ only in `readAt`."""
    found: dict[str, object] = {
        "source": cluster.source.value,
        "readAt": rfc3339(cluster.read_at),
        "settingsOf": cluster.settings_of or None,
    }
    return found | ({"notReadable": list(cluster.unread)} if cluster.unread else {})


def _of(cluster: Cluster, when: str) -> str:
    if cluster.source is Source.FILES:
        return f"as of {when.removeprefix('read at ')}"
    of = f"settings of {cluster.settings_of}" if cluster.settings_of else NOT_READABLE
    return f"{when}, {of}"


# The namespaces of a cluster, and the error for a namespace that does not exist.


_NOT_FOUND: Final = 404


class NoSuchNamespace(Exception):  # noqa: N818 - named after the problem, like InvalidField
    """The namespace does not exist. `known` are the names of the existing ones."""

    def __init__(self, name: str, known: frozenset[str]) -> None:
        super().__init__(name)
        self.name = name
        self.known = known


def known_namespaces(cache: Cache) -> frozenset[str]:
    """Return the names of all namespaces that were read, or that an object that was read is in."""
    declared = cache.selector_matches.namespaces.names
    pods = {pod.namespace for pod in cache.pods()}
    return frozenset({*declared, *pods, *(key.namespace for key in cache.gang_queue.infos)})


async def namespace_must_exist(server: "Server", name: str, cache: Cache) -> None:
    """Raise NoSuchNamespace if the namespace does not exist.

    The server is asked if the cache has no object in the namespace. If the server cannot tell, the
    namespace is accepted.
    """
    # Here, since files need no Kubernetes client.
    from gang_scheduler.client.errors import ApiError  # noqa: PLC0415

    among = known_namespaces(cache)
    if name in among:
        return
    try:
        await server.connection.request(
            "GET", NAMESPACES.path(name=name), timeout_seconds=server.request_seconds
        )
    except ApiError as error:
        if error.status == _NOT_FOUND:
            raise NoSuchNamespace(name, among) from error
