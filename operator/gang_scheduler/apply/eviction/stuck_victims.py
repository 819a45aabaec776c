"""Looks for pods that should be gone and still hold the room that gangs wait for."""

import asyncio
import time
from collections.abc import Callable, Collection, Iterator

from gang_scheduler.apply.outcomes import Outcomes, VictimStuck
from gang_scheduler.internal_errors import confined
from gang_scheduler.model.pods import Pod
from gang_scheduler.model.problems import Reason
from gang_scheduler.model.refs import GangKey
from gang_scheduler.state.cache import Cache
from gang_scheduler.telemetry import metrics
from gang_scheduler.telemetry.logger import Logger

LOOK_SECONDS = 5.0

log = Logger()


class StuckVictims:
    """Reports every pod once that is stuck in termination on a node that a gang is nominated to.

    A pod is stuck when `timeout_seconds` have passed since the end of its grace period, or where it
    leaves later than is waited for. `outcomes` then gets the gang that waits, and the pod.
    """

    def __init__(
        self,
        cache: Cache,
        timeout_seconds: int,
        outcomes: Outcomes,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._cache = cache
        self._timeout_seconds = timeout_seconds
        self._outcomes = outcomes
        self._clock = clock
        self._told: set[str] = set()
        self._lingering: set[str] = set()

    async def run(self) -> None:
        """Look every LOOK_SECONDS, until cancelled."""
        while True:
            await asyncio.sleep(LOOK_SECONDS)
            with confined("look for pods that do not end", "all gangs"):
                self.look()

    def look(self) -> None:
        """Report the pods that are stuck by now, and count those that have been reported.

        They are counted until they are gone, though room is looked for elsewhere meanwhile. Costs
        nothing while no gang waits for victims and none is stuck.
        """
        waiting = dict(self._waiting())
        hanging = [*self._hanging(waiting)] if waiting or self._lingering else []
        in_the_way = [pod for pod in hanging if pod.node in waiting]
        for pod in in_the_way:
            if pod.uid not in self._told:
                gang = waiting[pod.node]
                log.warning("victim_hangs", pod=pod.key, node=pod.node, preemptor=str(gang))
                self._outcomes.put(VictimStuck(gang, pod))
        self._told = {pod.uid for pod in in_the_way}
        self._lingering = {pod.uid for pod in hanging}
        metrics.VICTIMS_LINGERING.set(len(hanging))

    def _hanging(self, waiting: Collection[str]) -> Iterator[Pod]:
        """Yield the pods that are stuck, on these nodes or as they were at the last look."""
        for pod in self._cache.pods():
            if (pod.node in waiting or pod.uid in self._lingering) and self._hangs(pod):
                yield pod

    def _waiting(self) -> Iterator[tuple[str, GangKey]]:
        """Yield the nodes that room is being made on, and the gang that waits for it."""
        gang_queue = self._cache.gang_queue
        if gang_queue.waiting[Reason.WAITING_FOR_VICTIMS] <= 0:
            return
        for key, info in gang_queue.infos.items():
            nominated = (pod for pod in info.observed.living if pod.nominated and not pod.node)
            yield from ((pod.nominated, key) for pod in nominated)

    def _hangs(self, pod: Pod) -> bool:
        now = self._clock()
        is_over = pod.deleting and now >= pod.gone_by + self._timeout_seconds
        stays = self._cache.evictable_pods.leaving.stays(pod.uid, int(now))
        return not pod.terminal and (is_over or stays)
