"""The amounts that quotas count for devices by their counters and capacities."""

from dataclasses import replace
from typing import Any

import pytest

from gang_scheduler.model.device_needs import Devices
from gang_scheduler.model.devices import Device, DeviceResult
from gang_scheduler.model.rules import (
    CelSelector,
    DeviceAmount,
    DeviceClassMapping,
    DeviceClassSource,
    DeviceSelector,
)
from gang_scheduler.scheduler.devices.source_amounts import SourceAmounts
from support.call_counts import calls_of
from support.device_builders import (
    CLASSES,
    DRIVER,
    amounts,
    asked,
    attributes,
    capacities,
    devices,
    slice_of,
    uses,
)

LARGE = f"device.attributes['{DRIVER}'].size == 'large'"
PARTS = [
    Device("small", attributes(size="small"), consumes=uses("card", memory="10")),
    Device("large", attributes(size="large"), consumes=uses("card", memory="40", engines="7")),
]
SHARED = [Device("card", capacity=capacities(memory="80"), allow_multiple=True)]
WHOLE = [Device("card", capacity=capacities(memory="80"))]


def counting(**fields: Any) -> SourceAmounts:
    """Return the amounts of class gpu by one source."""
    source = DeviceClassSource(**fields)
    mapping = DeviceClassMapping(name="x", device_class_names=("gpu",), sources=(source,))
    return SourceAmounts([mapping])


def memory(*, driver: str = "", only: str = "") -> DeviceAmount:
    """Return the amount of memory, of devices that an expression selects."""
    selector = DeviceSelector(cel=CelSelector(expression=only)) if only else None
    return DeviceAmount(name="memory", driver=driver, device_selector=selector)


def known(given: list[Device]) -> Devices:
    """Return a cluster with these devices."""
    return Devices(classes=CLASSES, slices=(slice_of(given),))


def result(device: str, **consumed: str) -> DeviceResult:
    """Return a device as a claim was given it."""
    share = "share" if consumed else ""
    return DeviceResult("gpu", DRIVER, "n0", device, share_id=share, consumed=amounts(**consumed))


@pytest.mark.parametrize(
    ("source", "selectors", "expected"),
    [
        (memory(), (), 40),
        (memory(driver=DRIVER), (), 40),
        (memory(driver="another.example.com"), (), 0),
        (memory(), (f"!({LARGE})",), 10),
        (memory(only=f"!({LARGE})"), (), 10),
        (memory(), ("device.driver == 'another.example.com'",), 0),
        (memory(), ("device.attributes['x'].y == 1",), 0),
    ],
)
def test_the_largest_device_that_can_be_selected_counts(
    source: DeviceAmount, selectors: tuple[str, ...], expected: int
) -> None:
    found = counting(counter=source).of(known(PARTS), asked(selectors=selectors), None)

    assert expected == found


@pytest.mark.parametrize(
    ("given", "requested", "expected"),
    [(SHARED, {"memory": "5"}, 5), (SHARED, {}, 80), (WHOLE, {"memory": "5"}, 80), (PARTS, {}, 0)],
)
def test_of_a_capacity_counts_what_a_request_takes(
    given: list[Device], requested: dict[str, str], expected: int
) -> None:
    request = asked(capacity=amounts(**requested))

    assert expected == counting(capacity=memory()).of(known(given), request, None)


def test_once_devices_are_allocated_these_count() -> None:
    by_counter, by_capacity = counting(counter=memory()), counting(capacity=memory())

    assert 10 == by_counter.of(known(PARTS), asked(), result("small"))
    assert 0 == by_counter.of(known(PARTS), asked(), result("gone"))
    assert 7 == by_capacity.of(known(SHARED), asked(), result("card", memory="7"))
    assert 80 == by_capacity.of(known(WHOLE), asked(), result("card"))


def test_all_devices_are_those_of_the_node_with_the_most() -> None:
    slices = [
        slice_of(devices(number), name=f"s{i}", pool=f"p{i}", node_name=at, all_nodes=not at)
        for i, (at, number) in enumerate([("n0", 2), ("n1", 3), ("n1", 4), ("", 5)])
    ]
    cluster = Devices(classes=CLASSES, slices=tuple(slices))

    assert 3 + 4 + 5 == SourceAmounts([]).number_of_all(cluster, asked())
    assert 0 == SourceAmounts([]).number_of_all(cluster, asked(selectors=("false",)))
    many = Devices(classes=CLASSES, slices=(slice_of(devices(40)),))
    assert 32 == SourceAmounts([]).number_of_all(many, asked())


def test_devices_of_a_class_without_sources_are_counted() -> None:
    assert counting(counter=memory()).of(known(PARTS), asked(device_class="nic"), None) is None


def test_a_changed_slice_costs_its_own_devices() -> None:
    found = counting(counter=memory())
    slices = [slice_of(PARTS[:1], name=f"s{i}", pool=f"n{i}", node_name=f"n{i}") for i in range(50)]
    cluster = Devices(classes=CLASSES, slices=tuple(slices))
    assert 10 == found.of(cluster, asked(), None)
    slices[3] = replace(slices[3], devices=tuple(PARTS))

    changed = replace(cluster, slices=tuple(slices))
    calls = calls_of(lambda: found.of(changed, asked(), None))

    assert 2 == calls["source_amounts.SourceAmounts._amount"]
    assert 40 == found.of(changed, asked(), None)


def test_equal_requests_go_through_slices_once() -> None:
    there = Devices(
        classes=CLASSES,
        slices=tuple(
            slice_of(PARTS, name=f"s{number}", pool=f"n{number}", node_name=f"n{number}")
            for number in range(50)
        ),
    )
    found = SourceAmounts([])
    number = found.number_of_all(there, asked())
    amount = counting(counter=memory())
    amount.of(there, asked(), None)

    assert number == found.number_of_all(there, asked())
    assert calls_of(lambda: found.number_of_all(there, asked())).total() < 10
    assert calls_of(lambda: amount.of(there, asked(), None)).total() < 10
