"""What people and metrics see of resources: how much nodes offer, and how much is in use.

A node that lists a resource itself, as with a device plugin, counts as it says. On any other node,
the devices of the resource's DeviceClass count, and the ones in use by any claim. Decisions rest on
what `extended` counts instead.
"""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from gang_scheduler.model.device_needs import Devices
from gang_scheduler.model.extended_resources import DEVICE_CLASS_RESOURCE
from gang_scheduler.model.nodes import IntArray, NodeTable
from gang_scheduler.scheduler.devices.inventory import OnNodes


class Overlap(NamedTuple):
    """Devices of a node that several classes select, as the column of one class counts them."""

    row: int
    column: int
    device_class: str
    classes: tuple[str, ...]
    there: int
    used: int


@dataclass(frozen=True, slots=True)
class Offered:
    """The amounts of each resource, one row for each node.

    Devices of several classes count in the column of each: `overlaps` has them.
    """

    axis: Mapping[str, int]
    allocatable: IntArray
    used: IntArray
    classes: Mapping[str, str]
    overlaps: tuple[Overlap, ...] = ()

    def columns(self, resources: Iterable[str]) -> list[int]:
        """Return the columns of those resources that any node offers."""
        return [self.axis[each] for each in resources if each in self.axis]

    def summed(self, resources: Collection[str]) -> tuple[IntArray, IntArray]:
        """Return the sum of some resources for each node, and what is used: each device once."""
        columns = self.columns(resources)
        there, used = self.allocatable[:, columns].sum(axis=1), self.used[:, columns].sum(axis=1)
        chosen = {self.classes[each] for each in resources if each in self.classes}
        for each in self.overlaps:
            first = next((name for name in each.classes if name in chosen), each.device_class)
            if each.device_class in chosen and each.device_class != first:
                there[each.row] -= each.there
                used[each.row] -= each.used
        return there, used


def classes_of(nodes: NodeTable, devices: Devices) -> dict[str, str]:
    """Return the DeviceClass of each resource that a DeviceClass names as its own."""
    return {
        resource: name
        for resource, name in nodes.device_classes.items()
        if name in devices.classes and not resource.startswith(DEVICE_CLASS_RESOURCE)
    }


def offered(
    nodes: NodeTable,
    free: IntArray,
    classes: Mapping[str, str],
    devices: OnNodes,
) -> Offered:
    """Return what nodes offer, and what is in use; `classes` are the classes with resources."""
    axis = dict(nodes.axis)
    for resource in classes:
        axis.setdefault(resource, len(axis))
    allocatable = _widened(nodes.allocatable, len(axis))
    used = _widened(nodes.allocatable - free, len(axis))
    columns: dict[str, list[int]] = {}
    for resource, name in classes.items():
        columns.setdefault(name, []).append(axis[resource])
        by_devices = allocatable[:, axis[resource]] == 0
        used[by_devices, axis[resource]] = 0
    listed = allocatable > 0
    overlaps = []
    for (node, name, of_classes), (there, in_use) in devices.items():
        row = nodes.rows.get(node)
        for column in columns.get(name, ()):
            if row is not None and not listed[row, column]:
                allocatable[row, column] += there
                used[row, column] += in_use
                if len(of_classes) > 1:
                    overlaps.append(Overlap(row, column, name, of_classes, there, in_use))
    return Offered(axis, allocatable, used, classes, tuple(overlaps))


def _widened(amounts: IntArray, columns: int) -> IntArray:
    wide = np.zeros((len(amounts), columns), dtype=np.int64)
    wide[:, : amounts.shape[1]] = amounts
    return wide
