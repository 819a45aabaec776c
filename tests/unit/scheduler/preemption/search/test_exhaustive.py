"""The cheapest victims are found, without a look at sets that cannot be the cheapest."""

from collections.abc import Callable, Collection
from dataclasses import dataclass
from random import Random

import numpy as np
import pytest

from gang_scheduler.model.bound_pods import BoundPod
from gang_scheduler.scheduler.effort import MOST_LOOKS, PART, Effort
from gang_scheduler.scheduler.placement.lower_bounds import Floors
from gang_scheduler.scheduler.preemption.eviction_units import EvictionUnit
from gang_scheduler.scheduler.preemption.preemptor import Needs
from gang_scheduler.scheduler.preemption.search import candidates, exhaustive
from gang_scheduler.scheduler.preemption.search.exhaustive import LOOKS, Answer, Problem
from gang_scheduler.scheduler.preemption.victim_costs import Cost, VictimCosts
from support.builders import amounts, bound_pod, bound_pods, gang_key, node, snapshot

NOW = 1000


@dataclass
class Nodes:
    """Nodes with no CPU free, on which so many members are to have room of so many CPUs each."""

    held: tuple[BoundPod, ...]
    cpu: int
    members: int = 1
    surplus: int = 0
    looks: int = MOST_LOOKS // PART
    bound: Cost | None = None
    needed: Collection[str] = ()
    fits: Callable[[set[str]], bool] = lambda _: True

    def answer(self) -> Answer:
        """Return the answer, and keep what it cost in `spent`."""
        full = bound_pods(*self.held, surplus={"elastic": self.surplus})
        nodes = snapshot([node(name, cpu=64) for name in self.names], bound_pods=full).nodes
        costs, there = VictimCosts(full, below=9, now=NOW), np.arange(len(nodes))
        everywhere = np.ones(len(nodes), dtype=np.bool_)
        floors = Floors(np.array([nodes.vector(amounts(cpu=self.cpu))]), [self.members])
        free = np.array([nodes.vector(amounts(pods=110))] * len(nodes))
        problem = Problem(
            evictable_units=self._evictable_units(costs),
            needs=Needs(floors, everywhere[np.newaxis], free, everywhere, there),
            nodes=nodes,
            costs=costs,
            fits=lambda units: self.fits(_names(units)),
            bound=self.bound,
        )
        effort = Effort()
        effort.spend(MOST_LOOKS // PART - self.looks)
        found = exhaustive.cheapest(problem, effort)
        self.branches = (effort.spent - (MOST_LOOKS // PART - self.looks)) // LOOKS
        return found

    @property
    def names(self) -> list[str]:
        """The nodes."""
        return sorted({each.pod.node for each in self.held})

    def victims(self) -> set[str] | None:
        """Return the names of the cheapest ones."""
        units = self.answer().units
        return None if units is None else _names(units)

    def _evictable_units(self, costs: VictimCosts) -> list[candidates.EvictableUnit]:
        found = candidates.evictable_units_of(costs.evictable, costs, exhaustive.MOST_LOSSES) or []
        return [each._replace(tied=bool(_names([each.unit]) & set(self.needed))) for each in found]


def _names(units: Collection[EvictionUnit]) -> set[str]:
    return {each.pod.name for unit in units for each in unit.bound_pods}


def singles(*cpu: int) -> tuple[BoundPod, ...]:
    return tuple(bound_pod(f"x-{i}", "n1", cpu=each) for i, each in enumerate(cpu))


def test_one_that_suffices_goes_rather_than_two() -> None:
    assert {"x-2"} == Nodes(singles(2, 2, 4), cpu=4).victims()


def test_a_gang_of_four_goes_rather_than_two_single_pods() -> None:
    whole = [bound_pod(f"g-{i}", "n1", gang="g", cpu=2) for i in range(4)]

    assert {f"g-{i}" for i in range(4)} == Nodes((*singles(4, 4), *whole), cpu=8).victims()


def test_surplus_goes_rather_than_all_of_an_elastic_gang() -> None:
    elastic = [bound_pod(f"e-{i}", "n1", gang="elastic", cpu=2, started_at=i) for i in range(1, 5)]

    assert {"e-3", "e-4"} == Nodes(tuple(elastic), cpu=4, surplus=2).victims()
    assert {"e-1", "e-2", "e-3", "e-4"} == Nodes(tuple(elastic), cpu=6, surplus=2).victims()


def test_where_all_are_too_few_there_is_none() -> None:
    held = Nodes(singles(4, 4), cpu=9)

    assert Answer(None, cut_off=False) == held.answer()
    assert 1 == held.branches


@pytest.mark.parametrize("cpu", [1, 7, 16])
def test_among_sixteen_the_fewest_go(cpu: int) -> None:
    found = Nodes(singles(*[1] * exhaustive.MOST_LOSSES), cpu=cpu).victims()

    assert found is not None
    assert cpu == len(found)


def test_nothing_is_found_that_costs_more_than_the_bound() -> None:
    held = singles(4)

    one = Cost(highest_priority=0, broken=1, touched=1, pods=1)
    less = Cost(highest_priority=0, broken=1, touched=0, pods=9)

    assert {"x-0"} == Nodes(held, cpu=4, bound=one).victims()
    assert Nodes(held, cpu=4, bound=less).victims() is None


def test_without_looks_it_says_that_it_was_cut_off() -> None:
    assert Answer(None, cut_off=True) == Nodes(singles(2, 2, 4), cpu=4, looks=0).answer()


def test_after_some_looks_it_returns_the_best_that_it_found() -> None:
    held = hard(0)
    best = held.answer()

    fewer = Nodes(held.held, cpu=3, members=5, looks=20 * LOOKS).answer()

    assert (False, True) == (best.cut_off, fewer.cut_off)
    assert fewer.units is not None
    assert best.units is not None
    assert sum(each.going for each in best.units) <= sum(each.going for each in fewer.units)


def test_places_enough_are_not_enough_where_more_than_room_counts() -> None:
    held = Nodes(singles(4, 5, 6), cpu=4, fits=lambda gone: {"x-1", "x-2"} <= gone)

    assert {"x-1", "x-2"} == held.victims()


def test_a_pod_that_is_needed_stays_though_all_would_not_fit_without() -> None:
    held = (bound_pod("a", "n1", cpu=4), bound_pod("needed", "n1", cpu=4))

    found = Nodes(held, cpu=4, needed=["needed"], fits=lambda gone: "needed" not in gone)

    assert {"a"} == found.victims()


def test_a_pod_that_is_needed_goes_where_that_is_cheapest() -> None:
    held = (bound_pod("a", "n1", cpu=4, priority=5), bound_pod("needed", "n1", cpu=4))

    assert {"needed"} == Nodes(held, cpu=4, needed=["needed"]).victims()


def test_of_pods_that_leave_the_same_room_few_sets_are_looked_at() -> None:
    racked = tuple(
        bound_pod(f"p-{i}-{j}", f"n{i}", cpu=4, started_at=(7 * i + 3 * j) % 11 + 1)
        for i in range(8)
        for j in range(2)
    )
    held = Nodes(racked, cpu=8, members=4)

    found = held.answer()

    assert (8, False) == (len(found.units or ()), found.cut_off)
    assert held.branches <= 150


def hard(seed: int) -> Nodes:
    """Return sixteen gangs and single pods across five nodes, none like another."""
    dice = Random(seed)  # noqa: S311 - the same every time.
    held = [
        bound_pod(
            f"p-{i}",
            f"n{i % 5}",
            gang=f"g-{i if i < 8 else dice.randrange(16)}",
            cpu=dice.randint(1, 2),
            priority=dice.choice([0, 1, 3]),
            started_at=dice.randint(1, NOW),
        )
        for i in range(28)
    ]
    return Nodes(tuple(held), cpu=3, members=5)


@pytest.mark.parametrize("seed", range(6))
def test_sixteen_that_are_all_different_take_no_more_than_some_branches(seed: int) -> None:
    held = hard(seed)

    found = held.answer()

    assert not found.cut_off
    assert held.branches <= 600
    assert gang_key("elastic") not in {each.gang for each in found.units or ()}
