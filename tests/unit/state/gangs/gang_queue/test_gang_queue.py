"""Which gang a pod is in, and what is known of the gang."""

from gang_scheduler.api.kinds import SCHED_PLUGINS_POD_GROUPS
from gang_scheduler.model.causes.specs import InvalidInput, ObjectMissing, ObjectTwice
from gang_scheduler.model.reasons import Problem, Reason
from support.builders import gang_spec, pod
from support.gang_queue_builders import ALONE, KEY, NOW, describe, due, empty_queue, gangs_of, only


def test_a_gang_is_what_its_pod_group_and_its_members_say() -> None:
    gang_queue = empty_queue()
    describe(gang_queue, gang_spec("a", 2))
    for name, priority in (("a-10", 5), ("a-9", 7)):
        gang_queue.upsert_member(KEY, pod(name, gang="a", priority=priority, created_at=9))

    found = only(gang_queue)

    assert ["a-9", "a-10"] == [each.name for each in found.pending]
    assert ("uid-a", 9, 5, 2) == (found.uid, found.created_at, found.priority, found.min_member)


def test_a_pod_alone_is_a_gang_of_one() -> None:
    gang_queue = empty_queue()
    gang_queue.upsert_member(ALONE, pod("alone", created_at=9))

    found = only(gang_queue)

    assert ("uid-alone", 9, 1, None) == (
        found.uid,
        found.created_at,
        found.min_member,
        found.problem,
    )


def test_bound_members_count_and_do_not_wait() -> None:
    gang_queue = gangs_of(2, min_member=4)
    gang_queue.upsert_member(KEY, pod("a-8", gang="a", node="n1"))
    gang_queue.upsert_member(KEY, pod("a-9", gang="a", node="n1", phase="Succeeded"))

    found = only(gang_queue)

    assert (2, 1, 3, False) == (len(found.pending), found.bound, found.quorum, found.was_whole)


def test_a_gang_is_satisfied_when_its_quorum_was_bound() -> None:
    gang_queue = gangs_of(0, min_member=2)
    for i in range(2):
        gang_queue.upsert_member(KEY, pod(f"a-{i}", gang="a", node="n1"))
    due(gang_queue)

    gang_queue.delete_member(KEY, "uid-a-0")
    gang_queue.upsert_member(KEY, pod("a-0", gang="a", uid="another"))

    assert only(gang_queue).was_whole


def test_a_gang_of_which_no_bound_member_lives_starts_anew() -> None:
    gang_queue = gangs_of(0, min_member=2)
    for i in range(2):
        gang_queue.upsert_member(KEY, pod(f"a-{i}", gang="a", node="n1"))
    due(gang_queue)

    for i in range(2):
        gang_queue.upsert_member(KEY, pod(f"a-{i}", gang="a", node="n1", phase="Failed"))
        gang_queue.upsert_member(KEY, pod(f"a-{i}", gang="a", uid=f"second-{i}"))

    found = only(gang_queue)
    assert (False, 2, 0) == (found.was_whole, found.quorum, found.bound)


def test_after_a_restart_the_status_tells_that_a_gang_was_whole() -> None:
    gang_queue = empty_queue()
    gang_queue.upsert_member(KEY, pod("a-0", gang="a", node="n1"))
    gang_queue.upsert_member(KEY, pod("a-1", gang="a"))

    describe(gang_queue, gang_spec("a", 3, was_scheduled=True))

    assert only(gang_queue).was_whole


def test_the_clock_of_a_quorum_starts_when_it_exists_and_stops_without_it() -> None:
    gang_queue = gangs_of(1, min_member=2)
    info = gang_queue.infos[KEY]
    due(gang_queue, NOW)
    seen = [info.attempt.quorum_since]

    gang_queue.upsert_member(KEY, pod("a-1", gang="a"))
    for now in (NOW + 1, NOW + 2):
        gang_queue.upsert_member(KEY, pod("a-1", gang="a", priority=now))
        due(gang_queue, now)
        seen.append(info.attempt.quorum_since)
    gang_queue.delete_member(KEY, "uid-a-1")
    due(gang_queue, NOW + 3)

    assert [None, NOW + 1, NOW + 1, None] == [*seen, info.attempt.quorum_since]


def test_a_gang_whose_pod_group_does_not_exist_says_so() -> None:
    gang_queue = empty_queue()
    gang_queue.upsert_member(KEY, pod("a-0", gang="a"))

    expected = Problem(Reason.POD_GROUP_NOT_FOUND, ObjectMissing("PodGroup", KEY))
    assert expected == only(gang_queue).problem


def test_a_gang_with_two_pod_groups_says_so() -> None:
    gang_queue = gangs_of(1)
    describe(gang_queue, gang_spec("a", gvr=SCHED_PLUGINS_POD_GROUPS, uid="other"))

    expected = Problem(
        Reason.INVALID_SPEC,
        ObjectTwice(KEY, ("scheduling.sigs.k8s.io", "scheduling.x-k8s.io")),
    )
    assert expected == only(gang_queue).problem


def test_a_gang_with_an_invalid_pod_group_has_its_problem() -> None:
    gang_queue = gangs_of(1)
    problem = Problem(Reason.INVALID_SPEC, InvalidInput("spec.minMember is required"))

    describe(gang_queue, gang_spec("a", problem=problem))

    assert problem == only(gang_queue).problem


def test_changed_gangs_are_noted_for_status() -> None:
    gang_queue = gangs_of(1)
    gang_queue.upsert_member(ALONE, pod("alone"))

    assert {KEY, ALONE} == gang_queue.changed
