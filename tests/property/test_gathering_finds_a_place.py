"""Law: members that must gather are placed if and only if there is a place, and as they asked."""

from dataclasses import replace

import pytest
from hypothesis import given

from property.random_cases import KINDS, SEEDS, Kind, alike, dice_of, with_holes
from support.plan_reading import nodes_of

EVERY_KIND = pytest.mark.parametrize("kind", KINDS)


@EVERY_KIND
@given(seed=SEEDS)
def test_a_place_is_found_when_brute_force_finds_one(kind: Kind, seed: int) -> None:
    case = kind(dice_of(seed))
    fits = bool(case.instance().lowest(case.must))

    placed = case.placed()

    assert (len(case.members) if fits else 0) == len(placed)
    assert case.is_as_asked(placed)


@EVERY_KIND
@given(seed=SEEDS)
def test_no_node_is_over_committed(kind: Kind, seed: int) -> None:
    case = kind(dice_of(seed))

    placed = case.placed()

    for path, free in case.instance().free:
        here = [each.pod_class for each in case.members if placed.get(each.name) == path]
        for name, amount in free:
            used = sum(dict(asked.requests).get(name, 0) for asked in here)
            assert used == 0 or used <= amount


@given(seed=SEEDS)
def test_a_gang_that_only_prefers_to_gather_waits_for_room_alone(seed: int) -> None:
    case = alike(dice_of(seed))
    torn = replace(case, network=with_holes(dice_of(seed), case.network))
    anywhere = replace(case, network=replace(case.network, layers=())).instance()

    if not case.topology_request.must:
        assert anywhere.fits(()) == bool(nodes_of(torn.plan()))
