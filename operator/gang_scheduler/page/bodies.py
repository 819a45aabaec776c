"""Bodies of answers: rendered and compressed once for a view, whatever the number of clients.

Styles and scripts are read once, when the page starts.
"""

import functools
import gzip
import json
from collections.abc import Awaitable, Callable, Hashable, Mapping
from typing import Any, Final, NamedTuple

from aiohttp import web

from gang_scheduler.page import rendering
from gang_scheduler.page.sources import Seen

MOST_BYTES: Final = 32 * 2**20
"""At most this many bytes of bodies are kept. A new view drops them all."""
LEAST_PACKED: Final = 4096
"""A shorter body is not compressed."""
LEVEL: Final = 5
JSON_TYPE: Final = "application/json"
HTML_TYPE: Final = "text/html"
STATIC_TYPES: Final[Mapping[str, str]] = {
    ".css": "text/css",
    ".js": "text/javascript",
    ".svg": "image/svg+xml",
}


class Body(NamedTuple):
    """A body with its ETag; `packed` is the same compressed, or empty if that is not worth it."""

    content: bytes
    kind: str
    tag: str
    packed: bytes = b""


def body(text: str, kind: str) -> Body:
    """Return a body of a text."""
    content = text.encode()
    # Without a time: the same content always gives the same bytes.
    packed = gzip.compress(content, LEVEL, mtime=0) if len(content) >= LEAST_PACKED else b""
    return Body(content, kind, rendering.tag(content), packed)


def json_body(document: Mapping[str, Any], *, indent: int | None = 2) -> Body:
    """Return a document as JSON; without `indent` it has no spaces."""
    separators = (",", ":") if indent is None else None
    text = json.dumps(document, indent=indent, separators=separators, ensure_ascii=False)
    return body(text + "\n", JSON_TYPE)


def answer(found: Body, request: web.Request, status: int = 200) -> web.Response:
    """Return the answer with a body; without one if the client has it already."""
    headers = {"ETag": found.tag, "Vary": "Accept-Encoding"}
    if status == 200 and request.headers.get("If-None-Match") == found.tag:
        return web.Response(status=304, headers=headers)
    content = found.content
    if found.packed and "gzip" in request.headers.get("Accept-Encoding", ""):
        headers["Content-Encoding"], content = "gzip", found.packed
    headers["Content-Type"] = f"{found.kind}; charset=utf-8"
    return web.Response(body=content, status=status, headers=headers)


@functools.cache
def static_bodies() -> Mapping[str, Body]:
    """Return the body of each style, script and picture, by address."""
    return {
        f"/static/{file.name}": body(file.read_text(encoding="utf-8"), STATIC_TYPES[file.suffix])
        for file in sorted(rendering.STATIC.iterdir())
        if file.suffix in STATIC_TYPES
    }


def static_routes() -> list[web.RouteDef]:
    """Return the addresses of all styles, scripts and pictures."""

    def answering(found: Body) -> Callable[[web.Request], Awaitable[web.Response]]:
        async def answered(request: web.Request) -> web.Response:
            return answer(found, request)

        return answered

    return [web.get(address, answering(found)) for address, found in static_bodies().items()]


class _Kept(NamedTuple):
    """The bodies of one view by address."""

    of: Seen
    bodies: dict[Hashable, Body]


class Bodies:
    """Keeps the bodies made of the last view, by address and what its user may see.

    `get` is for any thread, and `keep` for the one that makes views.
    """

    def __init__(self, most_bytes: int = MOST_BYTES) -> None:
        self._most_bytes = most_bytes
        self._kept = _Kept(Seen(None), {})
        self._bytes = 0

    def get(self, seen: Seen, address: Hashable) -> Body | None:
        """Return the body at an address of this view; None if it was not made yet."""
        kept = self._kept
        return kept.bodies.get(address) if _same(kept.of, seen) else None

    def keep(self, seen: Seen, address: Hashable, found: Body) -> None:
        """Keep a body that was made of this view."""
        size = len(found.content) + len(found.packed)
        if not _same(self._kept.of, seen) or self._bytes + size > self._most_bytes:
            self._kept, self._bytes = _Kept(seen, {}), 0
        if size <= self._most_bytes:
            self._bytes += size
            self._kept.bodies[address] = found


def _same(one: Seen, other: Seen) -> bool:
    return one.view is other.view and one.problem == other.problem
