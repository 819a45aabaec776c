"""The exact search on few nodes."""

import numpy as np

from gang_scheduler.model.nodes import IntArray
from gang_scheduler.scheduler.effort import MOST_LOOKS, PART, Effort
from gang_scheduler.scheduler.placement import packing


def pack(
    counts: packing.Counts,
    slots: IntArray,
    requests: IntArray,
    free: IntArray,
    *,
    looks: int = 1000,
) -> list[packing.Counts] | None:
    effort = Effort()
    effort.spend(MOST_LOOKS // PART - looks)
    return packing.pack_exactly(counts, slots, requests, free, effort)


def test_it_finds_the_only_arrangement() -> None:
    # One node of 5 and one of 4: two of 3 and one of 2 fit only as 3 + 2 and 3.
    requests, free = np.array([[3], [2]]), np.array([[5], [4]])
    slots = np.array([[1, 1], [2, 2]])

    assert [(1, 1), (1, 0)] == pack((2, 1), slots, requests, free)


def test_it_says_when_there_is_none() -> None:
    requests, free = np.array([[3], [3]]), np.array([[5], [4]])
    slots = np.array([[1, 1], [1, 1]])

    assert pack((2, 1), slots, requests, free) is None


def test_there_is_none_without_nodes() -> None:
    # A cluster that never had a node knows no resources.
    nothing = np.zeros((0, 0), dtype=np.int64)

    assert pack((2, 1), nothing.reshape(2, 0), nothing.reshape(2, 0), nothing) is None


def test_slots_bound_what_requests_allow() -> None:
    requests, free = np.array([[1]]), np.array([[9], [9]])

    assert [(1,), (2,)] == pack((3,), np.array([[1, 2]]), requests, free)


def test_members_that_ask_for_nothing_fit_anywhere() -> None:
    requests, free = np.array([[0], [1]]), np.array([[1]])

    assert [(2, 1)] == pack((2, 1), np.array([[9], [1]]), requests, free)


def test_only_small_cases_are_searched() -> None:
    assert packing.small(packing.MOST_NODES, [8, 8])
    assert not packing.small(packing.MOST_NODES + 1, [1])
    assert not packing.small(1, [9, 8])
