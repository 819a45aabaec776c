"""Law: where members go depends on the network, not on its order or on earlier failures."""

from dataclasses import replace

import pytest
from hypothesis import given

from gang_scheduler.model.gangs import Gang, GangGroup
from gang_scheduler.scheduler.cycle import schedule
from gang_scheduler.scheduler.profile import PROFILES
from property.random_cases import KINDS, SEEDS, Kind, dice_of
from support.builders import gang, snapshot
from support.plan_reading import nodes_of

EVERY_KIND = pytest.mark.parametrize("kind", KINDS)
PROFILE = PROFILES["binpack"]


@EVERY_KIND
@given(seed=SEEDS)
def test_nodes_may_come_in_any_order(kind: Kind, seed: int) -> None:
    rolling = dice_of(seed)
    case = kind(rolling)
    nodes = tuple(rolling.sample(case.network.nodes, len(case.network.nodes)))
    shuffled = replace(case, network=replace(case.network, nodes=nodes))

    assert case.plan() == shuffled.plan()


@EVERY_KIND
@given(seed=SEEDS)
def test_a_snapshot_may_be_planned_again_and_again(kind: Kind, seed: int) -> None:
    shot = kind(dice_of(seed)).snapshot()
    free = shot.free.tolist()

    plans = [schedule(shot, PROFILE) for _ in range(3)]

    assert [plans[0]] * 3 == plans
    assert free == shot.free.tolist()


@EVERY_KIND
@given(seed=SEEDS)
def test_members_that_found_no_place_take_no_room_from_others(kind: Kind, seed: int) -> None:
    case = kind(dice_of(seed))
    network = case.network
    others = gang("z", pods=4, min_member=1, created_at=1)

    def nodes_with(*groups: Gang | GangGroup) -> dict[str, str]:
        shot = snapshot(network.nodes, groups, network.bound, [network.tree_spec])
        return nodes_of(schedule(shot, PROFILE))

    if not case.placed():
        assert nodes_with(others) == nodes_with(case.group(), others)
