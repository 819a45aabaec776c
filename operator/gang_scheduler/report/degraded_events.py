"""Events on gangs whose nodes have failed: what they lack, which pods are stuck, and the end of it.

Each is told once, also to gangs that no PodGroup describes.
"""

from typing import Final

from gang_scheduler.model.refs import GangKey
from gang_scheduler.report.about_gangs import about
from gang_scheduler.report.events import Events
from gang_scheduler.report.texts import degraded_texts
from gang_scheduler.state.cache import Cache
from gang_scheduler.state.gangs.gang_info import GangInfo
from gang_scheduler.state.pruning import pruned

HEALED: Final = "DomainHealed"
STUCK: Final = "StuckPods"


class DegradedEvents:
    """Remembers what gangs were told. Costs a look into a set for gangs that are of no concern."""

    def __init__(self, cache: Cache, events: Events) -> None:
        self._cache = cache
        self._events = events
        self._told: dict[GangKey, str] = {}
        self._stuck: dict[GangKey, frozenset[str]] = {}

    def look(self, info: GangInfo, now: int) -> int | None:
        """Tell of a gang what is news; return when to look again, in seconds since the epoch."""
        degraded = self._cache.degraded.of(info.key, now)
        if degraded is not None:
            found = degraded_texts.finding(degraded)
            if self._told.get(info.key) != found.reason:
                self._told[info.key] = found.reason
                self._events.record(about(info), degraded_texts.TYPE, found.message, warning=True)
        elif self._told.pop(info.key, None) is not None and any(info.observed.with_node()):
            note = "as many members as the gang needs are on healthy nodes again"
            self._events.record(about(info), HEALED, note)
        return self._look_at_stuck(info, now)

    def forget(self, key: GangKey) -> None:
        """Forget what was told of a gang."""
        self._told.pop(key, None)
        self._stuck.pop(key, None)

    def forget_the_gone(self) -> None:
        """Drop what was told of gangs that are gone, once they are more than the others."""
        infos = self._cache.gang_queue.infos
        self._told, self._stuck = pruned(self._told, infos), pruned(self._stuck, infos)

    def _look_at_stuck(self, info: GangInfo, now: int) -> int | None:
        """Name the pods that are stuck, those once that were not before."""
        leaving = self._cache.degraded.leaving(info.key)
        pods = [pod for pod in leaving if now >= pod.gone_by]
        uids = frozenset(pod.uid for pod in pods)
        if uids - self._stuck.get(info.key, frozenset()):
            note = (
                f"{degraded_texts.stuck(pods)} should be gone, and the nodes have failed: only a "
                "kubelet, an administrator or forceDeleteStuckPodsSeconds ends these pods"
            )
            self._events.record(about(info), STUCK, note, warning=True)
        if uids:
            self._stuck[info.key] = uids
        else:
            self._stuck.pop(info.key, None)
        return min((pod.gone_by for pod in leaving if now < pod.gone_by), default=None)
