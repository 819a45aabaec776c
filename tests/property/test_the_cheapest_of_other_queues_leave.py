"""Law: evictions between queues are lawful, and the cheapest; none happen only if none can."""

from hypothesis import given, settings

from property import eviction_cases
from property.eviction_cases import NONE, Case
from property.eviction_differences import decided, differences
from property.random_cases import SEEDS
from property.random_evictions import a_case, a_case_of_a_cut_quota
from support.thoroughness import cases


@given(seed=SEEDS)
def test_decisions_are_those_of_every_set_tried(seed: int) -> None:
    assert [] == list(differences(a_case(seed)))


@given(seed=SEEDS)
def test_of_a_queue_that_keeps_to_its_promise_by_evictions_too(seed: int) -> None:
    assert [] == list(differences(a_case_of_a_cut_quota(seed)))


@settings(max_examples=cases(20, thorough=400))
@given(seed=SEEDS)
def test_only_what_exceeds_promises_is_taken_from_other_queues(seed: int) -> None:
    case = a_case(seed)
    victims = {
        row["gang"].removeprefix("default/")
        for row in decided(case)["victims"]
        if row.get("class") != "InQueue"
    }

    assert victims <= over_promises(case)


def over_promises(case: Case) -> set[str]:
    """Return the gangs of queues that use more of something than they were promised."""
    world = eviction_cases.world(case, {})
    for tree in world.trees:
        charges: dict[str, dict[str, int]] = {}
        for gang in world.running:
            there = charges.setdefault(gang.leaf, {})
            for key, amount in gang.charge(gang.pods).items():
                there[key] = there.get(key, 0) + amount
        tree.load(charges)
    return {
        gang.name
        for gang in world.running
        if gang.leaf == NONE
        or any(
            key in (tree := world.tree_of(gang.leaf)).resources
            and tree.borrowed(gang.leaf, key) > 0
            for key in gang.charge(1)
        )
    }
