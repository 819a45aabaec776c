"""Law: equal input gives an equal plan, and the order in which objects are seen does not matter."""

from dataclasses import replace

import pytest
from hypothesis import given

from property.full_clusters import KINDS, Contest, Kind
from property.random_cases import SEEDS, dice_of

EVERY_KIND = pytest.mark.parametrize("kind", KINDS)


def told(case: Contest) -> tuple[set[str], set[tuple[str, str]]] | None:
    """Return the victims, and where the members are then."""
    if case.made is None:
        return None
    nominations = {(bind.pod.name, bind.node) for bind in case.made.nominations}
    return {each.pod.name for each in case.made.victims}, nominations


@EVERY_KIND
@given(seed=SEEDS)
def test_equal_input_gives_an_equal_plan(kind: Kind, seed: int) -> None:
    assert kind(dice_of(seed)).plan == kind(dice_of(seed)).plan


@EVERY_KIND
@given(seed=SEEDS)
def test_nodes_and_bound_pods_may_come_in_any_order(kind: Kind, seed: int) -> None:
    case, dice = kind(dice_of(seed)), dice_of(seed)
    nodes, bound_pods = list(case.nodes), list(case.bound_pods.pods)
    dice.shuffle(nodes)
    dice.shuffle(bound_pods)
    others = replace(case.bound_pods, pods=tuple(bound_pods))

    shuffled = replace(case, nodes=tuple(nodes), bound_pods=others)

    assert told(case) == told(shuffled)
