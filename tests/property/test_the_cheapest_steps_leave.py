"""Law: of gangs that shrink by whole steps, the cheapest leave: no other way costs less."""

from itertools import product
from random import Random
from typing import Final, NamedTuple

from hypothesis import given

from property.random_cases import SEEDS, dice_of
from support.elastic_cluster import ElasticCluster, pace

MOST_GANGS: Final = 3
COST = tuple[int, int, int]


class _Gang(NamedTuple):
    """So many workers on nodes, of which all but `least` are surplus, in steps."""

    name: str
    least: int
    bound: int
    step: int

    def ways(self) -> list[int]:
        """Return how many can go."""
        steps = range(0, self.bound - self.least + 1, self.step)
        return [*steps, *([self.bound] if self.bound not in steps else [])]

    def is_broken(self, gone: int) -> bool:
        return gone > self.bound - self.least


def _gangs(dice: Random) -> list[_Gang]:
    found = []
    for number in range(dice.randint(1, MOST_GANGS)):
        least, step = dice.randint(1, 3), dice.randint(1, 3)
        surplus = dice.randint(0, 3 * step)
        found.append(_Gang(f"e{number}", least, least + surplus, step))
    return found


def _cheapest(gangs: list[_Gang], needed: int) -> COST:
    """Return the least cost of all ways: gangs broken, gangs touched, pods."""
    costs = []
    for gone in product(*(each.ways() for each in gangs)):
        if sum(gone) >= needed:
            broken = sum(each.is_broken(n) for each, n in zip(gangs, gone, strict=True))
            costs.append((broken, sum(n > 0 for n in gone), sum(gone)))
    return min(costs)


@given(seed=SEEDS)
def test_no_other_way_is_cheaper(seed: int) -> None:
    dice = dice_of(seed)
    gangs = _gangs(dice)
    room = sum(each.bound for each in gangs)
    cluster = ElasticCluster(cpu=room)
    for each in gangs:
        policy = pace(up=3600, down_step=each.step)
        cluster.elastic(each.name, each.least, each.bound, pods=each.bound, **policy)
    cluster.settle()
    needed = dice.randint(1, room)
    cluster.gang("high", needed)
    for i in range(needed):
        cluster.change(f"high-{i}", spec={"priority": 9})

    plan = cluster.cycle(later=1)

    victims = [victim for made in plan.preemptions for victim in made.victims]
    gone = {each.name: 0 for each in gangs}
    for victim in victims:
        gone[victim.gang.name] += 1
    broken = sum(each.is_broken(gone[each.name]) for each in gangs)
    cost = (broken, sum(n > 0 for n in gone.values()), len(victims))
    assert _cheapest(gangs, needed) == cost
    for each in gangs:
        assert gone[each.name] in each.ways()
        last = {f"{each.name}-{i}" for i in range(each.bound - gone[each.name], each.bound)}
        assert last == {it.pod.name for it in victims if it.gang.name == each.name}
