"""Events on failures: failed nodes, stuck pods, and pods that a kubelet rejected."""

from collections.abc import Callable
from typing import Final

from gang_scheduler.model.pods import Pod
from gang_scheduler.model.refs import GangKey
from gang_scheduler.report.events import About, Events
from gang_scheduler.report.words import messages
from gang_scheduler.state.cache import Cache
from gang_scheduler.state.gangs.gang_info import GangInfo
from gang_scheduler.state.nodes import REFUSED_SECONDS, RefusedShapes
from gang_scheduler.state.pruning import Reported, pruned

# Events on gangs whose nodes have failed: the missing members, the stuck pods, and the recovery.
# Each is sent once, also for gangs that no PodGroup describes.

HEALED: Final = "DomainHealed"
STUCK: Final = "StuckPods"


class DegradedEvents:
    """Reports degraded gangs, and remembers what it reported.

    A healthy gang costs one look into a set.
    """

    def __init__(self, cache: Cache, events: Events) -> None:
        self._cache = cache
        self._events = events
        self._reported: Reported[GangKey, str] = Reported()
        self._stuck: dict[GangKey, frozenset[str]] = {}

    def look(self, info: GangInfo, now: int) -> int | None:
        """Report changes of a gang; return when to look again, in seconds since the epoch."""
        degraded = self._cache.degraded.of(info.key, now)
        if degraded is not None:
            found = messages.degraded_finding(degraded)
            if self._reported.is_news(info.key, found.reason):
                self._events.record(
                    About.of_gang(info), messages.DEGRADED_TYPE, found.message, warning=True
                )
        elif self._reported.forget(info.key) and any(info.observed.with_node()):
            note = "as many members as the gang needs are on healthy nodes again"
            self._events.record(About.of_gang(info), HEALED, note)
        return self._look_at_stuck(info, now)

    def forget(self, key: GangKey) -> None:
        """Forget the Events of a gang."""
        self._reported.forget(key)
        self._stuck.pop(key, None)

    def forget_the_gone(self) -> None:
        """Drop the records of deleted gangs once they outnumber the others."""
        infos = self._cache.gang_queue.infos
        self._reported.prune(infos)
        self._stuck = pruned(self._stuck, infos)

    def _look_at_stuck(self, info: GangInfo, now: int) -> int | None:
        """Report stuck pods by name, each of them once."""
        leaving = self._cache.degraded.leaving(info.key)
        pods = [pod for pod in leaving if now >= pod.gone_by]
        uids = frozenset(pod.uid for pod in pods)
        if uids - self._stuck.get(info.key, frozenset()):
            note = (
                f"{messages.stuck(pods)} should be gone, and the nodes have failed: only a "
                "kubelet, an administrator or forceDeleteStuckPodsSeconds ends these pods"
            )
            self._events.record(About.of_gang(info), STUCK, note, warning=True)
        if uids:
            self._stuck[info.key] = uids
        else:
            self._stuck.pop(info.key, None)
        return min((pod.gone_by for pod in leaving if now < pod.gone_by), default=None)


# Events on pods that a kubelet rejected.

KUBELET_REFUSED: Final = "KubeletRefused"


class RefusalEvents:
    """Reports each refused pod once, by an Event on its gang, or else on the pod."""

    def __init__(
        self,
        refused_shapes: RefusedShapes,
        events: Events,
        object_of: Callable[[GangKey, Pod], About],
    ) -> None:
        self._refused_shapes = refused_shapes
        self._events = events
        self._object_of = object_of

    def tell(self) -> None:
        """Report new refusals that are still in force."""
        news = self._refused_shapes.news
        while news:
            refusal = news.popleft()
            pod, gang = refusal
            if self._refused_shapes.is_in_force(refusal):
                note = (
                    f"The kubelet of node {pod.node} refused pod {pod.key} ({pod.refused}): no pod "
                    "with the same requests goes there until a pod leaves it, or for "
                    f"{REFUSED_SECONDS // 60} minutes"
                )
                self._events.record(self._object_of(gang, pod), KUBELET_REFUSED, note, warning=True)
