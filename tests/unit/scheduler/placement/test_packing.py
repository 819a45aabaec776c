"""The exact search on few nodes."""

import random
from collections.abc import Sequence
from dataclasses import replace
from unittest.mock import patch

import numpy as np
import pytest

from gang_scheduler.model.devices import Device, Request
from gang_scheduler.model.nodes import IntArray
from gang_scheduler.model.plan import Plan
from gang_scheduler.scheduler.cycle import schedule
from gang_scheduler.scheduler.effort import MOST_LOOKS, PART, Effort
from gang_scheduler.scheduler.placement import packing
from gang_scheduler.scheduler.placement.tree import mixed_classes
from gang_scheduler.scheduler.profile import PROFILES
from gang_scheduler.scheduler.trial import Trial
from support.builders import group, node, snapshot
from support.device_builders import DRIVER, attributes, request
from support.device_worlds import DeviceWorld, devices_of
from support.plan_reading import nodes_of
from support.topology_builders import TREE_SPEC, labels_of, must


def pack(
    counts: packing.Counts,
    slots: IntArray,
    requests: IntArray,
    free: IntArray,
    *,
    looks: int = 1000,
) -> list[packing.Counts] | None:
    effort = Effort()
    effort.spend(MOST_LOOKS // PART - looks)
    return packing.pack_exactly(counts, slots, requests, free, effort)


def test_it_finds_the_only_arrangement() -> None:
    # One node of 5 and one of 4: two of 3 and one of 2 fit only as 3 + 2 and 3.
    requests, free = np.array([[3], [2]]), np.array([[5], [4]])
    slots = np.array([[1, 1], [2, 2]])

    assert [(1, 1), (1, 0)] == pack((2, 1), slots, requests, free)


def test_it_says_when_there_is_none() -> None:
    requests, free = np.array([[3], [3]]), np.array([[5], [4]])
    slots = np.array([[1, 1], [1, 1]])

    assert pack((2, 1), slots, requests, free) is None


def test_there_is_none_without_nodes() -> None:
    # A cluster that never had a node knows no resources.
    nothing = np.zeros((0, 0), dtype=np.int64)

    assert pack((2, 1), nothing.reshape(2, 0), nothing.reshape(2, 0), nothing) is None


def test_slots_bound_what_requests_allow() -> None:
    requests, free = np.array([[1]]), np.array([[9], [9]])

    assert [(1,), (2,)] == pack((3,), np.array([[1, 2]]), requests, free)


def test_members_that_ask_for_nothing_fit_anywhere() -> None:
    requests, free = np.array([[0], [1]]), np.array([[1]])

    assert [(2, 1)] == pack((2, 1), np.array([[9], [1]]), requests, free)


def test_only_small_cases_are_searched() -> None:
    assert packing.small(packing.MOST_NODES, [8, 8])
    assert not packing.small(packing.MOST_NODES + 1, [1])
    assert not packing.small(1, [9, 8])


# Members with claims of devices, placed one by one.


IS_LARGE = f"device.attributes['{DRIVER}'].size == 'large'"
LARGE = request(selectors=(IS_LARGE,))
SMALL = request(selectors=(f"device.attributes['{DRIVER}'].size == 'small'",))
TWO_LARGE = request(count=2, selectors=(IS_LARGE,))
TWO = request(count=2)
WORLDS = 12


def some(*sizes: str) -> list[Device]:
    return [Device(f"{size}-{i}", attributes(size=size)) for i, size in enumerate(sizes)]


MIXED = {"n0": some("large"), "n1": some("large", "small"), "n2": some("small", "small")}


def decided(*asked: Request, given: dict[str, list[Device]] = MIXED) -> Plan:
    """Return the decision on a gang with a member for each request."""
    world = DeviceWorld(given)
    world.asking("a", *asked)
    return world.decide()


def test_a_member_that_takes_any_two_leaves_the_large_ones_to_those_that_need_them() -> None:
    plan = decided(TWO, LARGE, LARGE)

    assert {"a-0": "n2", "a-1": "n0", "a-2": "n1"} == nodes_of(plan)
    binds = [bind for placed in plan.placed for bind in placed.binds]
    assert ["n1/large-0"] == devices_of(binds)["a-2"]


def test_the_order_of_members_makes_no_difference() -> None:
    for asked in ((LARGE, TWO, LARGE), (LARGE, LARGE, TWO)):
        assert 3 == len(nodes_of(decided(*asked)))


def test_members_that_fit_in_no_way_are_refused() -> None:
    assert {} == nodes_of(decided(TWO, TWO, LARGE, LARGE))


def test_a_search_that_takes_too_long_ends_and_that_is_reported() -> None:
    with patch.object(packing, "MOST_STEPS", 1):
        plan = decided(TWO, LARGE, LARGE)

    (refused,) = plan.refused
    assert refused.misfit is not None
    assert refused.misfit.cut_off


def test_equal_members_are_not_tried_in_every_order() -> None:
    nodes = {f"n{i}": some("large", "small") for i in range(8)}
    tried = []
    search = packing._ByMember._goes_on

    def counted(of: packing._ByMember) -> bool:
        tried.append(of)
        return search(of)

    with patch.object(packing._ByMember, "_goes_on", counted):
        plan = decided(*[LARGE] * 5, *[TWO] * 4, given=nodes)

    assert {} == nodes_of(plan)
    assert 0 < len(tried) < packing.MOST_STEPS


def gathered(
    given: dict[str, list[Device]],
    blocks: dict[str, str],
    asked: Sequence[Request],
    min_member: int | None = None,
) -> Plan:
    """Return the decision on a gang that must gather in one block."""
    world = DeviceWorld(given)
    made = world.asking("a", *asked)
    if min_member is not None:
        made = replace(made, min_member=min_member)
    nodes = [node(name, cpu=64, labels=labels_of(block)) for name, block in blocks.items()]
    groups = [group(made, topology_request=must("BlockLayer"))]
    found = snapshot(nodes, groups, tree_specs=(TREE_SPEC,))
    return schedule(replace(found, devices=world.devices()), PROFILES["binpack"])


def sizes_of(plan: Plan) -> dict[str, list[str]]:
    """Return the sizes of the devices of each member: they are in the names of devices."""
    binds = [bind for placed in plan.placed for bind in placed.binds]
    return {
        name: [each.partition("/")[2].partition("-")[0] for each in found]
        for name, found in devices_of(binds).items()
    }


def of_each(asked: Sequence[Request]) -> dict[str, list[set[str]]]:
    """Return the sizes that each device of each member may have."""
    any_size = {"large", "small"}
    allowed = {LARGE: [{"large"}], SMALL: [{"small"}], TWO_LARGE: [{"large"}] * 2}
    return {f"a-{i}": allowed.get(each, [any_size] * 2) for i, each in enumerate(asked)}


def test_members_that_gather_are_seated_with_those_of_their_own_class() -> None:
    """The search begins with large devices: the order of members must not matter after it."""
    given = {"n0": some("large"), "n1": some("large", "small"), "n2": some("small", "small")}
    blocks = dict.fromkeys(given, "s/b")
    for asked in ((TWO, LARGE, LARGE), (LARGE, TWO, LARGE)):
        plan = gathered(given, blocks, asked)
        assert not plan.failures
        assert 3 == len(sizes_of(plan))


@pytest.mark.parametrize("fitting", ["n0", "n1"])
def test_blocks_are_not_alike_if_their_devices_differ(fitting: str) -> None:
    """Both nodes have one device for each member, and on one of them it is the same device."""
    is_red = f"'color' in device.attributes['{DRIVER}']"
    red = request(selectors=(f"{is_red} && device.attributes['{DRIVER}'].color == 'red'",))
    unfit = [Device("a", attributes(size="large", color="red")), Device("b", attributes(size="s"))]
    fit = [Device("a", attributes(size="large")), Device("b", attributes(size="s", color="red"))]
    given = {each: fit if each == fitting else unfit for each in ("n0", "n1")}

    plan = gathered(given, {"n0": "s/b0", "n1": "s/b1"}, (LARGE, red))

    assert {"a-0": fitting, "a-1": fitting} == nodes_of(plan)


@pytest.mark.parametrize(("at_least", "expected"), [(2, [1, 0, 1]), (3, None)])
def test_each_class_has_a_share_in_their_order_though_some_have_less_choice(
    at_least: int, expected: list[int] | None
) -> None:
    world = DeviceWorld({"n0": some("large", "other"), "n1": some("other", "other")})
    members = world.asking("a", TWO, SMALL, LARGE).pending
    trial = Trial(world.snapshot())
    with patch.object(packing, "_packed", lambda *_: None):
        found = packing.assume_arranged(
            {each.pod_class: 1 for each in members},
            np.array([0, 1]),
            at_least,
            trial,
            PROFILES["binpack"],
        )

    if expected is None:
        assert found is None
    else:
        assert found is not None
        assert expected == [int(share.counts.sum()) for share in found]
        assert [each.pod_class for each in members] == [share.pod_class for share in found]


def test_members_that_gather_have_devices_of_their_own_class_in_any_world() -> None:
    for seed in range(WORLDS):
        dice = random.Random(seed)  # noqa: S311 - a world, not a secret.
        given = {
            f"n{i}": some(*dice.choices(["large", "small"], k=dice.randrange(1, 4)))
            for i in range(2)
        }
        asked = dice.choices([TWO, LARGE, SMALL, TWO_LARGE], k=dice.randrange(3, 5))
        with patch.object(mixed_classes, "MOST_ORDERS", 1):
            plan = gathered(given, dict.fromkeys(given, "s/b"), asked, len(asked) - seed % 2)
        assert not plan.failures
        for name, found in sizes_of(plan).items():
            allowed = of_each(asked)[name]
            assert len(allowed) == len(found)
            assert all(map(set.__contains__, allowed, found))
