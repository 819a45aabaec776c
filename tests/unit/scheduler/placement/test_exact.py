"""The exact search on few nodes."""

import numpy as np

from gang_scheduler.scheduler.placement import exact


def test_it_finds_the_only_arrangement() -> None:
    # One node of 5 and one of 4: two of 3 and one of 2 fit only as 3 + 2 and 3.
    requests, free = np.array([[3], [2]]), np.array([[5], [4]])
    slots = np.array([[1, 1], [2, 2]])

    assert [(1, 1), (1, 0)] == exact.pack((2, 1), slots, requests, free, at_least=3)


def test_it_says_when_there_is_none() -> None:
    requests, free = np.array([[3], [3]]), np.array([[5], [4]])
    slots = np.array([[1, 1], [1, 1]])

    assert exact.pack((2, 1), slots, requests, free, at_least=3) is None


def test_it_finds_the_classes_of_which_enough_fit() -> None:
    # A leader of 2 takes what two workers of 1 fit in.
    requests, free = np.array([[2], [1]]), np.array([[2]])
    slots = np.array([[1], [2]])

    assert [(0, 2)] == exact.pack((1, 2), slots, requests, free, at_least=2)
    assert exact.pack((1, 2), slots, requests, free, at_least=3) is None


def test_slots_bound_what_requests_allow() -> None:
    requests, free = np.array([[1]]), np.array([[9], [9]])

    assert [(1,), (2,)] == exact.pack((3,), np.array([[1, 2]]), requests, free, at_least=3)


def test_members_that_ask_for_nothing_fit_anywhere() -> None:
    requests, free = np.array([[0], [1]]), np.array([[1]])

    assert [(2, 1)] == exact.pack((2, 1), np.array([[9], [1]]), requests, free, at_least=3)


def test_only_small_cases_are_searched() -> None:
    assert exact.small(exact.MOST_NODES, [8, 8])
    assert not exact.small(exact.MOST_NODES + 1, [1])
    assert not exact.small(1, [9, 8])
