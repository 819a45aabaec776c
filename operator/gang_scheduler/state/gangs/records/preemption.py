"""A gang as a preemptor, and as the one that others have preempted."""

from collections.abc import Collection
from dataclasses import dataclass
from typing import Final

from gang_scheduler.state.gangs.records.observed import Observed
from gang_scheduler.state.gangs.records.version import Version

MOST_ROUNDS: Final = 3
"""How many preemptions of a gang are remembered, and may be in ROUNDS_SECONDS."""


@dataclass(frozen=True, slots=True)
class Preempting:
    """A preemption that is carried out: since when, its victims (uids), and for which domain."""

    at: int
    victims: tuple[str, ...] = ()
    domain: str = ""


class Preemptor:
    """The preemptions for a gang: the one `under_way`, and when the last `rounds` of them began.

    One is under way until the gang is bound or the preemption is given up. Times are in seconds
    since the epoch.
    """

    __slots__ = ("_version", "rounds", "under_way")

    def __init__(self, version: Version) -> None:
        self.under_way: Preempting | None = None
        self.rounds: tuple[int, ...] = ()
        self._version = version

    def begin(self, now: int, victims: Collection[str], domain: str) -> None:
        """Note that victims, by their uids, are being evicted for the gang."""
        self.under_way = Preempting(now, tuple(victims), domain)
        self.rounds = (*self.rounds, now)[-MOST_ROUNDS:]
        self._version.changed()

    def end(self) -> bool:
        """Note that none is under way; return whether one was."""
        was_under_way = self.under_way is not None
        if was_under_way:
            self.under_way = None
            self._version.changed()
        return was_under_way


class Preempted:
    """Which gang took members of a gang, until it is whole again; "" where none did.

    `creator` is what creates members again, such as "Job"; "" if nothing does.
    """

    __slots__ = ("_bound_then", "_observed", "by", "creator")

    def __init__(self, observed: Observed) -> None:
        self.by = ""
        self.creator = ""
        self._bound_then: frozenset[str] = frozenset()
        self._observed = observed

    def begin(self, by: str) -> None:
        """Note which gang members are taken for."""
        self.by = by
        members = self._observed.members.values()
        owner = "controller" if any(pod.owner for pod in members) else ""
        self.creator = "Job" if any(pod.job for pod in members) else owner
        self._bound_then = frozenset(pod.uid for pod in self._observed.with_node())

    def end(self) -> None:
        """Note that the gang is whole again."""
        self.by = ""

    def has_recovered(self) -> bool:
        """Return whether the victims are gone, and no member waits in their place."""
        living = self._observed.living
        bound = {pod.uid for pod in living if pod.node}
        is_over = not self._bound_then <= bound and not any(pod.marked for pod in living)
        return is_over and len(bound) == len(living)
