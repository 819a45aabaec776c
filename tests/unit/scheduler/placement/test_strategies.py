"""binpack and spread choose the nodes that placing pod by pod would choose.

The oracle is plain Python: it scores every node again for every pod.
"""

import random
from collections import Counter
from collections.abc import Callable

import numpy as np
import pytest

from gang_scheduler.model.nodes import IntArray, Node
from gang_scheduler.model.pods import Pod, PodClass
from gang_scheduler.scheduler.filters import resources
from gang_scheduler.scheduler.placement import binpack, spread
from gang_scheduler.scheduler.trial import Share, Trial
from support.builders import node, pod, pod_class, snapshot

Fill = Callable[[PodClass, IntArray, int, Trial], Share]
SEEDS = range(40)


def chosen(fill: Fill, asked: PodClass, count: int, trial: Trial) -> dict[str, int]:
    share = fill(asked, resources.slots(asked, trial), count, trial)
    pairs = zip(share.rows.tolist(), share.counts.tolist(), strict=True)
    return {trial.nodes.nodes[row].name: number for row, number in pairs}


def pod_by_pod(
    nodes: list[Node], bound: list[Pod], asked: PodClass, count: int, *, fullest: bool
) -> dict[str, int]:
    """Place one pod after another, each on the best node with room; ties go to the first name."""
    capacity = {each.name: dict(each.allocatable) for each in nodes}
    used = {each.name: Counter[str]() for each in nodes}
    for each in bound:
        used[each.node].update(dict(each.pod_class.requests))
    wanted = dict(asked.requests)
    scored = [name for name in wanted if name != "pods"] or ["pods"]

    def fits(name: str) -> bool:
        return all(used[name][r] + n <= capacity[name].get(r, 0) for r, n in wanted.items())

    def use(name: str) -> int:
        return sum(
            used[name][r] * 1000 // capacity[name][r] + wanted[r] * 1000 // capacity[name][r]
            for r in scored
        )

    placed = Counter[str]()
    for _ in range(count):
        room = [each.name for each in nodes if fits(each.name)]
        best = max(room, key=use) if fullest else min(room, key=use)
        used[best].update(wanted)
        placed[best] += 1
    return dict(placed)


def cluster(seed: int) -> tuple[list[Node], list[Pod]]:
    dice = random.Random(seed)  # noqa: S311 - nothing secret.
    nodes = [
        node(f"n{i:02}", cpu=dice.choice([4, 8, 20]), gpu=dice.choice([4, 8])) for i in range(6)
    ]
    bound = [
        pod(f"x-{each.name}", node=each.name, cpu=dice.randint(0, 3), gpu=dice.randint(0, 3))
        for each in nodes
        if dice.random() < 0.6
    ]
    return nodes, bound


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize(("fill", "fullest"), [(binpack.fill, True), (spread.fill, False)])
def test_filling_is_placing_pod_by_pod(fill: Fill, seed: int, *, fullest: bool) -> None:
    nodes, bound = cluster(seed)
    asked = pod_class(cpu=seed % 2, gpu=1)
    trial = Trial(snapshot(nodes, bound=bound))
    count = int(resources.slots(asked, trial).sum()) * (seed % 3 + 1) // 3

    found = chosen(fill, asked, count, trial)

    assert pod_by_pod(nodes, bound, asked, count, fullest=fullest) == found


@pytest.mark.parametrize("seed", SEEDS)
def test_binpack_is_placing_pod_by_pod_where_shares_are_no_whole_thousandths(seed: int) -> None:
    dice = random.Random(seed)  # noqa: S311 - nothing secret.
    nodes = [node(f"n{i}", cpu=dice.choice([3, 7, 11]), memory="7Gi") for i in range(5)]
    asked = pod_class(cpu="700m", memory="300Mi")
    count = dice.randint(1, 12)

    found = chosen(binpack.fill, asked, count, Trial(snapshot(nodes)))

    assert pod_by_pod(nodes, [], asked, count, fullest=True) == found


def test_binpack_fills_the_fullest_node_first() -> None:
    bound = [pod("x", node="n3", cpu=2)]
    trial = Trial(snapshot([node(f"n{i}", cpu=4) for i in (1, 2, 3)], bound=bound))

    assert {"n3": 2, "n1": 3} == chosen(binpack.fill, pod_class(), 5, trial)


def test_spread_takes_the_emptiest_node_for_every_pod() -> None:
    bound = [pod("x", node="n3", cpu=2)]
    trial = Trial(snapshot([node(f"n{i}", cpu=4) for i in (1, 2, 3)], bound=bound))

    assert {"n1": 2, "n2": 2} == chosen(spread.fill, pod_class(), 4, trial)
    assert {"n1": 3, "n2": 3, "n3": 1} == chosen(spread.fill, pod_class(), 7, trial)


@pytest.mark.parametrize("fill", [binpack.fill, spread.fill])
def test_ties_go_to_the_first_name_in_natural_order(fill: Fill) -> None:
    trial = Trial(snapshot([node("n10"), node("n9"), node("n100")]))

    assert {"n9": 1} == chosen(fill, pod_class(), 1, trial)


@pytest.mark.parametrize("fill", [binpack.fill, spread.fill])
def test_nodes_without_slots_get_nothing(fill: Fill) -> None:
    trial = Trial(snapshot([node("n1"), node("n2"), node("n3")]))

    share = fill(pod_class(), np.array([0, 3, 1]), 4, trial)

    assert ([1, 2], [3, 1]) == (sorted(share.rows.tolist()), sorted(share.counts)[::-1])


@pytest.mark.parametrize("fill", [binpack.fill, spread.fill])
def test_filling_changes_nothing(fill: Fill) -> None:
    shot = snapshot([node("n1"), node("n2")])
    trial = Trial(shot)

    chosen(fill, pod_class(), 5, trial)

    assert shot.free.tolist() == trial.free.tolist()
