"""Which gangs are tried when: after a change, when room was freed, and after a backoff."""

from dataclasses import replace
from typing import Any

import pytest

from gang_scheduler.api.kinds import POD_GROUPS
from gang_scheduler.model.causes.gangs import ApiAnswer
from gang_scheduler.model.plan import Refused
from gang_scheduler.model.reasons import Reason
from gang_scheduler.state.gangs.decisions import Decisions
from gang_scheduler.state.gangs.gang_queue import GangQueue
from support.builders import gang_key, gang_spec, pod
from support.call_counts import calls_of
from support.gang_queue_builders import ALONE, KEY, NOW, describe, due, empty_queue, gangs_of, only

NOTED = "retries.QueueingHints.refused"


def refuse(gang_queue: GangQueue, now: int = NOW, reason: Reason = Reason.UNSCHEDULABLE) -> None:
    """Take what is due and refuse it, as a cycle does that finds no room."""
    for each in (gang for group in gang_queue.take_due(now) for gang in group.waiting):
        Decisions(gang_queue).refused(Refused(each, reason, each.pending), now)


def test_a_gang_is_tried_once_for_a_change() -> None:
    gang_queue = gangs_of(2)

    assert [["a"], []] == [due(gang_queue), due(gang_queue)]


def test_a_new_member_makes_the_gang_worth_a_try() -> None:
    gang_queue = gangs_of(2)
    due(gang_queue)

    gang_queue.upsert_member(KEY, pod("a-9", gang="a"))

    assert ["a"] == due(gang_queue)


def test_a_member_that_is_gone_makes_the_gang_worth_a_try() -> None:
    gang_queue = gangs_of(2)
    due(gang_queue)

    gang_queue.delete_member(KEY, "uid-a-0")

    assert ["a-1"] == [each.name for each in only(gang_queue).pending]


def test_a_changed_pod_group_makes_the_gang_worth_a_try() -> None:
    gang_queue = gangs_of(2, min_member=3)
    due(gang_queue)

    describe(gang_queue, gang_spec("a", 2))

    assert 2 == only(gang_queue).min_member


def test_a_pod_group_of_which_only_the_status_changed_does_not() -> None:
    gang_queue = gangs_of(2)
    due(gang_queue)

    describe(gang_queue, gang_spec("a", 1, was_scheduled=True))

    assert [] == due(gang_queue)


@pytest.mark.parametrize(
    "state", [{"node": "n1"}, {"deleting": True}, {"gated": True}, {"phase": "Failed"}]
)
def test_a_gang_without_a_waiting_member_is_not_tried(state: dict[str, Any]) -> None:
    gang_queue = gangs_of(0)

    gang_queue.upsert_member(KEY, pod("a-0", gang="a", **state))

    assert [] == due(gang_queue)


def test_a_gang_whose_objects_are_gone_is_forgotten() -> None:
    gang_queue = gangs_of(1)

    gang_queue.delete_member(KEY, "uid-a-0")
    gang_queue.delete_gang_specs(POD_GROUPS.group, "uid-a")

    assert ([], {}) == (due(gang_queue), gang_queue.infos)


def test_forgetting_what_was_never_known_changes_nothing() -> None:
    gang_queue = empty_queue()

    gang_queue.delete_member(KEY, "uid-a-0")
    gang_queue.delete_gang_specs(POD_GROUPS.group, "uid-a")
    gang_queue.room_freed()

    assert ([], {}, None) == (due(gang_queue), gang_queue.infos, gang_queue.next_retry())


def test_only_gangs_short_of_room_are_tried_when_room_is_freed() -> None:
    gang_queue = gangs_of(1)
    refuse(gang_queue)
    gang_queue.upsert_member(ALONE, pod("alone"))
    refuse(gang_queue, reason=Reason.UNSUPPORTED_FEATURE)

    gang_queue.room_freed()

    assert ["a"] == due(gang_queue)


def test_a_gang_whose_layer_is_unknown_is_tried_when_a_node_may_have_it_now() -> None:
    gang_queue = gangs_of(1)
    refuse(gang_queue, reason=Reason.UNKNOWN_LAYER)

    gang_queue.room_freed()

    assert ["a"] == due(gang_queue)


def test_a_gang_whose_layer_is_unknown_has_no_backoff() -> None:
    gang_queue = gangs_of(1)

    refuse(gang_queue, reason=Reason.UNKNOWN_LAYER)

    assert gang_queue.deadlines.of(gang_queue.infos[KEY]) == gang_queue.next_retry()


@pytest.mark.parametrize("reason", Reason)
def test_gangs_that_other_trees_may_help_are_tried_when_the_trees_change(reason: Reason) -> None:
    gang_queue = gangs_of(1)
    refuse(gang_queue, reason=reason)

    gang_queue.topologies_changed()

    helped = (
        Reason.UNKNOWN_LAYER,
        Reason.INVALID_SPEC,
        Reason.UNSCHEDULABLE,
        Reason.WAITING_FOR_VICTIMS,
        Reason.WAITING_FOR_CHECKPOINT,
        Reason.WAITING_FOR_PROVISIONING,
        *(Reason.WAITING_FOR_CLAIMS, Reason.CLAIM_NOT_FOUND, Reason.INVALID_CLAIM),
    )
    assert (["a"] if reason in helped else []) == due(gang_queue)


def test_a_change_of_the_trees_makes_gangs_due_once_and_only_those_that_wait() -> None:
    gang_queue = gangs_of(1)
    refuse(gang_queue, reason=Reason.INVALID_SPEC)
    gang_queue.upsert_member(ALONE, pod("alone"))
    due(gang_queue)
    Decisions(gang_queue).placed(ALONE)

    gang_queue.topologies_changed()

    assert [["a"], []] == [due(gang_queue), due(gang_queue)]


def test_a_gang_that_waits_for_victims_is_tried_when_room_is_freed_and_after_a_backoff() -> None:
    gang_queue = gangs_of(1)
    refuse(gang_queue, reason=Reason.WAITING_FOR_VICTIMS)
    moment = gang_queue.next_retry()

    gang_queue.room_freed()

    assert (["a"], NOW + 1) == (due(gang_queue), moment)


def test_a_gang_that_was_placed_is_short_of_room_no_more() -> None:
    gang_queue = gangs_of(1)
    refuse(gang_queue)

    Decisions(gang_queue).placed(KEY)
    gang_queue.room_freed()

    assert ([], None) == (due(gang_queue), gang_queue.infos[KEY].verdict.refusal)


def test_a_deleted_gang_is_not_tried_when_room_is_freed() -> None:
    gang_queue = empty_queue()
    gang_queue.upsert_member(ALONE, pod("alone"))
    refuse(gang_queue)

    gang_queue.delete_member(ALONE, "uid-alone")
    gang_queue.room_freed()

    assert [] == due(gang_queue, NOW + 100)
    assert {} == gang_queue.infos


def test_the_backoff_doubles_up_to_a_minute() -> None:
    gang_queue = gangs_of(1)
    now, waits = NOW, []

    for _ in range(9):
        refuse(gang_queue, now)
        moment = gang_queue.next_retry()
        assert moment is not None
        waits.append(moment - now)
        assert [] == due(gang_queue, moment - 1)
        now = moment

    assert [1, 2, 4, 8, 16, 32, 60, 60, 60] == waits


def test_a_change_starts_the_backoff_anew() -> None:
    gang_queue = gangs_of(1)
    for i in range(3):
        refuse(gang_queue, NOW + 100 * i)

    gang_queue.upsert_member(KEY, pod("a-1", gang="a"))
    refuse(gang_queue, NOW + 1000)

    assert NOW + 1001 == gang_queue.next_retry()


def test_a_backoff_that_ended_makes_the_gang_worth_a_try() -> None:
    gang_queue = gangs_of(1)
    refuse(gang_queue)

    assert [[], ["a"], []] == [
        due(gang_queue, NOW),
        due(gang_queue, NOW + 1),
        due(gang_queue, NOW + 2),
    ]


def test_a_backoff_that_was_overtaken_is_no_reason_for_a_try() -> None:
    gang_queue = gangs_of(1)
    refuse(gang_queue)
    gang_queue.room_freed()

    refuse(gang_queue)

    assert [[], ["a"]] == [due(gang_queue, NOW + 1), due(gang_queue, NOW + 2)]


def test_a_gang_that_waits_for_members_has_no_backoff() -> None:
    gang_queue = gangs_of(1, min_member=2)

    refuse(gang_queue, reason=Reason.WAITING_FOR_MEMBERS)

    assert gang_queue.next_retry() is None


def test_the_backoff_does_not_sleep_past_the_schedule_timeout() -> None:
    gang_queue = empty_queue(timeout_seconds=10)
    gang_queue.upsert_member(ALONE, pod("alone"))

    for now in (NOW, NOW + 1, NOW + 3, NOW + 7):
        refuse(gang_queue, now)

    assert NOW + 10 == gang_queue.next_retry()


def test_a_postponed_gang_is_tried_after_its_backoff() -> None:
    gang_queue = gangs_of(1)
    gang = gang_queue.infos[KEY].as_gang(gang_queue.schedulers)

    Decisions(gang_queue).bind_failed(
        Refused(gang, Reason.UNSCHEDULABLE, gang.pending, cause=ApiAnswer("403")), NOW
    )

    assert [[], ["a"]] == [due(gang_queue, NOW), due(gang_queue, NOW + 1)]


def test_a_gang_that_is_bound_in_part_is_tried_again_soon_however_often_that_failed() -> None:
    gang_queue = gangs_of(2, min_member=2)
    gang = replace(only(gang_queue), partially_bound=True)
    now, waits = NOW, []

    for _ in range(5):
        Decisions(gang_queue).bind_failed(
            Refused(gang, Reason.UNSCHEDULABLE, gang.pending, cause=ApiAnswer("403")), now
        )
        moment = gang_queue.next_retry()
        assert moment is not None
        waits.append(moment - now)
        due(gang_queue, moment)
        now = moment

    assert [1, 2, 4, 4, 4] == waits


def a_round() -> GangQueue:
    """Return a queue of which a cycle has refused `tried`, and left `left` to the next one."""
    gang_queue = empty_queue()
    for name in ("tried", "left"):
        gang_queue.upsert_member(gang_key(name), pod(f"{name}-0", gang=name))
    for each in (gang for group in gang_queue.take_due(NOW) for gang in group.waiting):
        if each.key.name == "tried":
            refusal = Refused(each, Reason.UNSCHEDULABLE, each.pending)
            Decisions(gang_queue).refused(refusal, NOW)
    gang_queue.untried([gang_key("left")], NOW)
    return gang_queue


def test_what_a_cycle_has_left_comes_before_what_it_has_tried() -> None:
    gang_queue = a_round()
    gang_queue.room_freed()

    assert ["left"] == due(gang_queue, NOW + 1)
    assert ["tried"] == due(gang_queue, NOW + 1)


def test_what_is_new_does_not_wait_for_the_end_of_a_round() -> None:
    gang_queue = a_round()
    gang_queue.upsert_member(gang_key("new"), pod("new-0", gang="new"))

    assert ["left", "new"] == due(gang_queue, NOW + 1)


def test_room_that_was_made_for_a_gang_is_taken_before_the_end_of_a_round() -> None:
    gang_queue = a_round()
    (waiting,) = gang_queue.take_due(NOW + 2)[0].waiting
    Decisions(gang_queue).refused(
        Refused(waiting, Reason.WAITING_FOR_VICTIMS, waiting.pending), NOW + 2
    )
    gang_queue.untried([gang_key("tried")], NOW + 2)

    assert ["tried"] == due(gang_queue, NOW + 2)
    gang_queue.untried([gang_key("tried")], NOW + 2)
    gang_queue.room_freed()
    assert ["left", "tried"] == due(gang_queue, NOW + 2)


def test_a_round_that_does_not_end_begins_anew() -> None:
    gang_queue = a_round()
    for moment in range(NOW + 1, NOW + 70):
        tried = due(gang_queue, moment)
        gang_queue.untried([gang_key("left")], moment)
        if "tried" in tried:
            break

    # Of two cycles in a row one is only for what was left.
    assert NOW + 61 == moment


def test_a_gang_that_is_gone_is_not_left_to_the_next_cycle() -> None:
    gang_queue = a_round()
    gang_queue.delete_member(gang_key("left"), "uid-left-0")

    assert [] == due(gang_queue, NOW)


def test_a_refusal_as_before_is_not_noted_again() -> None:
    gang_queue = gangs_of(2)
    refuse(gang_queue)
    gang_queue.room_freed()
    gang_queue.changed.clear()

    calls = calls_of(lambda: refuse(gang_queue, NOW + 1))

    assert (1, 0) == (calls["decisions.Decisions.refused"], calls[NOTED])
    assert not gang_queue.changed | gang_queue.reworded


def test_a_refusal_that_stood_while_there_was_room_waits_for_room_again() -> None:
    gang_queue = gangs_of(2)
    refuse(gang_queue)
    info = gang_queue.infos[KEY]
    gang_queue.queueing_hints.placed(info, info.verdict.refusal)
    gang_queue.undecided([KEY])
    refuse(gang_queue, NOW + 1)

    gang_queue.room_freed()

    assert ["a"] == due(gang_queue, NOW + 2)
