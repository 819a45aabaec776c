"""What is remembered of evictions, and which plans it refuses."""

from collections.abc import Iterable

import pytest

from gang_scheduler.model.evictions import EvictionClass, Forgotten, YieldedTo
from gang_scheduler.model.refs import GangKey
from gang_scheduler.scheduler.reclaim.ping_pong import Memory
from support.builders import gang_key

OVERRUN, RECLAIM, IN_QUEUE, WHILE_BORROWING, FAIR_SHARE, AT_FIRST = EvictionClass
A, B, C, D = (gang_key(name) for name in "abcd")
Links = Iterable[tuple[GangKey, GangKey, EvictionClass]]


def memory(*links: tuple[GangKey, GangKey, EvictionClass]) -> Memory:
    """Return what is known of gangs that yielded to others; the first link is the oldest."""
    yielded: dict[GangKey, list[YieldedTo]] = {}
    for at, (below, above, by) in enumerate(links):
        yielded.setdefault(below, []).append(YieldedTo(above, "", by, at))
    return Memory(yielded)


def test_where_nothing_is_known_nothing_is_refused() -> None:
    assert not memory().refuses([A], {B: FAIR_SHARE})


def test_a_gang_does_not_evict_the_gang_that_it_yielded_to() -> None:
    known = memory((A, B, IN_QUEUE))

    assert known.closes_a_circle([A], B, IN_QUEUE)
    assert known.closes_a_circle([A], B, FAIR_SHARE)
    assert not known.closes_a_circle([B], A, IN_QUEUE)
    assert not known.closes_a_circle([A], C, IN_QUEUE)


def test_a_stronger_class_may_and_the_weaker_link_is_forgotten() -> None:
    known = memory((A, B, IN_QUEUE))

    assert not known.refuses([A], {B: RECLAIM})
    assert (Forgotten(A, B),) == known.carry_out([A], {B: RECLAIM}, at=5)
    assert known.closes_a_circle([B], A, RECLAIM)


@pytest.mark.parametrize("later", [WHILE_BORROWING, FAIR_SHARE, AT_FIRST])
@pytest.mark.parametrize("earlier", [WHILE_BORROWING, FAIR_SHARE, AT_FIRST])
def test_the_classes_of_borrowers_weigh_the_same(
    earlier: EvictionClass, later: EvictionClass
) -> None:
    assert memory((A, B, earlier)).closes_a_circle([A], B, later)


def test_a_circle_of_three_is_not_closed_by_its_weakest_link() -> None:
    known = memory((C, B, RECLAIM), (B, A, IN_QUEUE))

    assert known.closes_a_circle([C], A, WHILE_BORROWING)
    assert known.closes_a_circle([C], A, IN_QUEUE)
    assert not known.closes_a_circle([C], A, RECLAIM)
    assert (Forgotten(B, A),) == known.carry_out([C], {A: RECLAIM}, at=5)


def test_the_weakest_of_each_circle_is_forgotten_and_of_equal_ones_the_oldest() -> None:
    links = [(A, C, IN_QUEUE), (A, B, FAIR_SHARE), (B, C, FAIR_SHARE), (C, D, RECLAIM)]
    known = memory(*links)

    assert (Forgotten(A, C), Forgotten(A, B)) == known.carry_out([A], {D: RECLAIM}, at=5)
    assert known.closes_a_circle([B], D, FAIR_SHARE)


def test_one_victim_that_must_not_go_refuses_the_whole_plan() -> None:
    assert memory((A, B, RECLAIM)).refuses([A], {C: RECLAIM, B: IN_QUEUE})


def test_to_yield_to_a_group_is_to_yield_to_each_of_its_gangs() -> None:
    known = memory()

    known.carry_out([A, B], {C: IN_QUEUE}, at=5)

    assert known.closes_a_circle([C], A, IN_QUEUE)
    assert known.closes_a_circle([C, D], B, IN_QUEUE)
    assert not known.closes_a_circle([D], B, IN_QUEUE)


def test_of_two_evictions_for_one_gang_the_stronger_class_counts() -> None:
    known = memory((A, B, RECLAIM), (A, B, FAIR_SHARE))

    assert known.closes_a_circle([A], B, RECLAIM)
