"""How tables for people look, and how amounts are written in them."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from rich.table import Table
from rich.text import Text

from gang_scheduler.model.resources import quantity
from gang_scheduler.report.texts.shortening import shortened

GAP: Final = 3
LEAST_NAME: Final = 12
"""How much of a name is shown at least."""
DROPS: Final[Mapping[str, Sequence[str]]] = {
    "GANG": ("MIN", "WORKERS", "ROLES", "QUEUE", "DOMAIN", "MEMBERS", "SCHEDULED"),
    "POD": ("GANG",),
    "VICTIM": ("GANG", "NODE"),
    "NOMINATED": ("GANG",),
    "ADMITTED": ("QUEUE",),
    "QUEUE": ("LENT", "FAIR SHARE", "BORROWED", "RUNNING", "SHARE", "PENDING"),
    "NODE": ("PODS", "MEMORY", "CPU"),
}
"""Columns that go where a page is too narrow, in this order, by the heading of the first column."""


def table(names: Iterable[str], numbers: Iterable[str]) -> Table:
    """Return a table without lines: columns of names, and then of numbers."""
    made = _empty()
    for name in names:
        made.add_column(name, overflow="fold")
    for name in numbers:
        made.add_column(name, justify="right")
    return made


def _empty() -> Table:
    return Table(box=None, pad_edge=False, padding=(0, GAP, 0, 0), header_style="bold")


@dataclass(frozen=True, slots=True)
class _Column:
    """A column of a table. Numbers are never cut."""

    heading: str
    is_number: bool
    cells: list[Text]

    @property
    def width(self) -> int:
        return max(len(self.heading), *(each.cell_len for each in self.cells), 0)

    def narrowed(self, width: int) -> "_Column":
        """Return the column with its names shortened in their middle."""
        cells = [Text(shortened(each.plain, width), style=each.style) for each in self.cells]
        return _Column(shortened(self.heading, width), self.is_number, cells)


def fitted(whole: Table, width: int) -> Table:
    """Return a table of which no cell is wrapped on a page.

    Columns go by their rank, then names are shortened in their middle.
    """
    columns = [
        _Column(str(each.header), each.justify == "right", [_text(cell) for cell in each.cells])
        for each in whole.columns
    ]
    for heading in DROPS.get(columns[0].heading, ()) if columns else ():
        if _width(columns) <= width:
            break
        columns = [each for each in columns if each.heading != heading]
    shown = _narrowed(columns, width)
    made = _empty()
    for each in shown:
        made.add_column(each.heading, justify="right" if each.is_number else "left", no_wrap=True)
    for row in zip(*(each.cells for each in shown), strict=True):
        made.add_row(*row)
    return made


def _text(cell: object) -> Text:
    return cell if isinstance(cell, Text) else Text(str(cell))


def _width(columns: Sequence[_Column]) -> int:
    return sum(each.width for each in columns) + GAP * (len(columns) - 1)


def _narrowed(columns: list[_Column], width: int) -> list[_Column]:
    """Return the columns, those of names narrow enough for the page, as far as that can be."""
    widths = [each.width for each in columns]
    names = [number for number, each in enumerate(columns) if not each.is_number]
    while names and sum(widths) + GAP * (len(widths) - 1) > width:
        widest = max(names, key=lambda number: widths[number])
        if widths[widest] <= LEAST_NAME:
            break
        widths[widest] -= 1
    return [
        each if each.is_number else each.narrowed(most)
        for each, most in zip(columns, widths, strict=True)
    ]


def is_extended(resource: str) -> bool:
    """Return whether device plugins offer a resource."""
    return "/" in resource


def heading(resource: str) -> str:
    """Return the heading of a column of a resource."""
    return resource if is_extended(resource) else resource.upper()


def use(resource: str, used: int, offered: int) -> str:
    """Return how much is used of how much."""
    return f"{quantity(resource, used)}/{quantity(resource, offered)}"
