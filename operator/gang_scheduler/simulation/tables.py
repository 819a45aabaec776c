"""The outcome for people: gangs, why some of them wait, and how full the cluster is."""

import io
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from gang_scheduler.model import resources
from gang_scheduler.model.network.layers import NODE_LAYER
from gang_scheduler.model.network.topology import Domain
from gang_scheduler.model.problems import Reason
from gang_scheduler.report import messages
from gang_scheduler.simulation import cells, trees
from gang_scheduler.simulation.run import Outcome
from gang_scheduler.state.node_usage import NodeUsage

UNBOUNDED = 10_000
"""The width of a page that is no terminal: no line is wrapped or cut off there."""

MOST_PODS = 40
VICTIMS = {"VICTIM": "pod", "NODE": "node", "GANG": "gang", "PREEMPTOR": "preemptor"}
NOMINEES = {"NOMINATED": "pod", "NODE": "node", "GANG": "gang"}
"""Columns, and what stands in them."""

ALWAYS_SHOWN = (resources.CPU, resources.MEMORY, resources.PODS)
COLOURS = {
    "Running": "green",
    "Finished": "green",
    "Scheduled": "green",
    "Scheduling": "yellow",
    "PreScheduling": "yellow",
    "Failed": "red",
}


def render(document: dict[str, Any], outcome: Outcome, *, terminal: bool) -> str:
    """Return the tables as text; coloured, and as wide as the screen, for a terminal."""
    page = io.StringIO()
    console = Console(
        file=page,
        force_terminal=terminal,
        width=None if terminal else UNBOUNDED,
        markup=False,
        highlight=False,
        emoji=False,
    )
    console.print(_gangs(document))
    for part in (*_pods(VICTIMS, document["victims"]), *_pods(NOMINEES, document["nominations"])):
        console.print(part)
    for heading, message in (*_waiting(document), *_warnings(outcome)):
        console.print()
        console.print(heading)
        console.print(Padding(Text(message), (0, 0, 0, 2), expand=False))
    for part in _cluster(outcome):
        console.print(part)
    return "".join(f"{line.rstrip()}\n" for line in page.getvalue().splitlines())


def _pods(columns: Mapping[str, str], rows: Sequence[dict[str, Any]]) -> Iterator[Table | Text]:
    """Yield the first rows of a list of pods after an empty line, if there are any."""
    if not rows:
        return
    table = cells.table(columns, ())
    for row in rows[:MOST_PODS]:
        table.add_row(*(Text(row[field] or "-") for field in columns.values()))
    yield Text()
    yield table
    if len(rows) > MOST_PODS:
        yield Text(f"and {len(rows) - MOST_PODS} more")


def _waiting(document: dict[str, Any]) -> Iterator[tuple[str, str]]:
    for each in document["unschedulable"]:
        yield f"{each['gang']}: {each['reason']}", each["message"]


def _warnings(outcome: Outcome) -> Iterator[tuple[str, str]]:
    for key, info in outcome.cache.gang_queue.infos.items():
        for reason, message in messages.by_reason(info.verdict.warnings or ()).items():
            yield f"{key}: {reason} (a warning)", message


def _cluster(outcome: Outcome) -> Iterator[Table | Text]:
    """Yield each tree after an empty line; without a tree, all nodes."""
    usage, pods = outcome.cache.node_usage, outcome.cache.pods()
    drawn = trees.to_draw(outcome.asked, outcome.cache)
    matter = trees.resources_that_matter(pods)
    for tree in drawn:
        yield Text()
        yield from trees.draw(tree, usage, outcome.refused, matter)
    if not drawn:
        yield Text()
        yield _nodes(usage)


def _gangs(document: dict[str, Any]) -> Table:
    reasons = {each["gang"]: Reason.WAITING_FOR_VICTIMS.value for each in document["nominations"]}
    reasons |= {each["gang"]: each["reason"] for each in document["unschedulable"]}
    table = cells.table(("GANG", "PHASE"), ("MIN", "MEMBERS", "SCHEDULED"))
    table.add_column("DOMAIN", overflow="fold")
    table.add_column("REASON")
    for gang, domain in zip(document["gangs"], _domains(document), strict=True):
        table.add_row(
            Text(gang["gang"]),
            Text(gang["phase"], style=COLOURS.get(gang["phase"], "")),
            *(str(gang[column]) for column in ("minMember", "members", "scheduled")),
            Text(domain),
            reasons.get(gang["gang"], "-"),
        )
    return table


def _domains(document: dict[str, Any]) -> list[str]:
    """Return the domain of each gang, in short; a node is shown by its name."""
    written = (gang["domain"] for gang in document["gangs"])
    domains = [Domain(each["layer"], tuple(each["path"])) if each else None for each in written]
    names = messages.short_names(filter(None, domains))
    names |= {each: each.path[-1] for each in names if each.layer == NODE_LAYER}
    return [names[each] if each else "-" for each in domains]


def _nodes(usage: NodeUsage) -> Table:
    nodes, free = usage.table(), usage.free()
    shown = [*ALWAYS_SHOWN, *(name for name in nodes.resources if cells.is_extended(name))]
    shown = [name for name in shown if name in nodes.axis]
    table = cells.table(("NODE",), (cells.heading(name) for name in shown))
    for row, node in enumerate(nodes.nodes):
        offered = {name: int(nodes.allocatable[row, nodes.axis[name]]) for name in shown}
        used = {name: offered[name] - int(free[row, nodes.axis[name]]) for name in shown}
        uses = (cells.use(name, used[name], offered[name]) for name in shown)
        table.add_row(Text(node.name), *uses)
    return table
