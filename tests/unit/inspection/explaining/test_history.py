"""What happened to a gang, and not to what had its name before."""

import pytest

from gang_scheduler.inspection import files
from gang_scheduler.inspection.cluster import Cluster
from gang_scheduler.inspection.explaining.history import Happened, history_of
from gang_scheduler.model.refs import GangKey
from gang_scheduler.settings.policy import Policy
from gang_scheduler.simulation.documents import Document
from support.listed_clusters import gang

NOON = 1767268800
CREATED = "2026-01-01T12:00:00Z"
GANG = GangKey("PodGroup", "team", "a")


WAITS = {
    "type": "Scheduled",
    "status": "False",
    "reason": "Unschedulable",
    "message": "It needs 2 nodes, 1 has them. It would fit the empty cluster.",
    "lastTransitionTime": "2026-01-01T12:00:05Z",
}


def cluster(*conditions: dict[str, str]) -> Cluster:
    group, *pods = gang("a", 2, created=CREATED)
    group["status"] = {"conditions": [*conditions]}
    bodies = enumerate([group, *pods])
    documents = [Document("cluster", number, body) for number, body in bodies]
    return files.loaded(documents, Policy(), at=NOON + 60)[0]


def told(*events: Happened, since: int = 0) -> list[str]:
    info = cluster().cache.gang_queue.infos[GANG]
    return [each.what for each in history_of(info, events, since)]


def test_events_are_reported_in_their_order_beside_what_members_tell() -> None:
    late, early = Happened(NOON + 9, "Preempting: b"), Happened(NOON + 5, "FailedScheduling: a")

    assert ["complete: 2 members created", early.what, late.what] == told(late, early)


def test_events_about_an_object_of_that_name_that_is_gone_are_left_out() -> None:
    before = Happened(NOON - 1, "Scheduled: an earlier gang")

    assert ["complete: 2 members created"] == told(before)


def test_history_begins_where_it_is_asked_to() -> None:
    assert ["Preempting: b"] == told(Happened(NOON + 9, "Preempting: b"), since=NOON + 1)


def test_a_message_of_now_is_not_reported_with_the_time_of_an_old_transition() -> None:
    info = cluster(WAITS).cache.gang_queue.infos[GANG]

    (_, waits) = history_of(info)

    assert Happened(NOON + 5, "waits since then") == waits


def test_what_is_said_again_is_reported_once_with_its_number() -> None:
    short = [Happened(NOON + n, "FailedScheduling: it lacks room") for n in (5, 9)]
    told_between = Happened(NOON + 7, "Preempting: b")

    _, first, _ = told_with(*short, told_between)

    assert Happened(NOON + 5, short[0].what, times=2, last=NOON + 9) == first


def test_what_differs_in_numbers_alone_is_reported_as_it_was_at_last() -> None:
    short = [
        Happened(NOON + n, f"FailedScheduling: {n} of 9 nodes, cpu 1.{n} is short")
        for n in (5, 7, 8)
    ]

    _, (at, what, times, last, _) = told_with(*short)

    assert (NOON + 5, short[-1].what, 3, NOON + 8) == (at, what, times, last)


def test_events_on_each_pod_at_one_time_are_one_occurrence() -> None:
    alike = [Happened(NOON + 5, "FailedScheduling: it lacks room")] * 3

    _, found = told_with(*alike)

    assert alike[0] == found


def test_an_event_of_many_times_is_one_line() -> None:
    often = Happened(NOON + 5, "FailedScheduling: it lacks room", times=12, last=NOON + 50)

    _, found = told_with(often)

    assert often == found


def test_members_that_are_bound_one_after_the_other_are_all_shown() -> None:
    counts = [Happened(NOON + n, f"{n} members bound") for n in (1, 2)]

    assert [each.what for each in counts] == told(*counts)[1:]


def told_with(*events: Happened) -> list[Happened]:
    return history_of(cluster().cache.gang_queue.infos[GANG], events)


@pytest.mark.parametrize("pods", [2, 10, 40])
@pytest.mark.parametrize(
    "what",
    [
        "FailedScheduling: LocalQueue q does not exist",
        "Scheduled: Successfully assigned team/POD to NODE",
        "Scheduled: Successfully assigned team/POD to NODE with 9 other members of gang team/a",
        "Preempted: team/POD was evicted for team/b",
        "Admitted: Admitted by queue q: cpu in h100",
    ],
)
def test_what_happens_to_many_pods_at_once_is_one_line(what: str, pods: int) -> None:
    names = [f"a-{i}-x{chr(97 + i % 26)}q" for i in range(pods)]
    events = [
        Happened(NOON + 5, what.replace("POD", name).replace("NODE", f"h-{name[-2]}"), of=name)
        for name in names
    ]

    _, line = told_with(*events)

    assert line.what.endswith(f" (and {pods - 1} more pod{'s' if pods > 2 else ''})")


def test_an_event_of_the_gang_and_a_later_one_of_its_pods_are_one_line() -> None:
    what = "FailedScheduling: needs 16 cpu, but queue q only gives 8"
    gangs = Happened(NOON + 5, what, of="a")
    pods = [Happened(NOON + 15, what, of=name) for name in ("a-0", "a-1")]

    _, line = told_with(gangs, *pods)

    assert (2, NOON + 15) == (line.times, line.last)


def test_beside_an_event_of_the_gang_those_of_its_pods_say_nothing_more() -> None:
    gangs = Happened(NOON + 5, "Scheduled: Successfully assigned 2 members to 1 node: n", of="a")
    pods = [Happened(NOON + 5, f"Scheduled: Successfully assigned team/{n}", of=n) for n in "xy"]

    _, found = told_with(gangs, *pods)

    assert gangs == found
