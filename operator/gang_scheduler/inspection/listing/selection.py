"""Which gangs are asked for, and in which order they are listed."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from gang_scheduler.inspection.listing.labels import Matches
from gang_scheduler.inspection.listing.rows import Row
from gang_scheduler.inspection.listing.vocabulary import USER, WAITING

_NEVER: Final = 2**62


def _anything(_: Mapping[str, str]) -> bool:
    return True


ORDERS: Final[Mapping[str, Callable[[Row], tuple[Any, ...]]]] = {
    "name": lambda row: (row.name,),
    "priority": lambda row: (-row.priority,),
    "time": lambda row: (row.since,),
    "gpu": lambda row: (-row.gpus,),
    "members": lambda row: (-row.members,),
    "queue": lambda row: (row.queue,),
    "start": lambda row: (_NEVER if row.start is None else row.start,),
}
"""What gangs may be sorted by; those that are equal stay in the order of turns."""


@dataclass(frozen=True, slots=True)
class Selection:
    """What is asked for; empty: everything. Words count in any case."""

    states: frozenset[str] = frozenset()
    queues: frozenset[str] = frozenset()
    reasons: frozenset[str] = frozenset()
    selector: str = ""
    matches: Matches = _anything
    user: str = ""
    only_waiting: bool = False
    order: str = ""

    @property
    def is_of_all(self) -> bool:
        """Whether gangs of every state, queue, reason, user and with any labels are asked for."""
        asked = (self.states, self.queues, self.reasons, self.user, self.selector)
        return not (any(asked) or self.only_waiting)


def selected(rows: Iterable[Row], selection: Selection) -> list[Row]:
    """Return the rows that are asked for."""
    found = [row for row in rows if _is_asked_for(row, selection)]
    return sorted(found, key=ORDERS[selection.order]) if selection.order else found


def _is_asked_for(row: Row, selection: Selection) -> bool:
    return (
        (not selection.only_waiting or row.state == WAITING)
        and _is_one(row.state, selection.states)
        and _is_one(row.queue, selection.queues)
        and _is_one(row.wait.reason, selection.reasons)
        and selection.matches(row.labels)
        and (not selection.user or row.labels.get(USER) == selection.user)
    )


def _is_one(word: str, of: frozenset[str]) -> bool:
    return not of or word.lower() in of


def words(given: Sequence[str]) -> frozenset[str]:
    """Return what was given, several times or with commas, in lower case."""
    return frozenset(
        each.strip().lower() for part in given for each in part.split(",") if each.strip()
    )
