"""Nodes with equal signatures have equal answers, device by device, whatever their names are."""

import random
from typing import Any

import pytest

from gang_scheduler.model.devices import (
    Allocation,
    Constraint,
    Device,
    DeviceResult,
    DeviceTaint,
    Mode,
    NodeView,
    Slice,
)
from gang_scheduler.scheduler.devices import signature as signatures_of
from gang_scheduler.scheduler.devices.allocated_devices import Taken
from gang_scheduler.scheduler.devices.outcomes import Budget, Found, Outcome
from gang_scheduler.scheduler.devices.pools import Pools
from gang_scheduler.scheduler.devices.search import allocate
from gang_scheduler.scheduler.devices.signature import Signatures
from support.device_builders import (
    CLASSES,
    DRIVER,
    allocated,
    amounts,
    asked_for,
    attributes,
    capacities,
    claim,
    counter_set,
    devices,
    request,
    slice_of,
    taken_by,
    uses,
)

ONE = claim(request())


def signature(
    given: list[Device], *claims: Any, taken: Taken | None = None, node: str = "n0"
) -> Any:
    slices = [slice_of(given, pool=node, node_name=node)]
    found = Signatures(claims or (ONE,), Pools(slices), CLASSES)
    return found.of(NodeView(node), taken or Taken())


def test_names_and_what_no_claim_can_see_play_no_part() -> None:
    other = [Device(f"x{i}", attributes(uuid=f"u{i}")) for i in range(4)]

    assert signature(devices(4)) == signature(other, node="n9")
    assert signature(devices(4)) != signature(devices(3))


def test_which_of_equal_devices_are_taken_plays_no_part() -> None:
    one, other = (
        signature(devices(4), taken=taken_by(allocated(name))) for name in ("gpu-0", "gpu-3")
    )

    assert one == other == signature(devices(3))


@pytest.mark.parametrize(
    "special",
    [
        Device("x", taints=(DeviceTaint("bad", effect="NoSchedule"),)),
        Device("x", allow_multiple=True, capacity=capacities(m="1")),
    ],
)
def test_what_a_claim_can_see_makes_a_difference(special: Device) -> None:
    assert signature([special, *devices(1)]) != signature(devices(2))


def test_values_of_constraints_are_numbered_by_their_first_occurrence() -> None:
    same = claim(request(count=2), constraints=[Constraint(match_attribute=f"{DRIVER}/root")])

    def rooted(*roots: str) -> list[Device]:
        return [Device(f"gpu-{i}", attributes(root=root)) for i, root in enumerate(roots)]

    assert signature(rooted("a", "b", "a"), same) == signature(rooted("z", "y", "z"), same)
    assert signature(rooted("a", "b", "a"), same) != signature(rooted("a", "a", "b"), same)


def test_what_is_left_of_a_shared_device_makes_a_difference() -> None:
    shared = [Device("gpu-0", capacity=capacities(m="4"), allow_multiple=True)]
    asked_one = claim(request(capacity=amounts(m="1")))
    share = allocated("gpu-0", share_id="s", consumed=amounts(m="1"))

    assert signature(shared, asked_one) != signature(shared, asked_one, taken=taken_by(share))


def test_all_devices_make_a_difference_when_one_of_them_is_taken() -> None:
    everything = claim(request(mode=Mode.ALL))

    assert signature(devices(2), everything) != signature(
        devices(3), everything, taken=taken_by(allocated("gpu-0"))
    )


def test_a_pool_for_several_nodes_is_reported_by_name() -> None:
    local = slice_of(devices(2), node_name="n0")
    common = slice_of(devices(2), node_name="", all_nodes=True)
    found = [
        Signatures([ONE], Pools([each]), CLASSES).of(NodeView("n0"), Taken())
        for each in (local, common)
    ]

    assert found[0] != found[1]


def test_a_refused_claim_has_the_same_signature_everywhere() -> None:
    refused = claim(request(device_class="nope"))

    assert signature(devices(1), refused) == signature(devices(9), refused, node="n5")


@pytest.mark.parametrize(("fields", "times"), [({"consumes": uses("c", m="1")}, 3), ({}, 1)])
def test_a_node_is_looked_at_again_only_when_something_of_it_changed(
    monkeypatch: pytest.MonkeyPatch, fields: dict[str, Any], times: int
) -> None:
    """If nothing but the taken devices can make a difference, one look is enough for all alike."""
    looked: list[int] = []
    whole = signatures_of._signature

    def noted(*given: Any) -> Any:
        looked.append(1)
        return whole(*given)

    monkeypatch.setattr(signatures_of, "_signature", noted)
    slices = []
    for at in ("n0", "n1", "n2"):
        reach = {"pool": at, "node_name": at, "slice_count": 1 + bool(fields)}
        slices.append(slice_of(devices(2, **fields), name=f"{at}-d", **reach))
        if fields:
            counters = (counter_set("c", m="2"),)
            slices.append(slice_of([], name=f"{at}-c", counters=counters, **reach))
    signatures = Signatures([ONE], Pools(slices), CLASSES)
    nodes = [NodeView(f"n{i}") for i in range(3)]
    plan = Taken().copy()

    first = [signatures.of(each, plan) for each in nodes]
    again = [signatures.of(each, plan) for each in nodes]
    plan.add(allocated("gpu-0"))
    changed = [signatures.of(each, plan) for each in nodes]

    assert first == again
    assert [False, True, True] == [one == other for one, other in zip(first, changed, strict=True)]
    assert len(looked) == times + 1


def test_what_is_remembered_of_devices_and_pools_that_were_is_bounded(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(signatures_of, "MOST_REMEMBERED", 4)
    node, nothing = NodeView("n0"), Taken()
    known = Signatures([ONE], Pools([slice_of(devices(8))]), CLASSES)
    expected = known.of(node, nothing)
    for number in range(8):
        known.of(node, taken_by(allocated(f"gpu-{number}")))
    assert len(known._by_numbers) <= 4

    kept = []
    for number in range(1, 10):
        pools = Pools([slice_of(devices(number))])
        kept.append(pools)
        known.follow(pools)
        assert known.of(node, nothing) == Signatures([ONE], pools, CLASSES).of(node, nothing)
        assert len(known.pool_numbers._numbers) <= 4
    known.follow(kept[7])
    assert expected == known.of(node, nothing)


# Random nodes: equal signatures, equal answers.


def random_node(dice: random.Random, name: str) -> tuple[list[Slice], Taken]:
    names = dice.sample(range(100), 4)
    given = [
        Device(
            f"d{each}",
            attributes(kind=dice.choice("ab"), root=dice.choice((f"{name}-0", f"{name}-1"))),
            consumes=uses("card", m=dice.choice("12")) if dice.random() < 0.5 else (),
        )
        for each in names
    ]
    slices = [
        slice_of([], name="s0", pool="n0", slice_count=2, counters=(counter_set("card", m="3"),)),
        slice_of(given, name="s1", pool="n0", slice_count=2),
    ]
    return slices, taken_by(allocated(*[each.name for each in given if dice.random() < 0.3]))


def by_place(outcome: Outcome, slices: list[Slice], taken: Taken) -> object:
    """Return an outcome with devices told by their places among those that are free."""
    if not isinstance(outcome, Found):
        return type(outcome)
    free = [each for each in slices[1].devices if not taken.has(_id(each))]
    places = {each.name: i for i, each in enumerate(free)}
    return [[places[each.device] for each in one.results] for one in outcome.allocations]


def _id(device: Device) -> Any:
    return allocated(device.name).results[0].id


def test_equal_signatures_have_equal_answers() -> None:
    dice = random.Random(7)  # noqa: S311 - nodes are no secrets
    kind = f"device.attributes['{DRIVER}'].kind == 'a'"
    same = Constraint(match_attribute=f"{DRIVER}/root")
    claims = [claim(request(count=2), constraints=[same]), claim(request(selectors=(kind,)))]
    answers: dict[object, set[str]] = {}
    for i in range(600):
        slices, taken = random_node(dice, f"n{i}")
        pools, node = Pools(slices), NodeView("n0")
        key = Signatures(claims, pools, CLASSES).of(node, taken)
        outcome = allocate(node, claims, pools, taken, CLASSES, Budget())
        answers.setdefault(key, set()).add(repr(by_place(outcome, slices, taken)))

    assert 500 > len(answers)
    assert {1} == {len(each) for each in answers.values()}


@pytest.mark.parametrize("seed", range(40))
def test_nodes_alike_have_the_signature_that_each_would_have_alone(seed: int) -> None:
    dice = random.Random(seed)  # noqa: S311 - nodes are no secrets
    kind = f"device.attributes['{DRIVER}'].kind == 'a'"
    same = Constraint(match_attribute=f"{DRIVER}/root")
    bad = DeviceTaint("bad", "", "NoSchedule")
    asking = [
        [claim(request(count=2), constraints=[same]), claim(request(selectors=(kind,)))],
        [claim(request(mode=Mode.ALL))],
        [claim(request(admin_access=True), request("other", selectors=(kind,)))],
    ]
    slices = []
    for i in range(12):
        given = [
            Device(
                f"d{place}",
                attributes(kind=dice.choice("ab"), root=dice.choice("xy")),
                taints=(bad,) if dice.random() < 0.2 else (),
                allow_multiple=dice.random() < 0.05,
            )
            for place in range(dice.randrange(1, 4))
        ]
        at = f"n{i // 2 if i < 4 else i}"
        reach = {"name": f"s{i}", "pool": f"p{i}", "node_name": at}
        slices.append(slice_of(given, **reach, slice_count=dice.choice([1, 1, 1, 2])))
    pools = Pools(slices)
    used = (DeviceResult("r", DRIVER, f"p{i}", f"d{dice.randrange(3)}") for i in range(12))
    taken = taken_by(Allocation(tuple(each for each in used if dice.random() < 0.4)))
    for claims in asking:
        signatures, alone = Signatures(claims, pools, CLASSES), asked_for(*claims)
        for node in [NodeView(f"n{i}") for i in range(12)]:
            expected = signatures_of._signature(alone, pools.on(node), taken)
            assert expected == signatures.of(node, taken)
