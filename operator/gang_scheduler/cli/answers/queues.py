"""`queues`: the tree of queues with their usage, and the gangs that wait in one of them."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from gang_scheduler.api.kinds import QUEUES
from gang_scheduler.cli import printing
from gang_scheduler.cli.exits import Exit, refuse
from gang_scheduler.cli.reading import cluster_sources
from gang_scheduler.cli.reading.options import Asked
from gang_scheduler.inspection import cluster
from gang_scheduler.inspection.cluster import Cluster, Source
from gang_scheduler.inspection.listing import decisions_now, gangs, queues, table_layout
from gang_scheduler.inspection.listing.decisions_now import Decisions
from gang_scheduler.inspection.listing.queues import QueueLine
from gang_scheduler.inspection.listing.states_and_orders import WAITING


class _View(NamedTuple):
    """The rows of the tree to show, and the cluster and decisions that they come from."""

    cluster: Cluster
    decided: Decisions
    found: Sequence[QueueLine]
    namespace: str


def answer(asked: Asked, name: str | None) -> None:
    """Print the tree of queues, or the gangs that wait in one; exits for an unknown queue."""
    # If queues may not be listed, the message names the missing right.
    cluster, namespace = cluster_sources.read(asked)
    if cluster.source is Source.WRITTEN and QUEUES.name in cluster.unread:
        resource = f'resource "{QUEUES.plural}" in API group "{QUEUES.group}"'
        problem = f"cannot list {resource} at the cluster scope"
        refuse([f"Error from server (Forbidden): {problem}"], Exit.NOT_ALLOWED)
    decided = decisions_now.decide(cluster)
    found = queues.lines_of_queues(cluster, decided)
    if name is not None:
        names = [each.name for each in found]
        found = queues.below(found, name)
        if not found:
            cluster_sources.refuse_name("queue", name, names)
    shown = _View(cluster, decided, found, namespace if asked.namespace else "")
    printing.show(asked, _text(asked, shown, with_gangs=name is not None))


def _text(asked: Asked, shown: _View, *, with_gangs: bool) -> str:
    if asked.output in ("json", "yaml"):
        return printing.documented(queues.queue_document(shown.found, shown.cluster), asked.output)
    if asked.output == "name":
        return "".join(f"{each.name}\n" for each in shown.found)
    page = printing.page(asked, queues.painted_queues, wide=asked.output == "wide")
    lines = [*queues.queue_table(shown.found, page), *queues.LEGEND]
    if not shown.found:
        lines = ["no queues"]
    if with_gangs:
        lines += _waiting(asked, shown)
    lines += table_layout.sentence_lines(cluster.origin_line(shown.cluster), page)
    return "".join(f"{line}\n" for line in lines)


def _waiting(asked: Asked, shown: _View) -> Iterator[str]:
    """Yield the gangs that wait in the queues, in the order of turns."""
    names = {each.name for each in shown.found}
    every = gangs.gang_rows(shown.cluster, shown.decided, shown.namespace)
    waiting = [row for row in every if row.state == WAITING and row.queue in names]
    if waiting:
        wide = asked.output == "wide"
        yield ""
        page = printing.page(asked, gangs.painted_gangs, wide=wide)
        yield from gangs.gang_table(waiting, shown.cluster, page, wide=wide)
