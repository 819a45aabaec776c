"""Queues as a tree with bars, and as documents."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

import click

from gang_scheduler.inspection import origins
from gang_scheduler.inspection.clusters import Cluster
from gang_scheduler.inspection.listing import plain_table, shares
from gang_scheduler.inspection.listing.gang_table import API_VERSION, Json
from gang_scheduler.inspection.listing.plain_table import Page
from gang_scheduler.inspection.listing.queue_lines import QueueLine
from gang_scheduler.model.queues import DEFAULT_FLAVOR, GPU, NONE, Amounts, FlavorResource
from gang_scheduler.model.resources import quantity, quantity_of

BAR: Final = 10
MARKS: Final = "#=-."
"""Of what is used within the own quota, borrowed, free, and lent."""
LEGEND: Final = (
    "QUOTA [####==--..]: of its own # used, - free, . lent; = borrowed from others",
    "PENDING: gangs that wait in it and below it; SHARE: by this number its tree compares queues",
)
_HEADINGS: Final = ("QUEUE", "RESOURCE", "QUOTA", "USED", "NOMINAL", "BORROWED", "LENT", "SHARE")
_COUNTS: Final = ("RUNNING", "PENDING")
_RIGHT: Final = (*_HEADINGS[3:], *_COUNTS)
_DROPS: Final = ("LENT", "BORROWED", "RUNNING", "SHARE", "QUOTA")
"""Columns that go where a terminal is too narrow, in this order: bars show what is borrowed."""
_BAR_COLUMN: Final = 2
_NAMES: Final = ("nominal", "used", "borrowed", "lent", "fairShare")


def table(found: Sequence[QueueLine], page: Page) -> Iterator[str]:
    """Yield the lines of the tree: of each queue one for each resource that is scarce."""
    top = min((each.depth for each in found), default=0)
    rows = [row for each in found for row in _rows(each, top)]
    shown = plain_table.without_silent((*_HEADINGS, *_COUNTS, "STATE"), rows, ("STATE",))
    yield from plain_table.lines(*shown, page, _RIGHT, _DROPS)


def painted(column: int, text: str) -> str:
    """Return a cell in colour: bars, by whether they show what is borrowed, or used."""
    if column != _BAR_COLUMN:
        return text
    if "=" in text:
        return click.style(text, fg="yellow")
    return click.style(text, fg="green") if "#" in text else text


def _rows(line: QueueLine, top: int) -> Iterator[list[str]]:
    name = "  " * (line.depth - top) + shown_name(line.name)
    share, state = shares.short(line.share or shares.INFINITE), line.problem or plain_table.NOTHING
    counts = (str(line.running), str(line.pending))
    shown = scarce(line.amounts)
    for of, amounts in shown.items():
        numbers = [quantity(of.resource, each) for each in _shown(amounts)]
        yield [name, _called(of), bar(amounts), *numbers, share, *counts, state]
        name, share, counts, state = "", "", ("", ""), plain_table.NOTHING
    if not shown:
        yield [name, "-", "-", *("-" for _ in range(4)), share, *counts, state]


def shown_name(queue: str) -> str:
    """Return how a queue is called in a table: that of gangs without one is no object."""
    return f"{queue} (no queue)" if queue == NONE.name else queue


def _shown(amounts: Amounts) -> tuple[int, int, int, int]:
    return amounts.used, amounts.nominal, amounts.borrowed, amounts.lent


def scarce(amounts: Mapping[FlavorResource, Amounts]) -> dict[FlavorResource, Amounts]:
    """Return what devices offer; of a queue that has quota for none, everything."""
    found = {of: each for of, each in amounts.items() if any(each)}
    devices = {of: each for of, each in found.items() if _is_device(of.resource)}
    return devices or found


def _is_device(resource: str) -> bool:
    return resource == GPU or "/" in resource


def _called(of: FlavorResource) -> str:
    return of.resource if of.flavor == DEFAULT_FLAVOR else f"{of.flavor}/{of.resource}"


def bar(amounts: Amounts) -> str:
    """Return how quota is used: a part that is there has at least one mark."""
    own = max(0, amounts.used - amounts.borrowed)
    lent = max(0, amounts.lent)
    parts = (own, amounts.borrowed, max(0, amounts.nominal - own - lent), lent)
    if not any(parts):
        return "[" + " " * BAR + "]"
    marks = [1 if part else 0 for part in parts]
    for _ in range(BAR - sum(marks)):
        # The next mark goes where most is not shown yet.
        short = [part / mark if mark else 0 for part, mark in zip(parts, marks, strict=True)]
        marks[short.index(max(short))] += 1
    return "[" + "".join(mark * n for mark, n in zip(MARKS, marks, strict=True)) + "]"


def document(found: Sequence[QueueLine], cluster: Cluster) -> Json:
    """Return queues as a document of kind QueueTree."""
    return {
        "apiVersion": API_VERSION,
        "kind": "QueueTree",
        **origins.document(cluster),
        "items": [_item(each) for each in found],
    }


def _item(line: QueueLine) -> Json:
    return {
        "queue": line.name,
        "kind": line.kind,
        "parent": line.parent or None,
        "depth": line.depth,
        "active": not line.problem,
        "reason": line.problem or None,
        "share": line.share or None,
        "running": line.running,
        "pending": line.pending,
        "gangs": [str(key) for key in line.gangs],
        "resources": [_resource(*each) for each in line.amounts.items()],
    }


def _resource(of: FlavorResource, amounts: Amounts) -> dict[str, Any]:
    texts = (quantity_of(of.resource, each) for each in amounts)
    return {**of._asdict(), **dict(zip(_NAMES, texts, strict=True))}
