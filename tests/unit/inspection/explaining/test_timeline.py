"""The states of a gang one after the other, from its objects and from Events."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from gang_scheduler.inspection import files
from gang_scheduler.inspection.explaining import history, timeline
from gang_scheduler.inspection.explaining.history import Happened
from gang_scheduler.inspection.explaining.timeline import Current, Span
from gang_scheduler.inspection.listing.states_and_orders import (
    FINISHED,
    RUNNING,
    STARTING,
    WAITING,
)
from gang_scheduler.model.refs import GangKey
from gang_scheduler.model.wording import rfc3339
from gang_scheduler.settings.policy import Policy
from gang_scheduler.simulation.documents import Document
from gang_scheduler.state.gangs.gang_info import GangInfo
from support.listed_clusters import gang

NOON = 1767268800
GANG = GangKey("PodGroup", "team", "a")
SHORT = "FailedScheduling: it lacks room"
PREEMPTED = "Preempted: Preempted by team/b"


def info_of(
    *, created: int = 0, bound: int | None = None, started: int | None = None, members: int = 2
) -> GangInfo:
    """Return a gang of two that was described at noon; its members have times after noon."""
    group, *pods = gang("a", members, created=rfc3339(NOON))
    group["spec"]["minMember"] = 2
    for number, pod in enumerate(pods):
        pod["metadata"]["creationTimestamp"] = rfc3339(NOON + created)
        timed(pod, number, bound, started)
    bodies = enumerate([group, *pods])
    documents = [Document("cluster", number, body) for number, body in bodies]
    cluster = files.loaded(documents, Policy(), at=NOON + 1000)[0]
    return cluster.cache.gang_queue.infos[GANG]


def timed(pod: dict[str, Any], number: int, bound: int | None, started: int | None) -> None:
    """Say in the status of a pod when it was bound and started; the second one a second later."""
    if bound is None:
        return
    pod["spec"]["nodeName"] = f"node-{number}"
    at = rfc3339(NOON + bound + number)
    pod["status"] = {
        "phase": "Pending",
        "conditions": [{"type": "PodScheduled", "status": "True", "lastTransitionTime": at}],
    }
    if started is not None:
        pod["status"] |= {"phase": "Running", "startTime": rfc3339(NOON + started + number)}


def spans(
    info: GangInfo,
    *events: Happened,
    state: str = WAITING,
    words: str = "",
    seen: Sequence[Current] = (),
) -> list[tuple[str, int, int | None, str]]:
    """Return the spans with times after noon."""
    happened = history.all_of(info, events)
    found = timeline.spans_of(info, happened, [*seen, Current(NOON + 1000, state, words)])
    return [
        (each.state, each.begins - NOON, each.ends and each.ends - NOON, each.words)
        for each in found
    ]


def test_a_gang_waits_for_members_then_starts_then_runs() -> None:
    info = info_of(created=5, bound=60, started=90)

    assert [
        (WAITING, 0, 5, timeline.LACKS_MEMBERS),
        (WAITING, 5, 60, timeline.COMPLETE),
        (STARTING, 60, 91, ""),
        (RUNNING, 91, None, ""),
    ] == spans(info, state=RUNNING)


def test_each_event_about_room_begins_a_span_with_its_words() -> None:
    info = info_of(bound=60)
    events = [
        Happened(NOON + 10, SHORT),
        Happened(NOON + 20, "FailedScheduling: 1 of 2 nodes"),
        Happened(NOON + 30, "FailedScheduling: 2 of 2 nodes"),
    ]

    assert [
        (WAITING, 0, 10, timeline.COMPLETE),
        (WAITING, 10, 20, "it lacks room"),
        (WAITING, 20, 60, "2 of 2 nodes"),
        (STARTING, 60, None, ""),
    ] == spans(info, *events, state=STARTING)


@pytest.mark.parametrize("what", [PREEMPTED, "Drained: Evicted", "EvictedWhole: Evicted whole"])
def test_an_evicted_gang_ran_from_its_placement_until_the_eviction(what: str) -> None:
    info = info_of(created=310, bound=400, started=405)
    events = [
        Happened(NOON + 60, "Scheduled: 2 members to 2 nodes"),
        Happened(NOON + 300, what),
        Happened(NOON + 400, "Scheduled: 2 members to 2 nodes"),
    ]

    assert [
        (WAITING, 0, 60, ""),
        (RUNNING, 60, 300, "2 members to 2 nodes"),
        (WAITING, 300, 400, what.partition(": ")[2]),
        (STARTING, 400, 406, "2 members to 2 nodes"),
        (RUNNING, 406, None, ""),
    ] == spans(info, *events, state=RUNNING)


def test_an_event_that_came_again_counts_at_both_times() -> None:
    info = info_of(created=700)
    events = [
        Happened(NOON + 60, "Scheduled: 2 members", times=2, last=NOON + 400),
        Happened(NOON + 300, PREEMPTED, times=2, last=NOON + 600),
    ]

    assert [WAITING, RUNNING, WAITING, RUNNING, WAITING] == [
        state for state, *_ in spans(info, *events)
    ]


def test_a_gang_that_loses_surplus_members_runs_on() -> None:
    info = info_of(bound=60, started=70)

    found = spans(info, Happened(NOON + 300, PREEMPTED), state=RUNNING)

    assert (RUNNING, 71, None, "") == found[-1]


def test_members_that_replace_others_do_not_move_the_start() -> None:
    info = info_of(bound=60, started=70)
    second = [*info.observed.members.values()][1]
    created, bound, started = NOON + 500, NOON + 510, NOON + 520
    info.observed.upsert_member(
        replace(second, created_at=created, scheduled_at=bound, started_at=started)
    )

    assert [(STARTING, 60, 70), (RUNNING, 70, None)] == [
        each[:3] for each in spans(info, state=RUNNING)[-2:]
    ]


def test_what_is_said_while_it_runs_is_no_wait() -> None:
    info = info_of(bound=60, started=70)

    found = spans(info, Happened(NOON + 300, SHORT), state=RUNNING)

    assert [WAITING, STARTING, RUNNING] == [state for state, *_ in found]


def test_the_wait_of_now_has_the_words_of_the_reading() -> None:
    found = spans(info_of(), Happened(NOON + 10, SHORT), words="WaitingForQuota: 8 short in blue")

    assert (WAITING, 10, None, "WaitingForQuota: 8 short in blue") == found[-1]


def test_a_state_whose_beginning_no_object_tells_begins_with_the_reading() -> None:
    found = spans(info_of(bound=60, started=70), state=FINISHED)

    assert [
        (RUNNING, 71, 1000, ""),
        (FINISHED, 1000, None, timeline.UNKNOWN_SINCE),
    ] == found[-2:]


def test_a_running_gang_of_which_no_start_is_known_runs_since_it_was_bound() -> None:
    assert (RUNNING, 60, None, "") == spans(info_of(bound=60), state=RUNNING)[-1]


def test_times_of_manifests_without_dates_are_not_taken_for_times() -> None:
    bodies = gang("a", 2)
    for each in bodies:
        del each["metadata"]["creationTimestamp"]
    documents = [Document("cluster", number, body) for number, body in enumerate(bodies)]
    undated = files.loaded(documents, Policy(), at=NOON)[0].cache.gang_queue.infos[GANG]

    assert not timeline.is_dated(undated)
    assert timeline.is_dated(info_of())


def test_spans_follow_each_other_without_gaps() -> None:
    events = [Happened(NOON + 60, "Scheduled: x"), Happened(NOON + 300, PREEMPTED)]
    happened = history.all_of(info := info_of(created=310, bound=400, started=405), events)

    found = timeline.spans_of(info, happened, [Current(NOON + 1000, RUNNING)])

    assert [each.begins for each in found[1:]] == [each.ends for each in found[:-1]]
    assert Span(RUNNING, NOON + 406, None, "") == found[-1]


def test_readings_say_why_it_waited_in_place_of_events_that_say_it_too() -> None:
    info = info_of(bound=600, started=610)
    seen = [
        Current(NOON + 100, WAITING, "Unschedulable: no room"),
        Current(NOON + 300, WAITING, "WaitingForQuota: 8 short in blue"),
        Current(NOON + 615, RUNNING),
    ]
    events = [Happened(NOON + at, SHORT) for at in (50, 400)]

    assert [
        (WAITING, 0, 50, timeline.COMPLETE),
        (WAITING, 50, 100, "it lacks room"),
        (WAITING, 100, 300, "Unschedulable: no room"),
        (WAITING, 300, 600, "WaitingForQuota: 8 short in blue"),
        (STARTING, 600, 611, ""),
        (RUNNING, 611, None, ""),
    ] == spans(info, *events, state=RUNNING, seen=seen)


def test_the_end_of_a_gang_is_when_it_was_seen() -> None:
    seen = [Current(NOON + 80, RUNNING), Current(NOON + 700, FINISHED)]

    assert [(RUNNING, 71, 700, ""), (FINISHED, 700, None, "")] == spans(
        info_of(bound=60, started=70), state=FINISHED, seen=seen
    )[-2:]


def test_a_reading_that_finds_a_gang_starting_does_not_undo_that_it_runs() -> None:
    seen = [Current(NOON + 75, STARTING)]

    found = spans(info_of(bound=60, started=70), state=RUNNING, seen=seen)

    assert [WAITING, STARTING, RUNNING] == [state for state, *_ in found]


def test_what_was_seen_of_an_earlier_gang_of_that_name_is_left_out() -> None:
    seen = [Current(NOON - 500, RUNNING), Current(NOON - 400, FINISHED)]

    assert [(WAITING, 0, None, "8 short")] == spans(info_of(), seen=seen, words="8 short")
