"""Where an answer comes from: the last line of what is printed, and a field of what is JSON."""

from datetime import UTC, datetime
from typing import Final

from gang_scheduler.inspection.clusters import Cluster, Source
from gang_scheduler.report.texts.plurals import counted

DEFAULTS = "default settings"
NOT_READABLE = f"with {DEFAULTS}: ConfigMap py-gang-scheduler-profile cannot be read"

ASK_FOR_ALL: Final = (
    "for all of it ask an administrator for a ClusterRoleBinding to the ClusterRole of the chart "
    "that ends in :reader"
)
ASK_FOR_QUEUES: Final = (
    "queues are of the whole cluster, which no RoleBinding covers: ask an administrator for a "
    "ClusterRoleBinding to the ClusterRole of the chart that ends in :queue-viewer"
)


def short_line(cluster: Cluster) -> str:
    """Return the last line of a list: only that settings are defaults, and not why."""
    return line(cluster).replace(NOT_READABLE, DEFAULTS)


def line(cluster: Cluster) -> str:
    """Return the last line of an answer."""
    when = f"read at {datetime.fromtimestamp(cluster.read_at, UTC):%H:%M:%S} UTC"
    if cluster.source is Source.WRITTEN:
        return (
            f"as the scheduler wrote it in namespace {cluster.namespace}, {when}; "
            "not known with your rights: other namespaces and nodes"
        )
    nodes = counted(len(cluster.cache.node_usage.table()), "node")
    pods = counted(sum(1 for _ in cluster.cache.pods()), "pod")
    return f"computed from {nodes} and {pods}, {_of(cluster, when)}"


def document(cluster: Cluster) -> dict[str, object]:
    """Return the same for documents. `readAt` is all that differs between two equal answers."""
    found: dict[str, object] = {
        "source": cluster.source.value,
        "readAt": datetime.fromtimestamp(cluster.read_at, UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        "settingsOf": cluster.settings_of or None,
    }
    return found | ({"notReadable": list(cluster.unread)} if cluster.unread else {})


def _of(cluster: Cluster, when: str) -> str:
    if cluster.source is Source.FILES:
        return f"as of {when.removeprefix('read at ')}"
    of = f"settings of {cluster.settings_of}" if cluster.settings_of else NOT_READABLE
    return f"{when}, {of}"
