"""A user has a thousand objects as long as they may be: lists of them take little memory."""

import logging
from typing import Any

import pytest
from aiohttp import web
from kopf._cogs.clients import auth, fetching
from kopf._cogs.structs.credentials import Vault, VaultKey
from kopf._cogs.structs.references import Resource

from gang_scheduler.api.kinds import PODS
from gang_scheduler.client import http
from gang_scheduler.client.connection import Connection
from gang_scheduler.client.errors import ApiError, Kind
from gang_scheduler.client.kubernetes import MOST_OBJECTS, KubernetesApi
from gang_scheduler.state.cache import Cache
from gang_scheduler.state.changes import Changes
from gang_scheduler.watch import kopf, list_once
from gang_scheduler.watch.known_objects import KnownObjects
from gang_scheduler.watch.list_watch import ListWatch
from gang_scheduler.watch.synced import ChangeCount
from support import cache_feeding
from support.api_objects import pod_body
from support.builders import SCHEDULER
from support.local_server import LocalServer

MANY = 990
LONGEST = 400_000
"""In bytes: the longest answer that is read here."""


class LongObjects(LocalServer):
    """Lists pods with a text of `length` characters each, as many at once as it is asked for."""

    def __init__(self, length: int) -> None:
        super().__init__()
        self.asked = 0
        self._pods = [_long(pod_body(f"p-{number}"), length) for number in range(MANY)]

    async def _answer(self, request: web.Request) -> web.StreamResponse:
        self.asked += 1
        start, limit = int(request.query.get("continue") or 0), int(request.query["limit"])
        following = str(start + limit) if start + limit < MANY else ""
        metadata = {"resourceVersion": "1", "continue": following}
        items = self._pods[start : start + limit]
        return web.json_response({"kind": "List", "metadata": metadata, "items": items})


def _long(body: dict[str, Any], length: int) -> dict[str, Any]:
    body["spec"]["containers"][0]["env"] = [{"name": "TEXT", "value": "x" * length}]
    return body


@pytest.fixture(autouse=True)
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a thousandth of an object's greatest length stand for it."""
    monkeypatch.setattr(http, "LARGEST_ANSWER", LONGEST)


async def test_all_are_taken_in_though_a_page_of_many_is_not_read() -> None:
    cache = Cache([SCHEDULER], Changes())
    handlers = cache_feeding.event_handlers(cache)
    async with LongObjects(10_000) as server, Connection(server.configuration) as connection:
        known_objects = KnownObjects(handlers.of(PODS), handlers.versions)
        lists = ListWatch(connection, (PODS,), known_objects, ChangeCount())
        await lists.list_once()

    assert MANY == len([*cache.pods()])
    assert server.asked < MANY / 8


async def test_all_are_taken_in_from_lists_of_kopf_whose_pages_of_many_are_not_read() -> None:
    cache = Cache([SCHEDULER], Changes())
    handlers = cache_feeding.event_handlers(cache)
    async with LongObjects(10_000) as server, Connection(server.configuration) as connection:
        vault = Vault({VaultKey("ours"): await kopf.credentials(connection)})
        auth.vault_var.set(vault)
        with kopf.taken_in(handlers, lambda *_: None):
            async for chunk, _ in fetching.fetch_objs(
                settings=kopf.operator_settings(),
                resource=Resource("", "v1", "pods", namespaced=True),
                namespace=None,
                logger=logging.getLogger(),
            ):
                assert not chunk
        await vault.close()

    assert MANY == len([*cache.pods()])
    assert MANY / (LONGEST / 10_000) < server.asked < MANY / 8


async def test_all_are_given_to_a_command_and_to_the_sweep() -> None:
    async with LongObjects(10_000) as server, Connection(server.configuration) as connection:
        assert MANY == len(await list_once.bodies(connection, PODS, "ns"))
        assert MANY == len(await KubernetesApi(connection).uids(PODS))


@pytest.mark.parametrize("length", [10, 10_000])
async def test_a_list_in_a_namespace_is_refused_for_more_than_is_read_at_once(length: int) -> None:
    async with LongObjects(length) as server, Connection(server.configuration) as connection:
        with pytest.raises(ApiError) as refused:
            await KubernetesApi(connection).objects(PODS, "ns")

    assert Kind.REFUSED is refused.value.kind
    assert 1 == server.asked
    assert MANY > MOST_OBJECTS
