"""Random clusters with trees of queues of all products: what is declared, charged, and waits.

Everything follows from a seed. Amounts are drawn in the words of `naive_queues`, and written as the
objects of each product would be read. An `r` is a flavor and a resource: `spot/cpu`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from random import Random
from typing import Any, Final

from gang_scheduler.model.api_words import EvictionPolicy, Fairness, StopPolicy, Strategy
from gang_scheduler.model.bound_pods import BoundPod, Charged
from gang_scheduler.model.gangs import GangGroup
from gang_scheduler.model.nodes import Node as ClusterNode
from gang_scheduler.model.nodes import Toleration
from gang_scheduler.model.plan import Plan
from gang_scheduler.model.pods import Pod
from gang_scheduler.model.queues import (
    NONE,
    AdmissionLimits,
    Aging,
    Charge,
    EvictionRules,
    Flavor,
    FlavorResource,
    Fungibility,
    Product,
    Queue,
    QueueKind,
    QueueRef,
    QueueSet,
    QueueState,
    QueueUsage,
    Quota,
    ResourceGroup,
)
from gang_scheduler.model.refs import GangKey
from gang_scheduler.model.snapshot import Snapshot
from gang_scheduler.scheduler.cycle import schedule
from gang_scheduler.scheduler.profile import PROFILES
from property.naive_queues import NaiveTree, Node
from property.random_cases import dice_of
from support import builders

NOW: Final = 7200
KINDS: Final = ("spot", "firm")
LEAVES: Final = {
    Product.OURS: QueueKind.QUEUE,
    Product.KUEUE: QueueKind.CLUSTER_QUEUE,
    Product.VOLCANO: QueueKind.VOLCANO_QUEUE,
}
INTERIOR: Final = {**LEAVES, Product.KUEUE: QueueKind.COHORT}
ROOTS: Final = {Product.OURS: "root", Product.KUEUE: "k", Product.VOLCANO: "root"}
TAINT: Final = "spot:NoSchedule"
LAYOUTS: Final[Sequence[Mapping[tuple[str, ...], tuple[str, ...]]]] = (
    {("cpu",): ("default",)},
    {("cpu",): KINDS},
    {("cpu", "memory"): KINDS},
    {("cpu",): KINDS, ("memory",): ("default",)},
)
"""The resources that a tree has quotas for, and the flavors that they may come from."""


@dataclass(eq=False)
class Tree:
    """The amounts of one tree, the objects of its queues by name, and how its queues compare."""

    product: Product
    amounts: NaiveTree
    queues: dict[str, Queue]
    fairness: Fairness

    def leaves(self) -> list[str]:
        """Return the names of the queues that take gangs."""
        lone = len(self.queues) == 1 and self.product is Product.KUEUE
        found = (name for name in sorted(self.queues) if not self.amounts.children(name))
        return [name for name in found if lone or name != self.amounts.root()]


@dataclass(eq=False)
class World:
    """Trees in the order of their turns where all else is equal, nodes, what runs and waits."""

    nodes: list[ClusterNode]
    flavors: list[Flavor]
    trees: list[Tree]
    groups: list[GangGroup] = field(default_factory=list)
    bound: list[Pod] = field(default_factory=list)
    held: dict[str, str] = field(default_factory=dict)
    """The queues of bound pods that may be evicted."""
    jobs: dict[str, int] = field(default_factory=dict)
    roomy: bool = True

    def tree_of(self, name: str) -> Tree:
        """Return the tree of a queue."""
        return next(each for each in self.trees if name in each.queues)

    def queue_of(self, name: str) -> Queue:
        """Return a queue that takes gangs."""
        return self.tree_of(name).queues[name]

    def queue(self, group: GangGroup) -> Queue:
        """Return the queue of a group."""
        return self.queue_of((group.queue or NONE).name)

    def charged(self, pod: Pod, sign: int = 1) -> dict[str, int]:
        """Return what a bound pod is charged: in the first flavors that its node is of."""
        kind = next(node.labels["kind"] for node in self.nodes if node.name == pod.node)
        found = {}
        for group in self.queue_of(self.held[pod.name]).resource_groups:
            flavor = next((f for f in group.flavors if f in ("default", kind)), "")
            for resource in group.resources if flavor else ():
                amount = dict(pod.pod_class.requests).get(resource, 0)
                found[f"{flavor}/{resource}"] = sign * amount
        return found

    def snapshot(self) -> Snapshot:
        """Return the world as the scheduler sees it."""
        queues = [queue for tree in self.trees for queue in tree.queues.values()]
        fairness = {tree.product: tree.fairness for tree in self.trees}
        said = tuple(queue for queue in queues if queue.uid)
        declared = QueueSet(said, tuple(self.flavors), fairness)
        return replace(self._without_queues(), queues=QueueState(declared, self._usage()))

    def plan(self) -> Plan:
        """Return what the scheduler decides."""
        return schedule(self.snapshot(), PROFILES["binpack"])

    def _without_queues(self) -> Snapshot:
        held = [pod for pod in self.bound if pod.name in self.held]
        evictable = builders.bound_pods(*(BoundPod(pod, key_of(pod)) for pod in held))
        charged: dict[str, Charged] = {
            pod.uid: (self.queue_of(self.held[pod.name]).ref, {}) for pod in held
        }
        return builders.snapshot(
            self.nodes,
            self.groups,
            [pod for pod in self.bound if pod.name not in self.held],
            bound_pods=builders.in_queues(evictable, charged) if held else None,
            taken_at=NOW,
        )

    def _usage(self) -> QueueUsage:
        charged: dict[QueueRef, Charge] = {}
        asked: dict[QueueRef, Charge] = {}
        for tree in self.trees:
            for name, amounts in tree.amounts.nodes.items():
                charged[tree.queues[name].ref] = keyed(amounts.charged)
                asked[tree.queues[name].ref] = keyed(amounts.asked)
        running = {self.queue_of(name).ref: n for name, n in self.jobs.items()}
        return QueueUsage(charged, asked, running)


def key_of(pod: Pod) -> GangKey:
    """Return the key of a pod that is a gang of one."""
    return GangKey("pod", pod.namespace, pod.name)


def keyed(amounts: Mapping[str, int]) -> Charge:
    """Return amounts by flavor and resource as the model writes them."""
    return {FlavorResource(*r.split("/")): amount for r, amount in amounts.items() if amount}


# What is declared.


def a_world(seed: int) -> World:
    """Return a world in which no gang may evict."""
    dice = dice_of(seed)
    roomy, tainted = dice.random() < 0.5, dice.random() < 0.3
    nodes = [
        _node(dice, kind, i, roomy, tainted) for kind in KINDS for i in range(dice.randint(1, 3))
    ]
    world = World(nodes, _flavors(tainted), [], roomy=roomy)
    products = dice.sample(list(Product), dice.choice((1, 1, 2, 3)))
    for product in Product:
        if product in products:
            world.trees.append(_tree(dice, product, nodes))
        elif product is Product.OURS:
            world.trees.append(_only_none())
    _fill(dice, world)
    return world


def _node(dice: Random, kind: str, number: int, roomy: bool, tainted: bool) -> ClusterNode:  # noqa: FBT001
    return builders.node(
        f"{kind}-{number}",
        cpu=1000 if roomy else dice.randint(1, 6),
        memory=10**6 if roomy else dice.randint(1, 12),
        labels={"kind": kind},
        taints=[TAINT] if tainted and kind == "spot" else [],
        ready=number == 0 or dice.random() < 0.9,
        unschedulable=number > 0 and dice.random() < 0.1,
    )


def _flavors(tainted: bool) -> list[Flavor]:  # noqa: FBT001
    taints = {"spot": (builders.taint(TAINT),) if tainted else (), "firm": ()}
    return [
        flavor
        for product in (Product.OURS, Product.KUEUE)
        for flavor in (
            *(Flavor(product, kind, (("kind", kind),), taints[kind]) for kind in KINDS),
            Flavor(product, "default"),
        )
    ]


def _only_none() -> Tree:
    amounts = NaiveTree([Node("root"), Node("none", "root")], ())
    return Tree(Product.OURS, amounts, _implied(), Fairness.FAIR_SHARE)


def _implied() -> dict[str, Queue]:
    """Return what is in our tree without an object."""
    root = QueueRef(QueueKind.QUEUE, "root")
    return {"root": Queue(root), "none": Queue(NONE, parent=root)}


def _tree(dice: Random, product: Product, nodes: Sequence[ClusterNode]) -> Tree:
    layout = LAYOUTS[0] if product is Product.VOLCANO else dice.choice(LAYOUTS)
    keys = tuple(f"{f}/{r}" for rs, flavors in layout.items() for r in rs for f in flavors)
    below = [Node(ROOTS[product])]
    if product is not Product.KUEUE or dice.random() < 0.8:
        _grow(dice, below, below[0], product, 1)
    amounts = NaiveTree(below, keys)
    tree = Tree(product, amounts, {}, dice.choice(list(Fairness)))
    # From the leaves up: what a queue is promised in all depends on those below it.
    for each in reversed(below):
        _promise(dice, tree, each, layout, nodes)
    said = {f"{f}/{r}" for queue in tree.queues.values() for f, r in queue.quotas}
    amounts.resources = tuple(key for key in keys if key in said)
    if product is Product.OURS:
        amounts.nodes["none"] = Node("none", "root")
        tree.queues["none"] = _implied()["none"]
    return tree


def _grow(dice: Random, nodes: list[Node], above: Node, product: Product, depth: int) -> None:
    for place in range(dice.randint(1, 3)):
        prefix = above.name if above.parent else product.name[0].lower()
        node = Node(f"{prefix}{place}", above.name)
        nodes.append(node)
        if depth < 3 and dice.random() < 0.35:
            _grow(dice, nodes, node, product, depth + 1)


def _unit(r: str) -> int:
    return 1000 if r.endswith("/cpu") else 1


def _promise(
    dice: Random,
    tree: Tree,
    node: Node,
    layout: Mapping[tuple[str, ...], tuple[str, ...]],
    nodes: Sequence[ClusterNode],
) -> None:
    """Draw the terms of a queue, and write its object."""
    is_leaf = not tree.amounts.children(node.name)
    groups = tuple(
        ResourceGroup(resources, tuple(dice.sample(flavors, dice.randint(1, len(flavors)))))
        for resources, flavors in layout.items()
    )
    own = {f"{f}/{r}" for group in groups for r in group.resources for f in group.flavors}
    quotas = {}
    node.weight = dice.choice((0, 1, 1, 2, 3))
    for r in tree.amounts.resources:
        if is_leaf and r not in own:
            node.borrowing[r] = 0
        elif node.parent is None and tree.product is not Product.KUEUE and dice.random() < 0.5:
            free = _capacity(nodes, r) - _promised_below(tree, node, r)
            node.nominal[r] = max(0, free)
        else:
            quotas[FlavorResource(*r.split("/"))] = _quota(dice, tree, node, r)
    tree.queues[node.name] = _queue(dice, tree, node, quotas, groups if is_leaf else ())


def _capacity(nodes: Sequence[ClusterNode], r: str) -> int:
    flavor, resource = r.split("/")
    return sum(
        dict(each.allocatable).get(resource, 0)
        for each in nodes
        if flavor in ("default", each.labels["kind"]) and each.ready and not each.unschedulable
    )


def _promised_below(tree: Tree, node: Node, r: str) -> int:
    return sum(tree.amounts.c(child, r) for child in tree.amounts.children(node.name))


def _all_below(tree: NaiveTree, name: str) -> list[str]:
    children = tree.children(name)
    return children + [each for child in children for each in _all_below(tree, child)]


def _quota(dice: Random, tree: Tree, node: Node, r: str) -> Quota:
    unit, below = _unit(r), _promised_below(tree, node, r)
    is_leaf = not tree.amounts.children(node.name)
    most = (0, 2, dice.randint(1, 9)) if is_leaf else (0, 0, dice.randint(1, 5))
    node.nominal[r] = dice.choice(most) * unit
    said = node.nominal[r]
    if tree.product is not Product.KUEUE and not is_leaf:
        said = node.nominal[r] + below
        if not node.nominal[r] and dice.random() < 0.3:
            said = max(0, said - unit)  # Less than those below were promised.
    if dice.random() < 0.3 and tree.product is not Product.KUEUE:
        node.guaranteed[r] = dice.randint(0, said // unit) * unit
    elif dice.random() < 0.3 and tree.product is Product.KUEUE:
        node.lending[r] = dice.randint(0, 5) * unit
    if tree.product is not Product.VOLCANO and node.parent and dice.random() < 0.4:
        node.borrowing[r] = dice.choice((0, dice.randint(0, 6))) * unit
    if tree.product is not Product.KUEUE and dice.random() < 0.3:
        node.limit[r] = said + dice.randint(0, 4) * unit
    guaranteed = node.guaranteed.get(r)
    if tree.product is Product.VOLCANO and guaranteed is not None:
        # Of Volcano's it includes what the queues below are guaranteed.
        kept = sum(tree.amounts.g(each, r) for each in _all_below(tree.amounts, node.name))
        node.guaranteed[r] = max(0, guaranteed - kept)
    return Quota(
        said,
        total=tree.product is not Product.KUEUE,
        guaranteed=guaranteed,
        lending_limit=node.lending.get(r),
        borrowing_limit=node.borrowing.get(r),
        limit=node.limit.get(r),
    )


def _queue(
    dice: Random,
    tree: Tree,
    node: Node,
    quotas: Mapping[FlavorResource, Quota],
    groups: tuple[ResourceGroup, ...],
) -> Queue:
    kinds = LEAVES if groups else INTERIOR
    above = None if node.parent is None else QueueRef(INTERIOR[tree.product], node.parent)
    queue = Queue(
        QueueRef(kinds[tree.product], node.name),
        uid=f"uid-{node.name}" if quotas else "",
        parent=above,
        weight=Fraction(node.weight),
        quotas=quotas,
        order=dice.choice((0, 0, 1)) if tree.product is Product.VOLCANO else 0,
        resource_groups=groups,
    )
    if not groups:
        return queue
    if tree.product is Product.OURS and dice.random() < 0.2:
        node.lenders = frozenset(dice.sample(sorted(tree.amounts.nodes), 1))
    policies = (EvictionPolicy.ANY, *[EvictionPolicy.NEVER] * 3, EvictionPolicy.LOWER_PRIORITY)
    return replace(
        queue,
        lenders=node.lenders,
        strategy=dice.choice(list(Strategy)),
        stop=dice.choice((StopPolicy.NONE,) * 9 + (StopPolicy.HOLD,)),
        limits=AdmissionLimits(
            jobs=dice.choice((None, None, None, 1, 2)),
            highest_priority=dice.choice((None, None, None, 1)),
        ),
        evictions=EvictionRules(EvictionPolicy.NEVER, dice.choice(policies)),
        fungibility=Fungibility(dice.random() < 0.6),
        aging=Aging(dice.choice((None, None, 1)), dice.choice((None, 1))),
    )


# What is charged, and what waits.


def a_crowd(seed: int) -> World:
    """Return a world in which gangs may evict pods of their own queue, and all may be elastic."""
    world, dice = a_world(seed), dice_of(seed + 1)
    for tree in world.trees:
        for name in tree.leaves():
            tree.queues[name] = replace(tree.queues[name], evictions=EvictionRules())
            for i in range(dice.choice((0, 1, 3))):
                _run(dice, world, name, f"r-{name}-{i}")
    world.groups = [_elastic(dice, group) for group in world.groups]
    return world


def _run(dice: Random, world: World, queue: str, name: str) -> None:
    """Have a pod run, charged in the first flavors of its queue that its node is of."""
    node = dice.choice(world.nodes)
    pod = builders.pod(name, node=node.name, cpu=dice.randint(1, 3), priority=-dice.randint(0, 1))
    world.held[name] = queue
    charged = world.tree_of(queue).amounts.nodes[queue].charged
    for r, amount in world.charged(pod).items():
        charged[r] = charged.get(r, 0) + amount
    world.bound.append(pod)
    world.jobs[queue] = world.jobs.get(queue, 0) + 1


def _elastic(dice: Random, group: GangGroup) -> GangGroup:
    return builders.group(
        *(replace(gang, min_member=dice.randint(1, gang.min_member)) for gang in group.gangs)
    )


def _fill(dice: Random, world: World) -> None:
    for tree in world.trees:
        for name in tree.leaves():
            if dice.random() < 0.5:
                amounts = tree.amounts.nodes[name].charged
                for r in tree.amounts.resources:
                    amounts[r] = dice.choice((0, 1, dice.randint(1, 5))) * _unit(r)
                world.jobs[name] = int(any(amounts.values()))
    leaves = [name for tree in world.trees for name in tree.leaves()]
    # Small gangs in few queues: one borrows what another lacks a little of.
    lean = dice.random() < 0.5
    leaves = dice.sample(leaves, min(3, len(leaves))) if lean else leaves
    for number in range(dice.randint(1, 8)):
        world.groups.append(_group(dice, world, f"g{number}", dice.choice(leaves), lean=lean))
    for i in range(dice.choice((0, 0, 2))):
        where = dice.choice(world.nodes).name
        world.bound.append(builders.pod(f"x{i}", node=where, scheduler="other"))


def _group(dice: Random, world: World, name: str, queue: str, *, lean: bool) -> GangGroup:
    where = _where(dice)
    classes = [
        {**where, **_asks(dice)} for _ in range(dice.choice((1, 1, 2)) if world.roomy else 1)
    ]
    ref = world.queue_of(queue).ref
    gangs = []
    for part in range(dice.choice((1, 1, 1, 1, 2))):
        called = f"{name}-{part}"
        members = [
            builders.pod(f"{called}-{i}", gang=called, **dice.choice(classes))
            for i in range(dice.randint(1, 2 if lean else 4))
        ]
        # Where room is short, members of elastic gangs may move for surplus: a plan hides that.
        least = 1 if world.roomy else len(members)
        gang = builders.gang(
            called,
            members=members,
            min_member=dice.randint(least, len(members)) + (dice.random() < 0.05),
            priority=dice.randint(0, 2),
            created_at=NOW - dice.choice((0, 1, 1800, 3600)),
        )
        gangs.append(replace(gang, queue=None if ref == NONE and dice.random() < 0.5 else ref))
        _ask(world, queue, members)
    if len({gang.queue for gang in gangs}) > 1:
        gangs = [replace(gang, queue=ref) for gang in gangs]
    return builders.group(*gangs)


def _asks(dice: Random) -> dict[str, Any]:
    return {
        "cpu": dice.randint(1, 3),
        "memory": dice.choice((0, 0, 1, 2)),
    }


def _where(dice: Random) -> dict[str, Any]:
    """Return what members of a group ask of nodes, all of them alike."""
    return {
        "selector": dice.choice(({}, {}, {}, {"kind": "spot"}, {"kind": "firm"})),
        "tolerations": (Toleration("spot", "Exists"),) if dice.random() < 0.7 else (),
    }


def _ask(world: World, queue: str, members: Sequence[Pod]) -> None:
    """Note what waits, in the first flavors of the queue."""
    tree = world.tree_of(queue)
    asked = tree.amounts.nodes[queue].asked
    for group in tree.queues[queue].resource_groups:
        for resource in group.resources:
            r = f"{group.flavors[0]}/{resource}"
            for member in members:
                asked[r] = asked.get(r, 0) + dict(member.pod_class.requests).get(resource, 0)
