"""Evictions that are decided, counted before the API server shows them."""

import asyncio
from collections.abc import Collection

from gang_scheduler.state.evictable_pods import EvictablePods
from gang_scheduler.state.gangs.gang_queue import GangQueue
from gang_scheduler.state.nominator import Nominator


class Victims:
    """Counts victims as leaving, and as staying again when they are spared.

    `cycle` is set when gangs must plan again that were to have that room.
    """

    def __init__(
        self,
        evictable_pods: EvictablePods,
        nominator: Nominator,
        gang_queue: GangQueue,
        cycle: asyncio.Event,
    ) -> None:
        self._evictable_pods = evictable_pods
        self._nominator = nominator
        self._gang_queue = gang_queue
        self._cycle = cycle

    def decided(self, uids: Collection[str]) -> None:
        """Count pods as leaving."""
        self._evictable_pods.decided(uids)

    def spared(self, uids: Collection[str]) -> None:
        """Count pods as staying after all, unless they terminate already."""
        nodes = self._evictable_pods.spared(uids)
        waiting = {gang for node in nodes for gang in self._nominator.gangs_on(node)}
        if waiting:
            self._gang_queue.nominations_lost(waiting)
            self._cycle.set()
