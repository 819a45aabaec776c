"""Laws: what pods ask of each other holds whenever one of them is bound, and is met if it can be.

Held against the plainest reading of the rules, pod by pod.
"""

from collections.abc import Sequence
from random import Random

from hypothesis import given

from gang_scheduler.model.nodes import Node
from gang_scheduler.model.pods import Pod
from gang_scheduler.model.selectors import PodAffinity
from gang_scheduler.scheduler.cycle import schedule
from gang_scheduler.scheduler.profile import PROFILES
from property.pod_affinity_oracle import There, can_be_placed, has_an_order
from property.random_cases import SEEDS, dice_of
from support.builders import gang, node, pod
from support.plan_reading import nodes_of
from support.selector_builders import apart_from, asking, beside, enriched, spread_over, world

ROOM = 3
KEYS = ("zone", "host")


def some_nodes(dice: Random) -> list[Node]:
    names = [f"n{i}" for i in range(dice.randint(2, 5))]
    return [node(name, cpu=ROOM, labels={"host": name, **some_zone(dice)}) for name in names]


def some_zone(dice: Random) -> dict[str, str]:
    return {"zone": dice.choice("abc")} if dice.randint(0, 5) else {}


def some_rule(dice: Random, name: str) -> PodAffinity:
    key = dice.choice(KEYS)
    return dice.choice(
        (
            apart_from(name, key),
            beside(name, key),
            spread_over(key, name, max_skew=dice.randint(1, 2), min_domains=dice.randint(1, 3)),
        )
    )


def some_bound(dice: Random, nodes: Sequence[Node]) -> list[Pod]:
    """Return at most one pod a node, so that there is room left on each."""
    chosen = [each for each in nodes if dice.randint(0, 2) == 0]
    return [
        asking(
            pod(f"x-{each.name}", node=each.name, cpu=0),
            apart_from(dice.choice("ab"), dice.choice(KEYS)) if dice.randint(0, 2) == 0 else None,
            dice.choice("ab"),
        )
        for each in chosen
    ]


def placed(members: Sequence[Pod], bound: Sequence[Pod], nodes: Sequence[Node]) -> dict[str, str]:
    return nodes_of(
        schedule(world(nodes, [gang("g", members=members)], bound), PROFILES["binpack"])
    )


def there_are(bound: Sequence[Pod], nodes: Sequence[Node]) -> There:
    by_name = {each.name: each for each in nodes}
    return tuple((each, by_name[each.node]) for each in bound)


@given(seed=SEEDS)
def test_each_member_may_be_where_it_is_in_some_order(seed: int) -> None:
    dice = dice_of(seed)
    nodes = some_nodes(dice)
    bound = some_bound(dice, nodes)
    rules = {name: some_rule(dice, dice.choice("ab")) for name in "ab"}
    names = [dice.choice("ab") for _ in range(dice.randint(1, 6))]
    members = [asking(pod(f"m-{i}"), rules[name], name) for i, name in enumerate(names)]

    found = placed(members, bound, nodes)

    by_name = {each.name: each for each in nodes}
    everyone = enriched([*members, *bound])
    binds = tuple((each, by_name[found[each.name]]) for each in everyone if each.name in found)
    assert len(binds) in (0, len(members))
    assert has_an_order(binds, there_are(everyone[len(members) :], nodes), nodes)


@given(seed=SEEDS)
def test_equal_members_with_one_rule_are_placed_if_they_can_be(seed: int) -> None:
    dice = dice_of(seed)
    nodes = some_nodes(dice)
    bound = some_bound(dice, nodes)
    rule = some_rule(dice, "a")
    members = [asking(pod(f"m-{i}"), rule, "a") for i in range(dice.randint(1, 5))]

    found = placed(members, bound, nodes)

    waiting = enriched([*members, *bound])
    possible = can_be_placed(waiting[: len(members)], there_are(bound, nodes), nodes, ROOM)
    assert possible == (len(found) == len(members))
