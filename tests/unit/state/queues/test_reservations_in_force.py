"""Which reservations stand, which gangs are tried because of them, and which rest."""

from dataclasses import replace

from gang_scheduler.model.causes.queues import DelaysReserved
from gang_scheduler.model.evictions import Backfilled
from gang_scheduler.model.gangs import Gang
from gang_scheduler.model.plan import Plan, Refused, Reservation
from gang_scheduler.model.queues import ReservationRules
from gang_scheduler.model.reasons import Reason
from gang_scheduler.model.refs import GangKey
from gang_scheduler.model.rules import PromiseRules
from gang_scheduler.state.gangs.gang_info import GangInfo
from gang_scheduler.state.queues.reservations_in_force import (
    BREAK_SECONDS,
    IN_VAIN_SECONDS,
    LONG_SECONDS,
    REST_SECONDS,
    Reservations,
    waits_of,
)
from support.builders import gang, gang_spec, group
from support.queue_builders import our_queue, queue_ref, queue_set

A = queue_ref("a")
NOW = 100_000
DAY = 86_400


def waits(name: str, created_at: int = 0) -> Gang:
    return replace(gang(name, created_at=created_at), queue=A)


def refused(waiting: Gang, reason: Reason = Reason.WAITING_FOR_QUOTA) -> Refused:
    return Refused(waiting, reason, waiting.pending)


BIG, NEXT = waits("big"), waits("next")
FIRST = Plan(refused=(refused(BIG),), reservations=(Reservation((BIG,), NOW + 60),))


def standing(*, number: int = 1) -> Reservations:
    infos: dict[GangKey, GangInfo] = {each.key: GangInfo(each.key) for each in (BIG, NEXT)}
    return Reservations(infos, PromiseRules(reservations=number))


def test_a_reservation_is_news_once_and_when_it_moves() -> None:
    reservations = standing()
    moved = replace(FIRST, reservations=(Reservation((BIG,), NOW + 90),))

    news = [reservations.take_in(plan, NOW) for plan in (FIRST, FIRST, moved)]

    assert [len(each) for each in news] == [1, 0, 1]
    assert news[0][0].before is None
    assert news[2][0].before == FIRST.reservations[0]
    assert [each.start for each in reservations.standing()] == [NOW + 90]


def test_it_stands_until_its_gang_is_decided_without_it() -> None:
    reservations = standing()
    reservations.take_in(FIRST, NOW)

    assert reservations.take_in(Plan(refused=(refused(NEXT),)), NOW) == []
    (news,) = reservations.take_in(Plan(refused=(refused(BIG),)), NOW)
    assert (news.now, reservations.standing()) == (None, ())


def test_it_is_tried_with_all_others_and_those_that_may_get_one() -> None:
    reservations = standing()
    reservations.moved(BIG.key, refused(BIG))
    reservations.moved(NEXT.key, refused(NEXT))

    assert reservations.companions(NOW) == {BIG.key, NEXT.key}
    reservations.take_in(FIRST, NOW)
    assert reservations.companions(NOW) == {BIG.key}


def test_for_a_gang_without_a_start_none_is_searched_for_a_while() -> None:
    reservations = standing()
    for each in (BIG, NEXT):
        reservations.moved(each.key, refused(each))
    reservations.take_in(Plan(refused=(refused(BIG),), without_start=frozenset({BIG.key})), NOW)
    then = NOW + IN_VAIN_SECONDS

    assert {BIG.key} == reservations.not_searched(then - 1)
    assert {NEXT.key} == reservations.companions(then - 1)
    assert not reservations.not_searched(then)
    assert {BIG.key, NEXT.key} == reservations.companions(then)
    assert not reservations.resting(NOW)


def _of(namespace: str, name: str) -> Gang:
    found = waits(name)
    return replace(found, key=found.key._replace(namespace=namespace))


def test_a_namespace_that_has_had_them_for_an_hour_leaves_the_limit_to_others() -> None:
    """Also by one gang after the other: each of them may be deleted before the hour is over."""
    evil, more, others = _of("evil", "e"), _of("evil", "f"), _of("others", "o")
    reservations = Reservations(
        {each.key: GangInfo(each.key) for each in (evil, more, others)},
        PromiseRules(reservations=1),
    )
    for each in (evil, more, others):
        reservations.moved(each.key, refused(each))
    half = NOW + LONG_SECONDS // 2

    reservations.take_in(promising(evil), NOW)
    reservations.take_in(promising(evil), half)
    reservations.forget(evil.key)
    reservations.take_in(promising(more), half + BREAK_SECONDS - 1)

    last = NOW + LONG_SECONDS - 1
    assert not reservations.lasting(last)
    assert {more.key} == reservations.companions(last)
    assert {more.key} == reservations.lasting(last + 1)
    assert {more.key, others.key} == reservations.companions(last + 1)
    reservations.take_in(promising(more, others), last + 1)
    assert {more.key} == reservations.lasting(last + 1)


def test_after_a_break_the_hour_begins_again() -> None:
    reservations = standing()
    reservations.take_in(promising(BIG), NOW)
    reservations.forget(BIG.key)

    reservations.take_in(promising(NEXT), NOW + BREAK_SECONDS)

    assert not reservations.lasting(NOW + LONG_SECONDS)
    assert {NEXT.key} == reservations.lasting(NOW + BREAK_SECONDS + LONG_SECONDS)


def promising(*gangs: Gang) -> Plan:
    """Return a plan that promises each of these gangs a start that is not known."""
    return Plan(
        refused=tuple(map(refused, gangs)),
        reservations=tuple(Reservation((each,), None) for each in gangs),
    )


def test_a_gang_has_it_for_a_day_and_rests_for_an_hour() -> None:
    reservations = standing()
    reservations.take_in(FIRST, NOW)

    (news,) = reservations.take_in(FIRST, NOW + DAY)

    assert news.now is None
    assert reservations.resting(NOW + DAY) == {BIG.key}
    assert reservations.resting(NOW + DAY + REST_SECONDS) == frozenset()


def test_what_is_written_outlives_the_process() -> None:
    reservations = standing()
    written = replace(gang_spec("big"), reserved_since=NOW - DAY)
    reservations.take_over(NEXT.key, NOW - 60)
    reservations._infos[BIG.key].observed.upsert_spec(written)

    reservations.take_in(FIRST, NOW)

    assert reservations.resting(NOW) == {BIG.key, NEXT.key}


def test_gangs_behind_it_are_tried_when_room_is_free_or_it_ends() -> None:
    reservations = standing()
    reservations.take_in(FIRST, NOW)
    cause = DelaysReserved("a", BIG.key, NOW + 60)
    behind = replace(refused(NEXT, Reason.WAITING_FOR_TURN), cause=cause)
    reservations.moved(NEXT.key, behind)

    assert reservations.helped(room_freed=False) == set()
    assert reservations.helped(room_freed=True) == {NEXT.key}
    reservations.forget(BIG.key)
    assert reservations.pending
    assert reservations.helped(room_freed=False) == {NEXT.key}


def test_pods_on_nodes_are_looked_at_only_for_a_gang_that_has_waited() -> None:
    young = waits("young", created_at=NOW - 299)

    assert not standing().wanted([group(young)], NOW)
    assert standing().wanted([group(BIG)], NOW)
    assert not standing(number=0).wanted([group(BIG)], NOW)


def test_when_the_wait_for_one_ends() -> None:
    reservations, young = standing(), waits("young", created_at=NOW - 200)

    assert reservations.first_wait_ends(refused(young), NOW) == NOW + 100
    assert reservations.first_wait_ends(refused(BIG), NOW) is None
    assert reservations.first_wait_ends(refused(young, Reason.INVALID_SPEC), NOW) is None


def test_a_queue_may_ask_for_another_wait() -> None:
    reservations, young = standing(), waits("young", created_at=NOW - 10)
    hasty = our_queue("a", 1, reservations=ReservationRules(after_seconds=5))
    assert not reservations.wanted([group(young)], NOW)

    reservations.waits = waits_of(queue_set([hasty, our_queue("b", 1)]))

    assert reservations.wanted([group(young)], NOW)
    assert reservations.first_wait_ends(refused(young), NOW - 8) == NOW - 5


def test_a_gang_is_tried_when_those_must_have_ended_that_it_let_pass() -> None:
    reservations = standing()
    for until in (NOW + 90, NOW + 60):
        reservations.let_pass(Backfilled(until, BIG.key))

    moments = [reservations.first_overrun(BIG.key, NOW + after) for after in (0, 60, 90)]

    assert moments == [NOW + 60, NOW + 90, None]
    assert reservations.first_overrun(NEXT.key, NOW) is None


def test_where_ends_are_not_enforced_nothing_is_tried_at_them() -> None:
    reservations = Reservations({}, PromiseRules(reservations=1, enforce_backfill=False))

    reservations.let_pass(Backfilled(NOW + 60, BIG.key))

    assert reservations.first_overrun(BIG.key, NOW) is None
