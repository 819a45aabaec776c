"""The groups of gangs: gangs that name each other are one group.

Within a namespace one name is enough, in either direction, and the group is the union. Between
namespaces both gangs must name each other, so that a gang of another team can hold no gang back.
References of a foreign gang count only if our gang names that gang.
"""

import functools
from collections.abc import Callable

from gang_scheduler.model.causes.specs import GangMissing, OneSided
from gang_scheduler.model.reasons import Problem, Reason
from gang_scheduler.model.refs import GangKey, GangName

_Obstacle = GangMissing | OneSided
Resolve = Callable[[GangName], GangKey | None]
_Found = tuple[tuple[GangKey, ...], Problem | None]
"""The gangs of a group, and the problem that keeps it from forming."""


class GroupGraph:
    """The names of other gangs that each gang mentions.

    `resolve` finds the gang of a name, and returns None while it does not exist. When its answer
    changes for a gang that is not alone, `changed` must be called.
    """

    def __init__(self, resolve: Resolve) -> None:
        self._resolve = resolve
        self._names: dict[GangKey, tuple[GangName, ...]] = {}
        self._named_by: dict[GangName, set[GangKey]] = {}
        self._found: dict[GangKey, _Found] = {}
        """The groups found since the last change: each is searched for once, not for each gang."""

    def set_names(self, key: GangKey, names: tuple[GangName, ...]) -> set[GangName]:
        """Replace the names that a gang mentions; return the names that were added or dropped."""
        self._found.clear()
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
        return set(before) ^ set(others)

    def changed(self, key: GangKey) -> bool:
        """Note that a gang may have begun or ceased to exist; return whether another names it."""
        # This runs for every event of a pod.
        named = bool(self._named_by) and key.called in self._named_by
        if named or key in self._names:
            self._found.clear()
        return named

    def group_of(self, key: GangKey) -> _Found:
        """Return the sorted gangs of a gang's group, and the problem that keeps it from forming."""
        if self.is_alone(key):
            return (key,), None
        known = self._found.get(key)
        return self._search(key) if known is None else known

    def _search(self, key: GangKey) -> _Found:
        """Find the group of a gang, and keep it for all its gangs."""
        found, unseen, resolve = {key}, [key], functools.cache(self._resolve)
        obstacles: list[_Obstacle] = []
        while unseen:
            neighbours, obstacle = self._neighbours(unseen.pop(), resolve)
            if obstacle is not None:
                obstacles.append(obstacle)
            unseen.extend(neighbours - found)
            found |= neighbours
        first = min(obstacles, key=_order, default=None)
        group = tuple(sorted(found)), _problem(first) if first is not None else None
        # Of two gangs of one name, other namespaces see only the first: for gangs there, the group
        # may be another one.
        alike = all(resolve(each.called) == each for each in found)
        self._found |= dict.fromkeys(found if alike else (key,), group)
        return group

    def is_alone(self, key: GangKey) -> bool:
        """Return whether a gang names no other one, and no other one names it."""
        return key not in self._names and key.called not in self._named_by

    def is_named(self, key: GangKey) -> bool:
        """Return whether another gang names this one, so that the other's group depends on it."""
        return bool(self._named_by) and key.called in self._named_by

    def concerned(self, name: GangName) -> set[GangKey]:
        """Return the gangs that mention a name, and so may have waited for its gang."""
        return set(self._named_by.get(name, ()))

    def _neighbours(self, key: GangKey, resolve: Resolve) -> tuple[set[GangKey], _Obstacle | None]:
        neighbours: set[GangKey] = set()
        if resolve(key.called) == key:
            named_by = self._named_by.get(key.called, ())
            neighbours = {each for each in named_by if each.namespace == key.namespace}
        obstacle: _Obstacle | None = None
        for name in self._names.get(key, ()):
            other = resolve(name)
            if other is None:
                obstacle = obstacle or GangMissing(name, key)
            elif name.namespace == key.namespace or key.called in self._names.get(other, ()):
                neighbours.add(other)
            else:
                obstacle = OneSided(key, name)
        return neighbours, obstacle


def _order(obstacle: _Obstacle) -> tuple[bool, str, str]:
    """Return a sort key: errors come before names of gangs that are only missing yet."""
    if isinstance(obstacle, OneSided):
        return False, str(obstacle.gang), str(obstacle.name)
    return True, str(obstacle.name), str(obstacle.named_by)


def _problem(obstacle: _Obstacle) -> Problem:
    wrong = isinstance(obstacle, OneSided)
    return Problem(Reason.INVALID_SPEC if wrong else Reason.WAITING_FOR_GANGS, obstacle)
