"""All objects are taken in, all deletions too, and a bad object costs no other object."""

from collections.abc import Iterable
from typing import Any

import msgspec
import pytest
import structlog
from msgspec import Raw

from gang_scheduler import internal_errors
from gang_scheduler.api import kinds
from gang_scheduler.api.kinds import GVR, JOBS, NODES, POD_GROUPS, PODS
from gang_scheduler.client.errors import ApiError
from gang_scheduler.decode.events import LeftOutObjects
from gang_scheduler.model.api_words import ManagedKind
from gang_scheduler.model.rules import Rules, WorkloadRules
from gang_scheduler.state.cache import Cache
from gang_scheduler.state.changes import Changes
from gang_scheduler.state.kinds import KINDS
from gang_scheduler.watch import known_objects
from gang_scheduler.watch.known_objects import KnownObjects
from support import cache_feeding
from support import decoded as pod_decode
from support.api_objects import node_body, pod_body
from support.builders import SCHEDULER

OTHERS = [each.reader for each in KINDS if each.reader.direct is None]


class Harness:
    """A feed of one kind that ends in a cache."""

    def __init__(self, gvr: GVR = PODS) -> None:
        self.gvr = gvr
        self._left_out = LeftOutObjects()
        self.cache = Cache(
            [SCHEDULER], Changes(), Rules(workloads=WorkloadRules(manage_jobs=tuple(ManagedKind)))
        )
        self.event_handlers = cache_feeding.event_handlers(self.cache, self._left_out)
        handler = self.event_handlers.of(gvr)
        self.known_objects = KnownObjects(handler, self.event_handlers.versions)

    def change(self, change: str, body: Any) -> str:
        """Let a watch tell of a change."""
        return self.known_objects.changed(msgspec.json.encode({"type": change, "object": body}))

    def relist(self, *bodies: Any) -> None:
        """Let a list tell what there is."""
        self.begin_list(*bodies)
        self.known_objects.end()

    def begin_list(self, *bodies: Any) -> None:
        """Let a list break off after these."""
        self.known_objects.begin(self.gvr)
        for body in bodies:
            self.known_objects.listed(Raw(msgspec.json.encode(body)))

    def names(self) -> list[str]:
        """Return the names of the pods in the cache."""
        return sorted(pod.name for pod in self.cache.pods())

    def told(self) -> list[str]:
        """Return which objects were left out since the last time, and why."""
        left_out = self._left_out.take_all()
        return [f"{each.kind} {each.obj['metadata']['name']}: {each.why}" for each in left_out]


def pods(*names: str) -> Iterable[dict[str, Any]]:
    return (pod_body(name) for name in names)


def test_what_a_watch_tells_is_in_the_cache() -> None:
    harness = Harness()

    harness.change("ADDED", pod_body("a"))
    harness.change("ADDED", pod_body("b"))
    harness.change("MODIFIED", pod_body("a", nodeName="n1"))
    harness.change("DELETED", pod_body("b"))

    assert {"a": "n1"} == {pod.name: pod.node for pod in harness.cache.pods()}


def test_what_a_list_has_not_is_gone_at_once() -> None:
    harness = Harness()
    harness.relist(*pods("a", "b"))
    harness.change("ADDED", pod_body("c"))

    harness.relist(*pods("b", "d"))

    assert ["b", "d"] == harness.names()


def test_a_list_that_breaks_off_deletes_no_object_and_the_next_one_is_exact() -> None:
    harness = Harness()
    harness.relist(*pods("a", "b"))

    harness.begin_list(*pods("a", "c"))
    half = harness.names()
    harness.relist(*pods("b"))

    assert (["a", "b", "c"], ["b"]) == (half, harness.names())


def in_version(name: str, version: int, **spec: Any) -> dict[str, Any]:
    return pod_body(name, metadata={"resourceVersion": str(version)}, **spec)


def test_what_is_known_in_this_state_is_not_taken_in_again_and_what_has_changed_is() -> None:
    harness = Harness()
    harness.relist(in_version("a", 1), in_version("b", 2), in_version("c", 3))
    known = {pod.name: pod for pod in harness.cache.pods()}

    harness.relist(in_version("a", 1), in_version("b", 4, nodeName="n1"), in_version("d", 5))

    assert ["a", "b", "d"] == harness.names()
    found = {pod.name: pod for pod in harness.cache.pods()}
    assert found["a"] is known["a"]
    assert "n1" == found["b"].node


def test_what_a_list_shows_unchanged_counts_as_listed() -> None:
    harness = Harness()
    handler = harness.event_handlers.of(PODS)
    harness.relist(in_version("a", 1))

    # Lists beside a watch have a memory of their own.
    beside = KnownObjects(handler, harness.event_handlers.versions)
    beside.begin(PODS)
    beside.listed(Raw(msgspec.json.encode(in_version("a", 1))))
    beside.end()

    assert set(handler.uids()) == set(beside.uids)
    assert ["a"] == harness.names()


def test_after_a_restore_of_etcd_all_is_taken_in_although_versions_are_those_known() -> None:
    harness = Harness()
    harness.relist(in_version("a", 7), in_version("b", 9))

    harness.known_objects.begin(PODS)
    harness.known_objects.as_of("8")
    harness.known_objects.listed(Raw(msgspec.json.encode(in_version("a", 7, nodeName="n1"))))
    harness.known_objects.end()

    assert {"a": "n1"} == {pod.name: pod.node for pod in harness.cache.pods()}


def test_a_node_of_the_same_name_outlives_the_deletion_of_the_former() -> None:
    harness = Harness(NODES)
    harness.relist(node_body("n1"))

    harness.relist(node_body("n1", metadata={"uid": "another"}))

    assert {"another": "n1"} == harness.cache.node_usage.uids


def test_a_pod_comes_in_as_through_kopf() -> None:
    body = pod_body("a", metadata={"labels": {"app": "x"}}, nodeName="n1", priority=7)
    harness = Harness()

    harness.change("ADDED", body)

    assert [pod_decode.pod(body)] == list(harness.cache.pods())


def test_null_is_absent() -> None:
    harness = Harness()

    harness.change("ADDED", pod_body("a", nodeSelector=None, priorityClassName=None))

    assert (["a"], []) == (harness.names(), harness.told())


@pytest.mark.parametrize("change", ["ADDED", "MODIFIED"])
def test_an_unreadable_object_is_left_out_and_reported_and_others_continue(change: str) -> None:
    harness = Harness()
    harness.relist(*pods("a", "b"))

    harness.change(change, pod_body("a", metadata={"labels": 5}))
    harness.change("ADDED", pod_body("c"))

    assert ["b", "c"] == harness.names()
    assert ["Pod a: metadata.labels must be an object, not 5"] == harness.told()
    assert {"uid-a"} == harness.event_handlers.broken


def test_an_object_that_could_not_be_read_may_become_fine_or_go() -> None:
    harness = Harness()
    for name in ("a", "b"):
        harness.change("ADDED", pod_body(name, priority="high"))

    harness.change("MODIFIED", pod_body("a"))
    harness.change("DELETED", pod_body("b", priority="high"))

    assert (["a"], set()) == (harness.names(), harness.event_handlers.broken)


def test_nonsense_amounts_are_reported_by_field() -> None:
    harness = Harness(NODES)

    harness.relist(node_body("n1", allocatable={"cpu": "x"}), node_body("n2"))

    assert ['Node n1: status.allocatable.cpu must be a quantity, not "x"'] == harness.told()
    assert ["n2"] == sorted(harness.cache.node_usage.uids.values())


def test_an_object_that_brings_out_a_bug_keeps_no_others_away() -> None:
    harness = Harness(JOBS)
    fine = {"metadata": {"name": "b", "uid": "uid-b"}}

    with structlog.testing.capture_logs() as logs:
        harness.relist(["no object"], fine)

    assert ["internal_error"] == [line["event"] for line in logs]
    assert internal_errors.problem().startswith("internal error, take in jobs.batch")
    assert ["uid-b"] == list(cache_feeding.uids(harness.cache, JOBS))


def test_an_object_without_an_identity_is_reported_and_taken_for_no_other() -> None:
    harness = Harness(JOBS)

    harness.relist({"metadata": {"name": "a"}}, {"metadata": {"name": "b", "uid": "uid-b"}})

    assert ["Job a: metadata.uid is required"] == harness.told()
    assert ["uid-b"] == list(cache_feeding.uids(harness.cache, JOBS))


TOO_LARGE = Raw(
    msgspec.json.encode(
        {"metadata": {"name": "a", "uid": "uid-a"}, "spec": {"minMember": 1}}
    ).replace(b'"minMember":1', b'"minMember":' + b"9" * 5000)
)


def test_an_object_that_no_decoder_reads_is_reported_under_its_name() -> None:
    harness = Harness(POD_GROUPS)

    harness.known_objects.begin(POD_GROUPS)
    harness.known_objects.listed(TOO_LARGE)
    harness.known_objects.end()

    (told,) = harness.told()
    assert told.startswith("PodGroup a: the object cannot be read: Integer value out of range")
    (record,) = harness.cache.gang_queue.infos.values()
    assert record.observed.spec is not None
    assert record.observed.spec.problem is not None


def test_what_was_known_stays_where_a_list_has_it_and_it_cannot_be_read() -> None:
    harness = Harness(PODS)
    on_node = pod_body("a", nodeName="n1")
    harness.relist(on_node)

    broken = msgspec.json.encode(on_node).replace(b'"n1"', b'"n1","x":' + b"9" * 5000)
    harness.known_objects.begin(PODS)
    harness.known_objects.listed(Raw(broken))
    harness.known_objects.end()

    assert ["a"] == harness.names()


def test_a_page_is_not_lost_for_one_object_that_is_nested_too_deeply() -> None:
    deep = {"metadata": {"name": "a", "uid": "uid-a"}, "spec": {"x": "DEEP"}}
    text = msgspec.json.encode({"metadata": {}, "items": [deep, {"metadata": {"name": "b"}}]})
    page = known_objects.decoded(
        text.replace(b'"DEEP"', b"[" * 5000 + b'"]["' + b"]" * 5000), known_objects.PAGE
    )

    assert page.items is not None
    found = [known_objects.IDENTIFIED.decode(each).metadata.name for each in page.items]
    assert ["a", "b"] == found


def test_a_bookmark_moves_the_version_and_nothing_else() -> None:
    harness = Harness()
    harness.relist(*pods("a"))
    metadata = {"resourceVersion": "12", "creationTimestamp": None}
    # As an API server sends it.
    mark = {"kind": "Pod", "metadata": metadata, "spec": {"containers": None}, "status": {}}

    assert "12" == harness.change("BOOKMARK", mark)
    assert ["a"] == harness.names()


def test_every_event_says_where_a_watch_goes_on() -> None:
    harness = Harness()
    body = pod_body("a", metadata={"resourceVersion": "7"})

    assert ["7"] * 3 == [harness.change(each, body) for each in ("ADDED", "MODIFIED", "DELETED")]


def test_an_error_in_the_stream_is_an_error() -> None:
    status = {"kind": "Status", "metadata": {}, "code": 410, "message": "too old", "status": "x"}

    with pytest.raises(ApiError) as raised:
        Harness().change("ERROR", status)

    assert (410, "too old") == (raised.value.status, raised.value.message)


@pytest.mark.parametrize("line", [b"<html>", b"{}", b"[]", b'{"type": "ADDED", "obj', b""])
def test_what_is_no_event_is_an_error(line: bytes) -> None:
    with pytest.raises(ApiError, match="no answer"):
        Harness().known_objects.changed(line)


@pytest.mark.parametrize("kind", OTHERS, ids=lambda kind: str(kind.versions[0]))
def test_every_kind_leaves_the_cache_when_a_list_has_it_no_more(kind: Any) -> None:
    harness = Harness(kind.versions[0])
    metadata = {"name": "a", "namespace": "default", "uid": "u"}
    harness.relist({"metadata": metadata, "spec": {}, "value": 1})

    before = list(cache_feeding.uids(harness.cache, kind.versions[0]))
    harness.relist()

    assert (["u"], []) == (before, list(cache_feeding.uids(harness.cache, kind.versions[0])))


def test_a_node_leaves_the_cache_when_a_list_has_it_no_more() -> None:
    harness = Harness(kinds.NODES)
    harness.relist(node_body("n1"))

    harness.relist()

    assert [] == list(cache_feeding.uids(harness.cache, NODES))
