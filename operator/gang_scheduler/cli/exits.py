"""How commands end when they cannot do what they were asked for."""

import enum
import sys
from collections.abc import Iterable
from typing import NoReturn

import click


class Exit(enum.IntEnum):
    """Exit statuses, the same of all commands. 130 is the one of ctrl-C."""

    DONE = 0
    NOT_TRUE = 1
    """What was asked for did not come true."""
    BAD_INPUT = 2
    NOT_FOUND = 3
    NOT_ALLOWED = 4
    UNREACHABLE = 5


def refuse(lines: Iterable[str], status: Exit = Exit.BAD_INPUT) -> NoReturn:
    """End the process, with a line a problem on stderr."""
    for line in lines:
        click.echo(line, err=True)
    sys.exit(status)
