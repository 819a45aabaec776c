"""Which gangs are one group: those that name each other.

Within a namespace one name is enough, in either direction, and the group is the union. Between
namespaces both must name each other, so that nobody can hold another team's gang back: what a
foreign gang says of ours is never even looked at, unless ours names it.
"""

from collections.abc import Callable

from gang_scheduler.api.annotations import GANG_GROUPS
from gang_scheduler.decode.fields import field
from gang_scheduler.model.gangs import GangKey, GangName, Problem, Reason

Resolve = Callable[[GangName], GangKey | None]


class GroupGraph:
    """Who names whom. `resolve` finds the gang of a name, None while it does not exist."""

    def __init__(self, resolve: Resolve) -> None:
        self._resolve = resolve
        self._names: dict[GangKey, tuple[GangName, ...]] = {}
        self._named_by: dict[GangName, set[GangKey]] = {}

    def say(self, key: GangKey, names: tuple[GangName, ...]) -> set[GangName]:
        """Replace the names that a gang mentions; return those that it no longer does."""
        before = self._names.pop(key, ())
        for name in before:
            self._named_by[name].discard(key)
            if not self._named_by[name]:
                del self._named_by[name]
        # A name may be written twice.
        others = tuple(name for name in dict.fromkeys(names) if name != key.called)
        if others:
            self._names[key] = others
        for name in others:
            self._named_by.setdefault(name, set()).add(key)
        return set(before) - set(others)

    def group_of(self, key: GangKey) -> tuple[tuple[GangKey, ...], Problem | None]:
        """Return the gangs of a gang's group, sorted, and what keeps the group from being one."""
        if self.is_alone(key):
            return (key,), None
        found, unseen, problems = {key}, [key], []
        while unseen:
            neighbours, problem = self._neighbours(unseen.pop())
            if problem is not None:
                problems.append(problem)
            unseen.extend(neighbours - found)
            found |= neighbours
        # What is wrong comes before what is only not there yet.
        problems.sort(key=lambda each: (each.reason is not Reason.INVALID_SPEC, each.message))
        return tuple(sorted(found)), problems[0] if problems else None

    def is_alone(self, key: GangKey) -> bool:
        """Tell whether a gang names nobody, and nobody names it."""
        return key not in self._names and key.called not in self._named_by

    def concerned(self, name: GangName) -> set[GangKey]:
        """Return the gangs that mention a name: they may have waited for it."""
        return set(self._named_by.get(name, ()))

    def _neighbours(self, key: GangKey) -> tuple[set[GangKey], Problem | None]:
        neighbours: set[GangKey] = set()
        if self._resolve(key.called) == key:
            named_by = self._named_by.get(key.called, ())
            neighbours = {each for each in named_by if each.namespace == key.namespace}
        problem = None
        for name in self._names.get(key, ()):
            other = self._resolve(name)
            if other is None:
                problem = problem or _missing(key, name)
            elif name.namespace == key.namespace or key.called in self._names.get(other, ()):
                neighbours.add(other)
            else:
                problem = _one_sided(key, name)
        return neighbours, problem


def _missing(key: GangKey, name: GangName) -> Problem:
    return Problem(
        Reason.WAITING_FOR_GANGS,
        f"gang {name}, which {key} names as one of its group, does not exist",
    )


def _one_sided(key: GangKey, name: GangName) -> Problem:
    return Problem(
        Reason.INVALID_SPEC,
        f"{field(GANG_GROUPS)} of {key} names {name}, which is in another namespace and does not "
        f"name {key} in turn",
    )
