"""Many victims, of gangs that lie across each other."""

from collections.abc import Collection, Sequence
from unittest.mock import patch

import numpy as np
import pytest

from gang_scheduler.model.bound_pods import BoundPod
from gang_scheduler.model.nodes import Node
from gang_scheduler.model.plan import Plan
from gang_scheduler.scheduler import effort
from gang_scheduler.scheduler.cycle import schedule
from gang_scheduler.scheduler.preemption.potential_victims import Pool, PotentialVictims
from gang_scheduler.scheduler.preemption.preemptor import Slots
from gang_scheduler.scheduler.preemption.search.eviction_sets import EvictionSets
from gang_scheduler.scheduler.preemption.victim_costs import VictimCosts
from gang_scheduler.scheduler.profile import PROFILES
from gang_scheduler.scheduler.trial import Trial
from support.builders import bound_pod, bound_pods, gang, gang_key, node, snapshot
from support.builders import pod_class as asks
from support.plan_reading import nominations_of, victims_of

GANGS, SIZE = 32, 20


def across(gangs: int = GANGS) -> list[BoundPod]:
    """Return gangs of 20 one-CPU pods: the first half of them on n0 to n19, the others beyond."""
    return [
        bound_pod(f"g{i}-{j}", f"n{j + SIZE * (i >= GANGS // 2)}", gang=f"g{i}", priority=1)
        for i in range(gangs)
        for j in range(SIZE)
    ]


def decide(*those: BoundPod, surplus: dict[str, int] | None = None) -> Plan:
    nodes = [node(f"n{i}", cpu=16) for i in range(2 * SIZE)]
    high = gang("high", pods=SIZE, cpu=16, priority=10)
    held = bound_pods(*those, surplus=surplus)
    return schedule(snapshot(nodes, [high], bound_pods=held), PROFILES["binpack"])


def gangs_of(victims: set[str]) -> set[str]:
    return {name.partition("-")[0] for name in victims}


def test_exactly_the_gangs_of_one_half_go() -> None:
    plan = decide(*across())

    assert {f"g{i}" for i in range(16)} == gangs_of(victims_of(plan))
    assert (16 * SIZE, SIZE) == (len(victims_of(plan)), len(nominations_of(plan)))


def test_the_half_with_fewer_gangs_goes() -> None:
    plan = decide(*across(GANGS - 1))

    assert {f"g{i}" for i in range(16, 31)} == gangs_of(victims_of(plan))


def test_the_half_of_the_lower_priority_goes() -> None:
    dear = [bound_pod(f"dear-{j}", f"n{j}", gang="dear", priority=2) for j in range(SIZE)]

    plan = decide(*(each for each in across() if each.gang != gang_key("g0")), *dear)

    assert {f"g{i}" for i in range(16, 32)} == gangs_of(victims_of(plan))


TWO = (node("n1", cpu=4), node("n2", cpu=4))


def _eviction_sets(
    *those: BoundPod,
    cpu: int,
    surplus: dict[str, int] | None = None,
    nodes: Sequence[Node] = TWO,
) -> EvictionSets:
    held = bound_pods(*those, surplus=surplus)
    trial = Trial(snapshot(nodes, bound_pods=held))
    potential = PotentialVictims(VictimCosts(held, below=9, now=0), trial.nodes)
    everywhere = np.ones(len(nodes), dtype=np.bool_)
    slots = Slots(asks(cpu=cpu), everywhere, trial)
    return EvictionSets(potential, slots, Pool(highest=9), potential.on_nodes(everywhere))


def test_what_is_there_already_takes_no_pod() -> None:
    eviction_sets = _eviction_sets(bound_pod("x", "n1", cpu=4), cpu=4)

    assert eviction_sets.choose(1)
    assert {} == eviction_sets.victims


def test_a_closure_takes_its_gang_along() -> None:
    pair = [bound_pod(f"g-{i}", where, gang="g", cpu=4) for i, where in enumerate(("n1", "n2"))]
    eviction_sets = _eviction_sets(*pair, cpu=4)

    assert eviction_sets.choose(1)
    assert {"uid-g-0", "uid-g-1"} == eviction_sets.victims.keys()


def test_only_so_many_of_an_elastic_gang_go_as_it_takes() -> None:
    elastic = [bound_pod(f"g-{i}", "n1", gang="g", cpu=1) for i in range(4)]
    eviction_sets = _eviction_sets(*elastic, bound_pod("x", "n2", cpu=4), cpu=2, surplus={"g": 2})

    assert eviction_sets.choose(1)
    assert 2 == len(eviction_sets.victims)


def test_a_pod_that_frees_nothing_is_not_taken() -> None:
    eviction_sets = _eviction_sets(bound_pod("x", "n1", cpu=4), bound_pod("y", "n2", cpu=4), cpu=5)

    assert not eviction_sets.choose(1)
    assert {} == eviction_sets.victims


@pytest.mark.parametrize(("work", "evicted"), [(100, range(1, 10)), (6_000, [40])])
def test_a_search_that_takes_far_too_long_evicts_no_more_sets(
    work: int, evicted: Collection[int]
) -> None:
    """Each eviction of a gang on many nodes changes what evictions on all of these cost."""
    nodes = [node(f"n{i}", cpu=20) for i in range(40)]
    large = [bound_pod(f"g{i}", f"n{i}", gang=f"g{i}", cpu=16) for i in range(40)]
    small = [
        bound_pod(f"g{i}-{j}", f"n{(i + j) % 40}", gang=f"g{i}", cpu=1)
        for i in range(40)
        for j in range(1, 5)
    ]
    with patch.object(effort, "MOST_OF_CYCLE", work):
        eviction_sets = _eviction_sets(*large, *small, cpu=16, nodes=nodes)

    assert eviction_sets.choose(40) == (40 in evicted)
    assert len(eviction_sets.chosen) in evicted
