"""How names, amounts and times read."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from gang_scheduler.model.network.topology import Domain
from gang_scheduler.model.nodes import Taint
from gang_scheduler.model.refs import GangKey
from gang_scheduler.model.resources import quantity
from gang_scheduler.report.texts.plurals import counted

MINUTE, HOUR, DAY = 60, 3600, 86_400
OF_ANOTHER_NAMESPACE = "a gang of another namespace"


@dataclass(frozen=True, slots=True)
class Names:
    """How gangs are called in one `namespace`; `hides`: those of others are not named there."""

    namespace: str
    hides: bool = False

    def gang(self, key: GangKey) -> str:
        """Return the name of a gang, or that it is one of another namespace."""
        return OF_ANOTHER_NAMESPACE if self._is_hidden(key.namespace) else str(key)

    def pods(self, keys: Iterable[str]) -> list[str]:
        """Return the names of pods; of those that are hidden only how many there are."""
        listed = list(keys)
        shown = [each for each in listed if not self._is_hidden(each.partition("/")[0])]
        hidden = len(listed) - len(shown)
        return shown + ([f"{counted(hidden, 'pod')} of other namespaces"] if hidden else [])

    def _is_hidden(self, namespace: str) -> bool:
        return self.hides and namespace != self.namespace


def duration(seconds: float) -> str:
    """Return how long something lasts, in its largest unit."""
    whole = max(0, int(seconds))
    if whole < 2 * MINUTE:
        return f"{whole} s"
    if whole < 2 * HOUR:
        return f"{whole // MINUTE} min"
    if whole < 2 * DAY:
        return f"{whole // HOUR} h"
    return f"{whole // DAY} days"


def listed(names: Sequence[str], most: int = 3) -> str:
    """Return the first names, and how many others there are."""
    more = len(names) - most
    return ", ".join(names[:most]) + (f" and {more} more" if more > 0 else "")


def ordinal(number: int) -> str:
    """Return a place, such as 2nd."""
    ending = "th" if number // 10 % 10 == 1 else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return f"{number}{ending}"


def amount(resource: str, number: int) -> str:
    """Return an amount with its resource."""
    return f"{quantity(resource, number)} {resource}"


def domain(found: Domain) -> str:
    """Return LAYER/NAME of a domain."""
    return "/".join((found.layer, *found.path[-1:]))


def taint_text(taint: Taint) -> str:
    """Return a taint as kubectl shows it."""
    value = f"={taint.value}" if taint.value else ""
    return f"{taint.key}{value}:{taint.effect}"


def uncapital(text: str) -> str:
    """Return a sentence as what follows a colon: without a capital, unless a kind begins it."""
    first = text.partition(" ")[0]
    return text if first[1:] != first[1:].lower() else text[:1].lower() + text[1:]


def with_end(text: str) -> str:
    """Return a sentence with its end."""
    return text if text.endswith((".", "?")) else f"{text}."


def between(found: Sequence[str]) -> str:
    """Return names as a list that ends in and."""
    *others, last = found
    return f"{', '.join(others)} and {last}" if others else last
