"""Tables of many lines, as wide as they may be: plain text, since lines may be thousands."""

import os
import shutil
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final

PIPED: Final = 100
"""How wide a text is wrapped that no terminal shows."""
UNCUT: Final = 0
"""The width of a page without a limit: programs read what no terminal shows."""
GAP: Final = "  "
LEAST: Final = 24
"""How much of the last column is shown at least."""
CUT: Final = "..."
NOTHING: Final = "-"

Paint = Callable[[int, str], str]
"""Returns a cell in colour, by the number of its column."""


def _plain(_: int, text: str) -> str:
    return text


@dataclass(frozen=True, slots=True)
class Page:
    """How a table looks. `width` 0 is without a limit: the last column is not cut then."""

    width: int = UNCUT
    headers: bool = True
    paint: Paint = field(default=_plain)


def page_width(*, terminal: bool, piped: int = UNCUT) -> int:
    """Return how wide a page may be: as the terminal, or COLUMNS says; without both, `piped`."""
    if terminal:
        return shutil.get_terminal_size((PIPED, 24)).columns
    given = os.environ.get("COLUMNS", "")
    return int(given) if given.isdecimal() and int(given) else piped


def lines(
    headings: Sequence[str], rows: Sequence[Sequence[str]], page: Page, right: Sequence[str] = ()
) -> Iterator[str]:
    """Yield the lines of a table; columns `right` are of numbers."""
    shown = [headings, *rows] if page.headers else [*rows]
    if not shown:
        return
    widths = [max(map(len, column)) for column in zip(*shown, strict=True)]
    numbers = [heading in right for heading in headings]
    others = sum(widths[:-1]) + len(GAP) * (len(widths) - 1)
    most = max(page.width - others, LEAST) if page.width else widths[-1]
    for place, row in enumerate(shown):
        paint = _plain if page.headers and place == 0 else page.paint
        yield _line(row, widths, numbers, most, paint)


def without_silent(
    headings: Sequence[str], rows: Sequence[Sequence[str]], if_said: Sequence[str]
) -> tuple[list[str], list[list[str]]]:
    """Return a table without those columns of `if_said` that are "-" in every row."""
    kept = [
        number
        for number, heading in enumerate(headings)
        if heading not in if_said or any(row[number] != NOTHING for row in rows)
    ]
    return (
        [headings[number] for number in kept],
        [[row[number] for number in kept] for row in rows],
    )


def cut(text: str, most: int) -> str:
    """Return a text that is no longer than `most`: whole words of it, if there is more than one."""
    if len(text) <= most:
        return text
    part = text[: most - len(CUT)]
    words, space, _ = part.rpartition(" ")
    return f"{words if space and len(words) * 2 > len(part) else part}{CUT}"


def _line(
    row: Sequence[str], widths: Sequence[int], numbers: Sequence[bool], most: int, paint: Paint
) -> str:
    *cells, last = row
    padded = [
        " " * (width - len(cell)) + paint(number, cell)
        if is_number
        else paint(number, cell) + " " * (width - len(cell))
        for number, (cell, width, is_number) in enumerate(zip(cells, widths, numbers, strict=False))
    ]
    shown = paint(len(cells), cut(last, most))
    left = " " * (widths[-1] - len(last)) if numbers[-1] else ""
    return GAP.join((*padded, left + shown)).rstrip()
