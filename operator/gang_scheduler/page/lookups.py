"""What the names in an address mean: a gang, a queue, a node, or the nodes of a map."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace

from gang_scheduler.inspection.explaining.answers import Answer
from gang_scheduler.inspection.listing import node_view
from gang_scheduler.inspection.listing.gangs import Row
from gang_scheduler.inspection.listing.node_view import NodeView
from gang_scheduler.inspection.listing.queues import QueueLine
from gang_scheduler.model import similar_names
from gang_scheduler.model.refs import GangKey
from gang_scheduler.model.scheduler_events import SchedulerEvent
from gang_scheduler.page import node_map, rendering, view
from gang_scheduler.page.node_map import NodeMap
from gang_scheduler.page.view import View, Wanted


class Missing(Exception):  # noqa: N818 - named after the problem.
    """Nothing has that name now. Perhaps something had it: `events` are decisions about that."""

    def __init__(self, message: str, events: Sequence[SchedulerEvent] = ()) -> None:
        super().__init__(message)
        self.events = events


def gang(seen: View, namespace: str, name: str) -> Answer:
    """Return the explanation of a gang, or all gangs that a name may mean. Raises Missing."""
    found = seen.explained(name, namespace)
    if found.document is None and not found.several:
        raise Missing(
            f"{namespace}/{name}: no PodGroup, workload, gang or pod has this name"
            + _meant(found.near),
            view.events_about(seen, namespace, name),
        )
    return found


def several(found: str) -> tuple[str, str]:
    """Return namespace and name, with its kind, of a KIND/NAMESPACE/NAME."""
    kind, namespace, name = (*found.split("/", 2), "", "")[:3]
    return namespace, f"{kind}/{name}"


def queue(seen: View, name: str) -> tuple[list[QueueLine], list[Row]]:
    """Return a queue with the queues below it, and their gangs. Raises Missing."""
    lines, rows = view.of_queue(seen, name)
    if not lines:
        near = similar_names.close_to(name, {each.name for each in seen.queues}, most=3)
        raise Missing(f"{name}: no queue has this name{_meant(near)}")
    return lines, rows


def node(seen: View, name: str) -> NodeView:
    """Return a node with its pods, of the shown namespaces alone. Raises Missing."""
    if not seen.sees_nodes:
        raise Missing("nodes: not known with your rights")
    shown = node_view.view(seen.cluster, name)
    if shown is None:
        near = similar_names.close_to(name, seen.cluster.cache.node_usage.table().rows, most=3)
        raise Missing(f"{name}: no node has this name{_meant(near)}")
    pods = (each for each in shown.pods if seen.shows(each.namespace))
    return replace(shown, pods=tuple(pods))


def nodes(seen: View, query: Mapping[str, str]) -> NodeMap | None:
    """Return the map; None if it is not known. Raises Missing for an unknown topology."""
    name = query.get("topology", "")
    found = seen.node_map(name)
    if found is None and seen.trees and seen.sees_map:
        raise Missing(f"topology: {name}: no topology has this name")
    return found


def crumbs(domain: str, turn: Callable[..., str]) -> Iterator[tuple[str, str]]:
    """Yield a domain and the domains above it, with their addresses; its own address is ""."""
    names = domain.split("/") if domain else []
    for depth, text in enumerate(["cluster", *names]):
        shown = "outside of the tree" if text == node_map.OUTSIDE else text
        above = {"in": "/".join(names[:depth]), "page": ""}
        yield shown, "" if depth == len(names) else turn(**above)


def address_of(seen: View, text: str) -> str:
    """Return the address of the object of this name, or of the gangs that contain the text."""
    lower = text.lower()
    rows = [row for row in seen.rows if lower in (row.name.lower(), row.key.name.lower())]
    if len(rows) == 1:
        return gang_address(rows[0].key)
    if not rows and any(each.name.lower() == lower for each in seen.queues):
        name = next(each.name for each in seen.queues if each.name.lower() == lower)
        return rendering.queue_path(name)
    if not rows and seen.sees_nodes and lower in seen.cluster.cache.node_usage.table().rows:
        return rendering.node_path(lower)
    some = view.selected(seen, Wanted(text=text))
    if text and len(some) == 1:
        return gang_address(some[0].key)
    return rendering.with_query("/gangs", {"text": text})


def gang_address(key: GangKey) -> str:
    """Return the address of a gang."""
    return rendering.gang_path(key.namespace, key.name, key.source)


def _meant(near: Sequence[str]) -> str:
    return f"; did you mean {' or '.join(near)}?" if near else ""
