"""Random small trees of queues, with what is charged to them and what waits."""

from collections.abc import Mapping
from random import Random

from gang_scheduler.model.api_words import Fairness
from gang_scheduler.model.nodes import Node as ClusterNode
from gang_scheduler.model.nodes import NodeTable
from gang_scheduler.model.queues import (
    DEFAULT_FLAVOR,
    Charge,
    Flavor,
    FlavorResource,
    Product,
    QueueSet,
    QueueState,
    QueueUsage,
)
from gang_scheduler.scheduler.ordering.queue_turns import Head
from gang_scheduler.scheduler.quota.forest import Forest
from property.naive_queues import NaiveTree, Node, as_queues, ref_of

RESOURCES = ("cpu", "memory")
NODES = NodeTable([ClusterNode("n", allocatable=(("cpu", 5), ("memory", 5)))])


def a_tree(dice: Random, *, limited: bool = True) -> NaiveTree:
    """Return a tree of up to three levels below its root, with nothing in it."""
    resources = RESOURCES[: dice.randint(1, 2)]
    nodes = [Node("q")]
    _grow(dice, nodes, nodes[0], 1)
    for node in nodes:
        node.weight = dice.choice((0, 1, 1, 2, 3))
        for r in resources:
            _promise(dice, node, r, limited=limited)
    return NaiveTree(nodes, resources)


def _grow(dice: Random, nodes: list[Node], above: Node, depth: int) -> None:
    for place in range(dice.randint(1, 3)):
        node = Node(f"{above.name}{place}", above.name)
        nodes.append(node)
        if depth < 3 and dice.random() < 0.4:
            _grow(dice, nodes, node, depth + 1)


def _promise(dice: Random, node: Node, r: str, *, limited: bool) -> None:
    node.nominal[r] = dice.choice((0, 0, dice.randint(1, 9)))
    if dice.random() < 0.3:
        node.guaranteed[r] = dice.randint(0, node.nominal[r])
    elif dice.random() < 0.3:
        node.lending[r] = dice.randint(0, 5)
    if dice.random() < 0.4:
        node.borrowing[r] = dice.randint(0, 6)
    if limited and dice.random() < 0.3:
        node.limit[r] = node.nominal[r] + dice.randint(0, 6)


def leaves(tree: NaiveTree) -> list[str]:
    """Return the names of the queues that take gangs."""
    return [name for name in sorted(tree.nodes) if not tree.children(name)]


def a_charge(dice: Random, tree: NaiveTree) -> dict[str, int]:
    """Return what a gang asks for, by resource; it may be nothing."""
    return {r: dice.choice((0, 1, dice.randint(1, 6))) for r in tree.resources}


def fill(dice: Random, tree: NaiveTree) -> NaiveTree:
    """Return the tree with more or less of anything charged and waiting, within quota or not."""
    for name in leaves(tree):
        if dice.random() < 0.7:
            tree = tree.with_charge(name, a_charge(dice, tree))
        if dice.random() < 0.5:
            tree.nodes[name].asked = a_charge(dice, tree)
    return tree


def keyed(amounts: Mapping[str, int]) -> Charge:
    """Return amounts of the only flavor."""
    return {FlavorResource(DEFAULT_FLAVOR, r): amount for r, amount in amounts.items()}


def forest_of(tree: NaiveTree, fairness: Fairness = Fairness.DRS) -> Forest:
    """Return the scheduler's forest of a tree."""
    flavors = (Flavor(Product.KUEUE, DEFAULT_FLAVOR),)
    declared = QueueSet(tuple(as_queues(tree)), flavors, {Product.KUEUE: fairness})
    nodes = {ref_of(tree, name): node for name, node in tree.nodes.items()}
    usage = QueueUsage(
        {ref: keyed(node.charged) for ref, node in nodes.items()},
        {ref: keyed(node.asked) for ref, node in nodes.items()},
    )
    return Forest(QueueState(declared, usage), NODES)


def heads_of(dice: Random, tree: NaiveTree) -> dict[str, tuple[dict[str, int], Head]]:
    """Return a head for some leaves, with what it asks for."""
    found = {}
    for name in leaves(tree):
        if dice.random() < 0.8:
            asked = a_charge(dice, tree)
            head = Head(
                keyed(asked), dice.randint(0, 1), float(dice.randint(0, 1)), dice.random() < 0.1
            )
            found[name] = (asked, head)
    return found
