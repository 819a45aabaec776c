"""Victims that should be gone, but still hold room for which gangs wait."""

import time
from collections.abc import Callable, Collection, Iterator

from gang_scheduler.apply.outcomes import Outcomes, VictimStuck
from gang_scheduler.background_tasks import every
from gang_scheduler.model.pods import Pod
from gang_scheduler.model.reasons import Reason
from gang_scheduler.model.refs import GangKey
from gang_scheduler.state.cache import Cache
from gang_scheduler.state.pruning import Reported
from gang_scheduler.telemetry import metrics
from gang_scheduler.telemetry.logger import Logger

LOOK_SECONDS = 5.0

log = Logger()


class StuckVictims:
    """Reports each stuck pod once: it terminates, and a gang is nominated to its node.

    A pod is stuck when `timeout_seconds` have passed since the end of its grace period, or if its
    grace period is longer than gangs are willing to wait. `outcomes` then gets the waiting gang,
    and the pod.
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
        self._reported: Reported[str, str] = Reported()
        self._lingering: set[str] = set()

    async def run(self) -> None:
        """Look every LOOK_SECONDS, until cancelled."""
        await every(LOOK_SECONDS, self.look, "look for pods that do not end", "all gangs")

    def look(self) -> None:
        """Report the stuck pods, and count them.

        A pod is counted until it is gone, even if its gang has found room elsewhere. Costs nothing
        while no gang waits for victims and no pod is stuck.
        """
        waiting = dict(self._waiting())
        hanging = [*self._hanging(waiting)] if waiting or self._lingering else []
        in_the_way = [pod for pod in hanging if pod.node in waiting]
        for pod in in_the_way:
            if self._reported.is_news(pod.uid, pod.node):
                gang = waiting[pod.node]
                log.warning("victim_hangs", pod=pod.key, node=pod.node, preemptor=str(gang))
                self._outcomes.put(VictimStuck(gang, pod))
        self._reported.keep({pod.uid for pod in in_the_way})
        self._lingering = {pod.uid for pod in hanging}
        metrics.VICTIMS_LINGERING.set(len(hanging))

    def _hanging(self, waiting: Collection[str]) -> Iterator[Pod]:
        """Yield the stuck pods on these nodes, and the stuck pods that the last call found."""
        for pod in self._cache.pods():
            if (pod.node in waiting or pod.uid in self._lingering) and self._hangs(pod):
                yield pod

    def _waiting(self) -> Iterator[tuple[str, GangKey]]:
        """Yield the nodes on which room is being made, and the gang that waits for it."""
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
