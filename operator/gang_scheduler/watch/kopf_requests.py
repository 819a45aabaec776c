"""Sees which lists and watches of Kopf are answered, and ends the watches that are silent.

Kopf tells of events alone: without the answers a watch that has stalled would look like one of a
kind of which nothing changes. And Kopf's own bound on silence ends more than a request. Its timer
runs while an event is handled, too, and if it is due then, after a pause of the process for
example, the whole task of the watch is cancelled, and nothing begins it again. The bound of the
connection is asked only while something is read.
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
def seen(kinds: dict[GVR, str], *, silence_seconds: float) -> Iterator[None]:
    """See the requests of Kopf in the block, for the kinds of these names.

    A watch, of whatever kind, that brings nothing for so long breaks as a connection would. Kopf
    begins it anew from the last version.
    """
    by_path = {gvr.path(): name for gvr, name in kinds.items()}
    listed: set[str] = set()
    original: Request = api.request

    async def request(method: str, url: str, **how: Any) -> aiohttp.ClientResponse:  # noqa: ANN401 - handed on as it is.
        path, _, query = url.partition("?")
        watches = "watch=true" in query
        if watches:
            how["timeout"] = _within(silence_seconds, how["timeout"])
        answer = await original(method, url, **how)
        name = by_path.get(path)
        if name is not None and method == "get":
            if watches:
                watch_ages.seen(name)
            elif "continue=" not in query:
                _listed(name, listed)
        return answer

    api.request = request
    try:
        yield
    finally:
        api.request = original  # type: ignore[assignment] # its parameters are spelt out there.


def _within(silence_seconds: float, given: aiohttp.ClientTimeout) -> aiohttp.ClientTimeout:
    return aiohttp.ClientTimeout(
        total=given.total, sock_connect=given.sock_connect, sock_read=silence_seconds
    )


def _listed(name: str, before: set[str]) -> None:
    if name in before:
        metrics.RELISTS.labels(name).inc()
    before.add(name)
