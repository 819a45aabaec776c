"""What kubelets have refused: pods such as these do not go to the same node again at once.

A kubelet may refuse a pod that there is room for by the API: no alignment of its devices, or pods
that it alone knows of. Its controller creates another one, which would be bound there again.
"""

from collections import deque
from collections.abc import Iterator
from dataclasses import replace
from typing import Final, NamedTuple

from gang_scheduler.model.charged_requests import Requests
from gang_scheduler.model.nodes import Node
from gang_scheduler.model.pods import Pod
from gang_scheduler.model.refs import GangKey

REFUSED_SECONDS: Final = 600
"""How long a node gets no pod of a shape that it has refused, unless a pod leaves it before."""

MOST_NEWS: Final = 100
"""So many refusals are told of at once: a replica that does not lead tells of none."""


class Refusal(NamedTuple):
    """A pod that a kubelet has not taken, and its gang."""

    pod: Pod
    gang: GangKey


class RefusedShapes:
    """The requests that nodes have refused lately. Costs nothing where none has.

    `news` are the refusals that were not told of yet.
    """

    def __init__(self) -> None:
        self.news: deque[Refusal] = deque(maxlen=MOST_NEWS)
        self._until: dict[str, dict[Requests, tuple[int, str]]] = {}
        self._changed: set[str] = set()

    def note(self, pod: Pod, node: str, gang: GangKey | None) -> None:
        """Note that the kubelet of a node has refused a pod."""
        # Without a time in its status it is counted from when it is seen.
        at = pod.started_at or pod.scheduled_at
        until = at + REFUSED_SECONDS if at else 0
        shapes = self._until.get(node, {})
        shapes = {shape: each for shape, each in shapes.items() if not 0 < each[0] <= at}
        self._until[node] = {**shapes, pod.pod_class.requests: (until, pod.refused)}
        self._changed.add(node)
        if gang is not None:
            self.news.append(Refusal(pod, gang))

    def left(self, node: str) -> None:
        """Note that a pod has left a node: there is another room now."""
        if self._until and self._until.pop(node, None) is not None:
            self._changed.add(node)

    def settle(self, now: int) -> set[str]:
        """Return the nodes of which something else is refused than before. `now` is in seconds."""
        for node in [*self._until]:
            shapes = {
                shape: (until or now + REFUSED_SECONDS, why)
                for shape, (until, why) in self._until[node].items()
                if not 0 < until <= now
            }
            if len(shapes) < len(self._until[node]):
                self._changed.add(node)
            self._until[node] = shapes
            if not shapes:
                del self._until[node]
        changed, self._changed = self._changed, set()
        return changed

    def next_end(self) -> int | None:
        """Return when the first refusal ends, in seconds; None without any."""
        return min((until for until, _ in self._all()), default=None)

    def on(self, node: Node) -> Node:
        """Return a node with what its kubelet has refused."""
        shapes = self._until.get(node.name, {})
        refused = tuple(sorted((shape, why) for shape, (_, why) in shapes.items()))
        return node if node.refused == refused else replace(node, refused=refused)

    def is_in_force(self, refusal: Refusal) -> bool:
        """Return whether a node gets no pod such as this one now."""
        return refusal.pod.pod_class.requests in self._until.get(refusal.pod.node, {})

    def _all(self) -> Iterator[tuple[int, str]]:
        for shapes in self._until.values():
            yield from shapes.values()
