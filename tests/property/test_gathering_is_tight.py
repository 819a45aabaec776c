"""Law: equal members are in the lowest domain that holds them, and on the fewest below it."""

import pytest
from hypothesis import given

from property.brute_force import common
from property.random_cases import ALIKE, SEEDS, Kind, dice_of

EVERY_KIND = pytest.mark.parametrize("kind", ALIKE)


@EVERY_KIND
@given(seed=SEEDS)
def test_members_are_in_the_lowest_layer_that_has_room_for_all(kind: Kind, seed: int) -> None:
    case = kind(dice_of(seed))

    placed = case.placed()

    if placed:
        assert common(placed.values()) in case.instance().lowest(case.must)


@EVERY_KIND
@given(seed=SEEDS)
def test_the_highest_layer_that_is_split_is_split_least(kind: Kind, seed: int) -> None:
    case = kind(dice_of(seed))

    placed = case.placed().values()

    depth = case.split_at(placed) if placed else None
    if depth is not None:
        used = {path[:depth] for path in placed}
        assert case.instance().fewest(depth, common(placed)) == len(used)
