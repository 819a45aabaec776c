"""When a number of replicas changes, to what, and when it is left to others."""

import pytest

from gang_scheduler.model.causes.gangs import ReplicasContested, ReplicasOutside
from gang_scheduler.model.gangs import APART_SECONDS, Change, Pace, Replicas, Why, Written
from gang_scheduler.model.pods import Elastic
from gang_scheduler.scheduler.elastic_pace import (
    LONGEST_WAIT_SECONDS,
    VAIN_SECONDS,
    Size,
    desired,
    grows_by,
    loses,
    stopped_by,
)

NOW = 100_000
ELASTIC = Elastic(2, 8, up_cooldown=600, up_step=2, by_replicas=True)


def size(bound: int, waiting: int = 0, *, since: int = 0, changed: int = 1000) -> Size:
    """Return a gang that changed so many seconds ago; its pods wait for so many seconds."""
    return Size(Pace(ELASTIC, bound, bound, NOW - changed), waiting, NOW - since)


def written(ago: int, workers: int = 4, why: Why = Why.ROOM_FREE, vain: int = 0) -> Written:
    return Written(workers, NOW - ago, why.value, vain)


@pytest.mark.parametrize(("bound", "expected"), [(2, 2), (4, 2), (6, 2), (7, 1), (8, 0), (9, 0)])
def test_it_grows_by_whole_steps_or_by_fewer_to_reach_the_maximum(
    bound: int, expected: int
) -> None:
    assert expected == grows_by(size(bound), None, None, NOW)


def test_it_grows_only_when_the_cooldown_has_passed_since_every_change() -> None:
    assert 0 == grows_by(size(4, changed=599), None, None, NOW)
    assert 0 == grows_by(size(4), written(599), None, NOW)
    assert 0 == grows_by(size(4), None, NOW - 599, NOW)
    assert 2 == grows_by(size(4, changed=600), written(600), NOW - 600, NOW)


def test_it_does_not_grow_while_pods_wait_or_before_it_has_started() -> None:
    assert 0 == grows_by(size(4, waiting=1), None, None, NOW)
    assert 0 == grows_by(Size(Pace(ELASTIC, 4)), None, None, NOW)


@pytest.mark.parametrize(("vain", "wait"), [(1, 1200), (2, 2400), (3, 3600), (60, 3600)])
def test_each_growth_in_vain_doubles_the_wait_up_to_an_hour(vain: int, wait: int) -> None:
    assert wait <= LONGEST_WAIT_SECONDS
    assert 0 == grows_by(size(4, changed=9999), written(wait - 1, 4, Why.NO_ROOM, vain), None, NOW)
    assert 2 == grows_by(size(4, changed=9999), written(wait, 4, Why.NO_ROOM, vain), None, NOW)


def test_pods_that_wait_go_after_two_minutes() -> None:
    assert loses(size(4, 2, since=VAIN_SECONDS - 1), NOW) is None
    assert Why.NO_ROOM is loses(size(4, 2, since=VAIN_SECONDS), NOW)
    assert loses(size(4, 0, since=9999), NOW) is None


def test_pods_that_replace_victims_go_at_once_and_other_losses_are_replaced() -> None:
    preempted = Size(Pace(ELASTIC, 4, 4, NOW - 10, preempted=True), 2, NOW - 5)
    assert Why.PREEMPTED is loses(preempted, NOW)
    leaving = Size(Pace(ELASTIC, 6, 4, NOW - 10, preempted=True), 2, NOW - 5)
    assert loses(leaving, NOW) is None
    long_ago = Size(Pace(ELASTIC, 3, 4, NOW - VAIN_SECONDS, preempted=True), 1, NOW - 5)
    assert loses(long_ago, NOW) is None


@pytest.mark.parametrize(
    ("drops_highest", "bound", "waiting", "after"),
    [(True, 5, 3, 5), (True, 3, 2, 6), (False, 5, 3, 5), (False, 1, 7, 2), (True, 0, 8, 2)],
)
def test_what_waits_in_vain_is_taken_off_the_number_and_never_the_minimum(
    *, drops_highest: bool, bound: int, waiting: int, after: int
) -> None:
    found = Replicas(8, drops_highest)
    change = desired(size(bound, waiting, since=VAIN_SECONDS), found, NOW)

    assert Change(8, after, Why.NO_ROOM) == change


def test_a_number_at_the_minimum_stays() -> None:
    assert desired(size(1, 1, since=999), Replicas(2), NOW) is None


def test_a_growth_that_ended_in_vain_is_counted_and_one_that_held_is_forgotten() -> None:
    grown = Replicas(6, written=written(200, 6, vain=1))
    failed = desired(size(4, 2, since=VAIN_SECONDS), grown, NOW)
    assert Change(6, 4, Why.NO_ROOM, vain=2) == failed

    held = Replicas(6, written=written(3600, 6, vain=1))
    assert Change(6, 8, Why.ROOM_FREE) == desired(size(6), held, NOW, fits=2)
    lost = Replicas(4, written=written(3600, 4, Why.NO_ROOM, vain=2))
    assert Change(4, 6, Why.ROOM_FREE, vain=2) == desired(size(4, changed=9999), lost, NOW, fits=2)


def test_nothing_is_changed_twice_in_half_a_minute() -> None:
    waiting = size(4, 2, since=VAIN_SECONDS)
    assert desired(waiting, Replicas(6, written=written(APART_SECONDS - 1, 6)), NOW) is None
    assert desired(waiting, Replicas(6, written=written(APART_SECONDS, 6)), NOW) is not None


def test_it_grows_only_from_the_number_that_runs() -> None:
    assert desired(size(4), Replicas(6), NOW, fits=2) is None
    assert desired(size(4), Replicas(4), NOW) is None
    assert Change(4, 5, Why.ROOM_FREE) == desired(size(4), Replicas(4), NOW, fits=1)


def test_others_who_change_it_twice_or_beyond_the_bounds_end_all_changes() -> None:
    assert stopped_by(ELASTIC, Replicas(2), [], NOW) is None
    assert stopped_by(ELASTIC, Replicas(8), [NOW - 700, NOW], NOW) is None
    outside = stopped_by(ELASTIC, Replicas(9, editor="helm"), [], NOW)
    assert ReplicasOutside(9, 2, 8, "helm") == outside
    twice = stopped_by(ELASTIC, Replicas(8), [NOW - 500, NOW], NOW)
    assert ReplicasContested(10) == twice
