"""The amounts that queues count for claims that have no devices yet, as far as devices decide.

A mapping of DeviceClasses may count a counter or a capacity of devices as its sources, as in Kueue.
Until a claim has its devices, a request counts as the largest device that it can select. A request
for all devices counts the devices of the node that has most of them.
"""

import functools
from collections import Counter
from collections.abc import Callable, Iterable
from typing import Final

from gang_scheduler.model.device_needs import NO_DEVICES, Devices
from gang_scheduler.model.device_quantities import NANO
from gang_scheduler.model.devices import (
    MOST_RESULTS,
    Device,
    DeviceId,
    DeviceResult,
    Slice,
    SubRequest,
)
from gang_scheduler.model.rules import DeviceClassMapping, DeviceClassSource
from gang_scheduler.scheduler.devices.capacity import CapacityError, consumed
from gang_scheduler.scheduler.devices.inventory import current
from gang_scheduler.scheduler.devices.selectors import Selector, SelectorError

MOST_REMEMBERED: Final = 1024
"""The amounts of this many different requests are kept. Each costs a number for each slice."""


class SourceAmounts:
    """The amounts for devices of classes with sources. A changed slice costs its own devices."""

    def __init__(self, mappings: Iterable[DeviceClassMapping]) -> None:
        self._sources = {
            name: each.sources
            for each in mappings
            for name in each.device_class_names
            if each.sources
        }
        self._devices = NO_DEVICES
        self._current: list[Slice] = []
        self._by_id: dict[DeviceId, Device] | None = None
        self._selectable: dict[SubRequest, dict[str, tuple[Slice, int]]] = {}
        self._of_slices: dict[SubRequest, dict[str, tuple[Slice, int]]] = {}
        # Many pods have equal requests, and each answer takes all slices: so answers are kept.
        self._numbers: dict[SubRequest, int] = {}
        self._largest: dict[SubRequest, int] = {}

    def of(self, devices: Devices, asked: SubRequest, result: DeviceResult | None) -> int | None:
        """Return the amount for an allocated device; without a result, the most for one device.

        None if the class has no sources: its devices are counted.
        """
        sources = self._sources.get(asked.device_class)
        if sources is None:
            return None
        self._look(devices)
        if result is None:
            if asked not in self._largest:
                self._largest[asked] = self._most(asked, sources)
            return self._largest[asked]
        if self._by_id is None:
            self._by_id = {
                DeviceId(each.driver, each.pool, device.name): device
                for each in self._current
                for device in each.devices
            }
        device = self._by_id.get(result.id)
        if device is None:
            return 0
        found = (self._amount(device, result.driver, asked, each, result) for each in sources)
        return _whole(sum(found))

    def number_of_all(self, devices: Devices, asked: SubRequest) -> int:
        """Return how many devices a request can select on the node that has the most of them."""
        self._look(devices)
        if asked not in self._numbers:
            self._numbers[asked] = self._number_of_all(asked)
        return self._numbers[asked]

    def _number_of_all(self, asked: SubRequest) -> int:
        numbers = self._in_slices(self._selectable, asked, self._number)
        by_node, for_several = Counter[str](), 0
        for each in self._current:
            _, number = numbers[each.name]
            if each.node_name and not each.per_device:
                by_node[each.node_name] += number
            else:
                for_several += number
        return min(max(by_node.values(), default=0) + for_several, MOST_RESULTS)

    def _number(self, of: Slice, asked: SubRequest) -> int:
        return sum(self._selects(asked, device, of.driver) for device in of.devices)

    def _look(self, devices: Devices) -> None:
        before, self._devices = self._devices, devices
        if devices.classes is not before.classes:
            self._of_slices.clear()
            self._selectable.clear()
        if devices.slices is not before.slices:
            self._current, self._by_id = current(devices.slices), None
        if devices.slices is not before.slices or devices.classes is not before.classes:
            self._numbers.clear()
            self._largest.clear()

    def _most(self, asked: SubRequest, sources: tuple[DeviceClassSource, ...]) -> int:
        in_slice = functools.partial(self._in_slice, sources=sources)
        found = self._in_slices(self._of_slices, asked, in_slice)
        return _whole(max((amount for _, amount in found.values()), default=0))

    def _in_slices(
        self,
        kept: dict[SubRequest, dict[str, tuple[Slice, int]]],
        asked: SubRequest,
        in_slice: Callable[[Slice, SubRequest], int],
    ) -> dict[str, tuple[Slice, int]]:
        """Return the number of each slice by its name; those of the same slices are kept."""
        if len(kept) >= MOST_REMEMBERED:
            kept.clear()
            self._numbers.clear()
            self._largest.clear()
        before = kept.get(asked, {})
        now: dict[str, tuple[Slice, int]] = {}
        for each in self._current:
            known = before.get(each.name)
            if known is None or known[0] is not each:
                known = each, in_slice(each, asked)
            now[each.name] = known
        kept[asked] = now
        return now

    def _in_slice(
        self, of: Slice, asked: SubRequest, sources: tuple[DeviceClassSource, ...]
    ) -> int:
        return max(
            (
                sum(self._amount(device, of.driver, asked, each) for each in sources)
                for device in of.devices
            ),
            default=0,
        )

    def _amount(
        self,
        device: Device,
        driver: str,
        asked: SubRequest,
        source: DeviceClassSource,
        result: DeviceResult | None = None,
    ) -> int:
        """Return the amount in billionths that a source counts; 0 for a device of other sources."""
        if source.driver not in ("", driver) or not _matches(source.selectors, device, driver):
            return 0
        if result is None and not self._selects(asked, device, driver):
            return 0
        if source.counter is not None:
            return _counted(device, source.counter.name)
        name = source.capacity.name if source.capacity is not None else ""
        return _taken(device, name, asked, result)

    def _selects(self, asked: SubRequest, device: Device, driver: str) -> bool:
        of_class = self._devices.classes.get(asked.device_class)
        selectors = of_class.selectors if of_class is not None else ()
        return _matches((*selectors, *asked.selectors), device, driver)


def _counted(device: Device, name: str) -> int:
    found = (use.counters[name].nanos for use in device.consumes if name in use.counters)
    return max(sum(found), 0)


def _taken(device: Device, name: str, asked: SubRequest, result: DeviceResult | None) -> int:
    """Return how much of a capacity a request takes: all of it, unless the device is shared."""
    capacity = device.capacity.get(name)
    if capacity is None:
        return 0
    if not device.allow_multiple:
        return max(capacity.value.nanos, 0)
    if result is not None and name in result.consumed:
        return max(result.consumed[name].nanos, 0)
    try:
        taken = consumed(device, asked.capacity)
    except CapacityError:
        return 0
    return taken[name].nanos if taken is not None else 0


def _matches(selectors: Iterable[str], device: Device, driver: str) -> bool:
    try:
        return all(Selector.compile(each).matches(device, driver) for each in selectors)
    except SelectorError:
        return False


def _whole(nanos: int) -> int:
    return -(-nanos // NANO)
