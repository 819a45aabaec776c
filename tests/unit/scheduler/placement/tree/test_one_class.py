"""The fewest domains, and the seats in them."""

import itertools
import random

import numpy as np
import pytest

from gang_scheduler.scheduler.placement.tree.capacity import NOT_EVEN_THE_TAIL, Capacity
from gang_scheduler.scheduler.placement.tree.one_class import fewest


def column(*whole: int) -> Capacity:
    values = np.array(whole, dtype=np.int64)
    return Capacity(values, values)


def chosen(capacity: Capacity, count: int, size: int = 1) -> dict[int, int]:
    domains, counts = fewest(capacity, count, size)
    return dict(zip(domains.tolist(), counts.tolist(), strict=True))


def test_one_domain_that_holds_all_is_enough() -> None:
    assert {1: 4} == chosen(column(3, 4, 9), 4)


def test_of_those_that_hold_all_the_tightest_is_taken() -> None:
    assert {2: 4} == chosen(column(9, 6, 5), 4)


def test_the_largest_are_filled_and_the_last_is_the_tightest_for_the_rest() -> None:
    assert {2: 4, 1: 1} == chosen(column(2, 1, 4), 5)


def test_equal_domains_are_taken_in_order() -> None:
    assert {0: 2, 1: 2, 2: 1} == chosen(column(2, 2, 2, 2), 5)


def test_the_tail_goes_where_it_costs_no_whole_slice() -> None:
    with_room = Capacity(np.array([4, 2]), np.array([2, 2]))

    assert {0: 4, 1: 1} == chosen(with_room, 5, size=2)


def test_a_domain_without_room_for_the_tail_never_has_it() -> None:
    only_second = Capacity(np.array([4, 2]), np.array([NOT_EVEN_THE_TAIL, 0]))

    assert {0: 4, 1: 1} == chosen(only_second, 5, size=2)


@pytest.mark.parametrize("seed", range(200))
def test_no_smaller_number_of_domains_would_do(seed: int) -> None:
    dice = random.Random(seed)  # noqa: S311 - a seeded test.
    size = dice.randint(1, 4)
    slots = [dice.randint(0, 9) for _ in range(dice.randint(1, 6))]
    count = dice.randint(1, 20)
    capacity = _capacity(slots, count, size)
    least = _least(slots, count, size)
    if least is None:
        return

    domains, counts = fewest(capacity, count, size)

    assert (least, count) == (len(domains), counts.sum())
    assert all(0 < n <= slots[i] for i, n in zip(domains.tolist(), counts.tolist(), strict=True))
    assert all(n % size == 0 for n in counts.tolist()[:-1])


def _capacity(slots: list[int], count: int, size: int) -> Capacity:
    tail = count % size
    whole = [n // size * size for n in slots]
    beside = [(n - tail) // size * size if n >= tail else NOT_EVEN_THE_TAIL for n in slots]
    return Capacity(np.array(whole), np.array(beside))


def _least(slots: list[int], count: int, size: int) -> int | None:
    """Try every set of domains, and every one of it for the tail."""
    tail = count % size
    for number in range(1, len(slots) + 1):
        for some in itertools.combinations(slots, number):
            whole = [n // size * size for n in some]
            for i, n in enumerate(some):
                beside = (n - tail) // size * size if n >= tail else -count
                if sum(whole) - whole[i] + beside >= count - tail:
                    return number
    return None
