"""Groups on which decisions take too long: set aside, tried after all others, and told on."""

from dataclasses import replace

import pytest

from gang_scheduler.current_work import DecisionCutError
from gang_scheduler.model.causes.gangs import DecisionTooLong
from gang_scheduler.model.plan import Failure, Placed, Plan, Refused
from gang_scheduler.model.reasons import Reason
from gang_scheduler.model.refs import GangKey
from gang_scheduler.state.gangs import set_aside
from gang_scheduler.state.gangs.decisions import Decisions
from gang_scheduler.state.gangs.gang_queue import GangQueue
from gang_scheduler.state.gangs.set_aside import Costly, SetAside, read, with_suspects, written
from support.builders import gang, gang_key, gang_spec, group, pod
from support.gang_queue_builders import KEY, NOW, describe, empty_queue

SLOW = 3.0
REST = 30


def refusing(*names: str) -> Plan:
    """Return a plan that finds no room for gangs."""
    gangs = [gang(name) for name in names]
    return Plan(refused=tuple(Refused(it, Reason.UNSCHEDULABLE, it.pending) for it in gangs))


def took(seconds: float, *names: str) -> dict[tuple[GangKey, ...], float]:
    """Return that the decision on a group of these gangs took so long."""
    return {tuple(gang_key(name) for name in names): seconds}


def struck(times: int, seconds: float = SLOW) -> SetAside:
    """Return what is remembered of gang `a` after so many decisions that took long, all now."""
    found = SetAside()
    for _ in range(times):
        found.judge(refusing("a"), took(seconds, "a"), NOW)
    return found


def until(found: SetAside, now: int = NOW) -> int | None:
    """Return until when gang `a` is set aside as those see it that decide; None: it is not."""
    (seen,), _ = found.round_of([group(gang("a"))], now)
    if seen.problem is None:
        return None
    assert Reason.SET_ASIDE == seen.problem.reason
    assert isinstance(seen.problem.cause, DecisionTooLong)
    return seen.problem.cause.until


def test_the_second_decision_that_takes_too_long_sets_a_gang_aside_and_says_so() -> None:
    found = SetAside()

    plans = [found.judge(refusing("a", "b"), took(SLOW, "a"), NOW) for _ in range(2)]

    said = [{it.gang.key.name: (it.reason, it.cause) for it in plan.refused} for plan in plans]
    assert (Reason.UNSCHEDULABLE, None) == said[0]["a"] == said[1]["b"]
    assert (Reason.SET_ASIDE, DecisionTooLong(SLOW, set_aside.SHARE_SECONDS, NOW + REST)) == said[
        1
    ]["a"]
    assert NOW + REST == until(found)


def test_all_gangs_of_a_group_are_reported() -> None:
    found = SetAside()
    plans = [found.judge(refusing("a", "b"), took(SLOW, "a", "b"), NOW) for _ in range(2)]

    assert {Reason.SET_ASIDE} == {each.reason for each in plans[1].refused}


def test_a_decision_within_the_share_counts_for_nothing() -> None:
    assert until(struck(5, seconds=set_aside.SHARE_SECONDS - 0.1)) is None


def test_a_decision_that_was_cut_sets_the_gang_aside_at_once_and_is_no_error_of_ours() -> None:
    cut, broken = DecisionCutError("cut after 10.1 s"), ZeroDivisionError("planted")
    failures = (Failure(group(gang("a")), cut), Failure(group(gang("b")), broken))

    plan = SetAside().judge(replace(refusing("a", "b"), failures=failures), took(10.1, "a"), NOW)

    said = {each.gang.key.name: each.reason for each in plan.refused}
    assert {"a": Reason.SET_ASIDE, "b": Reason.UNSCHEDULABLE} == said
    assert (failures[1],) == plan.failures


def test_a_gang_that_found_room_is_not_set_aside() -> None:
    found = SetAside()

    for _ in range(3):
        found.judge(Plan(placed=(Placed(gang("a"), ()),)), took(SLOW, "a"), NOW)

    assert until(found) is None


def test_each_further_decision_that_takes_too_long_doubles_the_rest_up_to_an_hour() -> None:
    rests = [(until(struck(times)) or 0) - NOW for times in (2, 3, 4, 5, 30)]

    assert [REST, 2 * REST, 4 * REST, 8 * REST, set_aside.LONGEST_REST_SECONDS] == rests


def test_a_decision_of_ten_minutes_rests_for_longer_than_an_hour() -> None:
    assert NOW + 6000 == until(struck(9, seconds=600))


def test_in_a_namespace_with_such_a_gang_another_one_has_one_try() -> None:
    found = struck(2)

    (told,) = found.judge(refusing("b"), took(SLOW, "b"), NOW).refused

    assert Reason.SET_ASIDE == told.reason


def test_a_gang_of_another_namespace_has_two() -> None:
    found = struck(2)
    other = gang_key("b")._replace(namespace="elsewhere")

    found.judge(Plan(), {(other,): SLOW}, NOW)

    assert [KEY] == [each.key for each in found.costly]


def test_a_changed_gang_is_tried_sooner_but_not_at_once() -> None:
    found = struck(6)

    found.touched([KEY, gang_key("b")])
    found.touched([KEY])

    assert NOW + REST == until(found)


def test_when_its_time_has_come_all_others_are_decided_before_it() -> None:
    found, (a, b, c) = struck(2), (group(gang(name)) for name in "abc")

    first, postponed = found.round_of([a, b, c], NOW + REST)
    second, later = found.round_of([a, b, c], NOW + REST + 1)

    assert ((True, False, False), ()) == (tuple(it.problem is not None for it in first), postponed)
    assert ((a,), (b, c)) == (second, later)


def test_alone_it_is_tried_at_once_when_its_time_has_come() -> None:
    a = group(gang("a"))

    assert ((a,), ()) == struck(2).round_of([a], NOW + REST)


def test_what_took_too_long_is_forgotten_in_the_end() -> None:
    found = struck(2)
    end = NOW + REST + set_aside.REMEMBERED_SECONDS

    until(found, end - 1)
    assert found
    until(found, end)
    assert not found
    assert () == found.costly


def test_what_is_remembered_is_bounded() -> None:
    found = SetAside()

    for number in range(set_aside.MOST_REMEMBERED + 10):
        found.judge(Plan(), {(GangKey("PodGroup", f"ns-{number}", "a"),): SLOW}, NOW)

    assert set_aside.MOST_REMEMBERED == len(found._records)


# Over a restart.


def test_the_next_process_begins_with_the_same_gangs_set_aside() -> None:
    before, after = struck(3), SetAside()

    after.take_over(read(written(before.costly)), NOW + 500)

    assert NOW + 500 + 2 * REST == until(after)
    assert before.costly == after.costly


def test_a_gang_that_was_stuck_when_the_process_ended_is_set_aside_at_once() -> None:
    found = SetAside()

    found.take_over(read(written(with_suspects((), [Costly(KEY, 119.5, 1)]))), NOW)

    assert NOW + 1195 == until(found)


def test_a_suspect_that_was_reported_already_counts_once_more() -> None:
    costly = struck(3).costly

    assert (Costly(KEY, 9.0, 4),) == with_suspects(costly, [Costly(KEY, 9.0, 1)])
    assert costly == with_suspects(costly, [])


def test_only_the_last_ones_are_written() -> None:
    found = [Costly(gang_key(f"g{number}"), SLOW, 2) for number in range(100)]

    assert tuple(found[-set_aside.MOST_COSTLY :]) == read(written(found))


@pytest.mark.parametrize(
    "text",
    [
        *("", "[]", "{}", "nonsense", '[["PodGroup", "ns", "a"]]', "\ud800"),
        *('[["PodGroup", "ns", "a", "3", 2]]', '[["PodGroup", "ns", "a", 1e999, 2]]', "[" * 9999),
    ],
)
def test_a_text_that_is_none_sets_nothing_aside(text: str) -> None:
    assert () == read(text)


def test_numbers_that_are_none_of_ours_are_bounded() -> None:
    found = SetAside()

    found.take_over(read('[["PodGroup", "default", "a", -5, -9]]'), NOW)
    assert NOW + 20 == until(found)
    found.take_over(read(f'[["PodGroup", "default", "a", 1e300, {2**62}]]'), NOW)
    assert NOW + 36_000 == until(found)


# In the queue of gangs.


def queue_of(*names: str) -> GangQueue:
    """Return gangs of one pod each."""
    gang_queue = empty_queue()
    for name in names:
        describe(gang_queue, gang_spec(name, 1))
        gang_queue.upsert_member(gang_key(name), pod(f"{name}-0", gang=name))
    return gang_queue


def cycle(gang_queue: GangQueue, now: int, slow: str = "a") -> dict[str, Reason]:
    """Make a cycle that finds no room, and in which one gang takes too long, if it is decided."""
    groups = gang_queue.take_due(now)
    gangs = [(gang, group.problem) for group in groups for gang in group.waiting]
    plan = Plan(
        refused=tuple(
            Refused(
                each,
                Reason.UNSCHEDULABLE if problem is None else problem.reason,
                each.pending,
                cause=None if problem is None else problem.cause,
            )
            for each, problem in gangs
        )
    )
    decided = {each.key.name for each, problem in gangs if problem is None}
    plan = gang_queue.set_aside.judge(plan, took(SLOW, slow) if slow in decided else {}, now)
    for each in plan.refused:
        Decisions(gang_queue).refused(each, now)
    return {each.gang.key.name: each.reason for each in plan.refused}


def test_freed_room_brings_no_gang_back_that_is_set_aside_and_its_time_does() -> None:
    gang_queue = queue_of("a", "b")
    cycle(gang_queue, NOW)
    gang_queue.room_freed()
    assert Reason.SET_ASIDE == cycle(gang_queue, NOW)["a"]

    gang_queue.room_freed()
    assert {"b": Reason.UNSCHEDULABLE} == cycle(gang_queue, NOW + REST - 1)
    gang_queue.room_freed()
    others_first = cycle(gang_queue, NOW + REST)
    alone = cycle(gang_queue, NOW + REST + 1)

    assert {"a": Reason.SET_ASIDE, "b": Reason.UNSCHEDULABLE} == others_first
    assert {"a"} == alone.keys()
    assert 4 == len(gang_queue.set_aside.costly) + gang_queue.set_aside.costly[0].number


def test_what_a_round_of_its_own_leaves_out_is_in_the_next_one_at_once() -> None:
    gang_queue = queue_of("a")
    cycle(gang_queue, NOW)
    gang_queue.room_freed()
    cycle(gang_queue, NOW)
    gang_queue.upsert_member(gang_key("b"), pod("b-0", gang="b"))
    cycle(gang_queue, NOW + REST)

    gang_queue.upsert_member(gang_key("c"), pod("c-0", gang="c"))
    assert {"a"} == cycle(gang_queue, NOW + REST + 1).keys()
    assert 0 == gang_queue.next_retry()
    assert "c" in cycle(gang_queue, NOW + REST + 1)


def test_a_member_more_makes_the_gang_be_tried_after_the_first_rest() -> None:
    gang_queue = queue_of("a")
    gang_queue.set_aside.take_over([Costly(KEY, SLOW, 6)], NOW)
    assert {"a": Reason.SET_ASIDE} == cycle(gang_queue, NOW)

    gang_queue.upsert_member(KEY, pod("a-1", gang="a"))

    assert {"a": Reason.SET_ASIDE} == cycle(gang_queue, NOW + REST - 1)
    assert NOW + REST == gang_queue.next_retry()


def test_the_gangs_of_a_namespace_share_the_time_that_one_may_take() -> None:
    found = SetAside()
    for name in ("a", "b"):
        for _ in range(2):
            found.judge(refusing(name), took(SLOW, name), NOW + (5 if name == "b" else 0))
    found.touched([gang_key("a")])

    assert NOW + 5 + REST == until(found)
    other, _ = found.round_of([group(replace(gang("a"), key=gang_key("a", "other")))], NOW)
    assert other[0].problem is None


def test_gangs_of_other_names_are_the_same_ones_once_a_namespace_has_many() -> None:
    found = SetAside()
    for name in (f"g{i}" for i in range(set_aside.MOST_OF_NAMESPACE)):
        assert until(found) is None
        for _ in range(2):
            found.judge(refusing(name), took(SLOW, name), NOW)

    assert NOW + REST == until(found)
    assert until(found, NOW + REST) is None
    found.judge(refusing("a"), took(SLOW, "a"), NOW + REST)
    (other,), _ = found.round_of([group(gang("other"))], NOW + REST)
    assert other.problem is not None
    assert DecisionTooLong(SLOW, set_aside.SHARE_SECONDS, NOW + 2 * REST) == other.problem.cause
