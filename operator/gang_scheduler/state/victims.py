"""Evictions that are decided, counted before the API server shows them."""

from collections.abc import Callable, Collection

from gang_scheduler.state.evictable_pods import EvictablePods
from gang_scheduler.state.gangs.gang_queue import GangQueue
from gang_scheduler.state.nominator import Nominator


class Victims:
    """Counts victims as leaving, and as staying again when they are spared.

    `on_change` is called when gangs that are nominated to such room must plan again.
    """

    def __init__(
        self,
        evictable_pods: EvictablePods,
        nominator: Nominator,
        gang_queue: GangQueue,
        on_change: Callable[[], None],
    ) -> None:
        self._evictable_pods = evictable_pods
        self._nominator = nominator
        self._gang_queue = gang_queue
        self._on_change = on_change

    def decided(self, uids: Collection[str]) -> None:
        """Count pods as leaving."""
        self._evictable_pods.decided(uids)

    def spared(self, uids: Collection[str]) -> None:
        """Count pods as staying after all, unless they terminate already."""
        nodes = self._evictable_pods.spared(uids)
        waiting = {gang for node in nodes for gang in self._nominator.gangs_on(node)}
        if waiting:
            self._gang_queue.nominations_lost(waiting)
            self._on_change()
