"""The Events of pods that a kubelet has not taken."""

from collections.abc import Callable
from typing import Final

from gang_scheduler.model.pods import Pod
from gang_scheduler.model.refs import GangKey
from gang_scheduler.report.events import About, Events
from gang_scheduler.state.refused_shapes import REFUSED_SECONDS, RefusedShapes

REASON: Final = "KubeletRefused"


class RefusalEvents:
    """An Event on the gang of each such pod, or on the pod, once."""

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
        """Tell of the refusals that came since the last time, and still hold."""
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
                self._events.record(self._object_of(gang, pod), REASON, note, warning=True)
