"""A line a queue: made here and now, or as the scheduler wrote it. Both say the same."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Final, NamedTuple

from gang_scheduler.api.kinds import QUEUES
from gang_scheduler.inspection.clusters import Cluster, Source
from gang_scheduler.inspection.listing.decisions import Decisions
from gang_scheduler.model.queues import Amounts, FlavorResource, QueueFigures, QueueKind
from gang_scheduler.model.refs import GangKey
from gang_scheduler.model.resources import amount_of, exact_amount_of
from gang_scheduler.report.queues import queue_status

_NAMES: Final = ("nominal", "used", "borrowed", "lent")
_FAIR_SHARE: Final = "fairShare"


@dataclass(frozen=True, slots=True)
class QueueLine:
    """A queue as it is shown.

    `depth` is how many queues are above it. `problem` is why no gang is admitted, "" if some are.
    `share` is the figure by which it is compared, "" where that is infinite. `pending` counts gangs
    that wait in it and below it, `gangs` are those in itself, in the order of turns.
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


def lines(cluster: Cluster, decisions: Decisions) -> list[QueueLine]:
    """Return the queues, each before those below it."""
    if cluster.source is Source.WRITTEN:
        return _nested(of_object(each) for each in cluster.written.get(QUEUES.name, ()))
    pending = queue_status.pending_in_trees(decisions.figures)
    shown = (each for each in decisions.figures if _is_worth_a_line(each))
    return _nested(of_figures(each, pending[each.queue.ref]) for each in shown)


class KnownQueues(NamedTuple):
    """The names of queues; `local` are those of LocalQueues, with the queue that each is of.

    Not `all_known` without the right to list the queues of a product.
    """

    names: frozenset[str]
    local: frozenset[tuple[str, str]]
    all_known: bool


def known(cluster: Cluster, decisions: Decisions) -> KnownQueues:
    """Return the names of the queues that there are."""
    local = cluster.cache.kueue_objects.local_queues.all.values()
    declared = cluster.cache.queues.queue_set()
    names = {each.ref.name for each in declared.queues} if declared is not None else set()
    return KnownQueues(
        frozenset({*names, *(each.name for each in lines(cluster, decisions))}),
        frozenset((each.name, each.cluster_queue.name) for each in local),
        not any("queues" in name for name in cluster.unread),
    )


def of_figures(figures: QueueFigures, pending: int) -> QueueLine:
    """Return the line of figures; `pending` counts the gangs below the queue, too."""
    queue, activity = figures.queue, queue_status.activity(figures)
    return QueueLine(
        name=queue.ref.name,
        kind=queue.ref.kind.value,
        parent=queue.parent.name if queue.parent else "",
        amounts=dict(figures.amounts),
        share=queue_status.share_of(figures.share) or "",
        running=figures.running,
        pending=pending,
        problem="" if activity.status else activity.reason,
        gangs=figures.pending,
    )


def of_object(body: Mapping[str, Any]) -> QueueLine:
    """Return the line of a Queue as its status has it."""
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
    """Return the queues of a name, each with those below it."""
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
        if (each.get("type"), each.get("status")) == (queue_status.ACTIVE, "False"):
            return str(each.get("reason", ""))
    return ""


def _is_worth_a_line(figures: QueueFigures) -> bool:
    """Return whether a queue is declared, or an implied one that something uses."""
    is_used = any(each.used for each in figures.amounts.values())
    return bool(figures.queue.uid or is_used or figures.running or figures.pending)


def _nested(found: Iterable[QueueLine]) -> list[QueueLine]:
    """Return queues with their depths, each before those below it."""
    given = list(found)
    known = {(_product(each), each.name) for each in given}
    children: defaultdict[tuple[str, str], list[QueueLine]] = defaultdict(list)
    for each in given:
        above = (_product(each), each.parent)
        children[above if above in known else ("", "")].append(each)
    return [*_below(("", ""), children, 0)]


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
    """Return whose tree a queue is in: a ClusterQueue is below a Cohort of its product."""
    return "kueue" if line.kind in (QueueKind.CLUSTER_QUEUE, QueueKind.COHORT) else line.kind
