"""Find gangs that ran with too few members, in a history of what a watch has shown.

Pure: it reads a history and a clock reading, nothing else. The binding of a gang is many writes,
so some members are always bound before the others: a *spell* of too few members is a violation
only when it outlasts a bound. A spell that ends because no member is left bound is judged by the
same bound.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class PodEvent:
    """What one watch event says about one pod."""

    name: str
    uid: str
    gang: str | None
    node: str | None
    phase: str
    deleting: bool  # it has a deletionTimestamp
    gone: bool  # it was deleted from the API server
    resource_version: str
    received_at: float  # seconds on the watcher's clock, which stands still without connection

    @property
    def bound(self) -> bool:
        """Say whether the pod holds its node; a finished pod still counts until it is gone."""
        return self.node is not None and not self.gone


@dataclass(frozen=True)
class Violation:
    """A gang that had some members bound, but too few, for too long."""

    gang: str
    bound: tuple[str, ...]  # the most members seen bound at once during the spell
    min_member: int
    seconds: float
    was_complete: bool  # enough members were bound at first: it lost some later

    def __str__(self) -> str:
        how = "lost members and kept" if self.was_complete else "never had more than"
        return (
            f"gang {self.gang} {how} {len(self.bound)} of {self.min_member} members bound "
            f"for {self.seconds:.1f} s: {', '.join(self.bound)}"
        )


@dataclass(frozen=True)
class Spell:
    """A time during which a gang had at least one member bound, but too few."""

    gang: str
    bound: tuple[str, ...]
    min_member: int
    began_at: float
    ended_at: float | None  # None: it lasts
    was_complete: bool

    def seconds(self, now: float) -> float:
        """Return how long the spell has lasted."""
        return (now if self.ended_at is None else self.ended_at) - self.began_at


def is_undecided(spell: Spell, now: float, settle_seconds: float) -> bool:
    """Say whether a spell may still end in time."""
    return spell.ended_at is None and spell.seconds(now) <= settle_seconds


def violations(spells: Iterable[Spell], now: float, settle_seconds: float) -> list[Violation]:
    """Return the spells that lasted longer than the bound, in the order of gangs."""
    return [
        Violation(spell.gang, spell.bound, spell.min_member, spell.seconds(now), spell.was_complete)
        for spell in spells
        if spell.seconds(now) > settle_seconds
    ]


def spells(history: Sequence[PodEvent], min_members: Mapping[str, int]) -> Iterator[Spell]:
    """Yield the spells of every gang that min_members names, gang by gang, oldest first."""
    events = defaultdict(list)
    for event in history:
        events[event.gang].append(event)
    for gang, min_member in sorted(min_members.items()):
        yield from _spells_of(gang, min_member, events[gang])


def _spells_of(gang: str, min_member: int, history: Sequence[PodEvent]) -> Iterator[Spell]:
    bound: dict[str, str] = {}
    most: tuple[str, ...] = ()
    began_at: float | None = None
    was_complete = False
    for event in history:
        _apply(event, bound)
        partial = 0 < len(bound) < min_member
        if partial:
            began_at = event.received_at if began_at is None else began_at
            most = max(most, tuple(sorted(bound.values())), key=len)
        elif began_at is not None:
            yield Spell(gang, most, min_member, began_at, event.received_at, was_complete)
            began_at, most = None, ()
        # With no member left, the gang starts afresh.
        was_complete = len(bound) >= min_member or (was_complete and partial)
    if began_at is not None:
        yield Spell(gang, most, min_member, began_at, None, was_complete)


def _apply(event: PodEvent, bound: dict[str, str]) -> None:
    if event.bound:
        bound[event.uid] = event.name
    else:
        bound.pop(event.uid, None)
