"""The groups of gangs as the scheduler last saw them, for as long as they would be the same."""

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from gang_scheduler.model.gangs import GangGroup
from gang_scheduler.model.refs import GangKey
from gang_scheduler.state.gangs.gang_info import GangInfo
from gang_scheduler.state.gangs.records.version import Version


class _Kept(NamedTuple):
    """The group of a gang, and the version of the gang that it was made of."""

    group: GangGroup
    version: Version
    number: int


class GroupMemo:
    """Keeps a group until any of its gangs has another version."""

    def __init__(self, infos: Mapping[GangKey, GangInfo]) -> None:
        self._infos = infos
        self._kept: dict[GangKey, _Kept] = {}

    def keep(self, group: GangGroup) -> None:
        """Keep a group that only a change of one of its gangs can make another one."""
        for gang in group.gangs:
            version = self._infos[gang.key].version
            self._kept[gang.key] = _Kept(group, version, version.number)

    def release(self, keys: Iterable[GangKey]) -> None:
        """Keep the groups of these gangs no longer, for the memory: they would still be true."""
        for key in keys:
            self._kept.pop(key, None)

    def get(self, key: GangKey) -> GangGroup | None:
        """Return the group of a gang as it is; None where it must be made anew."""
        kept = self._kept.get(key)
        if kept is None:
            return None
        group = kept.group
        for gang in group.gangs:
            mate = self._kept.get(gang.key)
            if mate is None or mate.group is not group or mate.version.number != mate.number:
                return None
        return group

    def not_kept(self, keys: Iterable[GangKey]) -> set[GangKey]:
        """Return those of the gangs that have changed themselves, or that no group is kept of."""
        known = self._kept
        return {
            key
            for key in keys
            if (kept := known.get(key)) is None or kept.version.number != kept.number
        }
