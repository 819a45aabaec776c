"""Law: of the victims of a gang with many classes, none could stay beside the members.

Such a gang is too large for each victim to be put back in turn with a placement. So what counts is
where its members are nominated: a victim could stay if it fits beside them.
"""

from collections import Counter
from random import Random
from typing import Final

from hypothesis import given, settings

from gang_scheduler.model.bound_pods import BoundPod
from gang_scheduler.model.plan import Preemption
from gang_scheduler.model.pods import Pod
from gang_scheduler.model.resources import CPU
from gang_scheduler.scheduler.cycle import schedule
from gang_scheduler.scheduler.profile import PROFILES
from property.random_cases import SEEDS, dice_of
from support import builders
from support.thoroughness import cases

NODE: Final = 16_000
"""Of CPU, in thousandths."""


@given(SEEDS)
@settings(max_examples=cases(20, thorough=500))
def test_no_victim_fits_beside_the_members(seed: int) -> None:
    dice = dice_of(seed)
    held, members = crowd(dice, dice.randint(40, 100)), waiting(dice, dice.randint(20, 100))

    made = preemption(held, members)

    if made is not None:
        assert [] == could_stay(made, held)


def crowd(dice: Random, nodes: int) -> dict[str, list[BoundPod]]:
    """Return pods of low priority by node, which are full or nearly full."""
    found: dict[str, list[BoundPod]] = {}
    for number in range(nodes):
        node, left = f"n{number}", 16 - dice.choice((0, 0, 0, 1, 3))
        some = found[node] = []
        while left:
            cpu = min(left, dice.randint(1, 6))
            left -= cpu
            name, priority = f"{node}-{len(some)}", dice.randint(0, 2)
            some.append(builders.bound_pod(name, node, cpu=cpu, priority=priority))
    return found


def waiting(dice: Random, members: int) -> list[Pod]:
    """Return members of up to as many classes: they differ in CPU and memory."""
    memory = dice.choice((1, 2, 8, members))
    asked = ((dice.randint(1, 13), i % memory) for i in range(members))
    return [
        builders.pod(f"a-{i}", gang="a", priority=10, cpu=cpu, memory=more)
        for i, (cpu, more) in enumerate(asked)
    ]


def preemption(held: dict[str, list[BoundPod]], members: list[Pod]) -> Preemption | None:
    nodes = [builders.node(name, cpu=16) for name in held]
    bound_pods = builders.bound_pods(*(each for some in held.values() for each in some))
    gang = builders.gang("a", members=members, priority=10)
    plan = schedule(builders.snapshot(nodes, [gang], bound_pods=bound_pods), PROFILES["binpack"])
    return next(iter(plan.preemptions), None)


def could_stay(made: Preemption, held: dict[str, list[BoundPod]]) -> list[BoundPod]:
    """Return the victims that fit beside the members and all pods that stay, the largest first."""
    gone = {each.pod.uid for each in made.victims}
    left = Counter(dict.fromkeys(held, NODE))
    for bind in made.nominations:
        left[bind.node] -= cpu_of(bind.pod)
    for node, some in held.items():
        left[node] -= sum(cpu_of(each.pod) for each in some if each.pod.uid not in gone)
    assert min(left.values()) >= 0
    found = []
    for each in sorted(made.victims, key=lambda each: -cpu_of(each.pod)):
        if cpu_of(each.pod) <= left[each.pod.node]:
            left[each.pod.node] -= cpu_of(each.pod)
            found.append(each)
    return found


def cpu_of(pod: Pod) -> int:
    return dict(pod.pod_class.requests)[CPU]
