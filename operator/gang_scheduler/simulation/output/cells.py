"""How tables for people look, and how amounts are written in them."""

from collections.abc import Iterable

from rich.table import Table

from gang_scheduler.model import resources

BINARY = ("", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei")


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
    return f"{amount(resource, used)}/{amount(resource, offered)}"


def amount(resource: str, number: int) -> str:
    """Return how much of a resource there is, in few digits."""
    if resource == resources.CPU:
        return f"{number / 1000:.12g}"
    if resource == resources.MEMORY:
        return _bytes(number)
    return str(number)


def _bytes(amount: int) -> str:
    """Return bytes in the largest binary unit that gives at least 1."""
    unit = max(0, (abs(amount).bit_length() - 1) // 10)
    return f"{amount / 1024**unit:.4g}{BINARY[unit]}"
