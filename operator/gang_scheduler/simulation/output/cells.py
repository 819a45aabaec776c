"""How tables for people look, and how amounts are written in them."""

from collections.abc import Iterable

from rich.table import Table

from gang_scheduler.model.resources import quantity


def table(names: Iterable[str], numbers: Iterable[str]) -> Table:
    """Return a table without lines: columns of names, and then of numbers."""
    made = Table(box=None, pad_edge=False, padding=(0, 3, 0, 0), header_style="bold")
    for name in names:
        made.add_column(name, overflow="fold")
    for name in numbers:
        made.add_column(name, justify="right")
    return made


def is_extended(resource: str) -> bool:
    """Return whether device plugins offer a resource."""
    return "/" in resource


def heading(resource: str) -> str:
    """Return the heading of a column of a resource."""
    return resource if is_extended(resource) else resource.upper()


def use(resource: str, used: int, offered: int) -> str:
    """Return how much is used of how much."""
    return f"{quantity(resource, used)}/{quantity(resource, offered)}"
