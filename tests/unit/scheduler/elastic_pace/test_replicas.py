"""When a number of replicas changes, to what, and when it is left to others."""

import pytest

from gang_scheduler.model.causes.gangs import ReplicasContested, ReplicasOutside
from gang_scheduler.model.gangs import (
    APART_SECONDS,
    ChangeReason,
    ElasticSize,
    Replicas,
    ReplicasChange,
    WrittenReplicas,
)
from gang_scheduler.model.pods import Elastic
from gang_scheduler.scheduler.elastic_pace import (
    LONGEST_WAIT_SECONDS,
    VAIN_SECONDS,
    ReplicaCounts,
    due_change,
    growth,
    why_lowered,
    why_stopped,
)

NOW = 100_000
ELASTIC = Elastic(2, 8, up_cooldown=600, up_step=2, by_replicas=True)


def size(bound: int, waiting: int = 0, *, since: int = 0, changed: int = 1000) -> ReplicaCounts:
    """Return a gang that changed so many seconds ago; its pods wait for so many seconds."""
    return ReplicaCounts(ElasticSize(ELASTIC, bound, bound, NOW - changed), waiting, NOW - since)


def written(
    ago: int, workers: int = 4, why: ChangeReason = ChangeReason.ROOM_FREE, vain: int = 0
) -> WrittenReplicas:
    return WrittenReplicas(workers, NOW - ago, why.value, vain)


@pytest.mark.parametrize(("bound", "expected"), [(2, 2), (4, 2), (6, 2), (7, 1), (8, 0), (9, 0)])
def test_it_grows_by_whole_steps_or_by_fewer_to_reach_the_maximum(
    bound: int, expected: int
) -> None:
    assert expected == growth(size(bound), None, None, NOW)


def test_it_grows_only_when_the_cooldown_has_passed_since_every_change() -> None:
    assert 0 == growth(size(4, changed=599), None, None, NOW)
    assert 0 == growth(size(4), written(599), None, NOW)
    assert 0 == growth(size(4), None, NOW - 599, NOW)
    assert 2 == growth(size(4, changed=600), written(600), NOW - 600, NOW)


def test_it_does_not_grow_while_pods_wait_or_before_it_has_started() -> None:
    assert 0 == growth(size(4, waiting=1), None, None, NOW)
    assert 0 == growth(ReplicaCounts(ElasticSize(ELASTIC, 4)), None, None, NOW)


@pytest.mark.parametrize(("vain", "wait"), [(1, 1200), (2, 2400), (3, 3600), (60, 3600)])
def test_each_growth_in_vain_doubles_the_wait_up_to_an_hour(vain: int, wait: int) -> None:
    assert wait <= LONGEST_WAIT_SECONDS
    assert 0 == growth(
        size(4, changed=9999), written(wait - 1, 4, ChangeReason.NO_ROOM, vain), None, NOW
    )
    assert 2 == growth(
        size(4, changed=9999), written(wait, 4, ChangeReason.NO_ROOM, vain), None, NOW
    )


def test_pods_that_wait_go_after_two_minutes() -> None:
    assert why_lowered(size(4, 2, since=VAIN_SECONDS - 1), NOW) is None
    assert ChangeReason.NO_ROOM is why_lowered(size(4, 2, since=VAIN_SECONDS), NOW)
    assert why_lowered(size(4, 0, since=9999), NOW) is None


def test_pods_that_replace_victims_go_at_once_and_other_losses_are_replaced() -> None:
    preempted = ReplicaCounts(ElasticSize(ELASTIC, 4, 4, NOW - 10, preempted=True), 2, NOW - 5)
    assert ChangeReason.PREEMPTED is why_lowered(preempted, NOW)
    leaving = ReplicaCounts(ElasticSize(ELASTIC, 6, 4, NOW - 10, preempted=True), 2, NOW - 5)
    assert why_lowered(leaving, NOW) is None
    long_ago = ReplicaCounts(
        ElasticSize(ELASTIC, 3, 4, NOW - VAIN_SECONDS, preempted=True), 1, NOW - 5
    )
    assert why_lowered(long_ago, NOW) is None


@pytest.mark.parametrize(
    ("drops_highest", "bound", "waiting", "after"),
    [(True, 5, 3, 5), (True, 3, 2, 6), (False, 5, 3, 5), (False, 1, 7, 2), (True, 0, 8, 2)],
)
def test_what_waits_in_vain_is_taken_off_the_number_and_never_the_minimum(
    *, drops_highest: bool, bound: int, waiting: int, after: int
) -> None:
    found = Replicas(8, drops_highest)
    change = due_change(size(bound, waiting, since=VAIN_SECONDS), found, NOW)

    assert ReplicasChange(8, after, ChangeReason.NO_ROOM) == change


def test_a_number_at_the_minimum_stays() -> None:
    assert due_change(size(1, 1, since=999), Replicas(2), NOW) is None


def test_a_growth_that_ended_in_vain_is_counted_and_one_that_held_is_forgotten() -> None:
    grown = Replicas(6, written=written(200, 6, vain=1))
    failed = due_change(size(4, 2, since=VAIN_SECONDS), grown, NOW)
    assert ReplicasChange(6, 4, ChangeReason.NO_ROOM, vain=2) == failed

    held = Replicas(6, written=written(3600, 6, vain=1))
    assert ReplicasChange(6, 8, ChangeReason.ROOM_FREE) == due_change(size(6), held, NOW, fits=2)
    lost = Replicas(4, written=written(3600, 4, ChangeReason.NO_ROOM, vain=2))
    assert ReplicasChange(4, 6, ChangeReason.ROOM_FREE, vain=2) == due_change(
        size(4, changed=9999), lost, NOW, fits=2
    )


def test_nothing_is_changed_twice_in_half_a_minute() -> None:
    waiting = size(4, 2, since=VAIN_SECONDS)
    assert due_change(waiting, Replicas(6, written=written(APART_SECONDS - 1, 6)), NOW) is None
    assert due_change(waiting, Replicas(6, written=written(APART_SECONDS, 6)), NOW) is not None


def test_it_grows_only_from_the_number_that_runs() -> None:
    assert due_change(size(4), Replicas(6), NOW, fits=2) is None
    assert due_change(size(4), Replicas(4), NOW) is None
    assert ReplicasChange(4, 5, ChangeReason.ROOM_FREE) == due_change(
        size(4), Replicas(4), NOW, fits=1
    )


def test_others_who_change_it_twice_or_beyond_the_bounds_end_all_changes() -> None:
    assert why_stopped(ELASTIC, Replicas(2), [], NOW) is None
    assert why_stopped(ELASTIC, Replicas(8), [NOW - 700, NOW], NOW) is None
    outside = why_stopped(ELASTIC, Replicas(9, editor="helm"), [], NOW)
    assert ReplicasOutside(9, 2, 8, "helm") == outside
    twice = why_stopped(ELASTIC, Replicas(8), [NOW - 500, NOW], NOW)
    assert ReplicasContested(10) == twice
