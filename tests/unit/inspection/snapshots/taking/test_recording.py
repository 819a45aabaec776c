"""What a cache is filled with is written down."""

import msgspec

from gang_scheduler.api.kinds import NODES, PODS
from gang_scheduler.inspection.snapshots.taking import PLACES, Recorder
from gang_scheduler.state.cache import Cache
from gang_scheduler.state.changes import Changes
from gang_scheduler.watch.known_objects import KnownObjects
from support import cache_feeding
from support.api_objects import node_body, pod_body
from support.builders import SCHEDULER


def recorded(*bodies: object) -> tuple[Cache, Recorder]:
    """Return a cache that saw these pods as a list has them, and what was written down."""
    cache = Cache([SCHEDULER], Changes())
    recorder = Recorder(cache_feeding.event_handlers(cache))
    (handler,) = (each for each in recorder.all if each.name == PODS.name)
    known_objects = KnownObjects(handler, recorder.versions)
    known_objects.begin(PODS)
    for each in bodies:
        known_objects.listed(msgspec.Raw(msgspec.json.encode(each)))
    known_objects.end()
    return cache, recorder


def test_an_object_is_in_the_cache_and_has_a_line() -> None:
    cache, recorder = recorded(pod_body("a"), pod_body("b", nodeName="n"))

    lines = sorted(recorder.lines.values())
    assert ["a", "b"] == sorted(pod.name for pod in cache.pods())
    assert [(PLACES[PODS.name], "default", name) for name in "ab"] == [each[:3] for each in lines]
    assert "Pod" == msgspec.json.decode(lines[0].text)["kind"]


def test_an_object_that_cannot_be_read_has_a_line_too() -> None:
    _, recorder = recorded(pod_body("a", nodeName="n", priority="high"))

    (line,) = recorder.lines.values()
    assert "high" == msgspec.json.decode(line.text)["spec"]["priority"]


def test_an_object_that_a_second_list_has_no_more_has_none() -> None:
    cache, recorder = recorded(pod_body("a"))
    (handler,) = (each for each in recorder.all if each.name == PODS.name)

    handler.handle({"type": "DELETED", "object": pod_body("a")})

    assert ({}, []) == (recorder.lines, [*cache.pods()])


def test_nodes_come_before_pods() -> None:
    recorder = Recorder(cache_feeding.event_handlers(Cache([SCHEDULER], Changes())))
    for each in recorder.all:
        if each.name == NODES.name:
            each.handle({"type": "ADDED", "object": node_body("n")})
        if each.name == PODS.name:
            each.handle({"type": "ADDED", "object": pod_body("a")})

    assert ["n", "a"] == [each.name for each in sorted(recorder.lines.values())]
