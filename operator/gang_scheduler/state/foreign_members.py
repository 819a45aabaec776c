"""Which gangs have members that are another scheduler's: what it tells of those is left alone."""

from collections import Counter

from gang_scheduler.model.gangs import GangKey


class ForeignMembers:
    """Counts them by gang."""

    def __init__(self) -> None:
        self._gangs: dict[str, GangKey] = {}
        self._number: Counter[GangKey] = Counter()

    def note(self, uid: str, gang: GangKey | None) -> None:
        """Take in that another scheduler's pod is in a gang; None: it is not, or it is gone."""
        before = self._gangs.pop(uid, None)
        if before is not None:
            self._number[before] -= 1
            if not self._number[before]:
                del self._number[before]
        if gang is not None:
            self._gangs[uid] = gang
            self._number[gang] += 1

    def are_in(self, gang: GangKey) -> bool:
        """Tell whether a gang has any."""
        return gang in self._number
