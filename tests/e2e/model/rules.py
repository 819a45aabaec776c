"""The rules of gangs, told once more and plainly: slow, whole, and no line shared with the product.

All pods ask for the same, so room is a number of slots. A pod that is not `possible` fits nowhere.
"""

import itertools
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import NamedTuple


class Name(NamedTuple):
    """How gangs name each other. No two gangs of a sequence share one, whatever their source."""

    namespace: str
    name: str


@dataclass(eq=False)
class Pod:
    """A pod. `ended` is "", "Succeeded" or "Failed"."""

    namespace: str
    name: str
    uid: str
    created: tuple[str, str]
    gang: Name
    possible: bool = True
    priority: int = 0
    bound: bool = False
    ended: str = ""

    @property
    def living(self) -> bool:
        """It counts as a member."""
        return not self.ended


@dataclass
class Said:
    """What a PodGroup, a Job or the oldest member says of a gang. `created` is (time, uid)."""

    minimum: int
    created: tuple[str, str]
    names: tuple[Name, ...] = ()
    policy: str = "once-satisfied"
    strict: bool = True
    completions: int | None = None
    succeeded: int = 0


@dataclass(eq=False)
class Gang:
    """A gang. Without a `source` that is an object, its oldest member speaks (`speaks`)."""

    name: Name
    source: str
    speaks: Said | None = None
    """For gangs that members describe: what every member says."""
    object: Said | None = None
    pods: list[Pod] = field(default_factory=list)
    whole: bool = False
    """It was whole, and has not been empty since."""
    past: set[str] = field(default_factory=set)
    """Members that had ended before the present attempt."""

    @property
    def said(self) -> Said | None:
        """What describes the gang now; None: it does not exist for others, and cannot start."""
        if self.speaks is None:
            return self.object
        if not self.pods:
            return None
        oldest = min(pod.created for pod in self.pods)
        return Said(self.speaks.minimum, oldest, self.speaks.names)

    @property
    def living(self) -> list[Pod]:
        """The members that count."""
        return [pod for pod in self.pods if pod.living]

    @property
    def pending(self) -> list[Pod]:
        """The members that wait."""
        return [pod for pod in self.living if not pod.bound]

    @property
    def bound(self) -> int:
        """How many living members have a node."""
        return sum(pod.bound for pod in self.living)

    @property
    def minimum(self) -> int:
        """How many must be bound together."""
        said = self.said
        if said is None:
            return 1
        if said.completions is None:
            return said.minimum
        return max(1, min(said.minimum, said.completions - said.succeeded))

    @property
    def quorum(self) -> int:
        """How many of the pending members must be bound together now."""
        said = self.said
        if said is None:
            return 1
        if self.whole and (said.policy == "once-satisfied" or not said.strict):
            return 1
        if said.policy == "only-waiting":
            return self.minimum
        return max(1, self.minimum - self.bound)

    @property
    def has_ended_well(self) -> bool:
        """It needs nothing any more."""
        said = self.said
        if self.living or said is None:
            return False
        if said.completions is not None:
            return said.succeeded >= said.completions
        done = [p for p in self.pods if p.ended == "Succeeded" and p.uid not in self.past]
        return len(done) >= said.minimum

    @property
    def priority(self) -> int:
        """The lowest of the members'."""
        return min((pod.priority for pod in self.living), default=0)


class World:
    """All gangs, and how many slots are left for them."""

    def __init__(self, slots: int) -> None:
        self.slots = slots
        self.gangs: dict[Name, Gang] = {}

    @property
    def free(self) -> int:
        """How many slots are free."""
        return self.slots - sum(gang.bound for gang in self.gangs.values())

    def counts(self) -> dict[Name, int]:
        """How many members of each gang are bound, ended ones included."""
        return {
            name: sum(pod.bound for pod in gang.pods)
            for name, gang in self.gangs.items()
            if any(pod.bound for pod in gang.pods)
        }

    def settle(self) -> None:
        """Bind until no waiting gang could start."""
        while True:
            self.remember()
            before = self.counts()
            self._one_round()
            if self.counts() == before:
                return

    def remember(self) -> None:
        """Bring what gangs remember in line with their members."""
        for gang in self.gangs.values():
            if gang.living and not gang.bound:
                gang.past = {pod.uid for pod in gang.pods if pod.ended}
            if not gang.bound:
                gang.whole = False
            elif gang.said is not None and gang.bound >= gang.minimum:
                gang.whole = True

    def component(self, start: Name) -> set[Name]:
        """Return the gangs of a gang's group, those included that have started long ago."""
        found, unseen = {start}, [start]
        while unseen:
            here = unseen.pop()
            more = {other for other in self.gangs if self._together(here, other)} - found
            found |= more
            unseen += more
        return found

    def concerned(self, names: Iterable[Name]) -> set[Name]:
        """Return all gangs whose start could depend on one of these, in any direction."""
        found = set(names)
        while True:
            more = {
                name
                for name, gang in self.gangs.items()
                if name not in found and (found & self._names(gang) or self._named_by(found, name))
            }
            if not more:
                return found
            found |= more

    def _named_by(self, found: set[Name], name: Name) -> bool:
        return any(name in self._names(self.gangs[each]) for each in found if each in self.gangs)

    def _names(self, gang: Gang) -> set[Name]:
        said = gang.said or gang.speaks
        return set(said.names) - {gang.name} if said else set()

    def _spoken(self, gang: Gang) -> set[Name]:
        return self._names(gang) if gang.said else set()

    def _together(self, one: Name, other: Name) -> bool:
        left, right = self.gangs[one], self.gangs[other]
        to, back = other in self._spoken(left), one in self._spoken(right)
        if one.namespace != other.namespace:
            return to and back
        # A gang that does not exist can be named, and can be in no group by that.
        return (to and right.said is not None) or back

    def _group(self, gang: Gang) -> list[Gang] | None:
        """Return the gangs that must start together with one; None: they must wait."""
        if gang.whole:
            return [gang] if gang.said is not None else None
        everyone = [self.gangs[name] for name in sorted(self.component(gang.name))]
        if any(
            not self._can_be_met(each, name) for each in everyone for name in self._spoken(each)
        ):
            return None
        return [each for each in everyone if not each.whole and not each.has_ended_well]

    def _can_be_met(self, gang: Gang, name: Name) -> bool:
        other = self.gangs.get(name)
        if other is None or other.said is None:
            return False
        return name.namespace == gang.name.namespace or gang.name in self._spoken(other)

    def _one_round(self) -> None:
        groups: dict[tuple[Name, ...], list[Gang]] = {}
        for gang in self.gangs.values():
            if gang.pending:
                group = self._group(gang)
                if group and all(self._is_complete(each) for each in group):
                    groups[tuple(each.name for each in group)] = group
        ordered = sorted(groups.values(), key=_order)
        for level in _levels(ordered):
            started = [group for group in level if self._start(group)]
            for gang in (gang for group in started for gang in group):
                self._add_surplus(gang)

    def _is_complete(self, gang: Gang) -> bool:
        """Return whether enough members wait; a whole gang of the group is not asked."""
        if gang.said is None:
            return False
        return len(gang.pending) >= gang.quorum

    def _start(self, group: list[Gang]) -> bool:
        chosen = []
        for gang in group:
            possible = [pod for pod in gang.pending if pod.possible]
            if gang.pending and len(possible) < gang.quorum:
                return False
            chosen += possible[: gang.quorum] if gang.pending else []
        if len(chosen) > self.free:
            return False
        for pod in chosen:
            pod.bound = True
        return True

    def _add_surplus(self, gang: Gang) -> None:
        for pod in [pod for pod in gang.pending if pod.possible][: max(self.free, 0)]:
            pod.bound = True


def _order(group: list[Gang]) -> tuple[int, bool, str, str]:
    """Order by priority, then what was left half done, then age, then uid."""
    times = [gang.said.created for gang in group if gang.said]
    half_done = any(0 < gang.bound and _lacks(gang) for gang in group)
    return (
        -_priority(group),
        not half_done,
        min(time for time, _ in times),
        min(uid for _, uid in times),
    )


def _lacks(gang: Gang) -> bool:
    """Return whether a gang was bound in part, or has lost members of its quorum."""
    return not gang.whole or gang.bound < gang.minimum


def _priority(group: list[Gang]) -> int:
    return min(gang.priority for gang in group if gang.pending)


def _levels(ordered: list[list[Gang]]) -> list[list[list[Gang]]]:
    """Split by priority, all at once: the priority of a bound gang does not count any more."""
    return [list(level) for _, level in itertools.groupby(ordered, key=_priority)]
