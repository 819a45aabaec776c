"""Devices of claims: how many of each DeviceClass are used, and which ones a gang has."""

from collections.abc import Iterable, Iterator
from typing import Any, Final, NamedTuple
from weakref import WeakKeyDictionary

from gang_scheduler.inspection.cluster import Cluster
from gang_scheduler.model.devices import Claim
from gang_scheduler.model.pods import Pod
from gang_scheduler.model.refs import GangKey
from gang_scheduler.scheduler.devices import inventory
from gang_scheduler.scheduler.devices.inventory import NO_CLASS, ClassCount
from gang_scheduler.scheduler.devices.shown_amounts import Offered, classes_of
from gang_scheduler.scheduler.devices.shown_amounts import offered as offered_by_nodes
from gang_scheduler.state.cache import Cache

Json = dict[str, Any]


class MemberDevices(NamedTuple):
    """The devices that a claim of a member has. Members that share a claim all show them."""

    pod: str
    claim: str
    devices: tuple[str, ...]


_KEPT: Final[WeakKeyDictionary[Cache, inventory.Inventory]] = WeakKeyDictionary()
"""The inventory of each cache. It follows changes, so equal readings count devices once."""


def _inventory(cluster: Cluster) -> inventory.Inventory:
    kept = _KEPT.setdefault(cluster.cache, inventory.Inventory())
    for _ in kept.look(cluster.cache.devices.snapshot()):
        pass
    return kept


def of_cluster(cluster: Cluster) -> tuple[ClassCount, ...]:
    """Return the devices of each class on nodes that exist. Linear in pools that changed."""
    nodes = cluster.cache.node_usage.table().rows
    return tuple(_of_classes(_inventory(cluster).counts(nodes)))


def offered(cluster: Cluster) -> Offered:
    """Return what nodes offer and what is used, with devices that stand for resources."""
    usage, devices = cluster.cache.node_usage, cluster.cache.devices.snapshot()
    nodes = usage.table()
    classes = classes_of(nodes, devices)
    figures = _inventory(cluster).figures(nodes.rows) if classes else ()
    return offered_by_nodes(nodes, usage.free(), classes, inventory.by_node(figures))


def on_node(cluster: Cluster, name: str) -> tuple[ClassCount, ...]:
    """Return the number of devices of each class that only the node of this name can use."""
    figures = (each for each in _inventory(cluster).figures({name}) if each.node == name)
    return tuple(_of_classes(inventory.counted(figures)))


def _of_classes(counts: Iterable[ClassCount]) -> Iterator[ClassCount]:
    return (each for each in counts if each.device_class != NO_CLASS)


def lines(counts: Iterable[ClassCount]) -> Iterator[str]:
    """Yield a line for each class: how many devices are used, of how many."""
    for each in counts:
        yield f"devices of class {shown(each)}"


def shown(count: ClassCount) -> str:
    """Return how many devices of a class are used, of how many, in words."""
    tainted = f", {count.tainted} tainted" if count.tainted else ""
    return f"{count.device_class}: {count.used}/{count.all} used{tainted}"


def document(counts: Iterable[ClassCount]) -> list[Json]:
    """Return the counts of devices by class as a part of a document."""
    return [
        {
            "driver": each.driver,
            "class": each.device_class,
            "used": each.used,
            "tainted": each.tainted,
            "all": each.all,
        }
        for each in counts
    ]


def number_of(pods: Iterable[Pod], cache: Cache) -> int:
    """Return how many devices pods have. A claim without devices counts with its requests."""
    known = cache.devices
    claims: dict[str, Claim] = {}
    asked, of_groups = 0, set[tuple[GangKey, str]]()
    for pod in pods:
        for entry in pod.claims:
            claim = known.claims.get(f"{pod.namespace}/{entry.claim}") if entry.claim else None
            template = known.templates.get(f"{pod.namespace}/{entry.template}")
            if claim is not None:
                claims[claim.key] = claim
            elif template is not None and not entry.unneeded:
                if known.is_of_group(pod, entry):
                    if (pod.gang, entry.entry) in of_groups:
                        continue
                    of_groups.add((pod.gang, entry.entry))
                asked += template.spec.least
    for claim in claims.values():
        allocation = known.allocation_of(claim)
        results = allocation.results if allocation is not None else ()
        asked += sum(not each.admin for each in results) if results else claim.spec.least
    return asked


def of_members(pods: Iterable[Pod], cache: Cache) -> Iterator[MemberDevices]:
    """Yield the devices of members, claim by claim."""
    for pod in pods:
        for entry in pod.claims:
            claim = cache.devices.claims.get(f"{pod.namespace}/{entry.claim}")
            allocation = claim and cache.devices.allocation_of(claim)
            if allocation:
                names = tuple(str(each.id) for each in allocation.results)
                yield MemberDevices(pod.name, entry.entry, names)
