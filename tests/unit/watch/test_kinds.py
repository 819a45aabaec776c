"""Queues that are deleted, and those that are created again within the grace."""

import asyncio
from typing import Any

import pytest

from gang_scheduler.api import kinds as api
from gang_scheduler.decode.events import Sink
from gang_scheduler.decode.queues.declared import LocalQueue
from gang_scheduler.model.queues import QueueKind, QueueRef
from gang_scheduler.state import kinds
from gang_scheduler.state.cache import Cache
from gang_scheduler.state.changes import Changes
from gang_scheduler.watch.kinds import GraceSink, with_grace
from support.builders import SCHEDULER


@pytest.fixture
def cache() -> Cache:
    return Cache([SCHEDULER], Changes())


async def test_what_is_deleted_counts_and_is_listed_no_more(cache: Cache) -> None:
    sink = local_queues(cache, grace=3600)
    sink.upsert(local_queue("a"))
    sink.upsert(local_queue("b"))

    sink.delete("a")
    await asyncio.sleep(0.01)

    assert {"a", "b"} == counting(cache)
    assert {"b"} == set(sink.uids())


async def test_it_is_gone_after_the_grace(cache: Cache) -> None:
    sink = local_queues(cache, grace=0)
    sink.upsert(local_queue("a"))

    sink.delete("a")
    sink.delete("a")
    sink.delete("never seen")
    await asyncio.sleep(0.01)

    assert set() == counting(cache)


async def test_what_comes_back_stays(cache: Cache) -> None:
    sink = local_queues(cache, grace=0)
    sink.upsert(local_queue("a"))

    sink.delete("a")
    sink.upsert(local_queue("a"))
    await asyncio.sleep(0.01)

    assert {"a"} == counting(cache) == set(sink.uids())


async def test_another_of_its_name_takes_its_place_at_once(cache: Cache) -> None:
    sink = local_queues(cache, grace=0)
    sink.upsert(local_queue("old", name="team"))

    sink.delete("old")
    sink.upsert(local_queue("new", name="team"))
    assert {"new"} == counting(cache)
    await asyncio.sleep(0.01)

    assert {"new"} == counting(cache) == set(sink.uids())


def test_what_says_which_quota_a_gang_has_has_a_grace_and_nothing_else(cache: Cache) -> None:
    sinks = with_grace(kinds.sinks(cache), 10)

    assert {
        *(api.QUEUES, api.CLUSTER_QUEUES[0], api.COHORTS[0], api.LOCAL_QUEUES[0]),
        *(api.VOLCANO_QUEUES, api.RESOURCE_FLAVORS, api.KUEUE_RESOURCE_FLAVORS[0]),
        api.WORKLOAD_PRIORITY_CLASSES[0],
    } == {reader.gvr for reader, sink in sinks if isinstance(sink, GraceSink)}


def local_queues(cache: Cache, *, grace: float) -> Sink[Any]:
    """Return where LocalQueues go."""
    sinks = with_grace(kinds.sinks(cache), grace)
    return next(sink for reader, sink in sinks if reader.gvr == api.LOCAL_QUEUES[0])


def local_queue(uid: str, name: str = "") -> LocalQueue:
    return LocalQueue(uid, "ns", name or uid, QueueRef(QueueKind.CLUSTER_QUEUE, "cq"))


def counting(cache: Cache) -> set[str]:
    """Return the uids of the LocalQueues that count."""
    return {each.uid for each in cache.kueue_objects.local_queues.all.values()}
