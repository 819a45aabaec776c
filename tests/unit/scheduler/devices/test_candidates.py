"""The devices of a node as requests see them, before any is allocated."""

import pytest

from gang_scheduler.model.devices import Constraint, Device, DeviceTaint, Mode
from gang_scheduler.scheduler.devices.candidates import attribute_of
from gang_scheduler.scheduler.devices.claim_requests import ClaimError
from support.device_builders import (
    DRIVER,
    NODE,
    allocated,
    amounts,
    asked_for,
    attributes,
    candidates_of,
    capacities,
    claim,
    counter_set,
    devices,
    pools_of,
    request,
    slice_of,
    taken_by,
    uses,
)


def test_devices_that_differ_in_nothing_that_is_asked_for_are_one_kind() -> None:
    given = [Device(f"gpu-{i}", attributes(uuid=f"u{i}", numa=i // 2)) for i in range(4)]

    assert [0, 0, 0, 0] == candidates_of(given, asked_for(claim(request()))).kinds
    same = Constraint(match_attribute=f"{DRIVER}/numa")
    constrained = asked_for(claim(request(), constraints=[same]))
    assert [0, 0, 1, 1] == candidates_of(given, constrained).kinds


def test_what_can_make_a_difference_makes_another_kind() -> None:
    given = [
        Device("a"),
        Device("taken"),
        Device("tainted", taints=(DeviceTaint("bad", effect="NoSchedule"),)),
        Device("shared", allow_multiple=True),
        Device("shared-2", allow_multiple=True),
        Device("counted", consumes=uses("c", m="1")),
        Device("counted-2", consumes=uses("c", m="1")),
        Device("b"),
    ]
    slices = [
        slice_of([], name="s0", slice_count=2, counters=(counter_set("c", m="1"),)),
        slice_of(given, name="s1", slice_count=2),
    ]

    found = candidates_of(slices, asked_for(claim(request())), taken_by(allocated("taken")))

    assert [0, 1, 2, 3, 4, 5, 5, 0] == found.kinds
    watching = asked_for(claim(request(admin_access=True)))
    assert list(range(8)) == candidates_of(slices, watching).kinds


def test_eligible_devices_are_counted_from_each_place_on() -> None:
    wanted = asked_for(claim(request()))
    found = candidates_of(devices(3), wanted, taken_by(allocated("gpu-1")))
    (choice,) = wanted.requests[0].choices

    assert [2, 1, 1, 0] == [found.eligible_from(choice, place) for place in range(4)]
    assert [True, False, True] == [found.eligible(choice, place) for place in range(3)]
    assert found.suits(choice, 1)


def test_a_device_whose_capacity_is_too_small_does_not_suit() -> None:
    wanted = asked_for(claim(request(capacity=amounts(memory="2Gi"))))
    given = [Device("a", capacity=capacities(memory=size)) for size in ("1Gi", "2Gi")]
    given = [Device(f"gpu-{i}", capacity=each.capacity) for i, each in enumerate(given)]
    (choice,) = wanted.requests[0].choices

    found = candidates_of(given, wanted)

    assert [False, True] == [found.suits(choice, place) for place in range(2)]


def test_all_are_those_that_could_be_allocated_if_they_were_free() -> None:
    wanted = asked_for(claim(request(mode=Mode.ALL)))
    found = candidates_of(devices(3), wanted, taken_by(allocated("gpu-0")))
    (choice,) = wanted.requests[0].choices

    assert ([0, 1, 2], 3) == (found.all_of(choice), found.count(choice))


def test_an_error_is_raised_when_its_device_is_looked_at() -> None:
    wanted = asked_for(claim(request(selectors=(f"device.attributes['{DRIVER}'].x == 1",))))
    found = candidates_of([Device("good", attributes(x=1)), Device("bad")], wanted)
    (choice,) = wanted.requests[0].choices

    assert found.has_errors
    assert found.suits(choice, 0)
    with pytest.raises(ClaimError, match="n0/bad"):
        found.suits(choice, 1)


def test_an_attribute_of_the_driver_is_found_without_its_domain() -> None:
    (pool,) = pools_of([Device("x", attributes(**{"numa": 1, "pci.io/root": "r"}))]).on(NODE)
    (device,) = pool.devices

    assert attributes(x=1)["x"] == attribute_of(device, f"{DRIVER}/numa")
    assert attributes(x="r")["x"] == attribute_of(device, "pci.io/root")
    assert attribute_of(device, "other.io/numa") is None
    assert attribute_of(device, "root") is None
