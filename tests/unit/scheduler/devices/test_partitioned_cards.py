"""Cards whose devices can change places: in the same state they are alike, whatever their names."""

from gang_scheduler.model.devices import Device, Slice
from gang_scheduler.scheduler.devices.allocated_devices import Taken
from gang_scheduler.scheduler.devices.partitioned_cards import NO_CARD
from support.device_builders import (
    allocated,
    asked_for,
    candidates_of,
    claim,
    counter_set,
    request,
    room_of,
    slice_of,
    taken_by,
    uses,
)


def three_cards(sizes: tuple[str, ...] = ("4", "4", "4")) -> list[Slice]:
    """Return cards of two halves each, and one device without a card."""
    sets = tuple(counter_set(f"card-{i}", m=size) for i, size in enumerate(sizes))
    halves = [
        Device(f"{i}-half-{j}", consumes=uses(f"card-{i}", m="2"))
        for i in range(len(sizes))
        for j in range(2)
    ]
    return [
        slice_of([], name="s0", slice_count=2, counters=sets),
        slice_of([*halves, Device("plain")], name="s1", slice_count=2),
    ]


WANTED = asked_for(claim(request(count=2)))


def likeness(given: list[Slice], taken: Taken | None = None) -> list[int]:
    return candidates_of(given, WANTED, taken).cards.likeness


def test_devices_that_share_counters_are_on_one_card() -> None:
    assert [0, 0, 1, 1, 2, 2, NO_CARD] == candidates_of(three_cards(), WANTED).cards.of


def test_a_device_of_two_counter_sets_joins_them_to_one_card() -> None:
    sets = (counter_set("a", m="1"), counter_set("b", m="1"))
    given = [
        Device("x", consumes=uses("a", m="1")),
        Device("y", consumes=uses("b", m="1")),
        Device("both", consumes=(*uses("a", m="1"), *uses("b", m="1"))),
    ]
    slices = [
        slice_of([], name="s0", slice_count=2, counters=sets),
        slice_of(given, name="s1", slice_count=2),
    ]

    assert [0, 0, 0] == candidates_of(slices, WANTED).cards.of


def test_cards_are_alike_by_their_devices_and_by_what_is_left_of_them() -> None:
    assert [0, 0, 0] == likeness(three_cards())
    assert [0, 1, 0] == likeness(three_cards(("4", "8", "4")))
    assert [0, 0, 1] == likeness(three_cards(), taken_by(allocated("2-half-0")))


def test_devices_of_equal_cards_are_alike_until_one_of_the_cards_is_used() -> None:
    candidates = candidates_of(three_cards(), WANTED)
    in_use = room_of(WANTED, candidates)
    (choice,) = WANTED.requests[0].choices

    assert in_use.interchange_key(0) == in_use.interchange_key(2)
    assert in_use.take(choice, 0)
    assert in_use.interchange_key(1) != in_use.interchange_key(2)
    assert in_use.interchange_key(2) == in_use.interchange_key(5)


def test_the_state_is_the_same_whichever_of_equal_cards_is_used() -> None:
    candidates = candidates_of(three_cards(), WANTED)
    (choice,) = WANTED.requests[0].choices
    states = []
    for place in (0, 3, 6):
        in_use = room_of(WANTED, candidates)
        assert in_use.take(choice, place)
        states.append(in_use.state(0))

    assert states[0] == states[1]
    assert states[1] != states[2]


def test_parts_of_different_size_are_not_alike() -> None:
    sets = (counter_set("card", m="4"),)
    given = [Device(f"part-{size}", consumes=uses("card", m=size)) for size in ("1", "4")]
    slices = [
        slice_of([], name="s0", slice_count=2, counters=sets),
        slice_of(given, name="s1", slice_count=2),
    ]
    in_use = room_of(WANTED, candidates_of(slices, WANTED))

    assert in_use.interchange_key(0) != in_use.interchange_key(1)
