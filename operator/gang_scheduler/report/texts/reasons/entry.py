"""An entry of a table of reasons."""

import enum
from dataclasses import dataclass


class Turn(enum.StrEnum):
    """Who can fix it."""

    SUBMITTER = "submitter"
    """The team whose job it is."""
    QUEUE_ADMIN = "queue administrator"
    PLATFORM = "platform"
    """The team that runs nodes, storage and this scheduler."""
    SCHEDULER = "no action needed"
    """It ends by itself, or is no problem."""


@dataclass(frozen=True, slots=True)
class Entry:
    """What a reason means, in sentences, and what to do about it; `do` may have Markdown links."""

    meaning: str
    turn: tuple[Turn, ...]
    do: str = ""


def passing(meaning: str, do: str = "") -> Entry:
    """Return an entry of what passes by itself, or is as it should be."""
    return Entry(meaning, (Turn.SCHEDULER,), do)
