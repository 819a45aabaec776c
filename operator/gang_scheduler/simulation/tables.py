"""The outcome for people: gangs, why some of them wait, and how full the nodes are."""

import io
from collections.abc import Iterable
from typing import Any

from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from gang_scheduler.cluster.room import Room
from gang_scheduler.model import resources

UNBOUNDED = 10_000
"""The width of a page that is no terminal: nothing is wrapped or cut off there."""

ALWAYS_SHOWN = (resources.CPU, resources.MEMORY, resources.PODS)
COLOURS = {
    "Running": "green",
    "Finished": "green",
    "Scheduled": "green",
    "Scheduling": "yellow",
    "PreScheduling": "yellow",
    "Failed": "red",
}
BINARY = ("", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei")


def render(document: dict[str, Any], room: Room, *, terminal: bool) -> str:
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
    for waiting in document["unschedulable"]:
        console.print()
        console.print(f"{waiting['gang']}: {waiting['reason']}")
        console.print(Padding(Text(waiting["message"]), (0, 0, 0, 2), expand=False))
    console.print()
    console.print(_nodes(room))
    return "".join(f"{line.rstrip()}\n" for line in page.getvalue().splitlines())


def _table(names: Iterable[str], numbers: Iterable[str]) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 3, 0, 0), header_style="bold")
    for name in names:
        table.add_column(name, overflow="fold")
    for name in numbers:
        table.add_column(name, justify="right")
    return table


def _gangs(document: dict[str, Any]) -> Table:
    reasons = {each["gang"]: each["reason"] for each in document["unschedulable"]}
    table = _table(("GANG", "PHASE"), ("MIN", "MEMBERS", "SCHEDULED"))
    table.add_column("DOMAIN")
    table.add_column("REASON")
    for gang in document["gangs"]:
        table.add_row(
            Text(gang["gang"]),
            Text(gang["phase"], style=COLOURS.get(gang["phase"], "")),
            *(str(gang[column]) for column in ("minMember", "members", "scheduled")),
            "-",
            reasons.get(gang["gang"], "-"),
        )
    return table


def _nodes(room: Room) -> Table:
    nodes, free = room.table(), room.free()
    shown = [*ALWAYS_SHOWN, *(name for name in nodes.resources if _is_extended(name))]
    shown = [name for name in shown if name in nodes.axis]
    table = _table(("NODE",), (_heading(name) for name in shown))
    for row, node in enumerate(nodes.nodes):
        offered = {name: int(nodes.allocatable[row, nodes.axis[name]]) for name in shown}
        used = {name: offered[name] - int(free[row, nodes.axis[name]]) for name in shown}
        cells = (_use(name, used[name], offered[name]) for name in shown)
        table.add_row(Text(node.name), *cells)
    return table


def _is_extended(name: str) -> bool:
    return "/" in name


def _heading(name: str) -> str:
    return name if _is_extended(name) else name.upper()


def _use(name: str, used: int, offered: int) -> str:
    return f"{_amount(name, used)}/{_amount(name, offered)}"


def _amount(name: str, amount: int) -> str:
    if name == resources.CPU:
        return f"{amount / 1000:g}"
    if name == resources.MEMORY:
        return _bytes(amount)
    return str(amount)


def _bytes(amount: int) -> str:
    """Return bytes with the largest binary unit of which there is at least one."""
    unit = max(0, (abs(amount).bit_length() - 1) // 10)
    return f"{amount / 1024**unit:.4g}{BINARY[unit]}"
