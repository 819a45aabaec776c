"""What a new process makes of gangs that another one bound: rests, losses, and groups of them."""

from dataclasses import replace
from typing import Any

import pytest

from gang_scheduler.api import annotations
from gang_scheduler.model.gangs import Gang
from gang_scheduler.model.plan import Bind, Placed
from gang_scheduler.model.pods import Pod
from gang_scheduler.model.refs import GangKey
from gang_scheduler.state.gangs import plan_annotations
from gang_scheduler.state.gangs.decisions import Decisions
from gang_scheduler.state.gangs.plan_annotations import Mark
from support.builders import gang as a_gang
from support.builders import gang_key, gang_spec, pod
from support.gang_queue_builders import KEY, describe, empty_queue, only
from support.queue_builders import cq_ref, queue_ref

BEFORE, BOUND_AT, AFTER = 100, 200, 300


def bound(
    number: int, *, size: int = 4, left_out: int = 0, gangs: int = 1, at: int = BOUND_AT
) -> Pod:
    """Return a member that was bound by a plan of so many."""
    marks = {
        annotations.PLAN_ID: f"plan-{size}",
        annotations.PLAN_SIZE: str(size),
        annotations.PLAN_LEFT_OUT: str(left_out),
        annotations.PLAN_GANGS: str(gangs),
    }
    found = pod(f"a-{number}", gang="a", node="n1", created_at=BEFORE, annotations=marks)
    return replace(found, scheduled_at=at)


def waits(number: int, created_at: int = BEFORE) -> Pod:
    return pod(f"a-{number}", gang="a", created_at=created_at)


def found_by_a_new_process(*members: Pod, least: int = 4, **said: Any) -> Gang:
    gang_queue = empty_queue()
    describe(gang_queue, replace(gang_spec("a", least), **said))
    for member in members:
        gang_queue.upsert_member(KEY, member)
    return only(gang_queue)


def verdict(gang: Gang) -> tuple[bool, bool, int]:
    """Return whether it is a rest, whether it was whole, and how many must start together."""
    together = min(1, gang.quorum) if gang.placed_singly else gang.quorum
    return gang.partially_bound, gang.was_whole, together


def test_what_a_crash_left_is_bound_together() -> None:
    gang = found_by_a_new_process(bound(0), bound(1), waits(2), waits(3))

    assert (True, False, 2) == verdict(gang)


def test_a_gang_that_lost_members_while_no_scheduler_ran_was_whole() -> None:
    gang = found_by_a_new_process(bound(0), bound(1), waits(2, AFTER))

    assert (False, True, 1) == verdict(gang)


def test_a_pod_that_was_bound_as_a_member_of_another_gang_tells_nothing_of_this_one() -> None:
    moved = bound(0, size=1)
    others = {**moved.annotations, annotations.PLAN_GANG: "PodGroup/b"}
    own = {**moved.annotations, annotations.PLAN_GANG: "PodGroup/a"}
    waiting = [waits(number, AFTER) for number in (1, 2, 3)]

    found = found_by_a_new_process(replace(moved, annotations=others), *waiting)
    assert (False, False, 3) == verdict(found)
    assert (False, True, 1) == verdict(
        found_by_a_new_process(replace(moved, annotations=own), *waiting)
    )


def test_a_gang_that_lost_members_is_no_rest_because_its_surplus_waits() -> None:
    elastic = [bound(number, left_out=2) for number in range(3)]
    gang = found_by_a_new_process(*elastic, waits(4), waits(5))

    assert (False, True, 1) == verdict(gang)


def test_what_a_crash_left_of_an_elastic_gang_is_more_than_its_surplus() -> None:
    elastic = [bound(number, left_out=2) for number in range(3)]
    gang = found_by_a_new_process(*elastic, waits(3), waits(4), waits(5))

    assert (True, False, 1) == verdict(gang)


def test_a_rest_that_a_second_crash_left_is_still_one() -> None:
    first = [bound(number) for number in range(2)]
    gang = found_by_a_new_process(*first, bound(2, size=2, at=AFTER), waits(3))

    assert (True, False, 1) == verdict(gang)


def test_what_was_lost_of_a_finished_rest_is_replaced() -> None:
    first = [bound(number) for number in range(2)]
    gang = found_by_a_new_process(*first, bound(2, size=2, at=AFTER), waits(3, AFTER + 1))

    assert (False, True, 1) == verdict(gang)


def test_a_status_of_an_earlier_attempt_makes_no_gang_whole() -> None:
    gang = found_by_a_new_process(
        *(bound(0), bound(1), waits(2), waits(3)), was_scheduled=True, scheduled_at=BEFORE
    )

    assert (True, False, 2) == verdict(gang)


@pytest.mark.parametrize("since", [BOUND_AT, AFTER, 0])
def test_a_status_of_this_attempt_is_believed(since: int) -> None:
    gang = found_by_a_new_process(
        *(bound(0), bound(1), waits(2), waits(3)), was_scheduled=True, scheduled_at=since
    )

    assert (False, True, 1) == verdict(gang)


def test_members_that_another_scheduler_bound_tell_of_no_plan() -> None:
    foreign = replace(waits(0), node="n1", scheduled_at=BOUND_AT)
    gang = found_by_a_new_process(foreign, waits(1, AFTER), waits(2, AFTER), waits(3, AFTER))

    assert (False, False, 3) == verdict(gang)


def test_a_plan_of_this_process_is_not_taken_for_finished_before_it_is() -> None:
    gang_queue = empty_queue()
    describe(gang_queue, gang_spec("a", 4))
    Decisions(gang_queue).placed(KEY)
    for number in range(2):
        gang_queue.upsert_member(KEY, bound(number))
    gang_queue.upsert_member(KEY, waits(2, AFTER))

    assert (False, False, 2) == verdict(only(gang_queue))


@pytest.mark.parametrize("size", ["", "four", "4.0"])
def test_a_mark_that_cannot_be_read_says_nothing(size: str) -> None:
    marks = {annotations.PLAN_ID: "p", annotations.PLAN_SIZE: size}

    assert Mark() == plan_annotations.mark_of(pod("a-0", annotations=marks))


def test_a_binding_says_of_its_plan_what_the_next_process_reads() -> None:
    members = tuple(waits(number) for number in range(3))
    gang = found_by_a_new_process(*members, least=2)
    together = (KEY, gang_key("b"))
    placed = Placed(gang, tuple(Bind(each, "n1") for each in members[:2]), together)

    marks = plan_annotations.marks_of(placed, "p")

    assert Mark("p", size=2, left_out=1, gangs=2) == plan_annotations.mark_of(
        pod("a-0", gang="a", annotations=dict(marks))
    )


def group_found(*members: tuple[GangKey, Pod], gangs_named: str = "ab") -> dict[str, Gang]:
    """Return the gangs of a group that are to be tried, by name, as a new process finds it."""
    gang_queue = empty_queue()
    for name in gangs_named:
        said = tuple(gang_key(each).called for each in gangs_named)
        describe(gang_queue, gang_spec(name, 2, groups=said))
    for gang, member in members:
        gang_queue.upsert_member(gang, member)
    return {gang.key.name: gang for group in gang_queue.take_due(1000) for gang in group.waiting}


def of(name: str, member: Pod) -> tuple[GangKey, Pod]:
    return gang_key(name), replace(
        member, uid=f"{name}-{member.name}", name=f"{name}-{member.name}"
    )


A_STARTED = [of("a", bound(number, size=2, gangs=2)) for number in range(2)]
A_ALONE = [of("a", bound(number, size=2)) for number in range(2)]


def test_a_gang_whose_bound_members_started_before_a_crash_is_a_rest() -> None:
    found = group_found(*A_STARTED, of("b", waits(0)), of("b", waits(1)))

    assert (True, False, 2) == verdict(found["b"])


def test_a_gang_that_joined_a_group_after_that_had_started_is_none() -> None:
    found = group_found(*A_ALONE, of("b", waits(0)), of("b", waits(1)))

    assert (False, False, 2) == verdict(found["b"])


def test_a_gang_that_came_after_its_bound_members_had_started_is_none() -> None:
    found = group_found(*A_STARTED, of("b", waits(0, AFTER)), of("b", waits(1, AFTER)))

    assert (False, False, 2) == verdict(found["b"])


def test_a_third_gang_is_none_where_two_were_to_start_and_have() -> None:
    b_started = [of("b", bound(number, size=2, gangs=2)) for number in range(2)]
    waiting = [of("c", waits(number)) for number in range(2)]

    found = group_found(*A_STARTED, *b_started, *waiting, gangs_named="abc")

    assert (False, False, 2) == verdict(found["c"])


def test_a_binding_says_what_it_is_charged_to() -> None:
    waiting = a_gang("a")
    bind = Bind(waiting.pending[0], "n1", flavors=(("memory", "x"), ("cpu", "spot")))
    in_queue = replace(waiting, queue=queue_ref("q"))

    assert {} == plan_annotations.charges_of(waiting, bind)
    assert {
        annotations.QUEUE: "q",
        annotations.FLAVORS: '{"cpu":"spot","memory":"x"}',
    } == plan_annotations.charges_of(in_queue, bind)
    assert {annotations.QUEUE: "ClusterQueue/q"} == plan_annotations.charges_of(
        replace(waiting, queue=cq_ref("q")), replace(bind, flavors=())
    )
