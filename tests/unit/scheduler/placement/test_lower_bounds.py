"""What members need at least, by plain counting."""

import numpy as np

from gang_scheduler.scheduler.placement.lower_bounds import MOST, MOST_AMOUNTS, Floors, times


def needed(requests: list[list[int]], counts: list[int]) -> dict[tuple[int, ...], int]:
    """Return how many members ask for no less than each request that is counted."""
    floors = Floors(np.array(requests), counts).floors
    return {tuple(each.request.tolist()): each.number for each in floors}


def test_members_that_are_alike_are_one_floor() -> None:
    assert {(4, 1): 5} == needed([[4, 1]], [5])


def test_all_together_ask_for_no_less_than_the_least_in_everything() -> None:
    assert {(4, 1): 2, (2, 3): 3, (2, 1): 5} == needed([[4, 1], [2, 3]], [2, 3])


def test_those_that_ask_for_much_of_something_are_counted_without_the_others() -> None:
    assert 3 == needed([[6, 1], [5, 2], [1, 9]], [1, 2, 9])[5, 1]


def test_however_many_classes_there_are_few_amounts_are_looked_at() -> None:
    requests = [[1 + i, 1000 - i] for i in range(300)]

    assert len(needed(requests, [1] * 300)) <= 3 * MOST_AMOUNTS


def test_eleven_over_half_a_node_have_no_place_on_ten() -> None:
    floors = Floors(np.array([[501 + i] for i in range(11)]), [1] * 11)

    places = floors.places(np.array([[1000]] * 10), np.ones((11, 10), dtype=np.int64))

    assert (places.sum(axis=1) < floors.needed).any()


def test_a_node_offers_no_more_than_its_classes_are_offered_there() -> None:
    floors = Floors(np.array([[1], [2]]), [3, 3])

    places = floors.places(np.array([[100]]), np.array([[1], [0]]))

    assert places.max() == 1


def test_a_request_for_nothing_fits_as_often_as_you_like() -> None:
    assert [MOST, MOST] == times(np.array([0]), np.array([[5], [0]])).tolist()


def test_nothing_fits_where_less_than_nothing_is_free() -> None:
    assert [0, 1] == times(np.array([2]), np.array([[-5], [3]])).tolist()
