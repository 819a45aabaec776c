"""The metric of devices: how many there are of each DeviceClass, and in which state."""

import asyncio
import time
from collections.abc import Iterator, Mapping
from typing import Final

from gang_scheduler.internal_errors import confined
from gang_scheduler.model.device_needs import NO_DEVICES, Devices
from gang_scheduler.model.nodes import IntArray, NodeTable
from gang_scheduler.scheduler.devices import inventory
from gang_scheduler.scheduler.devices.shown_amounts import classes_of, offered
from gang_scheduler.state.cache import Cache
from gang_scheduler.telemetry import metrics

LEAST_SECONDS: Final = 5.0
MOST_SECONDS: Final = 60.0
LARGEST_PART: Final = 0.01
"""At most this part of the time is spent on counting, however many devices there are."""


class DeviceGauge:
    """Shows how many devices there are. They are counted again only after a change."""

    def __init__(self, cache: Cache) -> None:
        self._cache = cache
        self._inventory = inventory.Inventory()
        self._counted: tuple[Devices, NodeTable] | None = None
        self._by_node: inventory.OnNodes = {}

    def offered(
        self, nodes: NodeTable, free: IntArray
    ) -> tuple[Mapping[str, int], IntArray, IntArray]:
        """Return what nodes offer and what is used, with devices as they were last counted."""
        devices = self._counted[0] if self._counted is not None else NO_DEVICES
        found = offered(nodes, free, classes_of(nodes, devices), self._by_node)
        return found.axis, found.allocatable, found.used

    async def run(self) -> None:
        """Count devices until cancelled."""
        while True:
            seconds = 0.0
            with confined("measure", "devices"):
                started = time.thread_time()
                for _ in self._steps():
                    seconds += time.thread_time() - started
                    await asyncio.sleep(0)
                    started = time.thread_time()
            await asyncio.sleep(min(max(LEAST_SECONDS, seconds / LARGEST_PART), MOST_SECONDS))

    def show(self) -> None:
        """Count devices once."""
        for _ in self._steps():
            pass

    def _steps(self) -> Iterator[None]:
        """Count, and yield now and then."""
        basis = self._cache.devices.snapshot(), self._cache.node_usage.table()
        if self._counted is not None and all(
            now is before for now, before in zip(basis, self._counted, strict=True)
        ):
            return
        devices, nodes = basis
        yield from self._inventory.look(devices)
        metrics.SLICES_SKIPPED.set(inventory.number_skipped(devices.slices))
        metrics.DEVICES.show(
            ((each.driver, each.device_class, state), getattr(each, state))
            for each in self._inventory.counts(nodes.rows)
            for state in inventory.STATES
        )
        is_asked = bool(classes_of(nodes, devices))
        self._by_node = inventory.by_node(self._inventory.figures(nodes.rows) if is_asked else ())
        self._counted = basis
        yield
