"""The worst shapes for the search for victims: racks of eight nodes, full of pods that differ.

Everything follows from the numbers given: the same clusters every time.
"""

import random
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from gang_scheduler.model.api_words import Operator
from gang_scheduler.model.bound_pods import BoundPod
from gang_scheduler.model.gangs import Gang, GangGroup
from gang_scheduler.model.layers import NODE_LAYER, Layer, TreeSpec
from gang_scheduler.model.pods import Pod, PodClass
from gang_scheduler.model.selectors import Clause, PodAffinity, PodSelector, Requirement, Spread
from gang_scheduler.model.snapshot import Snapshot
from gang_scheduler.model.topology_request import LayerRef, TopologyRequest
from support import builders

NOW = 100_000
RACK = 8
TREE_SPEC = TreeSpec("network", (Layer("rack", "", ("rack",)), Layer(NODE_LAYER, "rack")))
IN_A_RACK = TopologyRequest(must=(LayerRef("rack"),))
BUDGETS = tuple(f"budget-{number}" for number in range(20))


@dataclass(frozen=True)
class Shape:
    """Racks of nodes of 8 CPUs, and gangs that need room there.

    `across`: of a hundred pods so many are of a gang that has others on other nodes. `small`: nodes
    have pods of 1 to 4 CPUs instead of two of 4.
    """

    racks: int
    classes: int = 1
    members: int = 4
    cpu: int = 8
    gangs: int = 1
    across: int = 0
    small: bool = False
    guarded: bool = False
    spread: bool = False


SHAPES = {
    "16 losses a rack": Shape(125),
    "16 losses a rack, 5,000 nodes": Shape(625),
    "two classes": Shape(625, classes=2),
    "eleven classes, over half a node": Shape(625, classes=11, members=11, cpu=5),
    "eight classes": Shape(625, classes=8, members=8, cpu=5),
    "spread over racks": Shape(625, spread=True),
    "budgets that overlap": Shape(625, guarded=True),
    "gangs across racks": Shape(20, across=50, small=True),
    "gangs across racks, 5,000 nodes": Shape(625, across=50, small=True),
    "everything": Shape(625, classes=4, across=50, small=True, guarded=True),
    "20 gangs": Shape(625, gangs=20),
    "20 gangs of two classes": Shape(625, classes=2, gangs=20, across=50, small=True),
    "40 gangs, all different": Shape(625, classes=2, gangs=40, cpu=0, guarded=True),
}


def every() -> Iterator[tuple[str, Snapshot]]:
    """Yield the worst shapes."""
    for case, shape in SHAPES.items():
        yield case, cluster(shape)


def cluster(shape: Shape) -> Snapshot:
    """Return the cluster of a shape."""
    dice = random.Random(0)  # noqa: S311 - the same cluster every time.
    count = RACK * shape.racks
    nodes = [
        builders.node(f"n{number}", cpu=8, labels={"rack": f"r{number // RACK}"})
        for number in range(count)
    ]
    held = _bound_pods(shape, count, dice)
    sizes = Counter(each.gang.name for each in held)
    surplus = {name: 1 for name, size in sizes.items() if size > 2 and shape.guarded}
    allowed = {budget: dice.randint(0, 3) for budget in BUDGETS}
    full = builders.bound_pods(*held, surplus=surplus, allowed=allowed)
    waiting = [_waiting(shape, number, dice) for number in range(shape.gangs)]
    return builders.snapshot(nodes, waiting, tree_specs=[TREE_SPEC], bound_pods=full, taken_at=NOW)


def _bound_pods(shape: Shape, nodes: int, dice: random.Random) -> list[BoundPod]:
    found: list[BoundPod] = []
    gangs: list[str] = []
    for number in range(nodes):
        for cpu in _sizes(dice) if shape.small else (4, 4):
            shared = gangs and dice.randrange(100) < shape.across
            gangs.append(dice.choice(gangs[-40:]) if shared else f"low-{len(found)}")
            budgets = dice.sample(BUDGETS, dice.choice([0, 0, 1, 2])) if shape.guarded else []
            found.append(
                builders.bound_pod(
                    f"p-{len(found)}",
                    f"n{number}",
                    gang=gangs[-1],
                    cpu=cpu,
                    priority=dice.choice([0, 0, 1, 2, 5]),
                    started_at=dice.randrange(1, NOW),
                    budgets=budgets,
                )
            )
    return found


def _sizes(dice: random.Random) -> Iterator[int]:
    left = 8
    while left:
        cpu = min(left, dice.choice([1, 2, 2, 3, 4]))
        left -= cpu
        yield cpu


def _waiting(shape: Shape, number: int, dice: random.Random) -> GangGroup:
    name = f"high-{number}"
    cpus = [shape.cpu or dice.randint(3, 8) for _ in range(shape.members)]
    pod_classes = [
        builders.pod_class(cpu=cpu, memory=1 + i % shape.classes) for i, cpu in enumerate(cpus)
    ]
    if shape.spread:
        pod_classes = [_spread(each) for each in pod_classes]
    return builders.group(
        _gang(name, pod_classes), topology_request=None if shape.spread else IN_A_RACK
    )


def _spread(pod_class: PodClass) -> PodClass:
    """Return what members ask for that are spread evenly over the racks."""
    mine = Requirement("app", Operator.IN, ("high",))
    selector = PodSelector((Clause((mine,), frozenset({builders.NAMESPACE})),), staying=True)
    pod_affinity = PodAffinity(spread=(Spread("rack", 1, selector),))
    return replace(pod_class, pod_affinity=pod_affinity, selected_by=frozenset({selector}))


def _gang(name: str, pod_classes: Sequence[PodClass]) -> Gang:
    members: list[Pod] = [
        replace(builders.pod(f"{name}-{i}", gang=name, priority=10), pod_class=pod_class)
        for i, pod_class in enumerate(pod_classes)
    ]
    return builders.gang(name, members=members, priority=10)
