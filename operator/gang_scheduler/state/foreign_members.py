"""Gangs with members of another scheduler, whose statuses are left to that scheduler."""

from collections.abc import Collection

from gang_scheduler.model.pods import Pod
from gang_scheduler.model.refs import GangKey


class ForeignMembers:
    """Knows the members of other schedulers by gang."""

    def __init__(self) -> None:
        self._gangs: dict[str, GangKey] = {}
        self._members: dict[GangKey, dict[str, Pod]] = {}

    def note(self, pod: Pod, gang: GangKey) -> bool:
        """Note the gang of another scheduler's pod; return whether that is news."""
        is_news = self._gangs.get(pod.uid) != gang
        if is_news:
            self.forget(pod.uid)
        self._gangs[pod.uid] = gang
        self._members.setdefault(gang, {})[pod.uid] = pod
        return is_news

    def forget(self, uid: str) -> None:
        """Note that a pod is gone, or one of ours."""
        before = self._gangs.pop(uid, None)
        if before is not None:
            del self._members[before][uid]
            if not self._members[before]:
                del self._members[before]

    def are_in(self, gang: GangKey) -> bool:
        """Return whether a gang has members of another scheduler."""
        return gang in self._members

    def of(self, gang: GangKey) -> Collection[Pod]:
        """Return the pods of other schedulers that name a gang."""
        return self._members.get(gang, {}).values()
