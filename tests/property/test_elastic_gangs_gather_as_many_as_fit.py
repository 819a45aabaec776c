"""Law: as many members are placed as the layer that they must gather in allows, or none."""

import pytest
from hypothesis import given

from property.random_cases import ALIKE, SEEDS, Kind, dice_of


@pytest.mark.parametrize("kind", ALIKE)
@given(seed=SEEDS)
def test_as_many_are_placed_as_fit_in_one_domain(kind: Kind, seed: int) -> None:
    case, instance = (found := kind(dice_of(seed), elastic=True)), found.instance()
    step = max((each.size for each in case.topology_request.slices if each.whole), default=1)
    useful = [n for n in range(case.minimum, len(case.members) + 1) if n % step == 0]
    room = max((instance.most(useful, each) for each in instance.domains(case.must)), default=0)

    placed = case.placed()

    # Where ranks are sliced, one may be left out of which later ones have a place.
    assert room == len(placed) or (len(placed) > room and case.topology_request.slices)
    assert len({path[: case.must] for path in placed.values()}) <= 1
