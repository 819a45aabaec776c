"""A node with its pods and their gangs."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from gang_scheduler.inspection import cluster as inspection_cluster
from gang_scheduler.inspection.cluster import Cluster
from gang_scheduler.inspection.listing import devices, domains, table_layout
from gang_scheduler.inspection.listing import nodes as listing_nodes
from gang_scheduler.inspection.listing.gangs import API_VERSION, Json
from gang_scheduler.inspection.listing.table_layout import Page
from gang_scheduler.model import refs
from gang_scheduler.model.nodes import Node
from gang_scheduler.model.pods import Pod
from gang_scheduler.model.resources import PODS, quantity, quantity_of
from gang_scheduler.model.wording import rfc3339
from gang_scheduler.scheduler.devices.inventory import ClassCount

_RIGHT: Final = ("PRI",)


@dataclass(frozen=True, slots=True)
class NodeView:
    """A node and its pods, sorted by gang.

    `used` has (resource, used, all) for each scarce resource. `devices` has the devices of claims
    by class.
    """

    node: Node
    domain: str
    used: tuple[tuple[str, int, int], ...]
    pods: tuple[Pod, ...]
    devices: tuple[ClassCount, ...] = ()


def view(cluster: Cluster, name: str) -> NodeView | None:
    """Return the view of a node; None if it does not exist."""
    cache = cluster.cache
    nodes, offered = cache.node_usage.table(), devices.offered(cluster)
    row = nodes.rows.get(name)
    if row is None:
        return None
    used = tuple(
        (resource, int(offered.used[row, column]), int(offered.allocatable[row, column]))
        for resource in listing_nodes.scarce(offered)
        for column in (offered.axis[resource],)
    )
    pods = filter(None, map(cache.pod, cache.node_usage.uids_on(name)))
    domain = cache.domain_of([name])
    shown = sorted(pods, key=lambda pod: (str(pod.gang), pod.key))
    counts = devices.on_node(cluster, name)
    return NodeView(nodes.nodes[row], str(domain or ""), used, tuple(shown), counts)


def table(shown: NodeView, cluster: Cluster, page: Page) -> Iterator[str]:
    """Yield lines on the node, then a line for each pod."""
    state = "ready" if shown.node.ready else "not ready"
    said = [state, *(["cordoned"] if shown.node.unschedulable else [])]
    said += [f"taint {listing_nodes.shown(each)}" for each in shown.node.taints]
    said += [
        f"{quantity(name, part)}/{quantity(name, whole)} {name}" for name, part, whole in shown.used
    ]
    said += map(devices.shown, shown.devices)
    said += [f"in {shown.domain}"] if shown.domain else []
    yield f"{shown.node.name}: {', '.join(said)}"
    names = [name for name, _, _ in shown.used]
    headings = ("POD", "GANG", "PRI", "PHASE", "TIME", *names, "SCHEDULER")
    rows = [_cells(pod, names, cluster.read_at) for pod in shown.pods]
    yield from table_layout.table_lines(
        headings, rows, page, (*_RIGHT, *names), ("TIME", "PRI", "SCHEDULER")
    )


def _cells(pod: Pod, names: Sequence[str], now: int) -> list[str]:
    asked = dict(pod.pod_class.requests)
    since = pod.started_at or pod.scheduled_at
    time = table_layout.age(now - since) if since else "-"
    used = (quantity(name, asked.get(name, 0)) for name in names)
    phase = "Terminating" if pod.deleting else pod.phase.value
    return [pod.key, _gang(pod) or "-", str(pod.priority), phase, time, *used, pod.scheduler]


def _gang(pod: Pod) -> str:
    """Return the gang of a pod; "" for a single pod."""
    return "" if pod.gang.source == refs.SINGLE.name else str(pod.gang)


def document(shown: NodeView, cluster: Cluster) -> Json:
    """Return a node as a document of kind NodeView."""
    return {
        "apiVersion": API_VERSION,
        "kind": "NodeView",
        **inspection_cluster.origin_document(cluster),
        "node": shown.node.name,
        "ready": shown.node.ready,
        "cordoned": shown.node.unschedulable,
        "taints": [listing_nodes.taint_document(each) for each in shown.node.taints],
        "domain": shown.domain or None,
        "resources": [domains.used(*each) for each in shown.used],
        "devices": devices.document(shown.devices),
        "pods": [_pod(pod) for pod in shown.pods],
    }


def _pod(pod: Pod) -> Json:
    since = pod.started_at or pod.scheduled_at
    asked = {name: quantity_of(name, each) for name, each in pod.pod_class.requests if name != PODS}
    return {
        "pod": pod.key,
        "gang": _gang(pod) or None,
        "phase": pod.phase.value,
        "priority": pod.priority,
        "scheduler": pod.scheduler,
        "since": rfc3339(since) if since else None,
        "requests": asked,
    }
