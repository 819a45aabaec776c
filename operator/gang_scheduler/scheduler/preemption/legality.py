"""Which pods a gang may evict as far as queues say, and whose reserved room it may take.

The one place that asks the queues. Without queues there is nothing to ask: priority decides alone.
"""

from collections.abc import Sequence
from dataclasses import replace

from gang_scheduler.model.bound_pods import BoundPod, BoundPods
from gang_scheduler.model.gangs import GangGroup
from gang_scheduler.model.queues import EvictionPolicy, EvictionRules, QueueRef
from gang_scheduler.model.refs import GangKey
from gang_scheduler.model.snapshot import Snapshot

_DEFAULT = EvictionRules()


class Legality:
    """What the queues of one snapshot allow."""

    def __init__(self, snapshot: Snapshot) -> None:
        self._asks = snapshot.queues is not None
        queues = snapshot.queues.declared.queues if snapshot.queues else ()
        self._rules = {queue.ref: queue.evictions for queue in queues}
        self._by_queue: dict[QueueRef | None, list[BoundPod]] | None = None
        waiting = (gang for group in snapshot.groups for gang in group.waiting)
        self._queues = {gang.key: gang.queue for gang in waiting} if snapshot.nominated else {}

    def victims(self, group: GangGroup, bound_pods: BoundPods) -> BoundPods:
        """Return the bound pods without those that the group must not evict.

        Linear in bound pods the first time, and then in the pods that are left.
        """
        if not self._asks:
            return bound_pods
        if self._by_queue is None:
            self._by_queue = {}
            for each in bound_pods.pods:
                ref = bound_pods.queues.get(each.pod.uid)
                self._by_queue.setdefault(ref, []).append(each)
        own = self._by_queue.get(group.queue, ()) if self._may_evict(group) else ()
        return replace(bound_pods, pods=tuple(own))

    def displaceable(self, group: GangGroup, others: Sequence[GangKey]) -> list[GangKey]:
        """Return those of the gangs whose reserved room the group may take."""
        if not self._asks:
            return [*others]
        return [key for key in others if self._queues.get(key) == group.queue]

    def _may_evict(self, group: GangGroup) -> bool:
        """Return whether the group may evict what is charged to its own queue."""
        if group.queue is None:
            return False
        within_queue = self._rules.get(group.queue, _DEFAULT).within_queue
        return within_queue is not EvictionPolicy.NEVER
