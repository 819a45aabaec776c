"""How answers are printed: pages of tables, and documents."""

import json
import sys
import time
from collections.abc import Callable
from typing import Any, Final, NamedTuple

import click
import yaml

from gang_scheduler.cli import sources
from gang_scheduler.cli.sources import Asked
from gang_scheduler.inspection.listing import plain_table
from gang_scheduler.inspection.listing.plain_table import Page, Paint

WATCH_SECONDS: Final = 2.0
LARGEST_PART: Final = 0.25
"""No more than this part of the time is spent on reading the cluster again and again."""


def page(asked: Asked, paint: Paint | None = None, *, wide: bool = False) -> Page:
    """Return how a table is to look."""
    width = 0 if wide else plain_table.page_width(terminal=sys.stdout.isatty())
    if paint is None or not asked.colored:
        return Page(width, headers=not asked.no_headers)
    return Page(width, headers=not asked.no_headers, paint=paint)


def show(asked: Asked, text: str) -> None:
    """Print a text to stdout, coloured or not as is asked for."""
    click.echo(text, nl=False, color=asked.colored)


class Printed(NamedTuple):
    """A text, and what it says beside the time at which that was read."""

    text: str
    said: object


def repeat(asked: Asked, printed: Callable[[], Printed]) -> None:
    """Print anew whenever something has changed, until ctrl-C ends the process."""
    before: object = None
    with sources.interruptible():
        while True:
            began = time.monotonic()
            now = printed()
            if now.said != before:
                if asked.colored:
                    click.clear()
                show(asked, f"{now.text}\n")
                before = now.said
            time.sleep(max(WATCH_SECONDS, (time.monotonic() - began) / LARGEST_PART))


def documented(document: dict[str, Any], output: str) -> str:
    """Return a document as JSON or as YAML."""
    if output == "json":
        return json.dumps(document, indent=2, ensure_ascii=False) + "\n"
    return yaml.safe_dump(document, sort_keys=False, allow_unicode=True)
