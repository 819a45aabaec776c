"""Every kind of the table comes in, is listed and goes, and its store says what that means."""

from collections.abc import Iterator
from typing import Any

import pytest

from gang_scheduler.api.kinds import (
    ADMISSION_CHECKS,
    CLUSTER_NETWORK_TOPOLOGIES,
    CLUSTER_QUEUES,
    COHORTS,
    GVR,
    JOBS,
    KUEUE_RESOURCE_FLAVORS,
    LOCAL_QUEUES,
    NAMESPACES,
    NODES,
    PERSISTENT_VOLUME_CLAIMS,
    POD_DISRUPTION_BUDGETS,
    POD_GROUPS,
    PODS,
    PROVISIONING_REQUEST_CONFIGS,
    PROVISIONING_REQUESTS,
    QUEUES,
    RESOURCE_FLAVORS,
    VOLCANO_QUEUES,
    WORKLOAD_PRIORITY_CLASSES,
)
from gang_scheduler.model.api_words import ManagedKind
from gang_scheduler.model.rules import Rules, WorkloadRules
from gang_scheduler.state import kinds
from gang_scheduler.state.cache import Cache
from gang_scheduler.state.changes import Change, Changes
from gang_scheduler.state.kinds import KINDS, Kind
from gang_scheduler.workloads import table
from support import cache_feeding
from support.api_objects import node_body, pod_body
from support.builders import SCHEDULER

LAYERS = [{"topologyLayer": "NodeTopologyLayer", "parentTopologyLayer": "", "labelKey": []}]
TOUCHED, FREED, TREES = Change.GANGS_TOUCHED, Change.ROOM_FREED, Change.TREES_CHANGED
NOTHING, QUEUES_CHANGED = Change.NOTHING, Change.QUEUES_CHANGED
OF_QUEUES = (
    QUEUES,
    RESOURCE_FLAVORS,
    CLUSTER_QUEUES[0],
    COHORTS[0],
    LOCAL_QUEUES[0],
    KUEUE_RESOURCE_FLAVORS[0],
    WORKLOAD_PRIORITY_CLASSES[0],
    ADMISSION_CHECKS[0],
    PROVISIONING_REQUEST_CONFIGS[0],
    VOLCANO_QUEUES,
)


def bare(kind: str, **spec: Any) -> dict[str, Any]:
    """Return an object that says nothing but what it is called, or this."""
    metadata = {"name": "default", "namespace": "default", "uid": "uid-a"}
    priority_class = {"metadata": metadata, "value": 1}
    full = {"Node": node_body("a"), "Pod": pod_body("a"), "PriorityClass": priority_class}
    return full.get(kind, {"apiVersion": "example.com/v1", "metadata": metadata, "spec": spec})


def all_versions() -> Iterator[GVR]:
    return (gvr for each in KINDS for gvr in each.reader.versions)


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: str(kind.reader.name))
def test_an_object_of_every_kind_comes_and_goes(kind: Kind) -> None:
    cache = Cache(
        [SCHEDULER], Changes(), Rules(workloads=WorkloadRules(manage_jobs=tuple(ManagedKind)))
    )
    handler = cache_feeding.event_handlers(cache).of(kind.reader.gvr)
    body = bare(kind.reader.kind)

    handler.handle({"type": "ADDED", "object": body})
    there = list(handler.uids())
    handler.missing(body["metadata"]["uid"])

    assert ([body["metadata"]["uid"]], []) == (there, list(handler.uids()))


def test_workloads_that_only_make_others_are_read_where_they_are_managed() -> None:
    def read(*managed: ManagedKind) -> set[str]:
        cache = Cache([SCHEDULER], Changes(), Rules(workloads=WorkloadRules(manage_jobs=managed)))
        return {reader.kind for reader, _ in kinds.sinks(cache)}

    assert set() == read(ManagedKind.JOB, ManagedKind.RAY_CLUSTER) & table.OWNERS.keys()
    assert {"RayJob"} == read(ManagedKind.RAY_JOB) - read()


def test_no_two_rows_are_of_one_kind() -> None:
    found = list(all_versions())

    assert len(set(found)) == len(found)
    assert [kinds.of(gvr).reader.gvr.name for gvr in found] == [gvr.name for gvr in found]


@pytest.mark.parametrize(
    ("gvr", "spec", "changes"),
    [
        (NODES, {}, [FREED, NOTHING, NOTHING, NOTHING]),
        (PODS, {}, [TOUCHED, NOTHING, TOUCHED, NOTHING]),
        (POD_GROUPS, {"minMember": 2}, [TOUCHED] * 4),
        (JOBS, {}, [TOUCHED] * 4),
        (NAMESPACES, {}, [NOTHING] * 4),
        (POD_DISRUPTION_BUDGETS, {}, [NOTHING, NOTHING, FREED, NOTHING]),
        (PERSISTENT_VOLUME_CLAIMS, {}, [NOTHING] * 4),
        # One of another writer.
        (PROVISIONING_REQUESTS[0], {}, [NOTHING] * 4),
        (
            CLUSTER_NETWORK_TOPOLOGIES,
            {"networkTopologySpec": LAYERS},
            [TREES, NOTHING, TREES, NOTHING],
        ),
        *((gvr, {}, [QUEUES_CHANGED, NOTHING, QUEUES_CHANGED, NOTHING]) for gvr in OF_QUEUES),
    ],
    ids=lambda each: each.name if isinstance(each, GVR) else "",
)
def test_a_store_says_what_an_object_means_that_comes_twice_and_goes_twice(
    gvr: GVR, spec: dict[str, Any], changes: list[Change]
) -> None:
    row = kinds.of(gvr)
    store = row.store(Cache([SCHEDULER], Changes()))
    body = bare(row.reader.kind, **spec)
    uid = body["metadata"]["uid"]

    came = [store.upsert(row.reader.read(body)) for _ in range(2)]
    gone = [store.delete(uid) for _ in range(2)]

    assert changes == came + gone


def test_an_object_that_was_made_anew_takes_the_place_of_the_one_of_its_name() -> None:
    cache = Cache([SCHEDULER], Changes())
    for gvr in OF_QUEUES:
        row = kinds.of(gvr)
        store, body = row.store(cache), bare(row.reader.kind)
        store.upsert(row.reader.read(body))
        store.upsert(row.reader.read({**body, "metadata": {**body["metadata"], "uid": "later"}}))
        assert ["later"] == list(store.uids())


def test_a_queue_that_becomes_unreadable_is_there_and_inactive() -> None:
    cache = Cache([SCHEDULER], Changes())
    handlers = cache_feeding.event_handlers(cache)
    good = {**bare("Queue", parent="org"), "kind": "Queue"}
    handlers.of(QUEUES).handle({"type": "ADDED", "object": good})
    handlers.of(QUEUES).handle({"type": "MODIFIED", "object": {**good, "spec": {"weight": "x"}}})

    queue_set = cache.queues.queue_set()
    assert queue_set is not None
    (queue,) = queue_set.queues
    assert ("default", "org") == (queue.ref.name, str(queue.parent))
    assert queue.problem is not None
