"""Law: fair shares give all of a total that is wanted, and keep to promises, limits and weights."""

from hypothesis import given

from gang_scheduler.model.queues import DEFAULT_FLAVOR, FlavorResource
from gang_scheduler.scheduler.quota.charges import Exact
from property.naive_queues import NaiveTree, ref_of
from property.random_cases import SEEDS, dice_of
from property.random_queues import a_tree, fill, forest_of


def shares_of(tree: NaiveTree, r: str) -> dict[str, Exact]:
    """Return the fair shares that the scheduler finds."""
    found = forest_of(tree).fair_shares()
    return {
        name: found[ref_of(tree, name)][FlavorResource(DEFAULT_FLAVOR, r)] for name in tree.nodes
    }


@given(seed=SEEDS)
def test_all_is_given_that_can_be_taken(seed: int) -> None:
    dice = dice_of(seed)
    tree = fill(dice, a_tree(dice))

    for r in tree.resources:
        shares = shares_of(tree, r)
        for name in tree.nodes:
            caps = {child: tree.floor_and_cap(child, r) for child in tree.children(name)}
            wanted = sum(cap for _, cap in caps.values())
            given_ = sum(shares[child] for child in caps)
            assert not caps or given_ == min(shares[name], wanted)
            for child, (floor, cap) in caps.items():
                assert shares[child] <= cap
                enough = sum(floor for floor, _ in caps.values()) <= shares[name]
                assert not enough or shares[child] >= floor


@given(seed=SEEDS)
def test_shares_are_those_of_the_definition(seed: int) -> None:
    dice = dice_of(seed)
    tree = fill(dice, a_tree(dice))

    for r in tree.resources:
        assert tree.fair_shares(r) == shares_of(tree, r)


@given(seed=SEEDS)
def test_shares_do_not_depend_on_what_has_its_turn_first(seed: int) -> None:
    dice = dice_of(seed)
    tree = fill(dice, a_tree(dice))
    moved = NaiveTree(list(tree.nodes.values()), tree.resources)
    for node in moved.nodes.values():
        both = {r: node.charged.get(r, 0) + node.asked.get(r, 0) for r in tree.resources}
        node.charged, node.asked = {}, both

    for r in tree.resources:
        assert shares_of(tree, r) == shares_of(moved, r)
