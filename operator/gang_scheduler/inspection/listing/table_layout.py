"""Tables in plain text that fit the page. They may have thousands of lines."""

import os
import shutil
import textwrap
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Final

from gang_scheduler.report.words.text import CUT, shortened

# Ages and times in short, for columns.

MINUTE: Final = 60
HOUR: Final = 60 * MINUTE
DAY: Final = 24 * HOUR


def age(seconds: float) -> str:
    """Return a duration in short: `42s`, `42m`, `3h12m`, `5d4h`."""
    passed = max(0, int(seconds))
    if passed < MINUTE:
        return f"{passed}s"
    if passed < HOUR:
        return f"{passed // MINUTE}m"
    if passed < DAY:
        return _two(passed // HOUR, "h", passed % HOUR // MINUTE, "m")
    return _two(passed // DAY, "d", passed % DAY // HOUR, "h")


def moment(seconds: int, now: int) -> str:
    """Return a time of day in UTC, with the date if it is not today.

    The year is left out if it is the current one.
    """
    at, today = (datetime.fromtimestamp(each, UTC) for each in (seconds, now))
    if at.date() == today.date():
        return f"{at:%H:%M}"
    return f"{at:%m-%d %H:%M}" if at.year == today.year else f"{at:%Y-%m-%d %H:%M}"


def _two(large: int, of_large: str, small: int, of_small: str) -> str:
    return f"{large}{of_large}" + (f"{small}{of_small}" if small else "")


PIPED: Final = 100
"""The width of text that is not printed to a terminal."""
UNCUT: Final = 0
"""The width of a page without a limit, for programs."""
GAP: Final = "  "
LEAST: Final = 32
"""The least width of the last column. Other columns make room for it."""
LEAST_NAME: Final = 12
"""The least width of any other column."""
NOTHING: Final = "-"

Paint = Callable[[int, str], str]
"""A function that returns a cell in colour, from the number of its column and its text."""


def _plain(_: int, text: str) -> str:
    return text


@dataclass(frozen=True, slots=True)
class Page:
    """The look of a table. `width` 0: no limit, and the last column is not cut."""

    width: int = UNCUT
    headers: bool = True
    paint: Paint = field(default=_plain)


def page_width(*, terminal: bool, piped: int = UNCUT) -> int:
    """Return the width of the terminal, else COLUMNS, else `piped`."""
    if terminal:
        return shutil.get_terminal_size((PIPED, 24)).columns
    given = os.environ.get("COLUMNS", "")
    return int(given) if given.isdecimal() and int(given) else piped


def sentence_lines(sentence: str, page: Page) -> list[str]:
    """Return a sentence in lines that are no wider than the page."""
    if not page.width:
        return [sentence]
    return textwrap.wrap(sentence, page.width, break_long_words=False, break_on_hyphens=False)


def table_lines(
    headings: Sequence[str],
    rows: Sequence[Sequence[str]],
    page: Page,
    right: Sequence[str] = (),
    drops: Sequence[str] = (),
) -> Iterator[str]:
    """Yield the lines of a table; the columns in `right` are aligned to the right.

    If the page is too narrow, the columns in `drops` are dropped first, in this order. Then names
    are shortened in their middle. A line is longer than the page only if even that is not enough.
    """
    shown = [headings, *rows] if page.headers else [*rows]
    if not shown:
        return
    widths = [max(map(len, column)) for column in zip(*shown, strict=True)]
    kept = _kept(headings, widths, page.width, drops)
    numbers = [headings[column] in right for column in kept]
    widths = _narrowed([widths[column] for column in kept], numbers, page.width)
    most = max(page.width - _beside_last(widths), LEAST) if page.width else widths[-1]
    for place, row in enumerate(shown):
        paint = _plain if page.headers and place == 0 else page.paint
        yield _line([(column, row[column]) for column in kept], widths, numbers, most, paint)


def _kept(
    headings: Sequence[str], widths: Sequence[int], width: int, drops: Sequence[str]
) -> list[int]:
    """Return the columns that a page has room for."""
    kept = [*range(len(headings))]
    for heading in drops:
        if not width or _least([widths[column] for column in kept]) <= width:
            break
        kept = [column for column in kept if headings[column] != heading]
    return kept


def _narrowed(widths: list[int], numbers: Sequence[bool], width: int) -> list[int]:
    """Return the widths of columns, after the columns of text are narrowed to fit the page."""
    names = [column for column, number in enumerate(numbers[:-1]) if not number]
    while width and names and _least(widths) > width:
        widest = max(names, key=lambda column: widths[column])
        if widths[widest] <= LEAST_NAME:
            break
        widths[widest] -= 1
    return widths


def _least(widths: Sequence[int]) -> int:
    """Return the width of a table in which the last column has its least width."""
    return _beside_last(widths) + min(widths[-1], LEAST)


def _beside_last(widths: Sequence[int]) -> int:
    return sum(widths[:-1]) + len(GAP) * (len(widths) - 1)


def without_silent(
    headings: Sequence[str], rows: Sequence[Sequence[str]], if_said: Sequence[str]
) -> tuple[list[str], list[list[str]]]:
    """Return a table without the columns in `if_said` that have "-" in every row."""
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
    """Return a text of at most `most` characters, cut between words if possible."""
    if len(text) <= most:
        return text
    part = text[: most - len(CUT)]
    words, space, _ = part.rpartition(" ")
    return f"{words if space and len(words) * 2 > len(part) else part}{CUT}"


def _line(
    row: Sequence[tuple[int, str]],
    widths: Sequence[int],
    numbers: Sequence[bool],
    most: int,
    paint: Paint,
) -> str:
    *cells, (number_of_last, last) = row
    padded = []
    for (column, text), width, is_number in zip(cells, widths, numbers, strict=False):
        cell = shortened(text, width)
        space, shown = " " * (width - len(cell)), paint(column, cell)
        padded.append(space + shown if is_number else shown + space)
    shown = paint(number_of_last, cut(last, most))
    left = " " * (min(widths[-1], most) - len(last)) if numbers[-1] else ""
    return GAP.join((*padded, left + shown)).rstrip()


# The share by which queues are compared, with enough digits to tell queues apart.

DIGITS: Final = 3
INFINITE: Final = "infinite"


def short_share(share: str) -> str:
    """Return a queue's share as a number of three digits, for a column; "infinite" stays."""
    return share if share == INFINITE else f"{round(float(share), DIGITS):g}"
