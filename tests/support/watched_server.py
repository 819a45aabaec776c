"""An API server that lists and watches, in a thread of its own.

It goes on while the loop of a test stands still. What Kopf looks up before it watches is answered,
too.
"""

import asyncio
import contextlib
import json
import threading
from collections.abc import Callable, Iterator
from typing import Any, Final, TypeVar

from aiohttp import web

from gang_scheduler.api.kinds import GVR, NAMESPACES, NODES, PODS
from gang_scheduler.client.fake.cluster import Change, Document, FakeCluster
from support.local_server import LocalServer

CRDS: Final = GVR("apiextensions.k8s.io", "v1", "customresourcedefinitions")
SERVED: Final = {
    PODS: "Pod",
    NODES: "Node",
    NAMESPACES: "Namespace",
    CRDS: "CustomResourceDefinition",
}
"""The kinds that there are. Others are not served."""
VERBS: Final = ["create", "get", "list", "watch", "patch", "update", "delete"]
START_SECONDS: Final = 10.0

T = TypeVar("T")


class WatchedServer(LocalServer):
    """Use as an async context manager, or `watched` for a thread of its own.

    `watches` are the paths of the watches that were begun. Those of kinds in `silent` are answered
    and then told nothing; those of kinds in `unanswered` are not even answered.
    """

    def __init__(self) -> None:
        super().__init__()
        self.cluster = FakeCluster(SERVED)
        self.cluster.watchers.append(self._hear)
        self.watches: list[str] = []
        self.silent: set[GVR] = set()
        self.unanswered: set[GVR] = set()
        self._history: list[tuple[int, GVR, bytes]] = []
        self._news = asyncio.Event()

    async def _answer(self, request: web.Request) -> web.StreamResponse:
        for gvr in SERVED:
            if request.path == gvr.path():
                if "watch" in request.query:
                    return await self._watch(request, gvr)
                return web.json_response(self._list(gvr))
        found = _discovery(request.path)
        return web.json_response(found or {"code": 404}, status=200 if found else 404)

    def _list(self, gvr: GVR) -> Document:
        version = self._history[-1][0] if self._history else 0
        return {
            "apiVersion": gvr.api_version,
            "kind": f"{SERVED[gvr]}List",
            "metadata": {"resourceVersion": str(version)},
            "items": self.cluster.all(gvr),
        }

    async def _watch(self, request: web.Request, gvr: GVR) -> web.StreamResponse:
        self.watches.append(request.path)
        if gvr in self.unanswered:
            await asyncio.Event().wait()
        answer = web.StreamResponse()
        since, told = int(request.query["resourceVersion"]), 0
        with contextlib.suppress(ConnectionError):
            await answer.prepare(request)
            while True:
                lines = [
                    line
                    for version, kind, line in self._history[told:]
                    if kind == gvr and version > since and gvr not in self.silent
                ]
                told = len(self._history)
                await answer.write(b"".join(lines))
                if told == len(self._history):
                    await self._news.wait()
        return answer

    def _hear(self, gvr: GVR, change: Change, document: Document) -> None:
        line = json.dumps({"type": change, "object": document}).encode() + b"\n"
        self._history.append((int(document["metadata"]["resourceVersion"]), gvr, line))
        self._news.set()
        self._news = asyncio.Event()


def _discovery(path: str) -> dict[str, Any] | None:
    if path == "/version":
        return {"major": "1", "minor": "34", "gitVersion": "v1.34.0"}
    if path == "/api":
        return {"kind": "APIVersions", "versions": ["v1"]}
    if path == "/apis":
        version = {"groupVersion": CRDS.api_version, "version": CRDS.version}
        group = {"name": CRDS.group, "versions": [version], "preferredVersion": version}
        return {"kind": "APIGroupList", "groups": [group]}
    resources = [
        {
            "name": gvr.plural,
            "singularName": kind.lower(),
            "namespaced": gvr == PODS,
            "kind": kind,
            "verbs": VERBS,
        }
        for gvr, kind in SERVED.items()
        if path == gvr.path().rpartition("/")[0]
    ]
    return {"kind": "APIResourceList", "resources": resources} if resources else None


class Watched:
    """A server in a thread of its own, as a test sees it."""

    def __init__(self, server: WatchedServer, loop: asyncio.AbstractEventLoop) -> None:
        self.server = server
        self.loop = loop

    def do(self, work: Callable[[FakeCluster], None]) -> None:
        """Have something done to the cluster soon, in the thread of the server."""
        self.loop.call_soon_threadsafe(work, self.server.cluster)


@contextlib.contextmanager
def watched() -> Iterator[Watched]:
    """Give a server that runs in a thread of its own."""
    started = threading.Event()
    found: list[Watched] = []
    stop = asyncio.Event()

    async def serve() -> None:
        async with WatchedServer() as server:
            found.append(Watched(server, asyncio.get_running_loop()))
            started.set()
            await stop.wait()

    thread = threading.Thread(target=lambda: asyncio.run(serve()))
    thread.start()
    try:
        started.wait(START_SECONDS)
        yield found[0]
    finally:
        found[0].loop.call_soon_threadsafe(stop.set)
        thread.join()
