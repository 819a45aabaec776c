"""Clusters of an API server, with all rights and with few."""

import json
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any

import pytest

from gang_scheduler.api.kinds import CONFIG_MAPS, JOBS, NODES, POD_GROUPS, PODS, QUEUES
from gang_scheduler.client.connection import Connection
from gang_scheduler.client.errors import ApiError
from gang_scheduler.inspection import cluster as inspection_cluster
from gang_scheduler.inspection import live
from gang_scheduler.inspection.cluster import Source
from gang_scheduler.inspection.live import NAME
from gang_scheduler.inspection.servers import Server
from gang_scheduler.workloads.ray import CLUSTERS as RAY_CLUSTERS
from support.listing_server import Body, ListingServer, forbidden, listed

NODE = {
    "metadata": {"name": "n", "uid": "uid-n"},
    "status": {
        "allocatable": {"cpu": "4", "pods": "10"},
        "conditions": [{"type": "Ready", "status": "True"}],
    },
}
LABEL = {"pod-group.scheduling.sigs.k8s.io": "train"}
POD = {
    "metadata": {"name": "p", "namespace": "a", "uid": "uid-p", "labels": LABEL},
    "spec": {"schedulerName": "mine", "containers": [{"name": "c"}]},
}
GROUP = {
    "metadata": {"name": "train", "namespace": "a", "uid": "uid-train"},
    "spec": {"minMember": 1},
}
PROFILE = {
    "metadata": {"name": NAME, "namespace": "ops"},
    "data": {"settings.json": json.dumps({"scheduler_names": ["mine"]}), "operator": "gangs"},
}
ALL: Mapping[str, Sequence[Body]] = {
    NODES.path(): listed(NODE),
    PODS.path(): listed(POD),
    PODS.path("a"): listed(POD),
    POD_GROUPS.path(): listed(GROUP),
    POD_GROUPS.path("a"): listed(GROUP),
    CONFIG_MAPS.path(): listed(PROFILE),
}


@asynccontextmanager
async def server_of(answers: Mapping[str, Any]) -> AsyncIterator[Server]:
    async with (
        ListingServer(answers) as listing,
        Connection(listing.configuration) as connection,
    ):
        yield Server(connection, "a")


async def test_with_all_rights_it_is_what_a_cycle_would_decide_on() -> None:
    async with server_of(ALL) as server:
        cluster = await live.read(server, "a")

    assert (Source.LIVE, "ops/gangs", ()) == (
        cluster.source,
        cluster.settings_of,
        cluster.unread,
    )
    (group,) = cluster.snapshot().groups
    assert ["a/p"] == [pod.key for pod in group.gangs[0].pending]


async def test_kinds_that_may_not_be_listed_are_reported() -> None:
    async with server_of({**ALL, **forbidden(*RAY_CLUSTERS)}) as server:
        cluster = await live.read(server)

    assert (Source.LIVE, (RAY_CLUSTERS[0].name,)) == (cluster.source, cluster.unread)
    assert "rayclusters.ray.io" in cluster.notes[0]


@pytest.mark.parametrize("missing", [NODES, PODS])
async def test_without_a_decisive_kind_it_is_what_is_written_in_one_namespace(
    missing: Any,
) -> None:
    refused = {**ALL, **forbidden(missing, JOBS), JOBS.path("a"): 403}
    async with server_of(refused) as server:
        cluster = await live.read(server, "a")

    assert (Source.WRITTEN, "a") == (cluster.source, cluster.namespace)
    assert (JOBS.name, NODES.name) == cluster.unread
    assert ["p"] == [each["metadata"]["name"] for each in cluster.written[PODS.name]]
    assert ["train"] == [key.name for key in cluster.cache.gang_queue.infos]
    assert [inspection_cluster.ASK_FOR_ALL] == [
        each for each in cluster.notes if "ask an admin" in each
    ]


async def test_of_queues_that_may_not_be_listed_it_is_said_what_to_ask_for() -> None:
    async with server_of({**ALL, **forbidden(NODES, QUEUES)}) as server:
        cluster = await live.read(server, "a")

    assert (Source.WRITTEN, True) == (cluster.source, QUEUES.name in cluster.unread)
    asks = [each for each in cluster.notes if "ask an admin" in each]
    assert [inspection_cluster.ASK_FOR_ALL, inspection_cluster.ASK_FOR_QUEUES] == asks


async def test_without_rights_in_the_namespace_there_is_nothing() -> None:
    async with server_of(forbidden(NODES, PODS, QUEUES) | {PODS.path("a"): 403}) as server:
        with pytest.raises(ApiError) as refused:
            await live.read(server, "a")

    assert (403, True) == (refused.value.status, "/namespaces/a/pods" in refused.value.message)


async def test_for_all_namespaces_nothing_less_will_do() -> None:
    async with server_of({**ALL, **forbidden(PODS)}) as server:
        with pytest.raises(ApiError) as refused:
            await live.read(server)

    assert 403 == refused.value.status


async def test_what_cannot_be_read_is_reported() -> None:
    broken = {**NODE, "status": {"allocatable": {"cpu": "lots"}}}
    async with server_of({**ALL, NODES.path(): listed(broken)}) as server:
        cluster = await live.read(server)

    assert "Node n is left out" in cluster.notes[0]
