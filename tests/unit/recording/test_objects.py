"""Objects are recorded as they change, with the fields that matter."""

from typing import Any

import msgspec

from gang_scheduler.api.kinds import GVR, NODES, PODS, PRIORITY_CLASSES
from gang_scheduler.decode.events import LeftOutObjects
from gang_scheduler.recording.file_format import Line
from gang_scheduler.recording.objects import Objects
from gang_scheduler.state.cache import Cache
from gang_scheduler.state.changes import Changes
from gang_scheduler.watch.known_objects import KnownObjects
from support import api_objects, builders, cache_feeding


class Watched:
    """A cache whose objects are recorded as watches bring them."""

    def __init__(self) -> None:
        self.cache = Cache([builders.SCHEDULER], Changes())
        self.objects = Objects()
        left_out = LeftOutObjects(self.objects.left_out)
        handlers = cache_feeding.event_handlers(self.cache, left_out, self.objects.noting)
        self.handlers = handlers
        self._versions = 0
        self._known: dict[str, KnownObjects] = {
            each.name: KnownObjects(each, handlers.versions) for each in handlers.all
        }

    def tell(self, gvr: GVR, change: str, body: dict[str, Any], **status: Any) -> None:
        """Let a watch bring a change of an object."""
        self._versions += 1
        metadata = {**body["metadata"], "resourceVersion": str(self._versions)}
        metadata.setdefault("uid", f"uid-{metadata['name']}")
        merged = {**body, "metadata": metadata, "status": {**body.get("status", {}), **status}}
        event = {"type": change, "object": merged}
        self._known[gvr.name].changed(msgspec.json.encode(event))

    def lines(self) -> list[Line]:
        """Return what is new."""
        return list(self.objects.lines(7))


def ready(status: str, beat: str = "2026-01-01T00:00:00Z") -> list[dict[str, str]]:
    return [{"type": "Ready", "status": status, "lastTransitionTime": beat}]


def test_a_node_is_recorded_once_and_when_it_changes() -> None:
    watched, node = Watched(), api_objects.node_body("n1")
    watched.tell(NODES, "ADDED", node, conditions=ready("True"))
    (first,) = watched.lines()
    watched.tell(NODES, "MODIFIED", node, conditions=ready("True", "2026-01-02T00:00:00Z"))
    again = watched.lines()
    watched.tell(NODES, "MODIFIED", node, conditions=ready("Unknown"))
    (failed,) = watched.lines()
    watched.tell(NODES, "DELETED", node)
    (gone,) = watched.lines()

    assert first.object is not None
    assert (7, "n1") == (first.at, first.object["metadata"]["name"])
    assert "uid" not in first.object["metadata"]
    assert "resourceVersion" not in first.object["metadata"]
    assert [] == again
    assert failed.object is not None
    assert [{"type": "Ready", "status": "Unknown"}] == failed.object["status"]["conditions"]
    assert gone.gone is not None
    assert ("Node", "n1") == (gone.gone.kind, gone.gone.name)
    assert [] == list(watched.cache.node_usage.table().rows)


def test_the_cache_has_what_is_recorded() -> None:
    watched = Watched()
    watched.tell(NODES, "ADDED", api_objects.node_body("n1"))

    assert ["n1"] == list(watched.cache.node_usage.table().rows)


def test_pods_are_no_objects_of_a_recording() -> None:
    watched = Watched()
    watched.tell(PODS, "ADDED", api_objects.pod_body("p"))

    assert [] == watched.lines()
    assert 1 == len(list(watched.cache.pods()))


def test_objects_of_other_kinds_are_recorded_without_their_status() -> None:
    watched = Watched()
    body = {
        "apiVersion": "scheduling.k8s.io/v1",
        "kind": "PriorityClass",
        "metadata": {"name": "high", "managedFields": [{}]},
        "value": 7,
        "description": "of a team",
    }
    watched.tell(PRIORITY_CLASSES, "ADDED", body, observed="x")
    (line,) = watched.lines()

    assert line.object is not None
    assert {"apiVersion", "kind", "metadata", "value"} == line.object.keys()
    assert {"name"} == line.object["metadata"].keys()


def test_in_another_file_all_that_is_there_is_recorded_again() -> None:
    watched = Watched()
    for name in ("n2", "n1"):
        watched.tell(NODES, "ADDED", api_objects.node_body(name))
    first = watched.lines()
    watched.objects.start_over()

    assert first == watched.lines()
    assert ["n1", "n2"] == [(each.object or {})["metadata"]["name"] for each in first]


def test_a_node_that_cannot_be_read_is_recorded_too() -> None:
    watched = Watched()
    watched.tell(NODES, "ADDED", api_objects.node_body("n1"), allocatable={"cpu": "many"})
    (line,) = watched.lines()

    assert line.object is not None
    assert {"cpu": "many"} == line.object["status"]["allocatable"]
    assert [] == list(watched.cache.node_usage.table().rows)


def test_an_older_state_of_an_object_is_not_recorded() -> None:
    watched, node = Watched(), api_objects.node_body("n1")
    handler = watched.handlers.of(NODES)
    for version, ready_now in (("7", "True"), ("6", "False")):
        metadata = {**node["metadata"], "uid": "u", "resourceVersion": version}
        body = {**node, "metadata": metadata, "status": {"conditions": ready(ready_now)}}
        handler.handle({"type": "MODIFIED", "object": body})
    (line,) = watched.lines()

    assert line.object is not None
    assert ready("True")[0]["status"] == line.object["status"]["conditions"][0]["status"]


def test_a_node_that_a_list_no_longer_has_is_gone() -> None:
    watched = Watched()
    watched.tell(NODES, "ADDED", api_objects.node_body("n1"))
    watched.lines()
    watched.handlers.of(NODES).missing("uid-n1")
    (line,) = watched.lines()

    assert line.gone is not None
    assert "n1" == line.gone.name


def test_an_object_that_came_and_went_between_two_looks_is_not_recorded() -> None:
    watched, node = Watched(), api_objects.node_body("n1")
    watched.tell(NODES, "ADDED", node)
    watched.tell(NODES, "DELETED", node)

    assert [] == watched.lines()
