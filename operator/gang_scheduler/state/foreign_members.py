"""Gangs with members of another scheduler, whose statuses are left to that scheduler."""

from collections import Counter

from gang_scheduler.model.refs import GangKey


class ForeignMembers:
    """Counts the members of other schedulers by gang."""

    def __init__(self) -> None:
        self._gangs: dict[str, GangKey] = {}
        self._number: Counter[GangKey] = Counter()

    def note(self, uid: str, gang: GangKey | None) -> None:
        """Note the gang of another scheduler's pod; None if it has none, or the pod is gone."""
        before = self._gangs.pop(uid, None)
        if before is not None:
            self._number[before] -= 1
            if not self._number[before]:
                del self._number[before]
        if gang is not None:
            self._gangs[uid] = gang
            self._number[gang] += 1

    def are_in(self, gang: GangKey) -> bool:
        """Return whether a gang has members of another scheduler."""
        return gang in self._number
