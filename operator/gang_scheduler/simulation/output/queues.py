"""Queues: their figures in the document, and for people as a tree."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from typing import Any

from rich.table import Table
from rich.text import Text

from gang_scheduler.model.queues import (
    DEFAULT_FLAVOR,
    Amounts,
    FlavorResource,
    QueueFigures,
    QueueRef,
)
from gang_scheduler.model.refs import GangKey
from gang_scheduler.model.resources import quantity, quantity_of
from gang_scheduler.model.wording import counted
from gang_scheduler.report.queues import status
from gang_scheduler.simulation.output import trees

SHARE_DIGITS = 6
SHORT_SHARE_DIGITS = 3
NAMES = ("QUEUE", "RESOURCE")
NUMBERS = ("NOMINAL", "USED", "BORROWED", "LENT", "FAIR SHARE", "SHARE", "RUNNING", "PENDING")

Json = dict[str, Any]


def rows(figures: Sequence[QueueFigures]) -> list[Json]:
    """Return the queues that are declared, and the implied ones that something uses."""
    return [_row(each) for each in figures if _is_worth_a_row(each)]


def places(figures: Sequence[QueueFigures]) -> dict[GangKey, int]:
    """Return the place of each gang that waits among those of its queue; 1 is the next."""
    return {key: place for each in figures for place, key in enumerate(each.pending, start=1)}


def tables(figures: Sequence[QueueFigures], most: int) -> Iterator[Table | Text]:
    """Yield the tree as a table with a line a queue and resource; nothing without queues."""
    shown = [each for each in figures if _is_worth_a_row(each)]
    if not shown:
        return
    table = trees.cell_table(NAMES, NUMBERS)
    tree = [*_depth_first(shown)]
    pending = status.pending_in_trees(figures)
    for depth, each in tree[:most]:
        _add_lines(table, "  " * depth, each, pending[each.queue.ref])
    yield Text()
    yield table
    left = len(tree) - most
    if left > 0:
        yield Text(f"and {counted(left, 'more queue')} (-o wide)")


def _is_worth_a_row(figures: QueueFigures) -> bool:
    is_used = any(each.used for each in figures.amounts.values())
    return bool(figures.queue.uid or is_used or figures.running or figures.pending)


def _row(figures: QueueFigures) -> Json:
    queue, activity = figures.queue, status.activity(figures)
    return {
        "queue": queue.ref.name,
        "kind": queue.ref.kind.value,
        "parent": queue.parent.name if queue.parent else None,
        "active": activity.status,
        "reason": activity.reason,
        "weight": _number(queue.weight),
        "resources": [_amounts(*each) for each in figures.amounts.items()],
        "share": None if figures.share is None else round(float(figures.share), SHARE_DIGITS),
        "running": figures.running,
        "pending": [str(key) for key in figures.pending],
    }


def _amounts(of: FlavorResource, amounts: Amounts) -> Json:
    quantities = (quantity_of(of.resource, each) for each in amounts)
    names = ("nominal", "used", "borrowed", "lent", "fairShare")
    return {**of._asdict(), **dict(zip(names, quantities, strict=True))}


def _number(value: Fraction) -> int | float:
    return value.numerator if value.denominator == 1 else float(value)


def _depth_first(shown: Sequence[QueueFigures]) -> Iterator[tuple[int, QueueFigures]]:
    """Yield the queues with their depths, each before those below it."""
    known = {each.queue.ref for each in shown}
    children: defaultdict[QueueRef | None, list[QueueFigures]] = defaultdict(list)
    for each in shown:
        children[each.queue.parent if each.queue.parent in known else None].append(each)
    tree = [*_below(None, children, 0)]
    in_tree = {each.queue.ref for _, each in tree}
    yield from tree
    # What is in a cycle, or below one, hangs under no root.
    yield from ((0, each) for each in shown if each.queue.ref not in in_tree)


def _below(
    ref: QueueRef | None, children: Mapping[QueueRef | None, list[QueueFigures]], depth: int
) -> Iterator[tuple[int, QueueFigures]]:
    for each in children.get(ref, ()):
        yield depth, each
        yield from _below(each.queue.ref, children, depth + 1)


def _add_lines(table: Table, indent: str, figures: QueueFigures, pending: int) -> None:
    """Add a line for each resource that is promised or used; the first one has the counts.

    `pending` is how many gangs wait in the queue and below it, as its status has it.
    """
    activity = status.activity(figures)
    name = Text(f"{indent}{figures.queue.ref.name}")
    if not activity.status:
        name.append(f" ({activity.reason})", style="yellow")
    counts = (_share(figures.share), str(figures.running), str(pending))
    amounts = {of: each for of, each in figures.amounts.items() if any(each)}
    for of, each in amounts.items():
        numbers = (quantity(of.resource, number) for number in each)
        table.add_row(name, Text(_resource(of)), *numbers, *counts)
        name, counts = Text(), ("", "", "")
    if not amounts:
        table.add_row(name, "-", *("-" for _ in Amounts._fields), *counts)


def _resource(of: FlavorResource) -> str:
    return of.resource if of.flavor == DEFAULT_FLAVOR else f"{of.flavor}/{of.resource}"


def _share(share: Fraction | None) -> str:
    return "infinite" if share is None else f"{float(share):.{SHORT_SHARE_DIGITS}g}"
