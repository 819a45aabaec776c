"""Events of gangs and pods."""

from typing import Any

from gang_scheduler.client.connection import Connection
from gang_scheduler.inspection import history
from gang_scheduler.inspection.history import EVENTS, Event
from gang_scheduler.inspection.servers import Server
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
        found = await history.events_of(Server(connection, "ns"), "ns", {"a", "b"})

    assert ["a", "b"] == [each.name for each in found]


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
    assert expected == history.event(made)


def test_an_event_of_the_older_api_has_its_times_and_number() -> None:
    made = body(
        "p",
        deprecatedFirstTimestamp="1970-01-01T00:00:01Z",
        deprecatedLastTimestamp="1970-01-01T00:00:05Z",
        deprecatedCount=2,
    )

    found = history.event(made)
    assert (1, 5, 2) == (found.first, found.last, found.times)
