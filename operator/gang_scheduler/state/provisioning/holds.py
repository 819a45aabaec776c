"""Which members are charged while a request stands."""

from collections import Counter

from gang_scheduler.model.provisioning import Asking
from gang_scheduler.model.queues import Charge, FlavorResource
from gang_scheduler.model.refs import GangKey
from gang_scheduler.state.queues.usage import QueueUsageStore


class Holds:
    """Members by gang. What they are charged is counted with all other usage of queues."""

    def __init__(self, usage: QueueUsageStore) -> None:
        self._usage = usage
        self._members: dict[GangKey, frozenset[str]] = {}

    def gangs(self) -> set[GangKey]:
        """Return the gangs that are charged for requests."""
        return set(self._members)

    def put(self, asking: Asking) -> None:
        """Charge the members that a cycle found to wait for nodes, and no others of the gang."""
        uids = frozenset(uid for uid, _ in asking.members)
        self._release(self._members.get(asking.gang.key, frozenset()) - uids)
        for uid, flavors in asking.members:
            self._usage.hold(uid, flavors)
        self._members[asking.gang.key] = uids

    def end(self, key: GangKey) -> bool:
        """Charge a gang no more; return whether it was charged."""
        uids = self._members.pop(key, None)
        self._release(uids or frozenset())
        return uids is not None

    def charge_of(self, key: GangKey) -> Charge:
        """Return what a gang is charged, as usage was last settled."""
        found: Counter[FlavorResource] = Counter()
        for uid in self._members.get(key, ()):
            if self._usage.is_held(uid) and (charged := self._usage.charge_of(uid)) is not None:
                found.update(charged[1])
        return found

    def _release(self, uids: frozenset[str]) -> None:
        for uid in uids:
            self._usage.release(uid)
