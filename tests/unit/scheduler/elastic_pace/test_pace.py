"""How many workers may come now: a table of sizes, steps and cooldowns."""

import pytest

from gang_scheduler.model.gangs import ElasticSize
from gang_scheduler.model.pods import Elastic
from gang_scheduler.scheduler import elastic_pace

NOW = 1000
BY_TWO = Elastic(2, 8, up_cooldown=60, up_step=2)


def at(bound: int, size: int, changed_at: int | None = NOW - 60) -> ElasticSize:
    return ElasticSize(BY_TWO, bound, size, changed_at)


def test_a_gang_that_has_not_started_may_have_all_up_to_its_maximum() -> None:
    fresh = ElasticSize(BY_TWO)

    assert elastic_pace.cooldown_end(fresh, NOW) is None
    assert elastic_pace.most_members(fresh, NOW) == 8
    assert [0, 1, 5, 8, 8] == [
        elastic_pace.in_whole_steps(fresh, number) for number in (0, 1, 5, 8, 9)
    ]


@pytest.mark.parametrize(("ago", "until"), [(0, NOW + 60), (59, NOW + 1), (60, None), (3600, None)])
def test_a_gang_grows_again_when_its_cooldown_has_passed(ago: int, until: int | None) -> None:
    assert until == elastic_pace.cooldown_end(at(4, 4, NOW - ago), NOW)


def test_within_its_cooldown_a_gang_gets_only_what_it_has_lost() -> None:
    assert elastic_pace.most_members(at(5, 5, NOW), NOW) == 0
    assert elastic_pace.most_members(at(3, 5, NOW), NOW) == 2
    assert elastic_pace.most_members(at(1, 0, NOW), NOW) == 1
    assert elastic_pace.most_members(at(8, 5, NOW), NOW) == 0


@pytest.mark.parametrize(
    ("bound", "size", "number", "expected"),
    [
        # Whole steps, or fewer to reach the maximum.
        (5, 5, 1, 0),
        (5, 5, 2, 2),
        (5, 5, 3, 3),
        (4, 4, 3, 2),
        (7, 7, 1, 1),
        (7, 7, 5, 1),
        # What was lost comes back one by one, and steps are counted from there.
        (3, 5, 1, 1),
        (3, 5, 3, 2),
        (3, 5, 4, 4),
        (1, 0, 1, 1),
        # More are bound than the last change left: it was taken back.
        (6, 4, 1, 0),
        (6, 4, 2, 2),
        (9, 9, 2, 0),
    ],
)
def test_surplus_comes_in_whole_steps(bound: int, size: int, number: int, expected: int) -> None:
    assert expected == elastic_pace.in_whole_steps(at(bound, size), number)
