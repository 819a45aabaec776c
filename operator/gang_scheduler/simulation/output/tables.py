"""The outcome for people: gangs, why some of them wait, and how full the cluster is."""

import io
import itertools
import sys
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from gang_scheduler.api.pod_group import Phase
from gang_scheduler.model import resources
from gang_scheduler.model.causes.gangs import MembersMissing
from gang_scheduler.model.gangs import RoleCount
from gang_scheduler.model.layers import NODE_LAYER
from gang_scheduler.model.reasons import Reason
from gang_scheduler.model.topology import Domain
from gang_scheduler.model.wording import counted
from gang_scheduler.report import missing_members
from gang_scheduler.report.missing_members import NearNames
from gang_scheduler.report.words import messages
from gang_scheduler.report.words.causes import text_of
from gang_scheduler.simulation.described import described
from gang_scheduler.simulation.output import queues, trees
from gang_scheduler.simulation.run import Outcome
from gang_scheduler.state.nodes import NodeUsage

Part = Table | Text | Padding

UNBOUNDED = 10_000
"""The width of a page that is no terminal: no line is wrapped or cut off there."""

MOST_LINES = 40
"""As many lines of one kind are shown, unless the page is wide."""
NODES_SHOWN = 4
BINDINGS = {"POD": "pod", "NODE": "node", "GANG": "gang"}
VICTIMS = {"VICTIM": "pod", "NODE": "node", "GANG": "gang", "PREEMPTOR": "preemptor"}
ADMITTED = "Admitted"
"""Why a suspended workload that may start has no pods on nodes yet."""
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


def render(
    document: dict[str, Any], outcome: Outcome, *, terminal: bool, wide: bool = False
) -> str:
    """Return the tables as text; coloured, and as wide as the screen, for a terminal.

    What is long is summed up, and columns are dropped or shortened that a screen has no room for,
    unless the page is `wide`.
    """
    page = io.StringIO()
    console = Console(
        file=page,
        force_terminal=terminal,
        width=None if terminal and not wide else UNBOUNDED,
        markup=False,
        highlight=False,
        emoji=False,
    )
    most = sys.maxsize if wide else MOST_LINES
    for part in _parts(document, outcome, most):
        console.print(trees.fitted(part, console.width) if isinstance(part, Table) else part)
    return "".join(f"{line.rstrip()}\n" for line in page.getvalue().splitlines())


def _parts(document: dict[str, Any], outcome: Outcome, most: int) -> Iterator[Part]:
    admitted = [
        row
        for row, each in zip(document["gangs"], described(outcome.cache), strict=True)
        if each.awaits_pods
    ]
    yield from _gangs(document, map(_called, admitted), most)
    yield from _bindings(document["bindings"], most)
    yield from _pods(VICTIMS, document["victims"], most)
    yield from _pods(NOMINEES, document["nominations"], most)
    yield from _admissions(document.get("admissions", ()), most)
    said = [*_waiting(document, outcome), *_warnings(outcome)]
    for heading, message in said[:most]:
        yield Text()
        yield Text(heading)
        yield Padding(Text(message), (0, 0, 0, 2), expand=False)
    if len(said) > most:
        yield Text(f"\nand {len(said) - most} more messages (-o wide)")
    yield from queues.tables(outcome.queues, most)
    yield from _cluster(outcome, most)


def _bindings(rows: Sequence[dict[str, Any]], most: int) -> Iterator[Part]:
    """Yield which pod goes to which node; of many pods, how many of each gang go where."""
    if len(rows) <= most:
        yield from _pods(BINDINGS, rows, most)
        return
    by_gang: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for row in rows:
        by_gang[_called(row)][row["node"]] += 1
    table = trees.cell_table(("BOUND", "PODS"), ())
    for gang, nodes in itertools.islice(by_gang.items(), most):
        table.add_row(Text(gang), Text(_on_nodes(nodes)))
    yield Text()
    yield table
    if len(by_gang) > most:
        pods = sum(map(Counter.total, itertools.islice(by_gang.values(), most, None)))
        yield Text(f"and {pods} pods of {len(by_gang) - most} more gangs (-o wide)")


def _admissions(rows: Sequence[dict[str, Any]], most: int) -> Iterator[Part]:
    """Yield which suspended workloads may start, and where room is kept for their pods."""
    if not rows:
        return
    table = trees.cell_table(("ADMITTED", "QUEUE", "PODS"), ())
    for row in rows[:most]:
        nodes = Counter({each["node"]: each["pods"] for each in row["nodes"]})
        table.add_row(Text(row["object"]), Text(row["queue"] or "-"), Text(_on_nodes(nodes)))
    yield Text()
    yield table
    if len(rows) > most:
        yield Text(f"and {len(rows) - most} more (-o wide)")


def _on_nodes(nodes: Counter[str]) -> str:
    """Return how many pods are on which nodes, the fullest first."""
    named = [f"{name} ({number})" for name, number in nodes.most_common(NODES_SHOWN)]
    more = ["..."] if len(nodes) > NODES_SHOWN else []
    pods, number = nodes.total(), len(nodes)
    on = f"{counted(pods, 'pod')} on {counted(number, 'node')}"
    return f"{on}: {', '.join([*named, *more])}"


def _pods(columns: Mapping[str, str], rows: Sequence[dict[str, Any]], most: int) -> Iterator[Part]:
    """Yield the first rows of a list of pods after an empty line, if there are any."""
    if not rows:
        return
    table = trees.cell_table(columns, ())
    for row in rows[:most]:
        shown = {**row, "gang": _called(row)}
        table.add_row(*(Text(shown[field] or "-") for field in columns.values()))
    yield Text()
    yield table
    if len(rows) > most:
        yield Text(f"and {len(rows) - most} more (-o wide)")


def _waiting(document: dict[str, Any], outcome: Outcome) -> Iterator[tuple[str, str]]:
    told = set()
    near = NearNames(outcome.cache.gang_queue.infos.values())
    rows = [*zip(document["gangs"], described(outcome.cache), strict=True)]
    keys = {_called(row): info.key for row, info in rows}
    for each in document["unschedulable"]:
        told.add(_called(each))
        other = None
        if each["reason"] == Reason.POD_GROUP_NOT_FOUND.value:
            other = near.elsewhere(keys[_called(each)])
        said = f". {missing_members.text_of_other(other)}" if other is not None else ""
        yield f"{_called(each)}: {each['reason']}", f"{each['message']}{said}"
    for each, info in rows:
        if not _is_without_members(each) or _called(each) in told:
            continue
        roles = [RoleCount(it["role"], 0, it["minMember"]) for it in each.get("roles", ())]
        missing = tuple(it for it in roles if it.needed)
        message = text_of(MembersMissing(0, each["minMember"], missing))
        meant = missing_members.text_of(near.meant(info.key))
        if not meant and (other := near.elsewhere(info.key)) is not None:
            meant = missing_members.text_of_pods_elsewhere(other)
        said = f"{message}; {meant}" if meant else message
        yield f"{_called(each)}: {Reason.WAITING_FOR_MEMBERS.value}", said


def _called(row: Mapping[str, Any]) -> str:
    """Return how the gang of a row is called: its source tells it from another of its name."""
    name = row["gang"] or ""
    return f"{name} ({row['source']})" if "source" in row else name


def _is_without_members(gang: Mapping[str, Any]) -> bool:
    """Return whether no pod of a gang was there yet."""
    return gang["phase"] == Phase.PENDING.value and not gang["members"]


def _warnings(outcome: Outcome) -> Iterator[tuple[str, str]]:
    for key, info in outcome.cache.gang_queue.infos.items():
        for reason, message in messages.by_reason(info.verdict.warnings or ()).items():
            yield f"{key}: {reason} (a warning)", message


def _cluster(outcome: Outcome, most: int) -> Iterator[Part]:
    """Yield each tree after an empty line; without a tree, all nodes."""
    usage, pods = outcome.cache.node_usage, outcome.cache.pods()
    drawn = trees.to_draw(outcome.asked, outcome.cache)
    matter = trees.resources_that_matter(pods)
    for tree in drawn:
        yield Text()
        yield from trees.draw(tree, usage, outcome.refused, matter)
    if not drawn:
        yield Text()
        yield from _nodes(usage, most)


def _gangs(document: dict[str, Any], admitted: Iterable[str], most: int) -> Iterator[Part]:
    empty = filter(_is_without_members, document["gangs"])
    reasons = dict.fromkeys(admitted, ADMITTED)
    reasons |= {_called(each): Reason.WAITING_FOR_MEMBERS.value for each in empty}
    reasons |= {_called(each): Reason.WAITING_FOR_VICTIMS.value for each in document["nominations"]}
    reasons |= {_called(each): each["reason"] for each in document["unschedulable"]}
    rows = [*zip(document["gangs"], _domains(document), strict=True)]
    shown, left = rows, rows[:0]
    if len(rows) > most:
        # What waits comes first: the rest is seen in the bindings, or as it was before.
        rows.sort(key=lambda row: _called(row[0]) not in reasons)
        shown, left = rows[:most], rows[most:]
    table = trees.cell_table(("GANG", "PHASE"), ("MIN", "MEMBERS", "SCHEDULED"))
    table.add_column("DOMAIN", overflow="fold")
    table.add_column("REASON")
    for heading in ("roles", "queue", "workers"):
        if any(heading in gang for gang, _ in shown):
            table.add_column(heading.upper())
    for gang, domain in shown:
        table.add_row(
            Text(_called(gang)),
            Text(gang["phase"], style=COLOURS.get(gang["phase"], "")),
            "-" if gang["minMember"] is None else str(gang["minMember"]),
            *(str(gang[column]) for column in ("members", "scheduled")),
            Text(domain),
            reasons.get(_called(gang), "-"),
            *([_roles(gang)] if any("roles" in each for each, _ in shown) else []),
            *([Text(gang["queue"] or "-")] if "queue" in gang else []),
            *([_workers(gang)] if any("workers" in each for each, _ in shown) else []),
        )
    yield table
    if left:
        phases = Counter(gang["phase"] for gang, _ in left)
        counted = ", ".join(f"{number} {phase}" for phase, number in phases.most_common())
        yield Text(f"and {len(left)} more: {counted} (-o wide)")


def _roles(gang: Mapping[str, Any]) -> Text:
    """Return how many members of each role have a node, of how many that a quorum has."""
    counts = (f"{it['role']} {it['scheduled']}/{it['minMember']}" for it in gang.get("roles", ()))
    return Text(", ".join(counts) or "-")


def _workers(gang: dict[str, Any]) -> str:
    """Return how many workers a gang has, of how many at most; "-" for one that does not say."""
    found = gang.get("workers")
    return f"{found['now']}/{found['max']}" if found else "-"


def _domains(document: dict[str, Any]) -> list[str]:
    """Return the domain of each gang, in short; a node is shown by its name."""
    written = (gang["domain"] for gang in document["gangs"])
    domains = [Domain(each["layer"], tuple(each["path"])) if each else None for each in written]
    names = messages.short_names(filter(None, domains))
    names |= {each: each.path[-1] for each in names if each.layer == NODE_LAYER}
    return [names[each] if each else "-" for each in domains]


def _nodes(usage: NodeUsage, most: int) -> Iterator[Part]:
    """Yield how full the nodes are; of many nodes, all of them together."""
    nodes, free = usage.table(), usage.free()
    shown = [*ALWAYS_SHOWN, *(name for name in nodes.resources if trees.is_extended(name))]
    shown = [name for name in shown if name in nodes.axis]
    columns = [nodes.axis[name] for name in shown]
    offered, used = nodes.allocatable[:, columns], (nodes.allocatable - free)[:, columns]
    rows = [(node.name, used[i], offered[i]) for i, node in enumerate(nodes.nodes)]
    if len(rows) > most:
        rows = [(f"all {len(rows)} nodes", used.sum(axis=0), offered.sum(axis=0))]
    table = trees.cell_table(("NODE",), (trees.heading(name) for name in shown))
    for name, *amounts in rows:
        uses = zip(shown, *(each.tolist() for each in amounts), strict=True)
        table.add_row(Text(name), *(trees.use(*each) for each in uses))
    yield table
