"""A gang as a preemptor, and as the one that others have preempted."""

from collections.abc import Collection
from dataclasses import dataclass
from typing import Final

from gang_scheduler.model.causes.gangs import SavesAwaited
from gang_scheduler.model.plan import Refused
from gang_scheduler.model.reasons import Reason
from gang_scheduler.state.gangs.observed import Observed, Version

MOST_ROUNDS: Final = 3
"""How many preemptions of a gang are remembered, and may be in ROUNDS_SECONDS."""


HOLD_SECONDS: Final = 60
"""How long a gang keeps its nominated room while it lacks members: they may be created anew."""


@dataclass(frozen=True, slots=True)
class Preempting:
    """A preemption that is carried out: since when, its victims (uids), and for which domain."""

    at: int
    victims: tuple[str, ...] = ()
    domain: str = ""


class Preemptor:
    """The preemptions for a gang: the one `under_way`, and when the last `rounds` of them began.

    One is under way until the gang is bound or the preemption is given up. `saves_awaited`: before
    that, gangs save their work that are to be evicted. `held_until`: when nominated room is given
    up if the gang, or its group, is still incomplete by then. Times are in seconds since the epoch.
    """

    __slots__ = ("_refusal", "_version", "held_until", "rounds", "saves_awaited", "under_way")

    def __init__(self, version: Version) -> None:
        self.under_way: Preempting | None = None
        self.rounds: tuple[int, ...] = ()
        self.saves_awaited: SavesAwaited | None = None
        self.held_until: int | None = None
        self._refusal: Refused | None = None
        self._version = version

    def begin(self, now: int, victims: Collection[str], domain: str) -> None:
        """Note that victims, by their uids, are being evicted for the gang."""
        self.under_way = Preempting(now, tuple(victims), domain)
        self.rounds = (*self.rounds, now)[-MOST_ROUNDS:]
        self.held_until = None
        self._version.changed()

    def end(self) -> bool:
        """Note that none is under way; return whether one was."""
        self.saves_awaited = self._refusal = None
        was_under_way = self.under_way is not None
        if was_under_way:
            self.under_way = None
            self._version.changed()
        return was_under_way

    def await_members(self, now: int) -> None:
        """Note that nominated room waits for members. The first time begins HOLD_SECONDS."""
        if self.held_until is None:
            self.held_until = now + HOLD_SECONDS

    def await_none(self) -> None:
        """Note that no nominated room waits for members."""
        self.held_until = None

    def await_saves(self, awaited: SavesAwaited | None) -> None:
        """Note that gangs save their work before they are evicted; None: no longer."""
        self.saves_awaited = awaited

    def shown(self, refusal: Refused) -> Refused:
        """Return why the gang waits, as it is told: for what, while room is made."""
        if refusal.reason is Reason.WAITING_FOR_VICTIMS:
            self._refusal = refusal
        elif refusal.reason is Reason.WAITING_FOR_CHECKPOINT:
            refusal = self._refusal or refusal
        if self.saves_awaited is None or refusal.reason is not Reason.WAITING_FOR_VICTIMS:
            return refusal
        reason = Reason.WAITING_FOR_CHECKPOINT
        return Refused(refusal.gang, reason, refusal.pods, cause=self.saves_awaited)


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
