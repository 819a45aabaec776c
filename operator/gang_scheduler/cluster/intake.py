"""Takes watch events in: decoded, counted, and never raising, whatever an object looks like.

An exception in a handler would make Kopf drop later events of that object for minutes. So an
object that cannot be read is left out with a reason, and told to its owner.
"""

from collections.abc import Callable, Mapping
from typing import Any

from gang_scheduler import telemetry
from gang_scheduler.api.parsing import InvalidField
from gang_scheduler.cluster import declarations, decode
from gang_scheduler.cluster.ports import Sink

Object = Mapping[str, Any]
Broken = Callable[[str, Object, InvalidField], None]


class Intake:
    """Between the handlers and a sink.

    `broken` holds the uids of objects that were left out. `on_broken` is called with the kind,
    the object and what is wrong. `on_listed` is called for every object that came with an
    initial list: after those, deletions may have been missed.
    """

    def __init__(
        self,
        sink: Sink,
        on_broken: Broken = lambda *_: None,
    ) -> None:
        self._sink = sink
        self._on_broken = on_broken
        self.on_listed: Callable[[], None] = lambda: None
        self.broken: set[str] = set()

    def pod(self, event: Object) -> None:
        """Take in an event of a pod."""
        self._take("Pod", event, self._pod_seen, self._pod_gone)

    def node(self, event: Object) -> None:
        """Take in an event of a node."""
        self._take("Node", event, self._node_seen, self._node_gone)

    def pod_group(self, event: Object) -> None:
        """Take in an event of a PodGroup of either API group."""
        self._take("PodGroup", event, self._pod_group_seen, self._pod_group_gone)

    def _take(
        self,
        kind: str,
        event: Object,
        seen: Callable[[Object], None],
        gone: Callable[[Object], None],
    ) -> None:
        telemetry.OBJECTS_SEEN.labels(kind).inc()
        obj = event["object"]
        uid = obj.get("metadata", {}).get("uid", "")
        self.broken.discard(uid)
        if event["type"] is None:
            self.on_listed()
        if event["type"] == "DELETED":
            gone(obj)
            return
        try:
            seen(obj)
        except InvalidField as error:
            # What was known before is no longer true: an object left out is left out wholly.
            gone(obj)
            self.broken.add(uid)
            telemetry.OBJECTS_BROKEN.labels(kind).inc()
            self._on_broken(kind, obj, error)

    def _pod_seen(self, obj: Object) -> None:
        self._sink.pod_seen(decode.pod(obj))

    def _pod_gone(self, obj: Object) -> None:
        self._sink.pod_gone(obj["metadata"]["uid"])

    def _node_seen(self, obj: Object) -> None:
        self._sink.node_seen(decode.node(obj))

    def _node_gone(self, obj: Object) -> None:
        self._sink.node_gone(obj["metadata"]["name"])

    def _pod_group_seen(self, obj: Object) -> None:
        self._sink.pod_group_seen(declarations.read(obj))

    def _pod_group_gone(self, obj: Object) -> None:
        group = obj["apiVersion"].partition("/")[0]
        self._sink.pod_group_gone(declarations.key_of(obj), group)
