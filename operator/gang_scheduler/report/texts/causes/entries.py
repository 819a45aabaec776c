"""An entry of a table of words: a kind of cause, and what makes its text."""

from collections.abc import Callable
from typing import Any, TypeVar

from gang_scheduler.model.problems import Cause

C = TypeVar("C", bound=Cause)
Text = Callable[[Any], str]


def entry(kind: type[C], text: Callable[[C], str]) -> tuple[type[Cause], Text]:
    """Return an entry, with a text that is made of this kind of cause alone."""
    return kind, text
