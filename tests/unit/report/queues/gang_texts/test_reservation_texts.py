"""What people read of the start that a gang is promised."""

from dataclasses import replace

import pytest

from gang_scheduler.model.evictions import Backfilled
from gang_scheduler.model.plan import Reservation
from gang_scheduler.report.pod_group_status import View, status_of
from gang_scheduler.report.queues import gang_texts
from gang_scheduler.report.queues.gang_texts import Promised
from gang_scheduler.state.gangs.gang_info import GangInfo
from gang_scheduler.state.queues.reservations_in_force import News
from support.builders import gang, gang_key, gang_spec, pod
from support.queue_builders import queue_ref

BIG, SMALL = gang("big"), gang_key("small")
START = 1_767_225_600
KNOWN = Reservation((BIG,), START, SMALL)
UNKNOWN = Reservation((BIG,), None, SMALL)
AT = "2026-01-01T00:00:00Z"


@pytest.mark.parametrize(
    ("reservation", "words"),
    [
        (KNOWN, f"estimated start {AT}, after gang default/small ends"),
        (UNKNOWN, "start unknown, after gang default/small ends"),
        (Reservation((BIG,), START), f"estimated start {AT}"),
        (Reservation((BIG,)), "start unknown"),
    ],
)
def test_when_a_gang_starts(reservation: Reservation, words: str) -> None:
    assert words == gang_texts.start_of(reservation)


@pytest.mark.parametrize(
    ("before", "now", "reason"),
    [
        (None, KNOWN, "ReservationMade"),
        (KNOWN, replace(KNOWN, start=START + 1), "ReservationMoved"),
        (KNOWN, replace(KNOWN, start=START - 1), None),
        (KNOWN, UNKNOWN, "ReservationMoved"),
        (UNKNOWN, KNOWN, None),
        (UNKNOWN, replace(UNKNOWN, after=gang_key("other")), "ReservationMoved"),
        (KNOWN, None, None),
    ],
)
def test_a_start_is_reported_once_and_when_it_is_later(
    before: Reservation | None, now: Reservation | None, reason: str | None
) -> None:
    said = gang_texts.event_of(News(BIG.key, now, before))

    assert reason == (said[0] if said else None)


def waiting() -> GangInfo:
    info = GangInfo(BIG.key)
    info.observed.upsert_spec(gang_spec("big"))
    info.observed.upsert_member(pod("big-0", gang="big"))
    return info


def test_the_status_has_the_start_for_as_long_as_it_is_known() -> None:
    spec, queue = gang_spec("big"), queue_ref("a")
    before = status_of(waiting(), spec, View({}, 0, queue=queue))

    promised = status_of(waiting(), spec, View({}, 0, queue=queue, promised=Promised(KNOWN)))
    over = status_of(waiting(), spec, View(promised, 0, queue=queue))

    assert "estimatedStart" not in before["queue"]
    assert AT == promised["queue"]["estimatedStart"]
    assert over["queue"]["estimatedStart"] is None
    reserved = [
        each
        for status in (before, promised, over)
        for each in status["conditions"]
        if each["type"] == "Reserved"
    ]
    assert [("True", "Reserved"), ("False", "NotReserved")] == [
        (each["status"], each["reason"]) for each in reserved
    ]


def test_a_gang_that_rests_says_since_when() -> None:
    found = gang_texts.reservation_finding(Promised(rests=True))

    assert (False, "TimedOut") == (found.status, found.reason)


def test_the_status_has_which_gang_was_let_pass_while_it_runs() -> None:
    spec, info = gang_spec("big"), waiting()
    info.admitted_here = True
    view = View({}, 0, backfilled=Backfilled(START, SMALL))

    assert status_of(info, spec, view)["backfill"] is None
    info.observed.upsert_member(pod("big-0", gang="big", node="n"))
    shown = status_of(info, spec, view)["backfill"]
    assert {"until": AT, "for": "default/small"} == shown
    info.admitted_here = False
    assert shown == status_of(info, spec, View({"backfill": shown}, 0))["backfill"]
