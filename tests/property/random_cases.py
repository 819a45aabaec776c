"""Random small networks, with members that ask to be close together.

Everything follows from a seed. A law that is broken is broken again with the seed it names, and a
case of the report on quality (`property.placement_gap`) is one that a law can look at.
"""

from collections.abc import Callable
from dataclasses import replace
from random import Random

from hypothesis import strategies as st

from gang_scheduler.model.layers import NODE_LAYER
from gang_scheduler.model.nodes import Node
from gang_scheduler.model.pods import Pod, PodClass
from gang_scheduler.model.topology_request import LayerRef, Slices, TopologyRequest
from property.networks import Case, Network
from support.builders import node, pod, pod_class

SEEDS = st.integers(0, 10**6)
LAYERS = ("spine", "block", "rack")
NAMES = {"spine": ["s2", "s10"], "block": ["b1", "b2", "b10"], "rack": ["r1", "r9", "r10"]}
MOST_NODES = 12
MOST_MEMBERS = 16


def dice_of(seed: int) -> Random:
    """Return what a case is drawn from."""
    return Random(seed)  # noqa: S311 - for cases, not for secrets.


def a_network(dice: Random) -> Network:
    """Return a network in which every node has all labels."""
    layers = LAYERS[dice.randint(0, 3) :]
    nodes = [_node(dice, i, layers) for i in range(dice.randint(1, MOST_NODES))]
    bound = [
        pod(f"x-{i}", node=dice.choice(nodes).name, scheduler="other", cpu=dice.randint(1, 2))
        for i in range(dice.randint(0, 3))
    ]
    return Network(layers, tuple(nodes), tuple(bound))


def alike(dice: Random, *, elastic: bool = False) -> Case:
    """Return a case of equal members without slices."""
    network, asked = a_network(dice), _pod_class(dice)
    members = _members(dice, [asked], _about_as_many_as_fit(dice, network, asked))
    minimum = dice.randint(1, len(members)) if elastic else len(members)
    topology_request = _topology_request(dice, network)
    network = _maybe_with_holes(dice, network, topology_request)
    return Case(network, members, topology_request, minimum, by_pods=_sometimes(dice))


def sliced(dice: Random, *, elastic: bool = False) -> Case:
    """Return a case of equal members in slices of one to three layers."""
    case = alike(dice, elastic=elastic)
    depths = range(max([1, case.must, *case.prefer]), len(case.network.layers) + 2)
    chosen = sorted(dice.sample(depths, dice.randint(1, min(3, len(depths)))))
    sizes = _sizes(dice, len(chosen))
    names = (*case.network.layers, NODE_LAYER)
    slices = tuple(
        Slices(LayerRef(names[depth - 1]), size) for depth, size in zip(chosen, sizes, strict=True)
    )
    return replace(case, topology_request=replace(case.topology_request, slices=slices))


def in_multiples(dice: Random, *, elastic: bool = False) -> Case:
    """Return a case of equal members in whole slices of one layer, which is any of them."""
    case = alike(dice, elastic=elastic)
    layer = dice.choice((*case.network.layers, NODE_LAYER))
    size = dice.randint(2, 4)
    members = case.members[: max(1, len(case.members) // size) * size]
    if len(members) < size:
        members = _members(dice, [case.members[0].pod_class], size)
    slices = (Slices(LayerRef(layer), size, whole=True),)
    return replace(
        case,
        members=members,
        topology_request=replace(case.topology_request, slices=slices),
        minimum=min(case.minimum, len(members)) if elastic else len(members),
    )


def mixed(dice: Random, *, elastic: bool = False) -> Case:
    """Return a case of two classes of members, in one gang or, if rigid, in two of a group."""
    network = a_network(dice)
    pod_classes = [_pod_class(dice), _pod_class(dice, other=True)]
    members = _members(dice, pod_classes, dice.randint(1, dice.choice([4, 8, MOST_MEMBERS])))
    parts: tuple[int, ...] = ()
    minimum = dice.randint(1, len(members)) if elastic else len(members)
    if not elastic and _sometimes(dice) and len({each.pod_class for each in members}) == 2:
        members = tuple(sorted(members, key=lambda each: pod_classes.index(each.pod_class)))
        first = sum(each.pod_class == pod_classes[0] for each in members)
        parts = (first, len(members) - first)
    by_pods = not parts and _sometimes(dice)
    topology_request = _topology_request(dice, network)
    network = _maybe_with_holes(dice, network, topology_request)
    return Case(network, members, topology_request, minimum, parts, by_pods)


Kind = Callable[..., Case]
ALIKE: tuple[Kind, ...] = (alike, sliced, in_multiples)
KINDS: tuple[Kind, ...] = (*ALIKE, mixed)


def with_holes(dice: Random, network: Network) -> Network:
    """Return the network without some of the labels."""
    nodes = [
        replace(each, labels={key: text for key, text in each.labels.items() if dice.randint(0, 9)})
        for each in network.nodes
    ]
    return replace(network, nodes=tuple(nodes))


def _node(dice: Random, number: int, layers: tuple[str, ...]) -> Node:
    return node(
        f"n{number}",
        cpu=dice.randint(0, 5),
        gpu=dice.choice([0, 0, 1, 2, 4]),
        pods=dice.choice([2, 5, 110]),
        labels={layer: dice.choice(NAMES[layer]) for layer in layers},
    )


def _pod_class(dice: Random, *, other: bool = False) -> PodClass:
    if other:
        return pod_class(cpu=dice.randint(0, 3), gpu=dice.randint(1, 2))
    return pod_class(cpu=dice.choice([1, 1, 1, 2, 3]))


def _about_as_many_as_fit(dice: Random, network: Network, asked: PodClass) -> int:
    """Return a number of members that just fits in some domain, or just does not."""
    nodes = dict.fromkeys(network.paths().values())
    where = dice.choice([path[:depth] for path in nodes for depth in range(len(path))] or [()])
    empty = Case(network, _members(dice, [asked], 1), TopologyRequest(), 1).instance()
    room = empty.most(range(MOST_MEMBERS + 1), where)
    return min(MOST_MEMBERS, max(1, room + dice.randint(-3, 1)))


def _members(dice: Random, pod_classes: list[PodClass], number: int) -> tuple[Pod, ...]:
    return tuple(
        replace(pod(f"m-{i}", gang="a"), pod_class=dice.choice(pod_classes)) for i in range(number)
    )


def _topology_request(dice: Random, network: Network) -> TopologyRequest:
    """Return a request: sometimes a layer to gather in, and some to gather in if possible."""
    must = dice.randint(0, len(network.layers)) if dice.randint(0, 2) else 0
    below = (*network.layers, NODE_LAYER)[must:]
    prefer = [layer for layer in below if dice.randint(0, 2) == 0]
    if not must and not prefer:
        prefer = [dice.choice(below)]  # An empty request would allow all nodes.
    return TopologyRequest(
        must=tuple(LayerRef(layer) for layer in network.layers[max(0, must - 1) : must]),
        prefer=tuple(LayerRef(layer) for layer in prefer),
        upward=_sometimes(dice),
    )


def _maybe_with_holes(dice: Random, network: Network, topology_request: TopologyRequest) -> Network:
    """Leave some nodes outside the tree, where members must gather: others need not stay in it."""
    return with_holes(dice, network) if topology_request.must and _sometimes(dice) else network


def _sizes(dice: Random, number: int) -> list[int]:
    """Return sizes from coarse to fine, each a multiple of the next."""
    sizes = [dice.randint(1, 3)]
    while len(sizes) < number:
        sizes.insert(0, sizes[0] * dice.randint(1, 2))
    return sizes


def _sometimes(dice: Random) -> bool:
    return dice.randint(0, 1) == 0
