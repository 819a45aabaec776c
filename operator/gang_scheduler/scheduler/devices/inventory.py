"""All devices of a cluster by DeviceClass: how many are free, used by claims, or tainted.

For people and metrics: no decision rests on these figures. A device that several classes select
counts in each of them. A device that no claim could get does not count: its pool is incomplete or
invalid, or other devices need the same counters. Of a card and its partitions, as many count as can
be used at once.
"""

from collections import Counter
from collections.abc import Collection, Container, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final, NamedTuple

from gang_scheduler.model.device_needs import NO_DEVICES, Devices
from gang_scheduler.model.devices import (
    KEEPING_OUT,
    Claim,
    Device,
    DeviceClass,
    DeviceId,
    Slice,
    TaintRule,
)
from gang_scheduler.scheduler.devices.partitioned_cards import charge
from gang_scheduler.scheduler.devices.pools import PoolId, counters_of, fault_of
from gang_scheduler.scheduler.devices.selectors import Selector, SelectorError

FREE: Final = "free"
USED: Final = "used"
TAINTED: Final = "tainted"
STATES: Final = (FREE, USED, TAINTED)
NO_CLASS: Final = ""
"""Stands for the class of devices that no class selects."""
CLAIMS_A_STEP: Final = 1000
POOLS_A_STEP: Final = 100

Classes = tuple[str, ...]
OnNodes = dict[tuple[str, str, Classes], tuple[int, int]]
"""By node, class and all classes of a device, how many there are, and how many are used."""


class KnownDevice(NamedTuple):
    """A device with the names of its classes. `node` is "" if it is not for one node alone."""

    device: Device
    node: str
    classes: Classes
    is_tainted: bool


class Figure(NamedTuple):
    """The devices of a pool in one class and one state. `node` is "" for devices of many nodes.

    A device of several `classes` counts in a figure of each.
    """

    driver: str
    node: str
    device_class: str
    classes: Classes
    state: str
    number: int


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


@dataclass(frozen=True, slots=True)
class _KnownPool:
    """A pool as its slices describe it. No device can be allocated from an unusable pool."""

    slices: tuple[Slice, ...]
    devices: tuple[KnownDevice, ...]
    counters: Mapping[tuple[str, str], int]
    is_usable: bool


class Inventory:
    """The devices of a cluster. Pools that have not changed are not examined again."""

    def __init__(self) -> None:
        self._looked = NO_DEVICES
        self._pools: dict[PoolId, _KnownPool] = {}
        self._used: dict[PoolId, set[str]] = {}
        self._figures: dict[PoolId, tuple[Figure, ...]] = {}

    def look(self, devices: Devices) -> Iterator[None]:
        """Take in the devices of a snapshot, and yield now and then."""
        before = self._looked
        if devices is before:
            return
        is_same = devices.classes is before.classes and devices.taint_rules is before.taint_rules
        pools: dict[PoolId, _KnownPool] = {}
        for pool, slices in _by_pool(current(devices.slices)).items():
            known = self._pools.get(pool) if is_same else None
            if known is None or not _are_same(known.slices, slices):
                known = _known(pool, slices, devices)
                yield
            pools[pool] = known
        used: dict[PoolId, set[str]] = {}
        for number, claim in enumerate(devices.claims.values(), start=1):
            for each in taken_by(claim):
                used.setdefault(PoolId(each.driver, each.pool), set()).add(each.device)
            if not number % CLAIMS_A_STEP:
                yield
        figures: dict[PoolId, tuple[Figure, ...]] = {}
        counted = 0
        for pool, known in pools.items():
            of_pool = used.get(pool, set())
            if known is self._pools.get(pool) and of_pool == self._used.get(pool, set()):
                figures[pool] = self._figures[pool]
                continue
            figures[pool] = tuple(_figures(pool, known, of_pool))
            counted += 1
            if not counted % POOLS_A_STEP:
                yield
        self._pools, self._used, self._figures = pools, used, figures
        self._looked = devices

    def figures(self, nodes: Container[str]) -> Iterator[Figure]:
        """Yield the figures of all pools, but not of devices for a node that is gone."""
        for of_pool in self._figures.values():
            for each in of_pool:
                if not each.node or each.node in nodes:
                    yield each

    def counts(self, nodes: Container[str]) -> list[ClassCount]:
        """Return the number of devices by driver and class, in the order of these names."""
        return counted(self.figures(nodes))


def of_snapshot(devices: Devices) -> Inventory:
    """Return the inventory of a snapshot."""
    inventory = Inventory()
    for _ in inventory.look(devices):
        pass
    return inventory


def counted(figures: Iterable[Figure]) -> list[ClassCount]:
    """Return the number of devices by driver and class, in the order of these names."""
    numbers = Counter[tuple[str, str, str]]()
    for each in figures:
        numbers[each.driver, each.device_class, each.state] += each.number
    pairs = sorted({(driver, name) for driver, name, _ in numbers})
    return [ClassCount(*pair, *(numbers[(*pair, state)] for state in STATES)) for pair in pairs]


def by_node(figures: Iterable[Figure]) -> OnNodes:
    """Return the devices of nodes by class that pods have or may get.

    Devices that several nodes reach are left out, and those that are tainted and not in use.
    """
    found: OnNodes = {}
    for each in figures:
        if each.node and each.device_class and each.state != TAINTED:
            key = each.node, each.device_class, each.classes
            there, used = found.get(key, (0, 0))
            in_use = each.number if each.state == USED else 0
            found[key] = there + each.number, used + in_use
    return found


def taken_by(claim: Claim) -> Iterator[DeviceId]:
    """Yield the devices that a claim uses, whole or in part; admin access uses none."""
    if claim.allocation is not None:
        yield from (each.id for each in claim.allocation.results if not each.admin)


def number_skipped(slices: Iterable[Slice]) -> int:
    """Return the number of slices that do not say which nodes can use their devices."""
    return sum(not (each.per_device or each.reach.is_known) for each in slices)


def current(slices: Iterable[Slice]) -> list[Slice]:
    """Return the slices that have the newest generation of their pool."""
    listed = list(slices)
    newest: dict[tuple[str, str], int] = {}
    for each in listed:
        pool = each.driver, each.pool
        newest[pool] = max(each.generation, newest.get(pool, each.generation))
    return [each for each in listed if each.generation == newest[each.driver, each.pool]]


def _by_pool(slices: Iterable[Slice]) -> dict[PoolId, list[Slice]]:
    found: dict[PoolId, list[Slice]] = {}
    for each in slices:
        found.setdefault(PoolId(each.driver, each.pool), []).append(each)
    return found


def _are_same(before: Collection[Slice], now: Collection[Slice]) -> bool:
    pairs = zip(before, now, strict=False)
    return len(before) == len(now) and all(one is other for one, other in pairs)


def _known(pool: PoolId, slices: Collection[Slice], devices: Devices) -> _KnownPool:
    rules = [each for each in devices.taint_rules if each.driver in ("", pool.driver)]
    found = (
        _known_device(pool, of, device, devices.classes, rules)
        for of in slices
        if not of.problems and (of.per_device or of.reach.is_known)
        for device in of.devices
    )
    is_usable = not fault_of(slices)
    counters = {
        (counter_set, name): amount
        for counter_set, amounts in (counters_of(slices) if is_usable else {}).items()
        for name, amount in amounts.items()
    }
    return _KnownPool(tuple(slices), tuple(found), counters, is_usable)


def _known_device(
    pool: PoolId,
    of: Slice,
    device: Device,
    classes: Mapping[str, DeviceClass],
    rules: Iterable[TaintRule],
) -> KnownDevice:
    selecting = (each.name for each in classes.values() if _selects(each, device, of.driver))
    identity = DeviceId(*pool, device.name)
    taints = [*device.taints, *(each.taint for each in rules if each.matches(identity))]
    return KnownDevice(
        device,
        device.node_name if of.per_device else of.node_name,
        tuple(sorted(selecting)) or (NO_CLASS,),
        any(each.effect in KEEPING_OUT for each in taints),
    )


def _selects(device_class: DeviceClass, device: Device, driver: str) -> bool:
    """Return whether a class selects a device. A class whose selector fails on it does not."""
    try:
        return not device_class.problems and all(
            Selector.compile(each).matches(device, driver) for each in device_class.selectors
        )
    except SelectorError:
        return False


def _figures(pool: PoolId, of: _KnownPool, used: Container[str]) -> Iterator[Figure]:
    """Yield how many devices of a pool are in each state, by node and class."""
    numbers = Counter[tuple[str, str, Classes, str]]()
    idle: dict[str, list[KnownDevice]] = {}
    left, seen = dict(of.counters), set[str]()
    for each in of.devices:
        if each.device.name not in used:
            for name in each.classes if of.is_usable else ():
                idle.setdefault(name, []).append(each)
        elif each.device.name not in seen:
            # An invalid pool may list a device twice; a claim has it once.
            seen.add(each.device.name)
            numbers.update((each.node, name, each.classes, USED) for name in each.classes)
            if of.is_usable:
                charge(left, each.device, -1)
    for name, found in idle.items():
        for each in _together(found, of.counters, left):
            state = TAINTED if each.is_tainted else FREE
            numbers[each.node, name, each.classes, state] += 1
    for key, number in numbers.items():
        yield Figure(pool.driver, *key, number)


def _together(
    idle: Iterable[KnownDevice],
    counters: Mapping[tuple[str, str], int],
    left: Mapping[tuple[str, str], int],
) -> Iterator[KnownDevice]:
    """Yield devices for which, together, the counters are enough.

    Devices without taints come first, then the ones that need least: so as many as possible count.
    """
    if not counters:
        yield from idle
        return
    if any(amount < 0 for amount in left.values()):
        yield from (each for each in idle if not each.device.consumes)
        return
    remaining = dict(left)
    for each in sorted(idle, key=lambda it: (it.is_tainted, _part(it.device, counters))):
        before = dict(remaining) if each.device.consumes else remaining
        charge(remaining, each.device, -1)
        if any(amount < 0 for amount in remaining.values()):
            remaining = before
        else:
            yield each


def _part(device: Device, counters: Mapping[tuple[str, str], int]) -> float:
    """Return the part of each counter that a device needs, summed over all counters."""
    return sum(
        amount.nanos / (counters[use.counter_set, name] or 1)
        for use in device.consumes
        for name, amount in use.counters.items()
    )
