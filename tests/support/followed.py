"""A cluster that is followed by events, as watches bring them, and its views."""

from collections.abc import Iterable
from dataclasses import fields
from typing import Any

import msgspec

from gang_scheduler.api.kinds import NODES, POD_GROUPS, PODS, QUEUES
from gang_scheduler.inspection.live import OperatorSettings
from gang_scheduler.inspection.watched import FollowedCluster
from gang_scheduler.page import view
from gang_scheduler.page.view import Reading, View
from gang_scheduler.settings.policy import Policy
from gang_scheduler.watch.known_objects import KnownObjects
from support.listed_clusters import Body

KINDS = {"Node": NODES, "PodGroup": POD_GROUPS, "Pod": PODS, "Queue": QUEUES}
NOW = 1_767_272_400
"""An hour after the objects of `listed_clusters` were created."""


class Followed:
    """Objects that are there, and a cluster that hears of each change. `now` is in seconds."""

    def __init__(self, bodies: Iterable[Body] = (), policy: Policy | None = None) -> None:
        self.now = NOW
        self.objects: dict[tuple[str, str, str], Body] = {}
        self.cluster = FollowedCluster(OperatorSettings(policy or Policy()))
        self._version = 0
        self._last: View | None = None
        of = {each.name: each for each in self.cluster.handlers.all}
        self._known = {
            kind: KnownObjects(of[gvr.name], self.cluster.handlers.versions)
            for kind, gvr in KINDS.items()
        }
        for body in bodies:
            self.put(body)

    def put(self, body: Body) -> None:
        """Create an object, or replace it."""
        self._version += 1
        key = _key(body)
        uid = f"uid-{'-'.join(key)}"
        own = {"uid": uid, **body["metadata"], "resourceVersion": str(self._version)}
        change = "MODIFIED" if key in self.objects else "ADDED"
        self.objects[key] = {**body, "metadata": own}
        self._tell(change, self.objects[key])

    def delete(self, kind: str, name: str, namespace: str = "team") -> None:
        """Delete an object."""
        self._version += 1
        body = self.objects.pop((kind, namespace, name))
        body["metadata"]["resourceVersion"] = str(self._version)
        self._tell("DELETED", body)

    def _tell(self, change: str, body: Body) -> None:
        line = msgspec.json.encode({"type": change, "object": body})
        self._known[body["kind"]].changed(line)

    def view(self, seconds: int = 1) -> View:
        """Return the next view, so many seconds after the last one."""
        self.now += seconds
        reading = Reading(self.cluster.cluster(self.now), events=())
        self._last = view.of_reading(reading, self._last)
        return self._last

    def fresh(self) -> View:
        """Return the view that a page would have which begins now."""
        other = Followed(self.objects.values(), self.cluster.operator.policy)
        return view.of_reading(Reading(other.cluster.cluster(self.now), events=()))


def shown(seen: View) -> dict[str, Any]:
    """Return what a view shows, but for when it was read."""
    return {
        "rows": [tuple(getattr(row, each.name) for each in fields(row)) for row in seen.rows],
        "queues": [repr(each) for each in seen.queues],
        "trees": [(each.name, each.lines, each.outside) for each in seen.trees],
        "gpus": seen.gpus,
        "devices": seen.devices,
        "others": (seen.idle_while_waiting, seen.use and seen.use._replace(at=0)),
    }


def _key(body: Body) -> tuple[str, str, str]:
    metadata = body["metadata"]
    return body["kind"], metadata.get("namespace", ""), metadata["name"]
