"""Every set of victims is weighed that could be the cheapest."""

from collections.abc import Callable

import pytest

from builders import tenant, tenants
from gang_scheduler.model.tenants import Tenant
from gang_scheduler.scheduler.preemption import exhaustive
from gang_scheduler.scheduler.preemption.tolls import Tolls, Victims

Fits = Callable[[Victims], bool]


def loss(*those: Tenant) -> Victims:
    return {each.pod.uid: each for each in those}


def cheapest(
    fits: Fits, *losses: Victims, known: Victims | None = None, most_trials: int = 2**17
) -> set[str] | None:
    tolls = Tolls(tenants(*(each for one in losses for each in one.values())), below=9, now=0)
    found = exhaustive.cheapest(losses, known, tolls, fits, most_trials)
    return None if found is None else {each.pod.name for each in found.values()}


def freeing(cpu: int) -> Fits:
    """Return a test of victims: whether they ask for so much."""

    def fits(victims: Victims) -> bool:
        asked = (dict(each.pod.ask.requests)["cpu"] for each in victims.values())
        return sum(asked) >= cpu * 1000

    return fits


def singles(*cpu: int) -> list[Victims]:
    return [loss(tenant(f"x-{i}", "n1", cpu=each)) for i, each in enumerate(cpu)]


def test_one_that_suffices_goes_rather_than_two() -> None:
    assert {"x-2"} == cheapest(freeing(4), *singles(2, 2, 4))


def test_a_gang_of_four_goes_rather_than_two_single_pods() -> None:
    whole = loss(*(tenant(f"g-{i}", "n1", gang="g", cpu=2) for i in range(4)))

    assert {f"g-{i}" for i in range(4)} == cheapest(freeing(8), *singles(4, 4), whole)


def test_a_cheaper_set_than_the_known_one_is_found() -> None:
    losses = singles(2, 2, 4)

    assert {"x-2"} == cheapest(freeing(4), *losses, known=losses[0] | losses[1])


def test_the_known_one_stays_where_none_is_cheaper() -> None:
    losses = singles(4, 4)

    assert {"x-1"} == cheapest(freeing(4), *losses, known=losses[1])


def test_after_so_many_trials_the_best_one_known_stays() -> None:
    losses = singles(*[2] * 12, 4)

    found = cheapest(freeing(4), *losses, known=losses[0] | losses[1], most_trials=4)

    assert {"x-0", "x-1"} == found


def test_where_all_are_too_few_there_is_none() -> None:
    assert cheapest(freeing(9), *singles(4, 4)) is None


@pytest.mark.parametrize("cpu", [1, 7, 16])
def test_among_sixteen_the_fewest_go(cpu: int) -> None:
    found = cheapest(freeing(cpu), *singles(*[1] * exhaustive.MOST_LOSSES))

    assert found is not None
    assert cpu == len(found)
