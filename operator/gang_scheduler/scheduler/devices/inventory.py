"""All devices of a cluster by DeviceClass: how many are free, used by claims, or tainted.

For people and metrics: no decision rests on these figures. A device that several classes select
counts in each of them.
"""

from collections import Counter
from collections.abc import Container, Iterable, Iterator, Mapping
from typing import Final, NamedTuple

from gang_scheduler.model.device_needs import Devices
from gang_scheduler.model.devices import (
    KEEPING_OUT,
    Claim,
    Device,
    DeviceClass,
    DeviceId,
    Slice,
    TaintRule,
)
from gang_scheduler.scheduler.devices.selectors import Selector, SelectorError

FREE: Final = "free"
USED: Final = "used"
TAINTED: Final = "tainted"
STATES: Final = (FREE, USED, TAINTED)
NO_CLASS: Final = ""
"""Stands for the class of devices that no class selects."""
CLAIMS_A_STEP: Final = 1000

Classes = tuple[str, ...]
OnNodes = dict[tuple[str, str], tuple[int, int]]
"""By node and class, how many devices there are, and how many of them are used."""


class KnownDevice(NamedTuple):
    """A device with the names of its classes. `node` is "" if it is not for one node alone."""

    id: DeviceId
    node: str
    classes: Classes
    is_tainted: bool


class ClassCount(NamedTuple):
    """The devices of one driver in one class. A device in use is not counted as tainted, too."""

    driver: str
    device_class: str
    free: int = 0
    used: int = 0
    tainted: int = 0

    @property
    def all(self) -> int:
        """How many devices there are."""
        return self.free + self.used + self.tainted


class Inventory:
    """The devices of a cluster. A slice that did not change is not looked at again."""

    def __init__(self) -> None:
        self._basis: tuple[object, ...] = (None, None)
        self._of_slice: dict[str, tuple[Slice, tuple[KnownDevice, ...]]] = {}
        self._present: list[Slice] = []
        self._used: frozenset[DeviceId] = frozenset()

    def look(self, devices: Devices) -> Iterator[None]:
        """Take in the devices of a snapshot, and yield now and then."""
        if any(
            now is not before
            for now, before in zip((devices.classes, devices.taint_rules), self._basis, strict=True)
        ):
            self._of_slice.clear()
        self._basis = devices.classes, devices.taint_rules
        self._present = current(devices.slices)
        known = {}
        for each in self._present:
            before = self._of_slice.get(each.name)
            if before is not None and before[0] is each:
                known[each.name] = before
                continue
            known[each.name] = each, tuple(_known(each, devices.classes, devices.taint_rules))
            yield
        self._of_slice = known
        used: set[DeviceId] = set()
        for number, claim in enumerate(devices.claims.values(), start=1):
            used.update(taken_by(claim))
            if not number % CLAIMS_A_STEP:
                yield
        self._used = frozenset(used)

    def devices(self, nodes: Container[str]) -> Iterator[tuple[KnownDevice, str]]:
        """Yield the devices that are not for a node that is gone, each with its state."""
        for each in self._present:
            for device in self._of_slice[each.name][1]:
                if not device.node or device.node in nodes:
                    is_used = device.id in self._used
                    yield device, USED if is_used else TAINTED if device.is_tainted else FREE

    def counts(self, nodes: Container[str]) -> list[ClassCount]:
        """Return the number of devices by driver and class, in the order of these names."""
        return counted(self.devices(nodes))


def of_snapshot(devices: Devices) -> Inventory:
    """Return the inventory of a snapshot."""
    inventory = Inventory()
    for _ in inventory.look(devices):
        pass
    return inventory


def counted(devices: Iterable[tuple[KnownDevice, str]]) -> list[ClassCount]:
    """Return the number of devices by driver and class, in the order of these names."""
    numbers = Counter(
        (each.id.driver, name, state)
        for each, state in devices
        for name in each.classes or (NO_CLASS,)
    )
    pairs = sorted({(driver, name) for driver, name, _ in numbers})
    return [ClassCount(*pair, *(numbers[(*pair, state)] for state in STATES)) for pair in pairs]


def by_node(devices: Iterable[tuple[KnownDevice, str]]) -> OnNodes:
    """Return the devices of nodes by class that pods have or may get.

    Devices that several nodes reach are left out, and those that are tainted and not in use.
    """
    found: OnNodes = {}
    for each, state in devices:
        if state == TAINTED:
            continue
        for name in each.classes if each.node else ():
            there, used = found.get((each.node, name), (0, 0))
            found[each.node, name] = there + 1, used + (state == USED)
    return found


def taken_by(claim: Claim) -> Iterator[DeviceId]:
    """Yield the devices that a claim uses, whole or in part; admin access uses none."""
    if claim.allocation is not None:
        yield from (each.id for each in claim.allocation.results if not each.admin)


def current(slices: Iterable[Slice]) -> list[Slice]:
    """Return the slices that have the newest generation of their pool."""
    listed = list(slices)
    newest: dict[tuple[str, str], int] = {}
    for each in listed:
        pool = each.driver, each.pool
        newest[pool] = max(each.generation, newest.get(pool, each.generation))
    return [each for each in listed if each.generation == newest[each.driver, each.pool]]


def _known(
    of: Slice, classes: Mapping[str, DeviceClass], rules: Iterable[TaintRule]
) -> Iterator[KnownDevice]:
    rules = [each for each in rules if each.driver in ("", of.driver)]
    for device in of.devices:
        identity = DeviceId(of.driver, of.pool, device.name)
        selecting = (each.name for each in classes.values() if _selects(each, device, of.driver))
        taints = [*device.taints, *(each.taint for each in rules if each.matches(identity))]
        yield KnownDevice(
            identity,
            device.node_name if of.per_device else of.node_name,
            tuple(sorted(selecting)),
            any(each.effect in KEEPING_OUT for each in taints),
        )


def _selects(device_class: DeviceClass, device: Device, driver: str) -> bool:
    """Return whether a class selects a device. One whose selector fails on it does not."""
    try:
        return not device_class.problems and all(
            Selector.compile(each).matches(device, driver) for each in device_class.selectors
        )
    except SelectorError:
        return False
