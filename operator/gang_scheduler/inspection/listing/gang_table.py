"""Gangs as a table, and as documents."""

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any, Final

import click

from gang_scheduler.api.conditions import rfc3339
from gang_scheduler.inspection import origins
from gang_scheduler.inspection.clusters import Cluster
from gang_scheduler.inspection.listing import ages, plain_table, shares
from gang_scheduler.inspection.listing.plain_table import Page
from gang_scheduler.inspection.listing.rows import Row
from gang_scheduler.inspection.listing.vocabulary import WAITING
from gang_scheduler.model.queues import NONE
from gang_scheduler.report.texts import node_ranges

API_VERSION: Final = "py-gang-scheduler.io/v1alpha1"
_COLOURS: Final = {"Running": "green", "Starting": "cyan", WAITING: "yellow", "Failed": "red"}
_NUMBERS: Final = ("PRI", "GPU", "MIN", "AGING", "EVICTIONS")
_HEADINGS: Final = (
    *("GANG", "QUEUE", "PRI", "STATE", "MEMBERS", "WORKERS"),
    *("GPU", "TIME", "START"),
)
_WIDE: Final = ("KIND", "MIN", "DOMAIN", "FAIRSHARE", "AGING", "EVICTIONS")
_LAST: Final = "NODES(REASON)"
_START: Final = "START"
_IF_SAID: Final = ("QUEUE", "WORKERS", _START)
"""Columns that are left out where they say nothing."""

_DROPS: Final = ("WORKERS", "PRI", "GPU", "QUEUE", "TIME", "MEMBERS")
"""Columns that go where a terminal is too narrow, in this order."""
_LONGEST_NODES: Final = 40
"""How long the names of nodes may be in place of how many they are, and where."""

Json = dict[str, Any]


def table(
    rows: Sequence[Row], cluster: Cluster, page: Page, *, wide: bool = False, starts: bool = False
) -> Iterator[str]:
    """Yield the lines of a table, a line a gang; `starts`: with what is known of their starts."""
    numbers = Counter(row.name for row in rows)
    cells = [
        _cells(row, cluster.read_at, wide=wide, starts=starts, alone=numbers[row.name] == 1)
        for row in rows
    ]
    headings = [*_HEADINGS, *(_WIDE if wide else ()), _LAST]
    if_said = [each for each in _IF_SAID if each != _START or not starts]
    shown = plain_table.without_silent(headings, cells, if_said)
    yield from plain_table.lines(*shown, page, _NUMBERS, _DROPS)


def painted(_: int, text: str) -> str:
    """Return a cell in the colour of the state that it names."""
    return click.style(text, fg=_COLOURS[text]) if text in _COLOURS else text


def _cells(row: Row, now: int, *, wide: bool, starts: bool, alone: bool) -> list[str]:
    # Gangs of one name are told apart by their sources.
    name = row.name if alone else f"{row.name} ({row.key.source})"
    cells = [name, _queue(row), str(row.priority), row.state]
    cells.append(f"{row.bound}/{row.members}")
    cells.append("/".join(map(str, row.workers)) if row.workers else "-")
    start = _start(row, now, starts=starts)
    cells += [str(row.gpus), ages.age(now - row.since) if row.since else "-", start]
    if wide:
        share = shares.short(row.fair_share) if row.fair_share else plain_table.NOTHING
        numbers = (str(row.aging), str(row.evictions))
        cells += [row.kind, str(row.min_member), row.domain or "-", share, *numbers]
    return [*cells, _nodes_or_reason(row, wide=wide)]


def _start(row: Row, now: int, *, starts: bool) -> str:
    """Return when a gang starts; where that is asked for, that it is not known of those in line."""
    if row.start is not None:
        return ages.moment(row.start, now)
    return "unknown" if starts and row.in_line else plain_table.NOTHING


def _queue(row: Row) -> str:
    return row.queue if row.queue not in ("", NONE.name) else plain_table.NOTHING


def _nodes_or_reason(row: Row, *, wide: bool) -> str:
    if row.state != WAITING:
        return _nodes(row, wide=wide) or "-"
    said = row.wait.message if wide else row.wait.brief
    words = ": ".join(filter(None, (row.wait.reason, said)))
    return f"({words})" if words else "-"


def _nodes(row: Row, *, wide: bool) -> str:
    """Return the nodes of a gang, without their domain in DNS; of many how many, and where."""
    names = node_ranges.folded(row.nodes)
    if wide or len(names) <= _LONGEST_NODES:
        return names
    short = node_ranges.folded(node_ranges.without_domain(row.nodes))
    if len(short) <= _LONGEST_NODES:
        return short
    number = f"{len(set(row.nodes))} nodes"
    return f"{number} in {row.domain}" if row.domain else f"{number}: {short}"


def document(rows: Sequence[Row], cluster: Cluster) -> Json:
    """Return gangs as a document of kind GangList."""
    return {
        "apiVersion": API_VERSION,
        "kind": "GangList",
        **origins.document(cluster),
        "items": [_item(row) for row in rows],
    }


def _item(row: Row) -> Json:
    item: Json = {
        "namespace": row.key.namespace,
        "name": row.key.name,
        "kind": row.kind,
        "source": row.key.source,
        "state": row.state,
        "queue": row.queue or None,
        "priority": row.priority,
        "members": row.members,
        "minMember": row.min_member,
        "scheduled": row.bound,
        "gpus": row.gpus,
        "since": rfc3339(row.since) if row.since else None,
        "start": None if row.start is None else rfc3339(row.start),
        "reason": row.wait.reason or None,
        "message": row.wait.message or None,
        "nodes": list(row.nodes),
        "domain": row.domain or None,
        "fairShare": row.fair_share or None,
        "aging": row.aging,
        "evictions": row.evictions,
    }
    if row.workers is not None:
        now, most = row.workers
        item["workers"] = {"now": now, "max": most}
    return item
