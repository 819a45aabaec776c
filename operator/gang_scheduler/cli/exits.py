"""Exit statuses, and error messages of commands that cannot finish."""

import enum
import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import Final, NoReturn

import click

from gang_scheduler.model import similar_names

MOST_NAMES: Final = 10
"""How many known names are listed if none resembles the given one."""


class Exit(enum.IntEnum):
    """Exit statuses, the same for all commands."""

    DONE = 0
    NOT_TRUE = 1
    """The condition that the user waited for was not met."""
    BAD_INPUT = 2
    NOT_FOUND = 3
    NOT_ALLOWED = 4
    UNREACHABLE = 5
    INTERRUPTED = 130


MEANINGS: Final[Mapping[Exit, str]] = {
    Exit.DONE: "done, whatever the answer is",
    Exit.NOT_TRUE: "the condition was not met",
    Exit.BAD_INPUT: "bad input: an option, a file, the kubeconfig",
    Exit.NOT_FOUND: "there is no such object",
    Exit.NOT_ALLOWED: "not allowed: verb, resource and namespace are named",
    Exit.UNREACHABLE: "the API server cannot be reached",
    Exit.INTERRUPTED: "ctrl-C",
}


def similar_names_hint(name: str, known: Sequence[str]) -> str:
    """Return a hint with similar names for an unknown name, or with known names if none is similar.

    Upper and lower case count as equal.
    """
    lower = {each.lower(): each for each in known}
    near = [lower[each] for each in similar_names.close_to(name.lower(), lower, most=3)]
    if near or not known:
        return f"; did you mean {' or '.join(near)}?" if near else ""
    more = f" and {len(known) - MOST_NAMES} more" if len(known) > MOST_NAMES else ""
    verb = "are" if len(known) > 1 else "is"
    return f"; there {verb} {', '.join(known[:MOST_NAMES])}{more}"


def refuse(lines: Iterable[str], status: Exit = Exit.BAD_INPUT) -> NoReturn:
    """End the process, with one line on stderr for each problem."""
    for line in lines:
        click.echo(line, err=True)
    sys.exit(status)
