"""How much nodes offer and how much of it is in use, with devices that stand for resources.

A node that lists a resource itself, as with a device plugin, counts as it says. On any other node
the devices of the DeviceClass count that the resource stands for, and those in use by any claim.
For people and metrics: decisions rest on what `extended` counts.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np

from gang_scheduler.model.device_needs import Devices
from gang_scheduler.model.extended_resources import DEVICE_CLASS_RESOURCE
from gang_scheduler.model.nodes import IntArray, NodeTable
from gang_scheduler.scheduler.devices.inventory import OnNodes


@dataclass(frozen=True, slots=True)
class Offered:
    """The amounts of each resource, one row for each node."""

    axis: Mapping[str, int]
    allocatable: IntArray
    used: IntArray

    def columns(self, resources: Iterable[str]) -> list[int]:
        """Return the columns of those resources that any node offers."""
        return [self.axis[each] for each in resources if each in self.axis]


def classes_of(nodes: NodeTable, devices: Devices) -> dict[str, str]:
    """Return the DeviceClass of each resource that one of them names as its own."""
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
    """Return what nodes offer, and what is in use; `classes` are those that resources stand for."""
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
    for (node, name), (there, in_use) in devices.items():
        row = nodes.rows.get(node)
        for column in columns.get(name, ()):
            if row is not None and not listed[row, column]:
                allocatable[row, column] += there
                used[row, column] += in_use
    return Offered(axis, allocatable, used)


def _widened(amounts: IntArray, columns: int) -> IntArray:
    wide = np.zeros((len(amounts), columns), dtype=np.int64)
    wide[:, : amounts.shape[1]] = amounts
    return wide
