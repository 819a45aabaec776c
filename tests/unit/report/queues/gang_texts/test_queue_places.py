"""The places of gangs that wait are told of the first ones, and now and then."""

from dataclasses import replace

from gang_scheduler.model.refs import GangKey
from gang_scheduler.report.queues.gang_texts import LEAST_SECONDS, MOST, Place, QueuePlaces
from support.queue_figures import TEAM_B, TREE, X, Y


def test_a_gang_that_waits_has_a_place() -> None:
    places = QueuePlaces()

    assert {X, Y} == places.show(TREE, 1000)
    assert (Place(1, 2), Place(2, 2)) == (places.of(X), places.of(Y))


def test_only_gangs_with_another_place_are_reported() -> None:
    places = QueuePlaces()
    places.show(TREE, 1000)

    assert set() == places.show(TREE, 1000 + LEAST_SECONDS)
    assert {X, Y} == places.show([replace(TEAM_B, pending=(Y,))], 1001 + LEAST_SECONDS)
    assert (None, Place(1, 1)) == (places.of(X), places.of(Y))


def test_places_stay_for_a_while() -> None:
    places = QueuePlaces()
    places.show(TREE, 1000)

    assert set() == places.show([], 1000 + LEAST_SECONDS - 1)
    assert Place(1, 2) == places.of(X)


def test_a_gang_that_begins_to_wait_has_its_place_at_once() -> None:
    places = QueuePlaces()
    places.show([replace(TEAM_B, pending=(Y,))], 1000)

    assert {X} == places.show([replace(TEAM_B, pending=(X, Y))], 1001)
    assert (Place(1, 2), Place(1, 1)) == (places.of(X), places.of(Y))


def test_only_the_first_gangs_of_a_queue_have_a_place() -> None:
    keys = tuple(GangKey("PodGroup", "default", f"g-{i}") for i in range(MOST + 1))
    places = QueuePlaces()
    places.show([replace(TEAM_B, pending=keys)], 0)

    assert Place(MOST, MOST + 1) == places.of(keys[MOST - 1])
    assert places.of(keys[MOST]) is None
