"""Life after the first bind: members die, succeed and come again; objects come and go."""

from dataclasses import replace

import pytest

from towns import Town, group_body


def running(minimum: int = 3, cpu: int = 100) -> Town:
    """Return a town in which gang `a` runs."""
    town = Town(cpu)
    town.gang("a", minimum)
    assert minimum == len(town.bound())
    town.cycle()
    return town


def test_a_member_that_died_and_was_recreated_is_bound_alone() -> None:
    town = running()

    town.end("a-1")
    town.pod("a-1", "a")

    assert {"a-1"} == town.bound()


def test_a_member_that_was_deleted_and_recreated_is_bound_alone() -> None:
    town = running()

    town.gone("a-1")
    town.pod("a-1", "a")

    assert {"a-1"} == town.bound()


def test_members_beyond_the_minimum_may_come_later() -> None:
    town = running()

    town.pod("a-8", "a")
    town.pod("a-9", "a")

    assert {"a-8", "a-9"} == town.bound()


def test_a_gang_that_was_scaled_down_goes_on() -> None:
    town = running()

    town.gone("a-2")
    town.put(group_body("a", 2))

    assert set() == town.bound()
    (record,) = town.cache.gangs.records.values()
    assert record.whole_once


def test_when_all_members_died_the_next_attempt_is_whole_or_nothing() -> None:
    town = running()

    for i in range(3):
        town.end(f"a-{i}")
        town.pod(f"b-{i}", "a")
    town.room(2)
    before = town.bound()
    town.room(3)

    assert (set(), {"b-0", "b-1", "b-2"}) == (before, town.bound(later=100))


@pytest.mark.parametrize("phase", ["Failed", "Succeeded"])
def test_a_second_run_under_the_same_pod_group_needs_its_whole_quorum(phase: str) -> None:
    town = running()

    for i in range(3):
        town.end(f"a-{i}", phase)
    town.cycle()
    town.pod("second-0", "a")
    town.pod("second-1", "a")
    before = town.bound()
    town.pod("second-2", "a")

    assert (set(), {"second-0", "second-1", "second-2"}) == (before, town.bound())


def test_ended_members_of_the_first_attempt_do_not_count_for_the_second() -> None:
    town = running()
    for i in range(3):
        town.end(f"a-{i}", "Succeeded")
    town.pod("second-0", "a")

    assert "WaitingForMembers" == town.waits("a")[0]


def test_a_pod_group_that_is_deleted_while_bound_leaves_the_bound_alone() -> None:
    town = running()

    town.delete(group_body("a", 3))
    town.pod("a-9", "a")

    assert "PodGroupNotFound" == town.waits("a")[0]


def test_a_pod_group_that_comes_back_while_its_gang_runs_finds_it_running() -> None:
    town = running()
    town.delete(group_body("a", 3))
    town.end("a-1")
    town.pod("a-1", "a")
    before = town.bound()

    town.put(group_body("a", 3))

    assert (set(), {"a-1"}) == (before, town.bound())


def test_a_pod_group_that_is_deleted_while_waiting_and_comes_back() -> None:
    town = Town(2)
    town.gang("a", 3)
    town.cycle()

    town.delete(group_body("a", 3))
    without = town.waits("a")[0]
    town.room(3)
    before = town.bound(later=100)
    town.put(group_body("a", 3))

    assert ("PodGroupNotFound", set()) == (without, before)
    assert {"a-0", "a-1", "a-2"} == town.bound()


def test_a_pod_that_is_moved_to_another_gang_by_its_label() -> None:
    town = Town()
    town.gang("a", 2)
    town.gang("b", 1, pods=0)
    town.room(1)
    before = town.bound()

    town.change("a-1", labels={"pod-group.scheduling.sigs.k8s.io": "b"})

    assert (set(), {"a-1"}) == (before, town.bound())


def test_who_lost_a_member_to_another_gang_waits_for_members() -> None:
    town = Town(1)
    town.gang("a", 2)
    town.gang("b", 9, pods=0)
    town.cycle()

    town.change("a-1", labels={"pod-group.scheduling.sigs.k8s.io": "b"})

    assert {"a": "WaitingForMembers", "b": "WaitingForMembers"} == {
        each.gang.key.name: each.reason for each in town.cycle().refused
    }


def test_a_bound_pod_that_is_moved_leaves_its_gang_running() -> None:
    town = running()
    town.gang("b", 2, pods=1)

    town.change("a-1", labels={"pod-group.scheduling.sigs.k8s.io": "b"})

    assert {"b-0"} == town.bound()


def test_a_bound_member_whose_label_was_removed_is_alone_and_stays() -> None:
    town = running()

    town.change("a-1", labels={})

    assert set() == town.bound()


def test_only_confirmed_members_make_a_gang_whole() -> None:
    town = Town()
    town.gang("a", 2)
    plan = town.cycle()
    gang = plan.placed[0].gang.key
    record = town.cache.gangs.records[gang]
    record.whole_once = False
    for pod in list(record.members.values()):
        record.take(replace(pod, assumed=True))

    record.settle(town.now)
    assumed = record.whole_once
    for pod in list(record.members.values()):
        record.take(replace(pod, assumed=False))
    record.settle(town.now)

    assert (False, True) == (assumed, record.whole_once)


def test_a_gang_with_a_problem_is_never_whole() -> None:
    town = Town()
    town.put(group_body("a", 1, mode="Odd"))
    town.pod("a-0", "a", spec={"nodeName": "n1"})
    town.pod("a-1", "a")
    town.cycle()

    assert not any(record.whole_once for record in town.cache.gangs.records.values())
