"""No eviction set costs less than the bound of its node, and bounds are tight where they can be."""

import random

import numpy as np
import pytest

from gang_scheduler.model.bound_pods import BoundPod
from gang_scheduler.scheduler.preemption.eviction_units import NO_PRIORITY
from gang_scheduler.scheduler.preemption.least_costs import Least
from gang_scheduler.scheduler.preemption.potential_victims import Pool, PotentialVictims
from gang_scheduler.scheduler.preemption.preemptor import Slots
from gang_scheduler.scheduler.preemption.search.eviction_sets import EvictionSets
from gang_scheduler.scheduler.preemption.victim_costs import VictimCosts
from gang_scheduler.scheduler.trial import Trial
from support.builders import bound_pod, bound_pods, node, pod_class, snapshot

NOW, NODES = 1_000, 8
EVERYWHERE = np.ones(NODES, dtype=np.bool_)
ROWS = np.arange(NODES)


def potential_of(
    *held: BoundPod, surplus: dict[str, int] | None = None, cpu: int = 4
) -> tuple[PotentialVictims, Slots]:
    """Return pods on nodes of 8 CPUs, and the slots of a class that asks for so many."""
    nodes = [node(f"n{i}", cpu=8, memory=64) for i in range(NODES)]
    full = bound_pods(*held, surplus=surplus, allowed={"a": 0, "b": 2})
    trial = Trial(snapshot(nodes, bound_pods=full))
    potential = PotentialVictims(VictimCosts(full, below=9, now=NOW), trial.nodes)
    return potential, Slots(pod_class(cpu=cpu, memory=8), EVERYWHERE, trial)


def least_of(potential: PotentialVictims, slots: Slots) -> Least:
    return potential.least_costs.least(ROWS, slots.needed_for_one_more(ROWS), potential.remaining)


def random_pods(dice: random.Random) -> tuple[list[BoundPod], dict[str, int]]:
    """Return pods that fill the nodes, some in gangs across these, some of them elastic."""
    held: list[BoundPod] = []
    for row in range(NODES):
        left = 8
        while left:
            cpu = min(left, dice.choice([1, 2, 3, 4, 8]))
            left -= cpu
            name = dice.choice([f"alone-{len(held)}", f"gang-{dice.randrange(6)}"])
            held.append(
                bound_pod(
                    f"p{len(held)}",
                    f"n{row}",
                    gang=name,
                    cpu=cpu,
                    memory=dice.choice([0, 2, 8]),
                    priority=dice.choice([0, 0, 1, 5]),
                    started_at=dice.choice([0, dice.randrange(1, NOW)]),
                    budgets=dice.choice([[], [], ["a"], ["b"], ["a", "b"]]),
                )
            )
    sizes = {f"gang-{i}": sum(each.gang.name == f"gang-{i}" for each in held) for i in range(6)}
    surplus = {name: dice.randrange(size) for name, size in sizes.items() if size}
    return held, surplus


@pytest.mark.parametrize("seed", range(60))
def test_no_eviction_set_costs_less_than_the_bound_of_its_node(seed: int) -> None:
    dice = random.Random(seed)  # noqa: S311 - the same pods every time.
    held, surplus = random_pods(dice)
    potential, slots = potential_of(*held, surplus=surplus, cpu=dice.choice([2, 4, 6]))
    for _ in range(2):
        least = least_of(potential, slots)
        there = potential.on_nodes(EVERYWHERE)
        eviction_sets = EvictionSets(potential, slots, Pool(highest=9), there)
        at_best = slots.with_more(potential.freed(there)) - slots.slots
        gains = potential.least_costs.most_gained(
            ROWS, slots.request, slots.needed_for_one_more(ROWS), at_best
        )
        for row in ROWS.tolist():
            weighed = eviction_sets._weighed(row)
            bound = least.priorities[row], least.broken[row], least.work[row], least.pods[row]
            cost = weighed.cost
            if weighed.gain:
                assert bound[0] <= cost.highest_priority
                assert bound[1] <= min(cost.broken, cost.touched)
                assert bound[2] <= cost.lost_work
                assert bound[3] <= cost.pods
                assert weighed.gain <= gains[row]
                assert least.over[row] <= cost.over_budget
        # What has left frees nothing any more.
        gone = next(iter(potential.victims(potential.remaining).values()))
        whole = potential.costs.with_gangs({gone.pod.uid: gone})
        potential.leave((whole or {}).values())


def test_of_gangs_that_are_on_one_node_it_is_what_they_cost() -> None:
    old = bound_pod("old", "n0", cpu=8, priority=1, started_at=100)
    pair = [bound_pod(f"p{i}", "n1", gang="pair", cpu=4, started_at=600) for i in range(2)]
    two = [bound_pod(f"t{i}", "n2", cpu=4, priority=i, started_at=600 + 100 * i) for i in (0, 1)]

    least = least_of(*potential_of(old, *pair, *two, cpu=8))

    assert [1, 0, 1] == least.priorities[:3].tolist()
    assert [1, 1, 2] == least.broken[:3].tolist()
    assert [1, 2, 2] == least.pods[:3].tolist()
    assert [900, 800, 700] == least.work[:3].tolist()


def test_where_nothing_must_leave_it_is_nothing() -> None:
    potential, slots = potential_of(bound_pod("x", "n0", cpu=8, priority=3))
    needed = np.zeros_like(slots.free)

    least = potential.least_costs.least(ROWS, needed, potential.remaining)

    assert [NO_PRIORITY] * NODES == least.priorities.tolist()
    assert [0] * NODES == least.pods.tolist()
