"""Law: neighbours in rank are neighbours in the network."""

import pytest
from hypothesis import given

from property.random_cases import ALIKE, KINDS, SEEDS, Kind, dice_of


@pytest.mark.parametrize("kind", ALIKE)
@given(seed=SEEDS)
def test_members_take_their_places_in_tree_order(kind: Kind, seed: int) -> None:
    case = kind(dice_of(seed))
    order = [*case.network.paths().values()]

    places = [order.index(path) for path in case.placed().values()]

    for _, size in case.instance().runs:
        # A short last slice goes where there is room for it.
        end = len(places) - len(places) % size
        assert sorted(places[:end]) == places[:end]
        places = places[end:]
    assert sorted(places) == places


@pytest.mark.parametrize("kind", KINDS)
@given(seed=SEEDS)
def test_members_of_one_class_take_their_places_in_tree_order(kind: Kind, seed: int) -> None:
    case = kind(dice_of(seed))
    order = [*case.network.paths().values()]

    placed = case.placed()

    if not case.topology_request.slices:
        for asked in {each.pod_class for each in case.members}:
            names = [each.name for each in case.members if each.pod_class == asked]
            places = [order.index(placed[name]) for name in names if name in placed]
            assert sorted(places) == places
