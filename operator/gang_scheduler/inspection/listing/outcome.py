"""The outcome of `simulate` for people: gangs, why some of them wait, and how full nodes are.

Gangs and queues are in the tables of `list` and `queues`.
"""

import itertools
import sys
import textwrap
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from gang_scheduler.api.pod_group import Phase
from gang_scheduler.inspection.cluster import Cluster
from gang_scheduler.inspection.listing import gangs, queues, table_layout, trees
from gang_scheduler.inspection.listing.decisions_now import Decisions
from gang_scheduler.inspection.listing.nodes import is_of_device_plugin
from gang_scheduler.inspection.listing.table_layout import UNCUT, Page, Paint
from gang_scheduler.inspection.listing.waits import Wait
from gang_scheduler.model import resources
from gang_scheduler.model.causes.gangs import MembersMissing
from gang_scheduler.model.gangs import RoleCount
from gang_scheduler.model.reasons import Reason
from gang_scheduler.model.refs import GangKey
from gang_scheduler.model.wording import counted
from gang_scheduler.report import missing_members
from gang_scheduler.report.missing_members import NearNames
from gang_scheduler.report.words import messages
from gang_scheduler.report.words.text import text_of
from gang_scheduler.simulation import output_document
from gang_scheduler.simulation.run import Outcome
from gang_scheduler.state.nodes import NodeUsage

MOST_LINES: Final = 40
"""The most lines of one kind, unless the page is wide."""
NODES_SHOWN: Final = 4
BINDINGS: Final = {"POD": "pod", "NODE": "node", "GANG": "gang"}
VICTIMS: Final = {"VICTIM": "pod", "NODE": "node", "GANG": "gang", "PREEMPTOR": "preemptor"}
NOMINEES: Final = {"NOMINATED": "pod", "NODE": "node", "GANG": "gang"}
"""The columns of the tables of pods, and the fields of the document that they show."""
ALWAYS_SHOWN: Final = (resources.CPU, resources.MEMORY, resources.PODS)
DROPS: Final = {
    "POD": ("GANG",),
    "VICTIM": ("GANG", "NODE"),
    "NOMINATED": ("GANG",),
    "ADMITTED": ("QUEUE",),
    "NODE": ("PODS", "MEMORY", "CPU"),
}
"""Columns that are dropped on a narrow page, in this order, by the heading of the first column."""
PLAIN: Final = Page().paint

Json = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Look:
    """The width and colour of the page. Long lists are summed up, unless it is `wide`."""

    width: int = UNCUT
    colored: bool = False
    wide: bool = False

    @property
    def most(self) -> int:
        """How many lines of one kind are shown."""
        return sys.maxsize if self.wide else MOST_LINES

    def page(self, paint: Paint = PLAIN) -> Page:
        """Return the look of one table; `paint` colours its cells."""
        return Page(UNCUT if self.wide else self.width, paint=paint if self.colored else PLAIN)


def render(document: Json, outcome: Outcome, cluster: Cluster, look: Look) -> str:
    """Return the tables as text. `cluster` has the cache of the outcome."""
    return "".join(f"{line.rstrip()}\n" for line in _lines(document, outcome, cluster, look))


def _lines(document: Json, outcome: Outcome, cluster: Cluster, look: Look) -> Iterator[str]:
    decided = _decided(outcome)
    yield from _gangs(outcome, decided, cluster, look)
    yield from _bindings(document["bindings"], look)
    yield from _pods(VICTIMS, document["victims"], look)
    yield from _pods(NOMINEES, document["nominations"], look)
    yield from _admissions(document.get("admissions", ()), look)
    said = [*_waiting(document, outcome), *_warnings(outcome)]
    for heading, message in said[: look.most]:
        yield from ("", heading)
        yield from _indented(message, look.page().width)
    if len(said) > look.most:
        yield from ("", f"and {len(said) - look.most} more messages (-o wide)")
    yield from _queues(decided, cluster, look)
    yield from _cluster(outcome, look)


def _indented(message: str, width: int) -> list[str]:
    if not width:
        return [f"  {message}"]
    whole = textwrap.wrap(message, max(width - 2, 1), break_on_hyphens=False)
    return [f"  {line}" for line in whole]


def _decided(outcome: Outcome) -> Decisions:
    """Return the last decisions on waiting gangs, as lists need them."""
    promised = ((each.gangs, each.start) for each in outcome.reservations)
    starts = {gang.key: start for gangs, start in promised if start is not None for gang in gangs}
    return Decisions(
        refused={each.gang.key: each for each in outcome.refused},
        starts=starts,
        order=tuple(each.gang.key for each in outcome.refused),
        figures=outcome.queues,
    )


def _gangs(outcome: Outcome, decided: Decisions, cluster: Cluster, look: Look) -> Iterator[str]:
    rows = gangs.rows_of(outcome.cache.described_gangs(), cluster, decided)
    waits = dict(_waits(outcome, decided))
    rows = [replace(row, wait=_in_short(waits.get(row.key, row.wait))) for row in rows]
    shown, left = rows[: look.most], rows[look.most :]
    page = look.page(gangs.painted_gangs)
    yield from gangs.gang_table(shown, cluster, page, wide=look.wide, domains=True)
    if left:
        states = Counter(row.state for row in left)
        words = ", ".join(f"{number} {state}" for state, number in states.most_common())
        yield f"and {len(left)} more: {words} (-o wide)"


def _waits(outcome: Outcome, decided: Decisions) -> Iterator[tuple[GangKey, Wait]]:
    """Yield the waiting gangs that the last decisions leave out, and why they wait.

    Either their members are nominated and victims must leave first, or all members belong to other
    schedulers.
    """
    for key in {key for key, _ in outcome.nominated}:
        refused = decided.refused.get(key)
        if refused is None or refused.left_over:
            made = (each for each in outcome.preemptions if key in {g.key for g in each.gangs})
            number = sum(len(each.victims) for each in made)
            must = f"{counted(number, 'pod')} must leave"
            yield key, Wait(Reason.WAITING_FOR_VICTIMS.value, few_words=must)
    for info in output_document.of_others(outcome.cache):
        yield info.key, Wait(Reason.WAITING_FOR_MEMBERS.value)


def _in_short(wait: Wait) -> Wait:
    """Return why a gang waits without the full message, which stands below the table."""
    return wait._replace(message=wait.few_words)


def _bindings(rows: Sequence[Json], look: Look) -> Iterator[str]:
    """Yield the node of each pod; if there are many pods, the nodes of each gang with numbers."""
    if len(rows) <= look.most:
        yield from _pods(BINDINGS, rows, look)
        return
    by_gang: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for row in rows:
        by_gang[_called(row)][row["node"]] += 1
    shown = itertools.islice(by_gang.items(), look.most)
    cells = [[gang, _on_nodes(nodes)] for gang, nodes in shown]
    yield ""
    yield from table_layout.table_lines(("BOUND", "PODS"), cells, look.page())
    if len(by_gang) > look.most:
        pods = sum(map(Counter.total, itertools.islice(by_gang.values(), look.most, None)))
        yield f"and {pods} pods of {len(by_gang) - look.most} more gangs (-o wide)"


def _admissions(rows: Sequence[Json], look: Look) -> Iterator[str]:
    """Yield which suspended workloads may start, and on which nodes room is kept for their pods."""
    numbers = (Counter({each["node"]: each["pods"] for each in row["nodes"]}) for row in rows)
    cells = [
        [row["object"], row["queue"] or table_layout.NOTHING, _on_nodes(nodes)]
        for row, nodes in zip(rows, numbers, strict=True)
    ]
    yield from _first(("ADMITTED", "QUEUE", "PODS"), cells, look)


def _on_nodes(nodes: Counter[str]) -> str:
    """Return the nodes with their numbers of pods, largest number first."""
    named = [f"{name} ({number})" for name, number in nodes.most_common(NODES_SHOWN)]
    more = ["..."] if len(nodes) > NODES_SHOWN else []
    pods, number = nodes.total(), len(nodes)
    on = f"{counted(pods, 'pod')} on {counted(number, 'node')}"
    return f"{on}: {', '.join([*named, *more])}"


def _pods(columns: Mapping[str, str], rows: Sequence[Json], look: Look) -> Iterator[str]:
    """Yield the first rows of a list of pods."""
    named = ({**row, "gang": _called(row)} for row in rows)
    cells = [[row[field] or table_layout.NOTHING for field in columns.values()] for row in named]
    yield from _first(tuple(columns), cells, look)


def _first(headings: Sequence[str], cells: Sequence[Sequence[str]], look: Look) -> Iterator[str]:
    """Yield an empty line and the first lines of a table; nothing for an empty table."""
    if not cells:
        return
    yield ""
    drops = DROPS[headings[0]]
    yield from table_layout.table_lines(headings, cells[: look.most], look.page(), drops=drops)
    if len(cells) > look.most:
        yield f"and {len(cells) - look.most} more (-o wide)"


def _waiting(document: Json, outcome: Outcome) -> Iterator[tuple[str, str]]:
    listed = set()
    near = NearNames(outcome.cache.gang_queue.infos.values())
    rows = [*zip(document["gangs"], outcome.cache.described_gangs(), strict=True)]
    keys = {_called(row): info.key for row, info in rows}
    for each in document["unschedulable"]:
        listed.add(_called(each))
        other = None
        if each["reason"] == Reason.POD_GROUP_NOT_FOUND.value:
            other = near.elsewhere(keys[_called(each)])
        said = f". {missing_members.text_of_other(other)}" if other is not None else ""
        yield f"{_called(each)}: {each['reason']}", f"{each['message']}{said}"
    for each, info in rows:
        if not _is_without_members(each) or _called(each) in listed:
            continue
        roles = [RoleCount(it["role"], 0, it["minMember"]) for it in each.get("roles", ())]
        missing = tuple(it for it in roles if it.needed)
        message = text_of(MembersMissing(0, each["minMember"], missing))
        meant = missing_members.text_of(near.members_meant_for(info.key))
        if not meant and (other := near.elsewhere(info.key)) is not None:
            meant = missing_members.text_of_pods_elsewhere(other)
        said = f"{message}; {meant}" if meant else message
        yield f"{_called(each)}: {Reason.WAITING_FOR_MEMBERS.value}", said


def _called(row: Json) -> str:
    """Return the name of a row's gang, with its source if several gangs have that name."""
    name = row["gang"] or ""
    return f"{name} ({row['source']})" if "source" in row else name


def _is_without_members(gang: Json) -> bool:
    """Return whether a gang never had a pod."""
    return gang["phase"] == Phase.PENDING.value and not gang["members"]


def _warnings(outcome: Outcome) -> Iterator[tuple[str, str]]:
    for key, info in outcome.cache.gang_queue.infos.items():
        for reason, message in messages.by_reason(info.verdict.warnings or ()).items():
            yield f"{key}: {reason} (a warning)", message


def _queues(decided: Decisions, cluster: Cluster, look: Look) -> Iterator[str]:
    """Yield an empty line and the tree of queues; nothing without queues."""
    found = queues.lines_of_queues(cluster, decided)
    if not found:
        return
    page = look.page(queues.painted_queues)
    yield ""
    yield from queues.queue_table(found[: look.most], page, full=True)
    left = len(found) - look.most
    if left > 0:
        yield f"and {counted(left, 'more queue')} (-o wide)"
    yield from queues.LEGEND


def _cluster(outcome: Outcome, look: Look) -> Iterator[str]:
    """Yield an empty line and the table of each tree; without a tree, the table of all nodes."""
    usage, pods = outcome.cache.node_usage, outcome.cache.pods()
    drawn = trees.to_draw(outcome.asked, outcome.cache)
    matter = trees.resources_that_matter(pods)
    page = look.page(trees.painted_offers)
    for tree in drawn:
        yield ""
        yield from trees.draw(tree, usage, outcome.refused, matter, page)
    if not drawn:
        yield ""
        yield from _nodes(usage, look)


def _nodes(usage: NodeUsage, look: Look) -> Iterator[str]:
    """Yield how full the nodes are; many nodes are summed up."""
    nodes, free = usage.table(), usage.free()
    shown = [*ALWAYS_SHOWN, *(name for name in nodes.resources if is_of_device_plugin(name))]
    shown = [name for name in shown if name in nodes.axis]
    columns = [nodes.axis[name] for name in shown]
    offered, used = nodes.allocatable[:, columns], (nodes.allocatable - free)[:, columns]
    rows = [(node.name, used[i], offered[i]) for i, node in enumerate(nodes.nodes)]
    if len(rows) > look.most:
        rows = [(f"all {len(rows)} nodes", used.sum(axis=0), offered.sum(axis=0))]
    cells = [
        [
            name,
            *(
                trees.use(*each)
                for each in zip(shown, *(amount.tolist() for amount in amounts), strict=True)
            ),
        ]
        for name, *amounts in rows
    ]
    numbers = [trees.heading(name) for name in shown]
    drops = DROPS["NODE"]
    yield from table_layout.table_lines(("NODE", *numbers), cells, look.page(), numbers, drops)
