"""One list of each kind, into a cache."""

from collections.abc import Mapping, Sequence

import pytest

from gang_scheduler.api.kinds import NODES, POD_GROUPS, PODS, QUEUES
from gang_scheduler.client.connection import Connection
from gang_scheduler.client.errors import ApiError
from gang_scheduler.state.cache import Cache
from gang_scheduler.state.changes import Changes
from gang_scheduler.watch import list_once
from gang_scheduler.watch.list_once import Unlisted
from gang_scheduler.workloads.ray import CLUSTERS as RAY_CLUSTERS
from support import cache_feeding
from support.api_objects import pod_body
from support.builders import SCHEDULER
from support.listing_server import Body, ListingServer, forbidden, listed

PODS_OF_THREE_PAGES = listed(*(pod_body(f"p-{number}") for number in range(5)))
Answers = Mapping[str, Sequence[Body] | int]


async def filled(answers: Answers) -> tuple[Cache, Unlisted]:
    cache = Cache([SCHEDULER], Changes())
    async with ListingServer(answers) as server, Connection(server.configuration) as connection:
        return cache, await list_once.fill(connection, cache_feeding.event_handlers(cache))


async def test_all_pages_of_all_kinds_are_taken_in() -> None:
    cache, unlisted = await filled({PODS.path(): PODS_OF_THREE_PAGES})

    assert [f"p-{number}" for number in range(5)] == sorted(pod.name for pod in cache.pods())
    assert QUEUES.name in unlisted.not_served
    assert () == unlisted.forbidden


async def test_kinds_that_may_not_be_listed_are_reported() -> None:
    _, unlisted = await filled(forbidden(QUEUES, *RAY_CLUSTERS))

    assert (QUEUES.name, RAY_CLUSTERS[0].name) == unlisted.forbidden


@pytest.mark.parametrize("gvr", [PODS, NODES])
async def test_without_pods_or_nodes_there_is_no_cluster(gvr: object) -> None:
    with pytest.raises(ApiError) as refused:
        await filled(forbidden(PODS if gvr is PODS else NODES))

    assert 403 == refused.value.status


async def test_an_answer_that_says_nothing_is_an_error() -> None:
    with pytest.raises(ApiError) as failed:
        await filled({POD_GROUPS.path(): 500})

    assert 500 == failed.value.status


async def test_bodies_are_as_they_are_listed_with_their_version() -> None:
    answers = {PODS.path("a"): PODS_OF_THREE_PAGES}
    async with ListingServer(answers) as server, Connection(server.configuration) as connection:
        found = await list_once.bodies(connection, PODS, "a")

    assert [each["metadata"]["name"] for each in found] == [f"p-{number}" for number in range(5)]
    assert {"v1"} == {each["apiVersion"] for each in found}
