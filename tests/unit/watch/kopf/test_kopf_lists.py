"""Lists of Kopf are taken in as they come, and Kopf has nothing left of them to do."""

from collections.abc import AsyncIterator, Iterator
from types import SimpleNamespace
from typing import Any

import pytest
from kopf._cogs.clients import fetching

from gang_scheduler.state.cache import Cache
from gang_scheduler.state.changes import Changes
from gang_scheduler.watch import kopf, synced
from support import cache_feeding
from support.api_objects import pod_body
from support.builders import SCHEDULER

PODS = SimpleNamespace(group="", version="v1", plural="pods")
CRDS = SimpleNamespace(
    group="apiextensions.k8s.io", version="v1", plural="customresourcedefinitions"
)
CHUNKS: list[tuple[list[dict[str, Any]], str]] = [
    ([pod_body("a", scheduler=SCHEDULER)], "7"),
    ([pod_body("b", scheduler=SCHEDULER), {"metadata": "broken"}], "7"),
]


@pytest.fixture(autouse=True)
def lists(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Have two chunks listed of whatever Kopf asks for."""

    async def fetch_objs(**_: object) -> AsyncIterator[tuple[list[dict[str, Any]], str]]:
        for chunk in CHUNKS:
            yield chunk

    monkeypatch.setattr(fetching, "fetch_objs", fetch_objs)
    yield
    synced.not_served("pods")


async def listed(resource: SimpleNamespace) -> list[tuple[list[dict[str, Any]], str]]:
    """Return what Kopf sees of a list."""
    found: Any = fetching.fetch_objs
    return [each async for each in found(resource=resource)]


async def test_pods_are_taken_in_and_nothing_is_left_for_kopf() -> None:
    cache, seen = Cache([SCHEDULER], Changes()), []
    handlers = cache_feeding.event_handlers(cache)
    with kopf.taken_in(handlers, lambda handler, uid: seen.append((handler.name, uid))):
        assert [([], "7"), ([], "7")] == await listed(PODS)

    uids = [each["metadata"]["uid"] for chunk, _ in CHUNKS for each in chunk[:1]]
    assert sorted(uids) == sorted(cache.pod_store.uids())
    assert [*(("pods", uid) for uid in uids), ("pods", "")] == seen


async def test_what_we_do_not_watch_is_left_to_kopf() -> None:
    handlers = cache_feeding.event_handlers(Cache([SCHEDULER], Changes()))
    with kopf.taken_in(handlers, lambda *_: None):
        assert CHUNKS == await listed(CRDS)


async def test_afterwards_kopf_lists_as_before() -> None:
    before = fetching.fetch_objs
    handlers = cache_feeding.event_handlers(Cache([SCHEDULER], Changes()))
    with kopf.taken_in(handlers, lambda *_: None):
        assert fetching.fetch_objs is not before
    assert fetching.fetch_objs is before
