"""Gangs that cycles have left since their work was done, and when these are tried."""

from collections.abc import Collection, Iterable
from collections.abc import Set as AbstractSet
from typing import Final

from gang_scheduler.model.refs import GangKey

PATIENCE_SECONDS: Final = 10
"""For so long only the priority says which gangs are tried first."""
MOST_AT_ONCE: Final = 16
"""Gangs that are tried in a cycle of their own. Fewer searches than these fill a cycle, but each of
many other namespaces would have one."""


class Untried:
    """The gangs that cycles have left, and since when. Times are in seconds since the epoch.

    The next cycle tries them, in the order of priorities. Gangs of a high priority that are many,
    new or changed all the time could take up every cycle by that. So every other cycle is for those
    alone that were left for long: for one of each namespace. How soon a gang is tried depends on
    the gangs of its own namespace, and on nothing that others make.
    """

    def __init__(self) -> None:
        self._since: dict[GangKey, int] = {}
        self._taken: dict[GangKey, int] = {}
        self._is_own_turn = False

    def __bool__(self) -> bool:
        return bool(self._since)

    @property
    def goes_on(self) -> bool:
        """Whether a cycle is due at once: gangs are left, by the last one or beside it."""
        return bool(self._since) or self._is_own_turn

    def keys(self) -> AbstractSet[GangKey]:
        """Return all gangs that are left."""
        return self._since.keys()

    def own_turn(self, now: int) -> Collection[GangKey]:
        """Return the gangs to which the next cycle belongs; none where it belongs to all."""
        found: dict[str, GangKey] = {}
        if not self._is_own_turn:
            left = [(since, key) for key, since in self._since.items()]
            for since, key in sorted(left):
                if now < since + PATIENCE_SECONDS or len(found) == MOST_AT_ONCE:
                    break
                found.setdefault(key.namespace, key)
        self._is_own_turn = bool(found)
        return found.values()

    def take(self, keys: Iterable[GangKey]) -> None:
        """Note that gangs are tried now."""
        self._taken = {key: self._since.pop(key) for key in self._since.keys() & set(keys)}

    def put_back(self, keys: Iterable[GangKey]) -> None:
        """Note that gangs that were to be tried are not; new ones are no gangs that were left."""
        for key in self._taken.keys() & set(keys):
            self._since[key] = self._taken.pop(key)

    def leave(self, keys: Iterable[GangKey], now: int) -> None:
        """Note that a cycle has left gangs: if it was to try them, then since an earlier one."""
        for key in keys:
            self._since.setdefault(key, self._taken.get(key, now))
        self._taken = {}

    def forget(self, key: GangKey) -> None:
        """Forget a gang that is gone."""
        self._since.pop(key, None)
