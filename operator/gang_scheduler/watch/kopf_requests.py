"""Sees which lists and watches of Kopf are answered: Kopf tells of the events alone.

Without that, a watch that has stalled would look like one of a kind of which nothing changes.
"""

from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from typing import Any

import aiohttp
from kopf._cogs.clients import api

from gang_scheduler.api.kinds import GVR
from gang_scheduler.telemetry import metrics
from gang_scheduler.watch import watch_ages

Request = Callable[..., Awaitable[aiohttp.ClientResponse]]


@contextmanager
def seen(kinds: dict[GVR, str]) -> Iterator[None]:
    """See the requests of Kopf in the block, for the kinds of these names."""
    by_path = {gvr.path(): name for gvr, name in kinds.items()}
    listed: set[str] = set()
    original: Request = api.request

    async def request(method: str, url: str, **how: Any) -> aiohttp.ClientResponse:  # noqa: ANN401 - handed on as it is.
        answer = await original(method, url, **how)
        path, _, query = url.partition("?")
        name = by_path.get(path)
        if name is not None and method == "get":
            if "watch=true" not in query and "continue=" not in query:
                _listed(name, listed)
            watch_ages.seen(name)
        return answer

    api.request = request
    try:
        yield
    finally:
        api.request = original  # type: ignore[assignment] # its parameters are spelt out there.


def _listed(name: str, before: set[str]) -> None:
    if name in before:
        metrics.RELISTS.labels(name).inc()
    before.add(name)
