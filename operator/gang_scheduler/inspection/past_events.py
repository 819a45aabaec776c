"""Events of gangs and pods. The API server keeps them for about an hour."""

import re
from collections.abc import Collection
from typing import Any, Final, NamedTuple

from gang_scheduler.api.kinds import EVENTS
from gang_scheduler.client.errors import ApiError
from gang_scheduler.decode.fields import timestamp_or_zero
from gang_scheduler.inspection.servers import Server
from gang_scheduler.model.scheduler_events import SchedulerEvent
from gang_scheduler.report.events import CONTROLLER
from gang_scheduler.watch import list_once

LONGEST_NOTE: Final = 1024
LONGEST_REASON: Final = 128
"""In characters. Users can write longer ones, by the core API: the rest of these is not read."""


class Event(NamedTuple):
    """An Event: its object, and when it was first and last seen, in seconds since the epoch."""

    kind: str
    name: str
    reason: str
    note: str
    first: int
    last: int
    times: int = 1
    warning: bool = False
    reporter: str = ""


async def events_of(server: Server, namespace: str, names: Collection[str]) -> tuple[Event, ...]:
    """Return the Events about objects of these names, the oldest first. Raises ApiError."""
    found = list_once.each_body(
        server.connection, EVENTS, namespace, page_seconds=server.request_seconds
    )
    about = [event(each) async for each in found if _named(each) in names]
    return tuple(sorted(about, key=lambda each: (each.first, each.last, each.name, each.reason)))


async def of_scheduler(server: Server) -> list[SchedulerEvent] | None:
    """Return all Events of the scheduler, the oldest first; None if they may not be listed."""
    found = list_once.each_body(
        *(server.connection, EVENTS),
        selector=f"reportingController={CONTROLLER}",
        page_seconds=server.request_seconds,
    )
    try:
        events = [
            _scheduler_event(each)
            async for each in found
            if each.get("reportingController") == CONTROLLER
        ]
    except ApiError:
        return None
    return sorted(events, key=lambda each: (each.first, each.last, each.namespace, each.name))


_OF_MEMBER: Final = re.compile(r"(?:as a member|other members?) of gang ([^/\s]+)/([^/\s]++)\S*+$")
"""The end of the note of a member that was placed."""


def gang_of_member(event: SchedulerEvent) -> str:
    """Return the name of the gang in whose start a member was placed; "" for other Events."""
    found = _OF_MEMBER.search(event.note)
    return found[2] if found is not None and found[1] == event.namespace else ""


def _scheduler_event(body: dict[str, Any]) -> SchedulerEvent:
    seen = event(body)
    return SchedulerEvent(
        namespace=str(body["metadata"].get("namespace", "")),
        name=seen.name,
        reason=seen.reason,
        note=seen.note,
        first=seen.first,
        last=seen.last,
        times=seen.times,
    )


def event(body: dict[str, Any]) -> Event:
    """Return the Event of a body of events.k8s.io/v1; the core API may have written it, too."""
    regarding, series = body.get("regarding") or {}, body.get("series") or {}
    made = body.get("eventTime") or body.get("deprecatedFirstTimestamp")
    first = timestamp_or_zero(made or body["metadata"].get("creationTimestamp"))
    last = timestamp_or_zero(series.get("lastObservedTime") or body.get("deprecatedLastTimestamp"))
    return Event(
        kind=str(regarding.get("kind", "")),
        name=_named(body),
        reason=str(body.get("reason", ""))[:LONGEST_REASON],
        note=str(body.get("note", ""))[:LONGEST_NOTE],
        first=first,
        last=max(first, last),
        times=int(series.get("count") or body.get("deprecatedCount") or 1),
        warning=body.get("type") == "Warning",
        reporter=str(body.get("reportingController", "")),
    )


def _named(body: dict[str, Any]) -> str:
    return str((body.get("regarding") or {}).get("name", ""))
