"""Law: the next queue is the one that a comparison of all heads from the definitions finds."""

from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given

from gang_scheduler.model.api_words import Fairness
from gang_scheduler.scheduler.ordering.queue_turns import Head, Turns
from property.naive_queues import NaiveTree, ref_of
from property.random_cases import SEEDS, dice_of
from property.random_queues import a_tree, fill, forest_of, heads_of

Heads = Mapping[str, tuple[dict[str, int], Head]]


def last_keys(leaf: str, head: Head) -> Any:
    return (-head.priority, head.created_at, leaf)


def first_in_line(tree: NaiveTree, heads: Heads) -> str | None:
    """Return the leaf whose head goes the fewest levels up."""

    def key(leaf: str) -> Any:
        asked, head = heads[leaf]
        return (not head.first, tree.levels(leaf, asked), *last_keys(leaf, head))

    return min(heads, key=key, default=None)


def winner(tree: NaiveTree, heads: Heads, at: str, fairness: Fairness, fair: Any) -> str | None:
    """Return the leaf that wins the tournament below a queue."""
    if at in heads:
        return at

    def key(candidate: tuple[str, str]) -> Any:
        child, leaf = candidate
        asked, head = heads[leaf]
        compared = tree.key(fairness, child, leaf, asked, fair)
        return (not head.first, *compared, *last_keys(leaf, head))

    found = [(child, winner(tree, heads, child, fairness, fair)) for child in tree.children(at)]
    candidates = [(child, leaf) for child, leaf in found if leaf is not None]
    return min(candidates, key=key)[1] if candidates else None


@pytest.mark.parametrize("fairness", list(Fairness))
@given(seed=SEEDS)
def test_each_turn_is_the_one_of_the_definition(fairness: Fairness, seed: int) -> None:
    dice = dice_of(seed)
    tree = fill(dice, a_tree(dice))
    forest, heads = forest_of(tree, fairness), dict(heads_of(dice, tree))
    shares = forest.fair_shares()
    fair = {
        key.resource: {name: shares[ref_of(tree, name)][key] for name in tree.nodes}
        for key in shares[ref_of(tree, tree.root())]
    }
    order = dice.sample(sorted(heads), len(heads))
    turns = Turns(forest, {ref_of(tree, name): heads[name][1] for name in order})

    for _ in range(3 * len(heads)):
        if fairness is Fairness.PRIORITY:
            expected = first_in_line(tree, heads)
        else:
            expected = winner(tree, heads, tree.root(), fairness, fair)
        got = turns.next()
        assert expected == (None if got is None else got.name)
        if expected is None or got is None:
            break
        asked, head = heads.pop(expected)
        if dice.random() < 0.6:
            forest.charge(got, head.charge)
            tree = tree.with_charge(expected, asked)
        again = dict(heads_of(dice, tree)).get(expected)
        if again is not None:
            heads[expected] = again
        turns.replace(got, None if again is None else again[1])
