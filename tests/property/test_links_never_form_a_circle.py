"""What is remembered of evictions orders the gangs, whatever is evicted for whatever."""

import itertools
from random import Random

import pytest

from gang_scheduler.model.evictions import EvictionClass
from gang_scheduler.model.refs import GangKey
from gang_scheduler.scheduler.reclaim.ping_pong import Memory
from support.builders import gang_key

GANGS = [gang_key(str(number)) for number in range(5)]


@pytest.mark.parametrize("seed", range(50))
def test_links_never_form_a_circle(seed: int) -> None:
    dice = Random(seed)  # noqa: S311 - a test that can be repeated.
    known, links = Memory({}), set[tuple[GangKey, GangKey]]()

    for at in range(60):
        preemptor, *victims = dice.sample(GANGS, k=dice.randint(2, 4))
        plan = {each: dice.choice([*EvictionClass]) for each in victims}
        if not known.refuses([preemptor], plan):
            links -= {*known.carry_out([preemptor], plan, at)}
            links |= {(each, preemptor) for each in victims}
            assert any(_in_order(links, order) for order in itertools.permutations(GANGS))


def _in_order(links: set[tuple[GangKey, GangKey]], order: tuple[GangKey, ...]) -> bool:
    return all(order.index(below) < order.index(above) for below, above in links)
