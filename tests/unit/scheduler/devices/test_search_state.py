"""Devices taken one by one: what is given back is as it was before."""

import pytest

from gang_scheduler.model.devices import Constraint, Device, Mode
from gang_scheduler.scheduler.devices.claim_requests import ClaimRequests
from gang_scheduler.scheduler.devices.partitioned_cards import counters_left
from gang_scheduler.scheduler.devices.search_state import AbandonedError, DevicesInUse
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
    room_of,
    slice_of,
    taken_by,
    uses,
)


def parts() -> list[object]:
    given = [Device(f"half-{i}", consumes=uses("card", m="2")) for i in range(3)]
    return [
        slice_of([], name="s0", slice_count=2, counters=(counter_set("card", m="4"),)),
        slice_of(given, name="s1", slice_count=2),
    ]


def room(given: list[object], wanted: ClaimRequests) -> DevicesInUse:
    return room_of(wanted, candidates_of(given, wanted))  # type: ignore[arg-type]


def test_counters_limit_how_many_are_taken_and_come_back() -> None:
    wanted = asked_for(claim(request(count=3)))
    found = room(parts(), wanted)
    (choice,) = wanted.requests[0].choices
    before = found.state(0)

    assert [True, True, False] == [found.take(choice, place) for place in range(3)]
    assert before != found.state(0)
    found.give_back(choice, 1)
    assert found.take(choice, 2)
    for place in (2, 0):
        found.give_back(choice, place)
    assert before == found.state(0)


def test_shares_come_back_and_leave_the_counters_to_the_first() -> None:
    shared = Device(
        "gpu-0", capacity=capacities(m="3"), allow_multiple=True, consumes=uses("card", x="1")
    )
    other = Device("gpu-1", consumes=uses("card", x="1"))
    given: list[object] = [
        slice_of([], name="s0", slice_count=2, counters=(counter_set("card", x="1"),)),
        slice_of([shared, other], name="s1", slice_count=2),
    ]
    wanted = asked_for(*[claim(request(capacity=amounts(m="1")))] * 3, claim(request()))
    found = room(given, wanted)
    one, two, three, whole = (each.choices[0] for each in wanted.requests)
    before = found.state(0)

    assert [True, True] == [found.take(each, 0) for each in (one, two)]
    assert not found.take(whole, 1)
    assert found.take(three, 0)
    assert not found.take(whole, 0)
    for each in (three, two, one):
        found.give_back(each, 0)
    assert before == found.state(0)
    assert found.take(whole, 1)


def test_values_of_constraints_come_back() -> None:
    given: list[object] = [Device(f"gpu-{i}", attributes(numa=i)) for i in range(2)]
    same = Constraint(match_attribute=f"{DRIVER}/numa")
    wanted = asked_for(claim(request(count=2), constraints=[same]))
    found = room(given, wanted)
    (choice,) = wanted.requests[0].choices

    assert found.take(choice, 0)
    assert not found.take(choice, 1)
    found.give_back(choice, 0)
    assert found.take(choice, 1)
    assert found.result_count(0) == 1


def test_one_of_all_that_a_constraint_keeps_out_ends_everything() -> None:
    given: list[object] = [Device("gpu-0")]
    same = Constraint(match_attribute=f"{DRIVER}/numa")
    wanted = asked_for(claim(request(mode=Mode.ALL), constraints=[same]))
    (choice,) = wanted.requests[0].choices

    with pytest.raises(AbandonedError):
        room(given, wanted).take(choice, 0)


def test_a_device_in_use_is_for_admin_access_of_other_claims() -> None:
    wanted = asked_for(claim(request()), claim(request(admin_access=True)))
    plain, admin = (each.choices[0] for each in wanted.requests)
    found = room(list(devices(1)), wanted)

    assert found.take(plain, 0)
    assert found.is_in_use(plain, 0)
    assert not found.is_in_use(admin, 0)
    assert found.take(admin, 0)
    assert found.is_in_use(admin, 0)


def test_devices_for_other_nodes_use_up_the_counters_too() -> None:
    here = slice_of([Device("a", consumes=uses("card", m="1"))], name="s1", slice_count=3)
    there = slice_of(
        [Device("b", consumes=uses("card", m="5"))], name="s2", slice_count=3, node_name="n1"
    )
    sets = slice_of([], name="s0", slice_count=3, counters=(counter_set("card", m="4"),))
    wanted = asked_for(claim(request()))
    taken = taken_by(allocated("b"))
    candidates = candidates_of([here, there, sets], wanted, taken)
    (pool,) = pools_of([here, there, sets]).on(NODE)

    assert {("card", "m"): -(10**9)} == counters_left(pool, taken)
    assert not room_of(wanted, candidates).take(wanted.requests[0].choices[0], 0)
