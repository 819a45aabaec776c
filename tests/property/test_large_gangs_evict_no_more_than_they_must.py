"""Law: of the victims of a gang with many classes, none could stay beside the members.

Such a gang is too large for each victim to be put back in turn with a placement. So what counts is
where its members are nominated: a victim could stay if it fits beside them. With queues, the quota
counts, too: a victim also goes to free what the gang lacks.
"""

from collections import Counter
from random import Random
from typing import Final

import pytest
from hypothesis import given, settings

from gang_scheduler.model.bound_pods import BoundPod
from gang_scheduler.model.gangs import Gang
from gang_scheduler.model.plan import Preemption
from gang_scheduler.model.pods import Pod
from gang_scheduler.model.resources import CPU
from gang_scheduler.scheduler.cycle import schedule
from gang_scheduler.scheduler.profile import PROFILES
from property.random_cases import SEEDS, dice_of
from support import builders
from support.queue_builders import our_queue, queue_ref
from support.queue_worlds import Running, decide, in_queue, running, with_ends, world
from support.thoroughness import cases

NODE: Final = 16_000
"""Of CPU, in thousandths."""
QUEUE, GUEST = queue_ref("q"), queue_ref("guest")
Held = dict[str, list[BoundPod]]
"""Pods of low priority by node."""


@given(SEEDS)
@settings(max_examples=cases(10, thorough=500))
def test_no_victim_fits_beside_the_members(seed: int) -> None:
    dice = dice_of(seed)
    held, members = crowd(dice, dice.randint(40, 100)), waiting(dice, dice.randint(20, 100))

    made = preemption(held, members)

    if made is not None:
        assert [] == could_stay(made, held)


@given(SEEDS)
@settings(max_examples=cases(10, thorough=500))
def test_within_a_queue_no_more_go_than_room_and_quota_need(seed: int) -> None:
    dice = dice_of(seed)
    held, members = crowd(dice, dice.randint(40, 100)), waiting(dice, dice.randint(20, 60))
    quota = used(held) + dice.choice((0, 50_000, 1_000_000))

    made = preemption_within_a_queue(held, members, quota)

    if made is not None:
        lacking = used(held) + sum(map(cpu_of, members)) - quota
        freed = sum(cpu_of(each.pod) for each in made.victims)
        for each in could_stay(made, held):
            assert freed - cpu_of(each.pod) < lacking


@pytest.mark.parametrize(("nodes", "a_node"), [(40, 2), (200, 8)])
def test_within_a_queue_whole_nodes_are_cleared_for_whole_nodes(nodes: int, a_node: int) -> None:
    cpu = NODE // 1000 // a_node
    held = {
        f"n{i}": [builders.bound_pod(f"n{i}-{j}", f"n{i}", cpu=cpu) for j in range(a_node)]
        for i in range(nodes)
    }

    made = preemption_within_a_queue(held, [_member(i, 16) for i in range(4)], used(held))

    assert made is not None
    assert 4 * a_node == len(made.victims)


@pytest.mark.parametrize(("nodes", "a_node"), [(40, 16), (200, 8)])
def test_whole_nodes_are_reclaimed_from_a_queue_that_borrows_them(nodes: int, a_node: int) -> None:
    cpu = NODE // 1000 // a_node
    names = [f"n{number}" for number in range(nodes)]
    runs = [running(GUEST, f"{name}-{j}", name, cpu=cpu) for name in names for j in range(a_node)]
    gang = in_queue(QUEUE, "a", members=[_member(number, 16) for number in range(4)])
    queues = [our_queue("root", 10**9), our_queue("q", 10**6), our_queue("guest", borrowing=True)]
    there = [builders.node(name, cpu=16) for name in names]

    plan = decide(with_ends(world(queues, [gang], there, runs), {}))

    assert [4 * a_node] == [len(each.victims) for each in plan.preemptions]


def crowd(dice: Random, nodes: int) -> Held:
    """Return pods of which the nodes are full or nearly full."""
    found: Held = {}
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
    return [_member(i, dice.randint(1, 13), i % memory) for i in range(members)]


def _member(number: int, cpu: int, memory: int = 0) -> Pod:
    return builders.pod(f"a-{number}", gang="a", priority=10, cpu=cpu, memory=memory)


def preemption(held: Held, members: list[Pod]) -> Preemption | None:
    nodes = [builders.node(name, cpu=16) for name in held]
    bound_pods = builders.bound_pods(*(each for some in held.values() for each in some))
    gang: Gang = builders.gang("a", members=members, priority=10)
    plan = schedule(builders.snapshot(nodes, [gang], bound_pods=bound_pods), PROFILES["binpack"])
    return next(iter(plan.preemptions), None)


def preemption_within_a_queue(held: Held, members: list[Pod], quota: int) -> Preemption | None:
    nodes = [builders.node(name, cpu=16) for name in held]
    runs: list[Running] = [
        running(QUEUE, each.pod.name, node, cpu=cpu_of(each.pod) // 1000, priority=each.priority)
        for node, some in held.items()
        for each in some
    ]
    gang = in_queue(QUEUE, "a", members=members, priority=10)
    queues = [our_queue("root", 10**9), our_queue("q", quota)]
    charged = with_ends(world(queues, [gang], nodes, runs), {})
    return next(iter(decide(charged).preemptions), None)


def could_stay(made: Preemption, held: Held) -> list[BoundPod]:
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


def used(held: Held) -> int:
    return sum(cpu_of(each.pod) for some in held.values() for each in some)


def cpu_of(pod: Pod) -> int:
    return dict(pod.pod_class.requests)[CPU]
