"""Room that was made for a gang and is lost: the gangs to report, and nominations that end."""

from dataclasses import replace

import pytest

from gang_scheduler.apply.disruption_target import Naming
from gang_scheduler.apply.lost_nominations import MOST_REFUSALS, REST_SECONDS, LostNominations
from gang_scheduler.model.gangs import Gang
from gang_scheduler.model.plan import Bind, Placed, Plan, Preemption, Refused
from gang_scheduler.model.pods import Pod
from gang_scheduler.model.reasons import Reason
from gang_scheduler.report.words.text import text_if_any
from gang_scheduler.state.cache import Cache
from gang_scheduler.state.changes import Changes
from gang_scheduler.state.gangs.decisions import INCOMPLETE
from gang_scheduler.state.gangs.gang_info import HOLD_SECONDS
from support import builders

NOW = 1_000


def nominated(name: str, node: str) -> Pod:
    return builders.pod(name, gang="a", nominated=node)


def losses(**how: bool) -> LostNominations:
    """Return the books of a cluster of n1, which is fine, n2, cordoned, and n3, not ready."""
    cache = Cache([builders.SCHEDULER], Changes())
    cache.upsert(cache.node_store, builders.node("n1"))
    cache.upsert(cache.node_store, builders.node("n2", unschedulable=True))
    cache.upsert(cache.node_store, builders.node("n3", ready=False))
    cache.upsert_pod(builders.pod("a-0", gang="a"))
    return LostNominations(cache, Naming(**how))


def gang(*nodes: str) -> Gang:
    members = [nominated(f"a-{i}", node) for i, node in enumerate(nodes)]
    return builders.gang("a", members=members)


def refused(waits: Gang, reason: Reason = Reason.UNSCHEDULABLE) -> Plan:
    return Plan(refused=(Refused(waits, reason, waits.pending),))


@pytest.mark.parametrize(
    ("node", "cause"),
    [
        ("n1", "the room on n1 was taken"),
        ("n2", "node n2 takes no more pods"),
        ("n3", "node n3 is not ready"),
        ("n4", "node n4 is gone"),
    ],
)
def test_a_nominated_gang_that_does_not_fit_any_more_has_lost_its_room(
    node: str, cause: str
) -> None:
    books, waits = losses(), gang(node, "")

    ended = books.note(refused(waits), NOW)

    assert [waits.pending[0]] == ended
    assert cause == text_if_any(books.cause(waits.key))


@pytest.mark.parametrize(
    "reason", [Reason.WAITING_FOR_VICTIMS, Reason.WAITING_FOR_MEMBERS, Reason.WAITING_FOR_GANGS]
)
def test_the_room_stays_its_own_while_victims_leave_or_a_member_is_made_again(
    reason: Reason,
) -> None:
    books, waits = losses(), gang("n1")

    assert [] == books.note(refused(waits, reason), NOW)
    assert books.cause(waits.key) is None


@pytest.mark.parametrize("reason", sorted(INCOMPLETE))
def test_room_is_given_up_that_members_do_not_come_to(reason: Reason) -> None:
    books, waits = losses(), gang("n1", "n2", "")
    plan = refused(waits, reason)
    first, second, _ = waits.pending
    for now in (NOW, NOW + HOLD_SECONDS - 1):
        assert [] == books.note(plan, now)
        books._cache.decisions.refused(plan.refused[0], now)

    assert [first, second] == books.note(plan, NOW + HOLD_SECONDS)
    words = "members or gangs that it needs did not come in 60 s, with room on n1"
    assert words == text_if_any(books.cause(waits.key))


def test_the_time_begins_anew_when_the_gang_has_been_complete() -> None:
    books, waits = losses(), gang("n1", "n2")
    plan, complete = refused(waits, Reason.WAITING_FOR_MEMBERS), refused(waits)
    for now, each in enumerate((plan, complete, plan), NOW):
        books._cache.decisions.refused(each.refused[0], now)

    assert [] == books.note(plan, NOW + HOLD_SECONDS)
    assert [*waits.pending] == books.note(plan, NOW + HOLD_SECONDS + 2)


def test_a_place_begins_the_time_anew() -> None:
    books, waits = losses(), gang("n1")
    plan = refused(waits, Reason.WAITING_FOR_MEMBERS)
    decisions = books._cache.decisions
    decisions.refused(plan.refused[0], NOW)

    decisions.placed(waits.key)

    assert [] == books.note(plan, NOW + HOLD_SECONDS)


def test_room_that_a_higher_gang_takes_is_not_given_up_as_well() -> None:
    books, waits = losses(), gang("n1")
    lacking = refused(waits, Reason.WAITING_FOR_MEMBERS)
    books._cache.decisions.refused(lacking.refused[0], NOW)
    higher = replace(builders.gang("b"), key=builders.gang_key("b"))
    taken = Preemption((higher,), (), displaced=tuple(waits.pending))

    assert [] == books.note(replace(lacking, preemptions=(taken,)), NOW + HOLD_SECONDS)
    assert "priority" in text_if_any(books.cause(waits.key))


def test_a_new_gang_of_the_same_name_has_lost_nothing() -> None:
    books, waits = losses(), gang("n1")
    books.note(refused(waits), NOW)
    assert books.cause(waits.key) is not None

    books._cache.delete_pod("uid-a-0")
    books._cache.upsert_pod(builders.pod("a-0", gang="a", uid="another"))

    assert books.cause(waits.key) is None


def test_a_new_preemption_begins_the_time_anew() -> None:
    books, waits = losses(), gang("n1")
    plan = refused(waits, Reason.WAITING_FOR_MEMBERS)
    decisions = books._cache.decisions
    decisions.refused(plan.refused[0], NOW)

    decisions.preempting([waits.key], NOW + 1)

    assert [] == books.note(plan, NOW + HOLD_SECONDS)


def test_a_gang_that_gets_its_room_has_lost_nothing() -> None:
    books, waits = losses(), gang("n1", "n1")
    binds = tuple(Bind(pod, "n1") for pod in waits.pending)

    assert [] == books.note(Plan(placed=(Placed(waits, binds),)), NOW)
    assert [] == books.note(Plan(preemptions=(Preemption((waits,), binds),)), NOW)
    assert books.cause(waits.key) is None


def test_of_a_gang_that_is_nominated_elsewhere_only_the_others_end() -> None:
    books, waits = losses(), gang("n4", "n4")
    first, second = waits.pending

    ended = books.note(Plan(preemptions=(Preemption((waits,), (Bind(first, "n1"),)),)), NOW)

    assert [second] == ended
    assert "node n4 is gone" == text_if_any(books.cause(waits.key))


@pytest.mark.parametrize(("hides", "named"), [(False, "other/b"), (True, "uid-b")])
def test_a_gang_that_loses_room_to_a_higher_gang_gets_its_name(*, hides: bool, named: str) -> None:
    books, waits = losses(hides_foreign=hides), gang("n1")
    higher = replace(builders.gang("b"), key=builders.gang_key("b", "other"))

    ended = books.note(
        Plan(preemptions=(Preemption((higher,), (), displaced=tuple(waits.pending)),)), NOW
    )

    assert [] == ended
    expected = f"the room on n1 goes to {named}, which has a higher priority"
    assert expected == text_if_any(books.cause(waits.key))


def test_a_loss_is_over_when_there_is_a_place() -> None:
    books, waits = losses(), gang("n1")
    books.note(refused(waits), NOW)

    books.over(waits.key)

    assert books.cause(waits.key) is None


def test_room_that_the_api_server_refuses_to_have_used_is_given_up_in_the_end() -> None:
    books, waits = losses(), gang("n1", "n1")

    books.refused(waits, MOST_REFUSALS - 1, NOW)
    assert [] == books.note(Plan(), NOW)

    books.refused(waits, MOST_REFUSALS, NOW)
    assert [*waits.pending] == books.note(Plan(), NOW)
    words = "the API server refused 3 times to bind to the room on n1"
    assert words == text_if_any(books.cause(waits.key))
    assert [] == books.note(Plan(), NOW)


def test_a_gang_that_is_bound_after_refusals_keeps_its_room() -> None:
    books, waits = losses(), gang("n1")
    placed = Placed(waits, tuple(Bind(pod, "n1") for pod in waits.pending))

    books.refused(waits, MOST_REFUSALS, NOW)

    assert [] == books.note(Plan(placed=(placed,)), NOW)


def test_the_rest_of_a_gang_that_is_bound_in_part_keeps_its_room_for_longer() -> None:
    books, waits = losses(), gang("n1", "n1")

    for after in (0, 10, REST_SECONDS - 1):
        books.refused(waits, MOST_REFUSALS, NOW + after, in_part=True)
        assert [] == books.note(Plan(), NOW + after)

    books.refused(waits, MOST_REFUSALS, NOW + REST_SECONDS, in_part=True)
    assert [*waits.pending] == books.note(Plan(), NOW + REST_SECONDS)


def test_what_a_gang_had_to_wait_before_it_was_bound_is_forgotten() -> None:
    books, waits = losses(), gang("n1", "n1")
    books.refused(waits, MOST_REFUSALS, NOW, in_part=True)

    books.over(waits.key)
    books.refused(waits, MOST_REFUSALS, NOW + REST_SECONDS, in_part=True)

    assert [] == books.note(Plan(), NOW + REST_SECONDS)
