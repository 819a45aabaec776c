"""Life after the first bind: members die, succeed and come again; objects come and go."""

from dataclasses import replace

import pytest

from support.in_memory_cluster import InMemoryCluster, group_body


def running(minimum: int = 3, cpu: int = 100) -> InMemoryCluster:
    """Return a cluster in which gang `a` runs."""
    cluster = InMemoryCluster(cpu)
    cluster.gang("a", minimum)
    assert minimum == len(cluster.bound())
    cluster.cycle()
    return cluster


def test_a_member_that_died_and_was_recreated_is_bound_alone() -> None:
    cluster = running()

    cluster.end("a-1")
    cluster.pod("a-1", "a")

    assert {"a-1"} == cluster.bound()


def test_a_member_that_was_deleted_and_recreated_is_bound_alone() -> None:
    cluster = running()

    cluster.gone("a-1")
    cluster.pod("a-1", "a")

    assert {"a-1"} == cluster.bound()


def test_members_beyond_the_minimum_may_come_later() -> None:
    cluster = running()

    cluster.pod("a-8", "a")
    cluster.pod("a-9", "a")

    assert {"a-8", "a-9"} == cluster.bound()


def test_a_gang_that_was_scaled_down_goes_on() -> None:
    cluster = running()

    cluster.gone("a-2")
    cluster.put(group_body("a", 2))

    assert set() == cluster.bound()
    (info,) = cluster.cache.gang_queue.infos.values()
    assert info.attempt.was_whole


def test_when_all_members_died_the_next_attempt_is_whole_or_nothing() -> None:
    cluster = running()

    for i in range(3):
        cluster.end(f"a-{i}")
        cluster.pod(f"b-{i}", "a")
    cluster.room(2)
    before = cluster.bound()
    cluster.room(3)

    assert (set(), {"b-0", "b-1", "b-2"}) == (before, cluster.bound(later=100))


@pytest.mark.parametrize("phase", ["Failed", "Succeeded"])
def test_a_second_run_under_the_same_pod_group_needs_its_whole_quorum(phase: str) -> None:
    cluster = running()

    for i in range(3):
        cluster.end(f"a-{i}", phase)
    cluster.cycle()
    cluster.pod("second-0", "a")
    cluster.pod("second-1", "a")
    before = cluster.bound()
    cluster.pod("second-2", "a")

    assert (set(), {"second-0", "second-1", "second-2"}) == (before, cluster.bound())


def test_ended_members_of_the_first_attempt_do_not_count_for_the_second() -> None:
    cluster = running()
    for i in range(3):
        cluster.end(f"a-{i}", "Succeeded")
    cluster.pod("second-0", "a")

    assert "WaitingForMembers" == cluster.waits("a")[0]


def test_a_pod_group_that_is_deleted_while_bound_leaves_the_bound_alone() -> None:
    cluster = running()

    cluster.delete(group_body("a", 3))
    cluster.pod("a-9", "a")

    assert "PodGroupNotFound" == cluster.waits("a")[0]


def test_a_pod_group_that_comes_back_while_its_gang_runs_finds_it_running() -> None:
    cluster = running()
    cluster.delete(group_body("a", 3))
    cluster.end("a-1")
    cluster.pod("a-1", "a")
    before = cluster.bound()

    cluster.put(group_body("a", 3))

    assert (set(), {"a-1"}) == (before, cluster.bound())


def test_a_pod_group_that_is_deleted_while_waiting_and_comes_back() -> None:
    cluster = InMemoryCluster(2)
    cluster.gang("a", 3)
    cluster.cycle()

    cluster.delete(group_body("a", 3))
    without = cluster.waits("a")[0]
    cluster.room(3)
    before = cluster.bound(later=100)
    cluster.put(group_body("a", 3))

    assert ("PodGroupNotFound", set()) == (without, before)
    assert {"a-0", "a-1", "a-2"} == cluster.bound()


def test_a_pod_that_is_moved_to_another_gang_by_its_label() -> None:
    cluster = InMemoryCluster()
    cluster.gang("a", 2)
    cluster.gang("b", 1, pods=0)
    cluster.room(1)
    before = cluster.bound()

    cluster.change("a-1", labels={"pod-group.scheduling.sigs.k8s.io": "b"})

    assert (set(), {"a-1"}) == (before, cluster.bound())


def test_a_gang_that_lost_a_member_to_another_gang_waits_for_members() -> None:
    cluster = InMemoryCluster(1)
    cluster.gang("a", 2)
    cluster.gang("b", 9, pods=0)
    cluster.cycle()

    cluster.change("a-1", labels={"pod-group.scheduling.sigs.k8s.io": "b"})

    assert {"a": "WaitingForMembers", "b": "WaitingForMembers"} == {
        each.gang.key.name: each.reason for each in cluster.cycle().refused
    }


def test_a_bound_pod_that_is_moved_leaves_its_gang_running() -> None:
    cluster = running()
    cluster.gang("b", 2, pods=1)

    cluster.change("a-1", labels={"pod-group.scheduling.sigs.k8s.io": "b"})

    assert {"b-0"} == cluster.bound()


def test_a_bound_member_whose_label_was_removed_is_alone_and_stays() -> None:
    cluster = running()

    cluster.change("a-1", labels={})

    assert set() == cluster.bound()


def test_only_confirmed_members_make_a_gang_whole() -> None:
    cluster = InMemoryCluster()
    cluster.gang("a", 2)
    plan = cluster.cycle()
    gang = plan.placed[0].gang.key
    info = cluster.cache.gang_queue.infos[gang]
    info.attempt.was_whole = False
    for pod in list(info.observed.members.values()):
        info.observed.upsert_member(replace(pod, assumed=True))

    info.settle(cluster.now)
    assumed = info.attempt.was_whole
    for pod in list(info.observed.members.values()):
        info.observed.upsert_member(replace(pod, assumed=False))
    info.settle(cluster.now)

    assert (False, True) == (assumed, info.attempt.was_whole)


def test_a_gang_with_a_problem_is_never_whole() -> None:
    cluster = InMemoryCluster()
    cluster.put(group_body("a", 1, mode="Odd"))
    cluster.pod("a-0", "a", spec={"nodeName": "n1"})
    cluster.pod("a-1", "a")
    cluster.cycle()

    assert not any(info.attempt.was_whole for info in cluster.cache.gang_queue.infos.values())
