"""Events of gangs and pods."""

from typing import Any

from gang_scheduler.api.kinds import EVENTS
from gang_scheduler.client.connection import Connection
from gang_scheduler.inspection import past_events
from gang_scheduler.inspection.past_events import Event
from gang_scheduler.inspection.servers import Server
from gang_scheduler.model.scheduler_events import SchedulerEvent
from support.listing_server import ListingServer, listed


def body(name: str, **fields: Any) -> dict[str, Any]:
    return {"metadata": {"name": f"{name}.1"}, "regarding": {"kind": "Pod", "name": name}, **fields}


async def test_events_of_names_come_oldest_first() -> None:
    made = listed(
        body("b", reason="Late", eventTime="1970-01-01T00:00:09.000000Z"),
        body("other", reason="Early", eventTime="1970-01-01T00:00:01.000000Z"),
        body("a", reason="Early", eventTime="1970-01-01T00:00:02.000000Z"),
    )
    async with (
        ListingServer({EVENTS.path("ns"): made}) as server,
        Connection(server.configuration) as connection,
    ):
        found = await past_events.events_of(Server(connection, "ns"), "ns", {"a", "b"})

    assert ["a", "b"] == [each.name for each in found]


async def test_a_snapshot_has_of_the_events_of_the_scheduler_what_is_shown() -> None:
    secret = {"action": "canary", "related": {"name": "canary"}}
    named = {"namespace": "ns", "annotations": {"note": "canary"}}
    made = listed(
        {
            **body("b", reason="Late", note="n", eventTime="1970-01-01T00:00:09Z", **secret),
            "metadata": {"name": "b.1", **named},
            "reportingController": "py-gang-scheduler",
        },
        body("a", reason="canary", note="canary", reportingController="kubelet"),
    )
    async with (
        ListingServer({EVENTS.path(): made}) as server,
        Connection(server.configuration) as connection,
    ):
        found = await past_events.of_scheduler(Server(connection, "ns"))

    told = SchedulerEvent(namespace="ns", name="b", reason="Late", note="n", first=9, last=9)
    assert [told] == found


def test_of_a_note_and_a_reason_that_are_too_long_the_beginning_is_read() -> None:
    made = past_events.event(body("p", reason="R" * 1_000_000, note="n" * 1_000_000))

    assert (128, 1024) == (len(made.reason), len(made.note))


def test_a_long_note_costs_no_look_at_each_pair_of_letters() -> None:
    # It took an hour when each pair was looked at.
    note = "placed as a member of gang ns/" + "n" * 1_000_000 + " and more"

    assert not past_events.gang_of_member(
        SchedulerEvent(namespace="ns", name="p", reason="R", note=note, first=1)
    )


async def test_where_events_may_not_be_listed_they_are_not_known() -> None:
    async with (
        ListingServer({EVENTS.path(): 403}) as server,
        Connection(server.configuration) as connection,
    ):
        assert await past_events.of_scheduler(Server(connection, "ns")) is None


def test_an_event_of_a_series_has_its_times_and_number() -> None:
    made = body(
        "p",
        reason="Unschedulable",
        note="no room",
        type="Warning",
        eventTime="1970-01-01T00:00:01Z",
        series={"count": 3, "lastObservedTime": "1970-01-01T00:01:00Z"},
        reportingController="py-gang-scheduler",
    )

    expected = Event(
        *("Pod", "p", "Unschedulable", "no room", 1, 60, 3),
        warning=True,
        reporter="py-gang-scheduler",
    )
    assert expected == past_events.event(made)


def test_an_event_of_the_older_api_has_its_times_and_number() -> None:
    made = body(
        "p",
        deprecatedFirstTimestamp="1970-01-01T00:00:01Z",
        deprecatedLastTimestamp="1970-01-01T00:00:05Z",
        deprecatedCount=2,
    )

    found = past_events.event(made)
    assert (1, 5, 2) == (found.first, found.last, found.times)


def test_an_event_whose_time_is_unreadable_is_shown_without_a_time() -> None:
    made = past_events.event(body("p", reason="Late", eventTime="yesterday"))

    assert ("Late", 0, 0) == (made.reason, made.first, made.last)
