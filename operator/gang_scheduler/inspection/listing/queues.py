"""The tree of queues: a line for each queue, as a table with bars and as documents."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Final, NamedTuple

import click

from gang_scheduler.api.kinds import QUEUES
from gang_scheduler.inspection import cluster as inspection_cluster
from gang_scheduler.inspection.cluster import Cluster, Source
from gang_scheduler.inspection.listing import table_layout
from gang_scheduler.inspection.listing.decisions_now import Decisions
from gang_scheduler.inspection.listing.gangs import API_VERSION, Json
from gang_scheduler.inspection.listing.table_layout import Page
from gang_scheduler.model.queues import (
    DEFAULT_FLAVOR,
    GPU,
    NONE,
    Amounts,
    FlavorResource,
    QueueFigures,
    QueueKind,
)
from gang_scheduler.model.refs import GangKey
from gang_scheduler.model.resources import amount_of, exact_amount_of, quantity
from gang_scheduler.report.queues import status

# Lines of queues, computed now or read from the status that the scheduler wrote.

_NAMES: Final = ("nominal", "used", "borrowed", "lent")
_FAIR_SHARE: Final = "fairShare"


@dataclass(frozen=True, slots=True)
class QueueLine:
    """A queue as a row of the tree.

    `depth` is the number of queues above it. `problem` is why it admits no gang, "" if it admits
    gangs. `share` is the number by which queues are compared, "" if it is infinite. `pending`
    counts the gangs that wait in this queue and below it. `gangs` are the waiting gangs of this
    queue alone, in the order of turns.
    """

    name: str
    kind: str
    parent: str
    amounts: Mapping[FlavorResource, Amounts]
    share: str = ""
    running: int = 0
    pending: int = 0
    problem: str = ""
    gangs: tuple[GangKey, ...] = ()
    depth: int = 0


def lines_of_queues(cluster: Cluster, decisions: Decisions) -> list[QueueLine]:
    """Return the rows of all queues, each queue before the queues below it."""
    if cluster.source is Source.WRITTEN:
        return _nested(of_object(each) for each in cluster.written.get(QUEUES.name, ()))
    pending = status.pending_in_trees(decisions.figures)
    shown = (each for each in decisions.figures if status.is_worth_a_line(each))
    return _nested(of_figures(each, pending[each.queue.ref]) for each in shown)


class KnownQueues(NamedTuple):
    """The names of queues. `local` has (LocalQueue, its ClusterQueue).

    `all_known` is false if the user may not list the queues of some product.
    """

    names: frozenset[str]
    local: frozenset[tuple[str, str]]
    all_known: bool


def known(cluster: Cluster, decisions: Decisions) -> KnownQueues:
    """Return the names of all queues."""
    local = cluster.cache.kueue_objects.local_queues.all.values()
    declared = cluster.cache.queues.queue_set()
    names = {each.ref.name for each in declared.queues} if declared is not None else set()
    return KnownQueues(
        frozenset({*names, *(each.name for each in lines_of_queues(cluster, decisions))}),
        frozenset((each.name, each.cluster_queue.name) for each in local),
        not any("queues" in name for name in cluster.unread),
    )


def of_figures(figures: QueueFigures, pending: int) -> QueueLine:
    """Return the row for a queue's figures; `pending` includes the gangs in queues below it."""
    queue, activity = figures.queue, status.activity(figures)
    return QueueLine(
        name=queue.ref.name,
        kind=queue.ref.kind.value,
        parent=queue.parent.name if queue.parent else "",
        amounts=dict(figures.amounts),
        share=status.share_of(figures.share) or "",
        running=figures.running,
        pending=pending,
        problem="" if activity.status else activity.reason,
        gangs=figures.pending,
    )


def of_object(body: Mapping[str, Any]) -> QueueLine:
    """Return the row of a Queue from its status."""
    status = body.get("status") or {}
    return QueueLine(
        name=body["metadata"]["name"],
        kind=QueueKind.QUEUE.value,
        parent=str((body.get("spec") or {}).get("parent") or ""),
        amounts=_amounts(status),
        share=str(status.get("share") or ""),
        running=int(status.get("runningJobs") or 0),
        pending=int(status.get("pendingJobs") or 0),
        problem=_problem(status.get("conditions") or ()),
    )


def below(found: Sequence[QueueLine], name: str) -> list[QueueLine]:
    """Return the queues with a name, each followed by the queues below it."""
    kept: list[QueueLine] = []
    depth: int | None = None
    for each in found:
        if depth is not None and each.depth <= depth:
            depth = None
        if depth is None and each.name == name:
            depth = each.depth
        if depth is not None:
            kept.append(each)
    return kept


def _amounts(status: Mapping[str, Any]) -> dict[FlavorResource, Amounts]:
    found: defaultdict[FlavorResource, dict[str, int]] = defaultdict(dict)
    shares: dict[FlavorResource, int | Fraction] = {}
    for name in _NAMES:
        for flavor, amounts in (status.get(name) or {}).items():
            for resource, text in amounts.items():
                found[FlavorResource(flavor, resource)][name] = amount_of(resource, text)
    for flavor, amounts in (status.get(_FAIR_SHARE) or {}).items():
        for resource, text in amounts.items():
            shares[FlavorResource(flavor, resource)] = exact_amount_of(resource, text)
    return {
        of: Amounts(**found[of], fair_share=shares.get(of, 0))
        for of in dict.fromkeys((*found, *shares))
    }


def _problem(conditions: Iterable[Mapping[str, Any]]) -> str:
    for each in conditions:
        if (each.get("type"), each.get("status")) == (status.ACTIVE, "False"):
            return str(each.get("reason", ""))
    return ""


def _nested(found: Iterable[QueueLine]) -> list[QueueLine]:
    """Return queues with their depths, each queue before the queues below it."""
    given = list(found)
    known = {(_product(each), each.name) for each in given}
    children: defaultdict[tuple[str, str], list[QueueLine]] = defaultdict(list)
    for each in given:
        above = (_product(each), each.parent)
        children[above if above in known else ("", "")].append(each)
    tree = [*_below(("", ""), children, 0)]
    in_tree = {(_product(each), each.name) for each in tree}
    # A queue in a cycle of parents, or below one, is below no root.
    return [*tree, *(each for each in given if (_product(each), each.name) not in in_tree)]


def _below(
    above: tuple[str, str], children: Mapping[tuple[str, str], list[QueueLine]], depth: int
) -> Iterator[QueueLine]:
    for each in children.get(above, ()):
        yield QueueLine(
            *(each.name, each.kind, each.parent, each.amounts, each.share, each.running),
            *(each.pending, each.problem, each.gangs, depth),
        )
        yield from _below((_product(each), each.name), children, depth + 1)


def _product(line: QueueLine) -> str:
    """Return the product whose tree a queue is in: ClusterQueues and Cohorts share one tree."""
    return "kueue" if line.kind in (QueueKind.CLUSTER_QUEUE, QueueKind.COHORT) else line.kind


# Queues as a tree with bars, and as documents.

BAR: Final = 10
MARKS: Final = "#=-."
"""The marks of quota that is used, borrowed, free, and lent."""
LEGEND: Final = (
    "QUOTA [####==--..]: of its own # used, - free, . lent; = borrowed from others",
    "PENDING: gangs that wait in it and below it; SHARE: decides which queue is next",
)
_HEADINGS: Final = ("QUEUE", "RESOURCE", "QUOTA", "USED", "NOMINAL", "BORROWED", "LENT", "SHARE")
_COUNTS: Final = ("RUNNING", "PENDING")
_FAIR: Final = "FAIR SHARE"
_RIGHT: Final = (*_HEADINGS[3:], _FAIR, *_COUNTS)
_DROPS: Final = ("LENT", _FAIR, "BORROWED", "RUNNING", "SHARE", "QUOTA")
"""Columns dropped on a narrow terminal, in this order. The bars still show borrowed quota."""
_BAR_COLUMN: Final = 2


def queue_table(found: Sequence[QueueLine], page: Page, *, full: bool = False) -> Iterator[str]:
    """Yield the lines of the tree: for each queue, a line for each scarce resource.

    `full`: a line for every resource, with the queue's fair share of it.
    """
    top = min((each.depth for each in found), default=0)
    rows = [row for each in found for row in _rows(each, top, full=full)]
    headings = (*_HEADINGS[:-1], *([_FAIR] if full else []), _HEADINGS[-1], *_COUNTS, "STATE")
    shown = table_layout.without_silent(headings, rows, ("STATE",))
    yield from table_layout.table_lines(*shown, page, _RIGHT, _DROPS)


def painted_queues(column: int, text: str) -> str:
    """Return a cell in colour: bars with borrowed quota, and bars with used quota."""
    if column != _BAR_COLUMN:
        return text
    if "=" in text:
        return click.style(text, fg="yellow")
    return click.style(text, fg="green") if "#" in text else text


def _rows(line: QueueLine, top: int, *, full: bool) -> Iterator[list[str]]:
    name = "  " * (line.depth - top) + shown_name(line.name)
    share, state = (
        table_layout.short_share(line.share or table_layout.INFINITE),
        line.problem or table_layout.NOTHING,
    )
    counts = (str(line.running), str(line.pending))
    shown = promised_or_used(line.amounts) if full else scarce(line.amounts)
    for of, amounts in shown.items():
        numbers = [quantity(of.resource, each) for each in _shown(amounts, full=full)]
        yield [name, _called(of), bar(amounts), *numbers, share, *counts, state]
        name, share, counts, state = "", "", ("", ""), table_layout.NOTHING
    if not shown:
        nothing = ["-" for _ in _shown(Amounts(), full=full)]
        yield [name, "-", "-", *nothing, share, *counts, state]


def shown_name(queue: str) -> str:
    """Return the name of a queue in a table.

    Gangs that name no queue are listed under `none (no queue)`.
    """
    return f"{queue} (no queue)" if queue == NONE.name else queue


def _shown(amounts: Amounts, *, full: bool) -> tuple[int | Fraction, ...]:
    fair = (amounts.fair_share,) if full else ()
    return amounts.used, amounts.nominal, amounts.borrowed, amounts.lent, *fair


def promised_or_used(amounts: Mapping[FlavorResource, Amounts]) -> dict[FlavorResource, Amounts]:
    """Return the amounts that are not all 0."""
    return {of: each for of, each in amounts.items() if any(each)}


def scarce(amounts: Mapping[FlavorResource, Amounts]) -> dict[FlavorResource, Amounts]:
    """Return the amounts of devices; for a queue without devices, of all resources."""
    found = promised_or_used(amounts)
    devices = {of: each for of, each in found.items() if _is_device(of.resource)}
    return devices or found


def _is_device(resource: str) -> bool:
    return resource == GPU or "/" in resource


def _called(of: FlavorResource) -> str:
    return of.resource if of.flavor == DEFAULT_FLAVOR else f"{of.flavor}/{of.resource}"


def bar(amounts: Amounts) -> str:
    """Return a bar of the quota. Each part that is not empty has at least one mark."""
    own = max(0, amounts.used - amounts.borrowed)
    lent = max(0, amounts.lent)
    parts = (own, amounts.borrowed, max(0, amounts.nominal - own - lent), lent)
    if not any(parts):
        return "[" + " " * BAR + "]"
    marks = [1 if part else 0 for part in parts]
    for _ in range(BAR - sum(marks)):
        # The next mark goes to the part that has the largest amount for each of its marks.
        short = [part / mark if mark else 0 for part, mark in zip(parts, marks, strict=True)]
        marks[short.index(max(short))] += 1
    return "[" + "".join(mark * n for mark, n in zip(MARKS, marks, strict=True)) + "]"


def queue_document(found: Sequence[QueueLine], cluster: Cluster) -> Json:
    """Return queues as a document of kind QueueTree."""
    return {
        "apiVersion": API_VERSION,
        "kind": "QueueTree",
        **inspection_cluster.origin_document(cluster),
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
        "resources": [status.amounts_of(*each) for each in line.amounts.items()],
    }
