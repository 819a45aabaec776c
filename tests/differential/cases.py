"""Which features go into a case, and which pods use which: alone, and in pairs."""

from collections.abc import Sequence
from typing import Final

from differential import worlds
from differential.features import EVERY, pod_lifecycle
from differential.worlds import Drawn, World

PENDING: Final = 24
BOUND_A_NODE: Final = 2


def draw(seed: int, features: Sequence[str]) -> World:
    """Return the case of a seed, made of some of these features: the first goes by the seed."""
    world = worlds.empty(seed)
    in_order = sorted(features)
    first = in_order.pop(seed % len(in_order))
    others = min(len(in_order), world.dice.choice([0, 1, 1, 2]))
    chosen = [first, *world.dice.sample(in_order, others)]
    for name in chosen:
        EVERY[name].furnish(world)
    for number in range(BOUND_A_NODE * len(world.nodes)):
        pod = _pod(world, f"bound-{number}", chosen, on=world.dice.choice(world.node_names))
        pod_lifecycle.live(world, pod)
        world.bound.append(pod)
    world.pending = [_pod(world, f"waits-{i}", chosen) for i in range(PENDING)]
    return world


def _pod(world: World, name: str, chosen: Sequence[str], on: str = "") -> Drawn:
    used = world.dice.sample(chosen, min(len(chosen), world.dice.choice([1, 1, 2])))
    # In the order of the registry: what one adds, a later one may change.
    features = tuple(each for each in EVERY if each in used)
    pod = worlds.pod(world, name, features)
    if on:
        pod.spec["nodeName"] = on
    for each in features:
        EVERY[each].ask(world, pod)
    return pod
