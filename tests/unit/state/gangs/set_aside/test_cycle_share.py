"""Where very many gangs have changed, the highest come first, and nothing overtakes them."""

import pytest

from gang_scheduler.model.plan import Refused
from gang_scheduler.model.reasons import Reason
from gang_scheduler.model.refs import GangName
from gang_scheduler.state.gangs import set_aside
from gang_scheduler.state.gangs.decisions import Decisions
from gang_scheduler.state.gangs.gang_queue import GangQueue
from support.builders import gang_key, gang_spec, pod
from support.gang_queue_builders import NOW, describe, empty_queue


@pytest.fixture(autouse=True)
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let four gangs and members be the most, that is two single pods."""
    monkeypatch.setattr(set_aside, "MOST_MADE", 4)


def come(gang_queue: GangQueue, *pods: tuple[str, int]) -> None:
    for name, priority in pods:
        gang_queue.upsert_member(gang_key(name), pod(name, gang=name, priority=priority))


def tried(gang_queue: GangQueue, *, whole: bool = False) -> list[str]:
    """Take what is due and refuse it; return the names in order."""
    gangs = [gang for group in gang_queue.take_due(NOW, whole=whole) for gang in group.waiting]
    for each in gangs:
        Decisions(gang_queue).refused(Refused(each, Reason.UNSCHEDULABLE, each.pending), NOW)
    return sorted(gang.key.name for gang in gangs)


def test_the_highest_come_first_and_the_rest_in_the_next_cycles() -> None:
    gang_queue = empty_queue()
    come(gang_queue, ("a", 1), ("b", 5), ("c", 3), ("d", 5), ("e", 1))

    assert ["b", "d"] == tried(gang_queue)
    assert gang_queue.is_due_at_once
    assert ["a", "c"] == tried(gang_queue)
    assert ["e"] == tried(gang_queue)
    assert not gang_queue.is_due_at_once


def test_of_one_priority_the_oldest_come_first_whatever_their_names() -> None:
    gang_queue = empty_queue()
    for created_at, name in enumerate("dcba"):
        gang_queue.upsert_member(gang_key(name), pod(name, gang=name, created_at=created_at))

    assert ["c", "d"] == tried(gang_queue)
    assert ["a", "b"] == tried(gang_queue)


def test_no_lower_one_is_tried_before_because_nothing_of_it_has_changed() -> None:
    gang_queue = empty_queue()
    come(gang_queue, ("low", 1))
    tried(gang_queue)
    gang_queue.room_freed()
    come(gang_queue, ("a", 5), ("b", 5), ("c", 5))

    assert ["a", "b"] == tried(gang_queue)
    assert ["c", "low"] == tried(gang_queue)


def test_a_group_comes_by_the_lowest_priority_of_its_gangs() -> None:
    gang_queue = empty_queue()
    both = (GangName("default", "x"), GangName("default", "y"))
    for name, priority in (("x", 9), ("y", 1)):
        describe(gang_queue, gang_spec(name, 1, groups=both))
        come(gang_queue, (name, priority))
    come(gang_queue, ("a", 5), ("b", 5))

    assert ["a", "b"] == tried(gang_queue)
    assert ["x", "y"] == tried(gang_queue)


def test_a_gang_larger_than_the_share_is_taken_alone() -> None:
    gang_queue = empty_queue()
    for i in range(9):
        gang_queue.upsert_member(gang_key("huge"), pod(f"huge-{i}", gang="huge", priority=5))
    come(gang_queue, ("a", 1))

    assert ["huge"] == tried(gang_queue)
    assert ["a"] == tried(gang_queue)


def test_who_asks_for_the_whole_gets_it() -> None:
    gang_queue = empty_queue()
    come(gang_queue, *((name, 0) for name in "abcde"))

    assert [*"abcde"] == tried(gang_queue, whole=True)


def test_gangs_of_which_nothing_waits_take_nothing_of_the_share() -> None:
    gang_queue = empty_queue()
    for name in ("a-runs", "b-runs", "c-runs"):
        gang_queue.upsert_member(gang_key(name), pod(name, gang=name, node="n1", priority=9))
    come(gang_queue, ("d", 1), ("e", 1))

    assert ["d", "e"] == tried(gang_queue)
    assert not gang_queue.is_due_at_once


def test_gangs_that_are_kept_are_no_work_of_the_next_cycle() -> None:
    gang_queue = empty_queue()
    come(gang_queue, ("a", 1), ("b", 1), ("c", 1))

    tried(gang_queue)
    made = gang_queue.take_made()
    gang_queue.room_freed()
    tried(gang_queue)

    assert (2, 1) == (made, gang_queue.take_made())
