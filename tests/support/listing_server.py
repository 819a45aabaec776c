"""An API server that lists what it is given, to see what is made of its answers."""

import asyncio
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from aiohttp import web

from gang_scheduler.api.kinds import GVR, NODES, PODS
from support.local_server import LocalServer

Body = Mapping[str, Any]
PAGE = 2
"""So many objects are on a page, so that there are several."""
KUBECONFIG = """\
current-context: c
contexts: [{{name: c, context: {{cluster: c, user: u, namespace: mine}}}}]
users: [{{name: u, user: {{token: t}}}}]
clusters: [{{name: c, cluster: {{server: "{server}"}}}}]
"""


def listed(*bodies: Body) -> list[Body]:
    """Return bodies as they are in a list: with a uid and a version."""
    return [
        {**body, "metadata": {"uid": f"uid-{number}", "resourceVersion": "1", **body["metadata"]}}
        for number, body in enumerate(bodies)
    ]


class ListingServer(LocalServer):
    """Use as an async context manager.

    `answers` are the bodies of lists by path, or the status of a failure; other kinds are not
    served, but for nodes and pods, of which there are none. `asked` are the paths of all requests.
    """

    def __init__(self, answers: Mapping[str, Sequence[Body] | int]) -> None:
        super().__init__()
        self.asked: list[str] = []
        self.answers: dict[str, Sequence[Body] | int] = {PODS.path(): [], NODES.path(): []}
        self.answers |= answers

    async def _answer(self, request: web.Request) -> web.StreamResponse:
        self.asked.append(request.path)
        answer = self.answers.get(request.path, 404)
        if isinstance(answer, int):
            status = {"message": f"{request.path}: a failure of the test", "code": answer}
            return web.json_response(status, status=answer)
        return web.json_response(_page(answer, int(request.query.get("continue") or 0)))


def _page(bodies: Sequence[Body], start: int) -> Body:
    following = str(start + PAGE) if start + PAGE < len(bodies) else ""
    metadata = {"resourceVersion": "1", "continue": following}
    return {"kind": "List", "metadata": metadata, "items": bodies[start : start + PAGE]}


def forbidden(*kinds: GVR) -> dict[str, int]:
    """Return the answers of a server at which some kinds may not be listed in all namespaces."""
    return {gvr.path(): 403 for gvr in kinds}


@contextmanager
def served(answers: Mapping[str, Sequence[Body] | int]) -> Iterator[str]:
    """Give the address of a server in a thread of its own: commands have event loops of theirs."""
    started, stop, loop = threading.Event(), asyncio.Event(), asyncio.new_event_loop()
    urls: list[str] = []

    async def serve() -> None:
        async with ListingServer(answers) as server:
            urls.append(server.url)
            started.set()
            await stop.wait()

    thread = threading.Thread(target=lambda: loop.run_until_complete(serve()))
    thread.start()
    try:
        started.wait(10)
        yield urls[0]
    finally:
        loop.call_soon_threadsafe(stop.set)
        thread.join()
        loop.close()
