"""What a slow world is made of: a recipe of numbers that can be changed a little, or be crossed.

A recipe has the genes of a cluster, and those of each of its crowds: gangs that are alike.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from random import Random
from typing import Any, Final, NamedTuple

Genes = Mapping[str, int]


class Range(NamedTuple):
    """The values of a gene. `least` is nothing of it, or the plain case."""

    least: int
    most: int


NODES: Final = 5_000
PODS: Final = 20_000
MOST_CROWDS: Final = 4
CLUSTER: Final[Mapping[str, Range]] = {
    "nodes": Range(1, NODES),
    "shapes": Range(1, 32),
    "cpu": Range(2, 64),
    "gpus": Range(0, 8),
    "layers": Range(0, 5),
    "fan": Range(2, 50),
    "zones": Range(1, 50),
    "taints": Range(0, 4),
    "unready": Range(0, 30),
    "product": Range(0, 3),
    "queues": Range(1, 300),
    "depth": Range(0, 4),
    "fair": Range(0, 1),
    "quota": Range(1, 400),
    "reclaim": Range(0, 2),
    "flavors": Range(1, 16),
    "budgets": Range(0, 80),
    "volumes": Range(0, 3_000),
    "namespaces": Range(1, 100),
    "devices": Range(0, 32),
    "parts": Range(0, 8),
    "models": Range(1, 32),
    "pools": Range(1, 8),
    "reach": Range(0, 2),
    "taken": Range(0, 100),
}
CROWD: Final[Mapping[str, Range]] = {
    "gangs": Range(1, 10_000),
    "size": Range(1, 5_000),
    "kind": Range(0, 5),
    "runs": Range(0, 100),
    "cpu": Range(1, 32),
    "classes": Range(1, 2_000),
    "apart": Range(1, 10_000),
    "priority": Range(0, 20),
    "priorities": Range(1, 10),
    "minimum": Range(1, 100),
    "roles": Range(0, 8),
    "must": Range(0, 5),
    "prefer": Range(0, 3),
    "multiple": Range(0, 8),
    "slices": Range(0, 64),
    "links": Range(0, 64),
    "apps": Range(1, 2_000),
    "terms": Range(1, 500),
    "broad": Range(0, 1),
    "keys": Range(0, 500),
    "spread": Range(0, 7),
    "soft": Range(0, 7),
    "anti": Range(0, 7),
    "near": Range(0, 3),
    "rather": Range(0, 7),
    "ports": Range(0, 3),
    "claims": Range(0, 2),
    "selectors": Range(0, 50),
    "tolerates": Range(0, 1),
    "guarded": Range(0, 4),
    "leaving": Range(0, 100),
    "queues": Range(1, 300),
    "lasts": Range(0, 2),
    "saves": Range(0, 1),
    "asks": Range(0, 8),
    "each": Range(1, 16),
    "cel": Range(0, 8),
    "options": Range(0, 8),
    "alike": Range(0, 3),
    "common": Range(0, 1),
}
SOMETIMES: Final = frozenset(
    {
        *("roles", "must", "prefer", "multiple", "slices", "links", "spread", "soft", "anti"),
        *("near", "rather", "ports", "claims", "selectors", "tolerates", "guarded", "leaving"),
        *("lasts", "saves", "runs", "taints", "unready", "product", "budgets", "volumes", "gpus"),
        *("devices", "parts", "reach", "taken", "asks", "options", "alike", "common", "broad"),
        "keys",
    }
)
"""What most crowds and clusters have nothing of at first."""
OFTEN: Final = 0.25
SMALL: Final = 0.7
"""Worlds begin small, on a scale of orders of magnitude, and grow by being changed."""


@dataclass(frozen=True)
class Recipe:
    """The genes of a cluster and of its crowds."""

    cluster: Genes
    crowds: tuple[Genes, ...]

    def as_json(self) -> dict[str, Any]:
        """Return plain values."""
        return {"cluster": dict(self.cluster), "crowds": [dict(each) for each in self.crowds]}

    @staticmethod
    def of_json(read: Mapping[str, Any]) -> "Recipe":
        """Return the recipe of plain values; genes that these do not have are the least."""
        return Recipe(
            _whole(read["cluster"], CLUSTER), tuple(_whole(each, CROWD) for each in read["crowds"])
        )


def _whole(genes: Genes, ranges: Mapping[str, Range]) -> Genes:
    return {name: genes.get(name, each.least) for name, each in ranges.items()}


def drawn(dice: Random) -> Recipe:
    """Return a small world."""
    crowds = tuple(_drawn(CROWD, dice) for _ in range(dice.choice((1, 1, 2, 3))))
    return Recipe(_drawn(CLUSTER, dice), crowds)


def changed(recipe: Recipe, other: Recipe, dice: Random) -> Recipe:
    """Return the recipe with a few changes, one of which may be a crowd of the other one."""
    for _ in range(dice.choice((1, 1, 2, 3))):
        recipe = _changed(recipe, other, dice)
    return recipe


def _changed(recipe: Recipe, other: Recipe, dice: Random) -> Recipe:
    crowds = list(recipe.crowds)
    way = dice.random()
    if way < 0.1:
        return _grown(recipe, dice.choice((2, 4)))
    if way < 0.25:
        return replace(recipe, cluster=_mutated(recipe.cluster, CLUSTER, dice))
    if way < 0.35 and len(crowds) < MOST_CROWDS:
        return replace(recipe, crowds=(*crowds, dice.choice(other.crowds)))
    if way < 0.4 and len(crowds) > 1:
        crowds.pop(dice.randrange(len(crowds)))
        return replace(recipe, crowds=tuple(crowds))
    if way < 0.45:
        return replace(recipe, cluster=_crossed(recipe.cluster, other.cluster, dice))
    place = dice.randrange(len(crowds))
    if way < 0.55:
        crowds[place] = _crossed(crowds[place], dice.choice(other.crowds), dice)
    else:
        crowds[place] = _mutated(crowds[place], CROWD, dice)
    return replace(recipe, crowds=tuple(crowds))


def _grown(recipe: Recipe, times: int) -> Recipe:
    """Return a world with so many times more nodes and gangs."""
    nodes = min(times * recipe.cluster["nodes"], NODES)
    crowds = ({**each, "gangs": min(times * each["gangs"], PODS)} for each in recipe.crowds)
    return Recipe({**recipe.cluster, "nodes": nodes}, tuple(crowds))


def _drawn(ranges: Mapping[str, Range], dice: Random) -> Genes:
    return {
        name: each.least
        if name in SOMETIMES and dice.random() > OFTEN
        else _between(each, SMALL, dice)
        for name, each in ranges.items()
    }


def _between(range_: Range, part: float, dice: Random) -> int:
    """Return a value whose order of magnitude is drawn, up to that part of the greatest one."""
    steps = range_.most - range_.least
    scale = part if steps > 100 else 1.0
    power: float = (steps + 1) ** (dice.random() * scale)
    return range_.least + round(power - 1)


def _mutated(genes: Genes, ranges: Mapping[str, Range], dice: Random) -> Genes:
    name = dice.choice(sorted(ranges))
    least, most = ranges[name]
    value = genes[name]
    options = (2 * value, 2 * value, 4 * value, value // 2, value + 1, value - 1, most, least)
    chosen = dice.choice((*options, _between(ranges[name], 1.0, dice)))
    return {**genes, name: min(max(chosen, least), most)}


def _crossed(genes: Genes, other: Genes, dice: Random) -> Genes:
    return {name: dice.choice((value, other[name])) for name, value in genes.items()}
