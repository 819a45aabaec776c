"""A gang that waits and does not change is not looked at again; one that does is, in every way."""

from collections.abc import Callable
from dataclasses import replace

import pytest

from gang_scheduler.decode.gangs.specs import MisplacedRequest
from gang_scheduler.model.causes.specs import InvalidInput
from gang_scheduler.model.gangs import BlockCause, Gang, GangGroup, PreemptionBlock
from gang_scheduler.model.plan import Refused
from gang_scheduler.model.reasons import Problem, Reason
from gang_scheduler.model.refs import GangName, JobPods, WorkloadRef
from gang_scheduler.state.evictable_pods import EvictablePods
from gang_scheduler.state.gangs.decisions import Decisions
from gang_scheduler.state.gangs.gang_queue import GangQueue
from support.builders import gang_key, gang_spec, pod
from support.gang_queue_builders import KEY, NOW, describe, due, empty_queue

LATER = NOW + 1
Change = Callable[[GangQueue], object]


def waiting(members: int = 2, evictable_pods: EvictablePods | None = None) -> GangQueue:
    """Return the gang `a`, refused for lack of room."""
    gang_queue = empty_queue(evictable_pods=evictable_pods)
    describe(gang_queue, gang_spec("a"))
    for i in range(members):
        gang_queue.upsert_member(KEY, pod(f"a-{i}", gang="a"))
    refuse(gang_queue, NOW)
    return gang_queue


def refuse(gang_queue: GangQueue, now: int) -> None:
    for each in (gang for group in gang_queue.take_due(now) for gang in group.waiting):
        Decisions(gang_queue).refused(Refused(each, Reason.UNSCHEDULABLE, each.pending), now)


def after(gang_queue: GangQueue, change: Change) -> list[GangGroup]:
    """Return the groups that are due when something happened, and room was freed."""
    change(gang_queue)
    gang_queue.room_freed()
    return list(gang_queue.take_due(LATER))


def gang_after(gang_queue: GangQueue, change: Change) -> Gang:
    (found,) = [
        gang for group in after(gang_queue, change) for gang in group.gangs if gang.key == KEY
    ]
    return found


def nothing(_: GangQueue) -> None:
    """Happen."""


def test_a_group_that_does_not_change_stays_the_same_object() -> None:
    gang_queue = waiting()

    (first,) = after(gang_queue, nothing)
    (second,) = after(gang_queue, nothing)

    assert first is second


@pytest.mark.parametrize(
    "change",
    [
        lambda gangs: gangs.upsert_member(KEY, pod("a-9", gang="a")),
        lambda gangs: gangs.member_reclassified(KEY, pod("a-0", gang="a", cpu=2)),
        lambda gangs: gangs.delete_member(KEY, "uid-a-0"),
        lambda gangs: describe(gangs, gang_spec("a", 2)),
        lambda gangs: describe(gangs, replace(gang_spec("a"), priority=7)),
    ],
)
def test_a_gang_that_changes_is_seen_as_it_is(change: Change) -> None:
    gang_queue = waiting()
    before = gang_after(gang_queue, nothing)

    after_it = gang_after(gang_queue, change)

    assert before != after_it
    assert gang_queue.infos[KEY].as_gang(gang_queue.schedulers) == after_it


def test_a_gang_that_another_one_names_joins_its_group() -> None:
    gang_queue = waiting()

    def named(gang_queue: GangQueue) -> None:
        describe(gang_queue, gang_spec("z", 1, groups=(GangName("default", "a"),)))
        gang_queue.upsert_member(gang_key("z"), pod("z-0", gang="z"))

    (group,) = after(gang_queue, named)

    assert ["a", "z"] == [each.key.name for each in group.gangs]


def test_a_gang_that_is_named_no_more_leaves_the_group() -> None:
    gang_queue = waiting()
    describe(gang_queue, gang_spec("z", 1, groups=(GangName("default", "a"),)))
    gang_queue.upsert_member(gang_key("z"), pod("z-0", gang="z"))
    refuse(gang_queue, NOW)

    groups = after(gang_queue, lambda gangs: describe(gangs, gang_spec("z", 1)))

    assert [["a"], ["z"]] == [[each.key.name for each in group.gangs] for group in groups]


def test_a_gang_that_was_bound_is_satisfied() -> None:
    gang_queue = waiting()
    gang_queue.upsert_member(KEY, replace(pod("a-0", gang="a"), node="n1", assumed=True))
    refuse(gang_queue, NOW)

    assert gang_after(gang_queue, lambda gangs: Decisions(gangs).bound(KEY)).was_whole


def test_a_gang_whose_preemption_has_begun_is_seen_to_wait_for_it() -> None:
    evictable_pods = EvictablePods()
    evictable_pods.upsert(pod("victim", node="n1"), None)
    evictable_pods.decided(["uid-victim"])
    gang_queue = waiting(evictable_pods=evictable_pods)
    before = gang_after(gang_queue, nothing)

    after_it = gang_after(
        gang_queue, lambda gangs: Decisions(gangs).preempting([KEY], NOW, ["uid-victim"])
    )

    under_way = PreemptionBlock(BlockCause.UNDER_WAY)
    assert (None, under_way) == (before.preemption_block, after_it.preemption_block)


def test_a_pod_waits_with_the_problem_of_a_job_that_is_seen_later() -> None:
    gang_queue = empty_queue()
    alone = replace(pod("a", job="j"), job_uid="uid-job")
    gang_queue.upsert_member(alone.gang, alone)
    refuse(gang_queue, NOW)
    wrong = Problem(Reason.INVALID_SPEC, InvalidInput("Job default/j: the label belongs elsewhere"))
    request = MisplacedRequest(WorkloadRef("Job", alone.namespace, "j"), wrong)

    (found,) = after(gang_queue, lambda gangs: gangs.upsert_misplaced("uid-job", request))

    assert [wrong] == [gang.problem for gang in found.gangs]


def test_a_gang_whose_job_is_gone_needs_all_its_members_again() -> None:
    gang_queue = empty_queue()
    describe(gang_queue, gang_spec("a", 3))
    gang_queue.upsert_job("uid-job", JobPods(at_once=3, left=2, completions=3))
    for i in range(2):
        gang_queue.upsert_member(KEY, replace(pod(f"a-{i}", gang="a"), job_uid="uid-job"))
    refuse(gang_queue, NOW)
    before = gang_after(gang_queue, nothing)

    after_it = gang_after(gang_queue, lambda gangs: gangs.upsert_job("uid-job", None))

    assert (2, 3) == (before.min_member, after_it.min_member)


def test_what_changes_is_still_reported_when_the_trees_have_changed() -> None:
    gang_queue = waiting()
    told = gang_queue.changed

    gang_queue.topologies_changed()

    assert told is gang_queue.changed
    assert {KEY} == told


def test_a_gang_that_was_deleted_is_not_due() -> None:
    gang_queue = waiting(members=1)
    gang_queue.delete_gang_specs("scheduling.sigs.k8s.io", "uid-a")

    gang_queue.delete_member(KEY, "uid-a-0")
    gang_queue.room_freed()

    assert [] == due(gang_queue, LATER)


# Groups of several gangs.

MATE = gang_key("b")


def named(name: str, *others: str) -> Change:
    """Return how a gang comes that names others, with one member."""

    def come(gang_queue: GangQueue) -> None:
        describe(
            gang_queue, gang_spec(name, 1, groups=[GangName("default", each) for each in others])
        )
        gang_queue.upsert_member(gang_key(name), pod(f"{name}-0", gang=name))

    return come


def pair() -> GangQueue:
    """Return the gangs `a` and `b`, which name each other, refused for lack of room."""
    gang_queue = empty_queue()
    for name, other in ("ab", "ba"):
        named(name, other)(gang_queue)
    refuse(gang_queue, NOW)
    return gang_queue


def keys_of(groups: list[GangGroup]) -> list[str]:
    return ["".join(gang.key.name for gang in group.gangs) for group in groups]


def test_a_group_of_several_gangs_that_does_not_change_stays_the_same_object() -> None:
    gang_queue = pair()

    (first,) = after(gang_queue, nothing)
    (second,) = after(gang_queue, nothing)

    assert ["ab"] == keys_of([first])
    assert first is second


@pytest.mark.parametrize(
    "change",
    [
        lambda gangs: gangs.upsert_member(MATE, pod("b-1", gang="b")),
        lambda gangs: gangs.member_reclassified(MATE, pod("b-0", gang="b", cpu=2)),
        lambda gangs: describe(gangs, replace(gang_spec("b", 1), priority=7)),
        lambda gangs: Decisions(gangs).hold(MATE),
    ],
)
def test_a_group_is_another_one_when_any_of_its_gangs_changes(change: Change) -> None:
    gang_queue = pair()
    (before,) = after(gang_queue, nothing)

    assert all(before is not each for each in after(gang_queue, change))


def test_a_gang_that_one_of_a_group_is_named_by_joins_it() -> None:
    assert ["abc"] == keys_of(after(pair(), named("c", "b")))


def test_a_gang_that_joins_while_more_of_it_is_expected_is_waited_for() -> None:
    gang_queue = pair()

    def join(gang_queue: GangQueue) -> None:
        named("c", "b")(gang_queue)
        options = replace(gang_spec("c", 1).options, total=2, groups=(MATE.called,))
        describe(gang_queue, replace(gang_spec("c", 1), options=options))

    assert [] == after(gang_queue, join)
    assert [] == after(gang_queue, nothing)


def test_a_gang_of_a_group_that_starts_leaves_the_others() -> None:
    gang_queue = pair()

    def bound(gang_queue: GangQueue) -> None:
        gang_queue.upsert_member(MATE, replace(pod("b-0", gang="b"), node="n1"))
        Decisions(gang_queue).bound(MATE)

    assert ["a"] == keys_of(after(gang_queue, bound))


def test_a_gang_that_is_gone_leaves_a_group_that_misses_it() -> None:
    gang_queue = pair()

    def gone(gang_queue: GangQueue) -> None:
        gang_queue.delete_gang_specs("scheduling.sigs.k8s.io", "uid-b")
        gang_queue.delete_member(MATE, "uid-b-0")

    (group,) = after(gang_queue, gone)

    assert group.problem is not None
    assert ["a"] == keys_of([group])
