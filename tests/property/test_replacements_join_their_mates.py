"""Law: a replacement of a lost member joins the bound members, as the request asks."""

from dataclasses import replace

import pytest
from hypothesis import given

from gang_scheduler.model.topology_request import PodSet
from gang_scheduler.scheduler.cycle import schedule
from gang_scheduler.scheduler.profile import PROFILES
from property.networks import Case
from property.random_cases import KINDS, SEEDS, Kind, dice_of
from support.builders import gang, group, snapshot
from support.plan_reading import nodes_of


@pytest.mark.parametrize("kind", KINDS)
@given(seed=SEEDS)
def test_lost_members_are_replaced_beside_the_others(kind: Kind, seed: int) -> None:
    rolling = dice_of(seed)
    case = kind(rolling)
    nodes = nodes_of(case.plan())
    lost = {name for name in nodes if rolling.randint(0, 2) == 0}

    if lost and len(lost) < len(nodes):
        found = replaced(case, nodes, lost)
        assert lost == found.keys()
        assert case.is_as_asked(case.paths_of({**nodes, **found}))


def replaced(case: Case, nodes: dict[str, str], lost: set[str]) -> dict[str, str]:
    """Return the nodes of the replacements of lost members."""
    asked = PodSet(case.topology_request, owner="job") if case.by_pods else None
    members = [replace(each, podset=asked) for each in case.members]
    bound_members = [
        replace(each, node=nodes[each.name]) for each in members if each.name not in lost
    ]
    again = [replace(each, uid=f"new-{each.name}") for each in members if each.name in lost]
    one = gang(
        "a", members=again, bound_members=bound_members, satisfied=True, min_member=len(members)
    )
    waiting = group(one, topology_request=None if case.by_pods else case.topology_request)
    network = case.network
    bound = (*network.bound, *bound_members)
    return nodes_of(
        schedule(
            snapshot(network.nodes, [waiting], bound, [network.tree_spec]), PROFILES["binpack"]
        )
    )
