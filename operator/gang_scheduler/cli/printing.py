"""How answers are printed: pages of tables, and documents."""

import json
import sys
import time
from collections.abc import Callable
from typing import Any, Final, NamedTuple

import click
import yaml

from gang_scheduler.cli.reading import cluster_sources
from gang_scheduler.cli.reading.options import Asked
from gang_scheduler.inspection.listing import table_layout
from gang_scheduler.inspection.listing.table_layout import Page, Paint

WATCH_SECONDS: Final = 2.0
CHANGED: Final = "* "
UNCHANGED: Final = "  "
"""The marks before lines that are new since the last text, and before all other lines."""
LARGEST_PART: Final = 0.25
"""At most this part of the time is spent on reading the cluster again."""


def width(*, watched: bool = False, piped: int = table_layout.PIPED) -> int:
    """Return the width of a text. A watched text leaves room for the marks before its lines."""
    whole = table_layout.page_width(terminal=sys.stdout.isatty(), piped=piped)
    return max(whole - len(CHANGED), 1) if watched and whole else whole


def page(
    asked: Asked, paint: Paint | None = None, *, wide: bool = False, watched: bool = False
) -> Page:
    """Return the layout of a table."""
    uncut = table_layout.UNCUT
    columns = uncut if wide else width(watched=watched, piped=uncut)
    if paint is None or not asked.colored:
        return Page(columns, headers=not asked.no_headers)
    return Page(columns, headers=not asked.no_headers, paint=paint)


def show(asked: Asked, text: str) -> None:
    """Print a text to stdout, with colours only if they are wanted."""
    click.echo(text, nl=False, color=asked.colored)


class Printed(NamedTuple):
    """A text to print, and the same without times, to notice changes.

    `said` differs only if more than times has changed. `lines` has one entry for each line of the
    text; "" for a line that is never marked.
    """

    text: str
    said: object
    lines: tuple[str, ...] = ()


def marked(now: Printed, before: Printed | None) -> str:
    """Return the text with marks before the lines that are new since the previous text.

    The first text and documents get no marks.
    """
    if not now.lines:
        return now.text
    known = {*before.lines} if before is not None else {*now.lines}
    marks = (CHANGED if each and each not in known else UNCHANGED for each in now.lines)
    lines = zip(marks, now.text.splitlines(), strict=True)
    return "".join(f"{mark}{line}".rstrip() + "\n" for mark, line in lines)


def repeat(asked: Asked, printed: Callable[[], Printed]) -> None:
    """Print the text again whenever it has changed, until ctrl-C ends the process."""
    before: Printed | None = None
    with cluster_sources.interruptible():
        while True:
            began = time.monotonic()
            now = printed()
            if before is None or now.said != before.said:
                if asked.colored:
                    click.clear()
                show(asked, f"{marked(now, before)}\n")
                before = now
            time.sleep(max(WATCH_SECONDS, (time.monotonic() - began) / LARGEST_PART))


def documented(document: dict[str, Any], output: str) -> str:
    """Return a document as JSON or as YAML."""
    if output == "json":
        return json.dumps(document, indent=2, ensure_ascii=False) + "\n"
    return yaml.safe_dump(document, sort_keys=False, allow_unicode=True)
