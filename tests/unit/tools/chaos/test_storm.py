"""The schedule of a storm: the same for a seed, and no two faults at once that take the same."""

import itertools
from types import SimpleNamespace
from typing import ClassVar, cast

import pytest

from tools.chaos import faults, storm
from tools.chaos.site import Site
from tools.chaos.storm import Planned

SECONDS = 1800.0


@pytest.mark.parametrize("seed", range(5))
def test_the_same_seed_gives_the_same_faults(seed: int) -> None:
    assert plan(seed) == plan(seed)
    assert plan(seed) != plan(seed + 1)


@pytest.mark.parametrize("seed", range(5))
def test_faults_that_take_the_same_never_overlap(seed: int) -> None:
    planned = plan(seed)

    for earlier, later in itertools.combinations(planned, 2):
        if earlier.fault.takes & later.fault.takes:
            assert earlier.until <= later.at


@pytest.mark.parametrize("seed", range(5))
def test_half_an_hour_has_more_than_300_faults_and_each_kind(seed: int) -> None:
    planned = plan(seed)

    assert 300 < len(planned)
    assert set(faults.ALL) == {each.fault for each in planned}


def test_chosen_faults_alone_come() -> None:
    (only,) = faults.FAMILIES["clocks"]

    planned = storm.schedule(1, 100.0, [only])

    assert {only} == {each.fault for each in planned}
    assert all(0 < each.at < 100.0 for each in planned)


def test_names_of_faults_and_families_are_apart() -> None:
    assert len(faults.ALL) == len(faults.BY_NAME)
    assert set() == faults.BY_NAME.keys() & faults.FAMILIES.keys()
    assert set(faults.ALL) == set(itertools.chain(*faults.FAMILIES.values()))


def plan(seed: int) -> list[Planned]:
    return storm.schedule(seed, SECONDS, faults.ALL)


class Noted(faults.Fault):
    """Notes when it is at work."""

    name = "noted"
    takes = frozenset({"any"})
    current_work: ClassVar[list[str]] = []

    def begin(self) -> None:
        """Note it."""
        self.current_work.append("begin")

    def end(self) -> None:
        """Note it."""
        self.current_work.append("end")
        self.detail = "done"


def test_a_storm_lets_faults_come_one_after_the_other_that_take_the_same() -> None:
    said: list[str] = []
    site = cast("Site", SimpleNamespace(say=said.append))
    planned = [Planned(0.0, 0.05, Noted, 1), Planned(0.01, 0.02, Noted, 2)]

    struck = storm.rage(site, planned)

    assert ["begin", "end", "begin", "end"] == Noted.current_work
    assert [("noted", True, "done")] * 2 == [(e.name, e.struck, e.detail) for e in struck]
    assert 4 == len(said)
