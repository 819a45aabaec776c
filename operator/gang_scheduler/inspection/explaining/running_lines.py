"""The lines of a gang that runs: where it is, since when, and which gangs could evict it."""

from collections.abc import Sequence

from gang_scheduler.inspection.explaining.lines import (
    NOT_KNOWN,
    Json,
    Line,
    View,
    seconds_of,
    short,
)
from gang_scheduler.inspection.explaining.wording import duration, listed
from gang_scheduler.inspection.listing import ages
from gang_scheduler.report.texts.plurals import counted


def running(document: Json, view: View) -> list[Line]:  # noqa: ARG001 - a part.
    """Return where members run, and since when."""
    found = document.get("running")
    if found is None:
        return []
    now = seconds_of(document["readAt"])
    where = short(found["domain"]) if found["domain"] else "the cluster"
    spans = ", ".join(f"{each['domains']} {each['layer']}" for each in found["spans"])
    made = [Line(f"{counted(found['members'], 'member')} in {where}{f': {spans}' * bool(spans)}")]
    if found["since"]:
        since = seconds_of(found["since"])
        waited = found["waitedSeconds"]
        after = f", after {duration(waited)}" if waited is not None else ""
        made.append(
            Line(f"since {ages.moment(since, now)} UTC, for {duration(now - since)}{after}")
        )
    made.append(Line(_by_node(found["ranks"])))
    if "elastic" in found:
        made.append(Line(_elastic(found["elastic"])))
    if "degraded" in found:
        made.append(Line(found["degraded"]))
    return made


def _by_node(ranks: Sequence[Json]) -> str:
    return listed([f"{each['node']}: {_run(each['ranks'])}" for each in ranks], 8)


def _run(ranks: Sequence[int]) -> str:
    if len(ranks) == 1:
        return f"rank {ranks[0]}"
    if list(ranks) == list(range(ranks[0], ranks[-1] + 1)):
        return f"ranks {ranks[0]}-{ranks[-1]}"
    return f"ranks {', '.join(map(str, ranks))}"


def _elastic(found: Json) -> str:
    text = f"{found['now']} workers, of {found['min']} to {found['max']}"
    return f"{text}; may grow again at {found['nextAllowed']}" if found["nextAllowed"] else text


def evictable(document: Json, view: View) -> list[Line]:  # noqa: ARG001 - a part.
    """Return which gangs could evict it."""
    found = document.get("running")
    if found is None:
        return []
    known = found["evictable"]
    if known is None:
        return [Line(NOT_KNOWN)]
    if not known["pods"]:
        return [Line("none of its pods may be evicted now")]
    queue = f", or other queues that reclaim from {known['queue']}" if known["queue"] else ""
    some = counted(known["pods"], "pod")
    return [Line(f"{some} may go for gangs of priority {known['fromPriority']} or more{queue}")]
