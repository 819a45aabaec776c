"""Extended resources that nodes offer as devices of a DeviceClass.

A node that lists the resource itself, as with a device plugin, is counted as it says. Any other
node offers as many as it has devices of the class. So the rules about room hold for all of them
alike, and give an upper bound: whether the devices are free is searched for.
"""

import functools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Final, NamedTuple
from weakref import WeakKeyDictionary

import numpy as np

from gang_scheduler.model.device_needs import ClaimAllocation, DeviceNeed, DeviceNeeds
from gang_scheduler.model.devices import (
    Allocation,
    Claim,
    DeviceClass,
    NodeView,
    Request,
    SubRequest,
)
from gang_scheduler.model.extended_resources import ExtendedNeed, claim_name, spec_of
from gang_scheduler.model.nodes import IntArray, NodeTable
from gang_scheduler.model.pods import Pod
from gang_scheduler.model.snapshot import Snapshot
from gang_scheduler.scheduler.devices.candidates import MOST_DEVICE_FILTERS, matches_of
from gang_scheduler.scheduler.devices.claim_requests import ClaimError, DeviceFilter, requests_of
from gang_scheduler.scheduler.devices.free_devices import kept_pools
from gang_scheduler.scheduler.devices.pools import Pool, Pools

SHARES: Final = 1_000_000
"""A device that several claims can share counts as this many devices: its limit is not known."""


def with_devices(snapshot: Snapshot) -> Snapshot:
    """Return a snapshot whose nodes offer their devices as the extended resources asked for.

    The table of nodes is the same object while nodes, slices and classes are.
    """
    nodes, devices = snapshot.nodes, snapshot.devices
    offered = ((name, nodes.device_classes.get(name, "")) for name in nodes.asked)
    classes = {name: devices.classes[each] for name, each in offered if each in devices.classes}
    if not classes or nodes.by_devices is not None:
        return snapshot
    kept = nodes.cached("devices", lambda: _Counted(nodes))
    table = kept.table(kept_pools(devices), classes)
    free = snapshot.free + (table.allocatable - nodes.allocatable)
    free.flags.writeable = False
    return replace(snapshot, nodes=table, free=free)


def at_node(nodes: NodeTable, row: int, needs: DeviceNeeds) -> DeviceNeeds:
    """Return the needs on a node as claims alone: it may offer extended resources as devices."""
    if not needs.extended:
        return needs
    return _as_claims(needs, frozenset(each.resource for each in _offered(nodes, row, needs)))


def name_of(pod: Pod) -> str:
    """Return the name of the claim for the extended resources of a pod."""
    return claim_name(pod.name, pod.uid)


def own_claim(
    pod: Pod,
    nodes: NodeTable,
    row: int,
    known: Mapping[str, Claim],
    allocated: Mapping[str, Allocation],
) -> Iterator[ClaimAllocation]:
    """Yield the allocation of the claim for the extended resources of a pod, if it needs one.

    `known` are the allocated claims, and `allocated` what a plan gives, by `namespace/name`.
    """
    needs = pod.pod_class.devices
    if needs is None or not (needs.extended or needs.kept):
        return
    key = f"{pod.namespace}/{name_of(pod)}"
    there = known[key].allocation if needs.kept and key in known else None
    if there is not None:
        yield ClaimAllocation("", key, there, is_new=False, extended=needs.kept)
    elif key in allocated:
        yield ClaimAllocation("", key, allocated[key], extended=_offered(nodes, row, needs))


def _offered(nodes: NodeTable, row: int, needs: DeviceNeeds) -> tuple[ExtendedNeed, ...]:
    """Return the needs for extended resources that a node offers as devices."""
    offers = nodes.by_devices or {}
    known = (each for each in needs.extended if each.resource in offers)
    return tuple(each for each in known if offers[each.resource][row])


@functools.lru_cache(4096)
def _as_claims(needs: DeviceNeeds, offered: frozenset[str]) -> DeviceNeeds:
    extended = [each for each in needs.extended if each.resource in offered]
    own = (DeviceNeed(spec_of(extended)),) if extended else ()
    return DeviceNeeds((*needs.claims, *own), used=needs.used, avoided=needs.avoided)


class _Column(NamedTuple):
    """How many devices of a class each node has, as counted on these pools."""

    device_class: DeviceClass
    pools: Pools
    numbers: IntArray


class _Counted:
    """The devices of classes on each node of a table, as last counted.

    A changed slice costs the devices of the nodes that it is for. If several nodes may reach a
    changed pool, all nodes are looked at, but only devices of pools that changed are counted.
    """

    def __init__(self, nodes: NodeTable) -> None:
        self._nodes = nodes
        self._columns: Mapping[str, _Column] = {}
        self._table = nodes

    def table(self, pools: Pools, classes: Mapping[str, DeviceClass]) -> NodeTable:
        """Return the table with the devices of the class of each resource.

        It is the same object while no node offers another number of devices.
        """
        before = self._columns
        self._columns = {name: self._column(name, pools, each) for name, each in classes.items()}
        if self._columns.keys() != before.keys() or any(
            column.numbers is not before[name].numbers for name, column in self._columns.items()
        ):
            numbers = {name: column.numbers for name, column in self._columns.items()}
            self._table = self._nodes.with_devices(numbers)
        return self._table

    def _column(self, name: str, pools: Pools, device_class: DeviceClass) -> _Column:
        before = self._columns.get(name)
        if before is None or before.device_class is not device_class:
            numbers = self._numbers(pools, device_class, range(len(self._nodes)))
            return _Column(device_class, pools, numbers)
        if before.pools is pools:
            return before
        known = pools.differs_in(before.pools)
        at = self._nodes.rows
        rows = range(len(at)) if known is None else [at[each] for each in known if each in at]
        numbers = self._numbers(pools, device_class, rows)
        if (before.numbers[rows] == numbers).all():
            return before._replace(pools=pools)
        changed = before.numbers.copy()
        changed[rows] = numbers
        return _Column(device_class, pools, changed)

    def _numbers(self, pools: Pools, device_class: DeviceClass, rows: Sequence[int]) -> IntArray:
        """Return how many devices of a class the nodes in some rows have."""
        request = Request("", (SubRequest("", device_class.name),))
        claim = Claim("", "", requests=(request,))
        try:
            (device_filter,) = requests_of(
                [claim], {device_class.name: device_class}
            ).device_filters
        except ClaimError:
            # A fault of the class is reported by the search, for nodes that might have devices.
            return np.full(len(rows), SHARES, dtype=np.int64)
        nodes = (self._nodes.nodes[row] for row in rows)
        views = (NodeView(each.name, each.labels) for each in nodes)
        found = [sum(_number(device_filter, pool) for pool in pools.on(view)) for view in views]
        return np.array(found, dtype=np.int64)


_NUMBERS: Final[WeakKeyDictionary[Pool, dict[DeviceFilter, int]]] = WeakKeyDictionary()


def _number(device_filter: DeviceFilter, pool: Pool) -> int:
    """Return how many of the matching devices can be allocated: cached as long as the pool."""
    known = _NUMBERS.setdefault(pool, {})
    if device_filter not in known:
        if len(known) >= MOST_DEVICE_FILTERS:
            known.clear()
        known[device_filter] = _count(device_filter, pool) if pool.is_usable else 0
    return known[device_filter]


def _count(device_filter: DeviceFilter, pool: Pool) -> int:
    """Return how many devices of a pool match. A selector that fails is reported by the search."""
    seen = zip(matches_of(device_filter, pool), pool.devices, strict=True)
    matching = (offered for match, offered in seen if match.fault or match.is_selectable)
    return sum(SHARES if each.device.allow_multiple else 1 for each in matching)
