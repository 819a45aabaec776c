"""Writing a status only reads: what a gang becomes is for the next cycle to see first."""

import copy
import json

import pytest

from gang_scheduler.client.fake.client import FakeApi
from gang_scheduler.client.fake.cluster import FakeCluster
from support import parts
from support.builders import gang_key
from support.in_memory_cluster import InMemoryCluster

RECORDS = "gang_scheduler.state.gangs."
MEMOS = {
    *("_living", "_ranks_apart", "_spec", "_spec_is_known", "_summary", "_all_live"),
    *("_elastic", "_elastic_is_known"),
}
"""What a record works out when it is read, and changes nothing by that."""
SHARED = {"_observed", "_version"}
"""What a record knows of the others of its gang."""


def waiting() -> InMemoryCluster:
    """Return a cluster in which `b-0` waits for gang `a`, which names `b` and has no member yet."""
    cluster = InMemoryCluster()
    cluster.gang("a", 1, pods=0, groups=json.dumps(["default/b"]))
    cluster.gang("b", 1)
    assert "WaitingForGangs" == cluster.waits("b")[0]
    return cluster


async def flush(cluster: InMemoryCluster) -> None:
    api = FakeApi(FakeCluster())
    writer = parts.status_writer(api, cluster.cache, clock=lambda: cluster.now)
    await writer.flush()


@pytest.mark.parametrize("is_written", [False, True])
async def test_a_status_written_between_event_and_cycle_keeps_no_gang_of_a_group_waiting(
    *,
    is_written: bool,
) -> None:
    cluster = waiting()
    cluster.pod("a-0", "a", spec={"nodeName": "n1"})
    if is_written:
        await flush(cluster)

    assert {"b-0"} == cluster.bound() | cluster.bound(later=1)


def content(record: object) -> object:
    """Return all that a record says, and those in it."""
    slots = getattr(type(record), "__slots__", None)
    if slots is None or not type(record).__module__.startswith(RECORDS):
        return copy.copy(record)
    return {name: content(getattr(record, name)) for name in set(slots) - MEMOS - SHARED}


async def test_a_status_leaves_what_is_known_of_a_gang_as_it_is() -> None:
    cluster = waiting()
    cluster.gang("running", 2)
    cluster.cycle()
    cluster.end("running-0")
    cluster.gone("running-1")
    cluster.pod("a-0", "a", spec={"nodeName": "n1"})
    cluster.members("b", 3)
    infos = cluster.cache.gang_queue.infos
    before = {key: content(info) for key, info in infos.items()}

    await flush(cluster)

    assert before == {key: content(info) for key, info in infos.items()}


async def test_what_a_cycle_finds_of_a_gang_is_news_for_its_status() -> None:
    cluster = waiting()
    cluster.pod("a-0", "a", spec={"nodeName": "n1"})
    await flush(cluster)
    assert set() == cluster.cache.gang_queue.changed

    cluster.cache.snapshot(cluster.now)

    assert {gang_key("a")} == cluster.cache.gang_queue.changed
