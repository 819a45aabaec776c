"""Lists of Kopf are taken in as they come, and Kopf has nothing left of them to do."""

import logging
from collections.abc import AsyncIterator, Iterator
from typing import Any, Self
from urllib.parse import parse_qsl, urlsplit

import msgspec
import pytest
from kopf._cogs.clients import api, fetching
from kopf._cogs.structs.references import Resource

from gang_scheduler.state.cache import Cache
from gang_scheduler.state.changes import Changes
from gang_scheduler.watch import kopf, synced
from support import cache_feeding
from support.api_objects import pod_body
from support.builders import SCHEDULER

PODS = Resource("", "v1", "pods", namespaced=True)
CRDS = Resource("apiextensions.k8s.io", "v1", "customresourcedefinitions", namespaced=False)
PAGES: list[list[dict[str, Any]]] = [
    [pod_body("a", scheduler=SCHEDULER)],
    [pod_body("b", scheduler=SCHEDULER), {"metadata": "broken"}],
]


class Page:
    """An answer that Kopf gets: a page of a list."""

    def __init__(self, number: int) -> None:
        self._following = str(number + 1) if number + 1 < len(PAGES) else ""
        self._items = PAGES[number]
        self.content = self

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        return None

    async def json(self) -> dict[str, Any]:
        """Return it as Kopf reads it."""
        metadata = {"resourceVersion": "7", "continue": self._following}
        return {"metadata": metadata, "items": self._items}

    async def iter_any(self) -> AsyncIterator[bytes]:
        """Yield it as it comes."""
        yield msgspec.json.encode(await self.json())


@pytest.fixture(autouse=True)
def lists(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Have two pages listed of whatever Kopf asks for."""

    async def request(method: str, url: str, **_: object) -> Page:
        assert method == "get"
        return Page(int(dict(parse_qsl(urlsplit(url).query)).get("continue", "0")))

    monkeypatch.setattr(api, "request", request)
    yield
    synced.not_served("pods")


async def listed(resource: Resource) -> list[tuple[list[dict[str, Any]], str]]:
    """Return what Kopf sees of a list."""
    settings, found = kopf.operator_settings(), fetching.fetch_objs
    seen: Any = found(
        settings=settings, resource=resource, namespace=None, logger=logging.getLogger()
    )
    return [each async for each in seen]


async def test_pods_are_taken_in_and_nothing_is_left_for_kopf() -> None:
    cache, seen = Cache([SCHEDULER], Changes()), []
    handlers = cache_feeding.event_handlers(cache)
    with kopf.taken_in(handlers, lambda handler, uid: seen.append((handler.name, uid))):
        assert [([], "7"), ([], "7")] == await listed(PODS)

    uids = [each["metadata"]["uid"] for page in PAGES for each in page[:1]]
    assert sorted(uids) == sorted(cache.pod_store.uids())
    assert [*(("pods", uid) for uid in uids), ("pods", "")] == seen


async def test_what_we_do_not_watch_is_left_to_kopf() -> None:
    handlers = cache_feeding.event_handlers(Cache([SCHEDULER], Changes()))
    with kopf.taken_in(handlers, lambda *_: None):
        found = await listed(CRDS)

    assert [(len(page), "7") for page in PAGES] == [(len(page), version) for page, version in found]


async def test_afterwards_kopf_lists_as_before() -> None:
    before = fetching.fetch_objs
    handlers = cache_feeding.event_handlers(Cache([SCHEDULER], Changes()))
    with kopf.taken_in(handlers, lambda *_: None):
        assert fetching.fetch_objs is not before
    assert fetching.fetch_objs is before
