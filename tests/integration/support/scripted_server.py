"""An API server of one kind that answers as it is told, to see what a watch makes of it."""

import asyncio
import json
from collections.abc import Sequence
from typing import Any

import msgspec
from aiohttp import web

from support.local_server import LocalServer

HANG = "hang"
CUT = "cut"
Step = bytes | str
"""Of a watch: bytes that are sent, then what happens. Without HANG or CUT the answer ends well."""


def page(*bodies: dict[str, Any], version: int = 1, following: str = "") -> dict[str, Any]:
    """Return a page of a list."""
    return {"metadata": {"resourceVersion": str(version), "continue": following}, "items": bodies}


def line(change: str, body: dict[str, Any], version: int = 0) -> bytes:
    """Return a line of a watch."""
    metadata = {**body.get("metadata", {}), "resourceVersion": str(version)}
    return json.dumps({"type": change, "object": {**body, "metadata": metadata}}).encode() + b"\n"


def failure(code: int) -> bytes:
    """Return the line of a watch that says that it cannot go on."""
    return line("ERROR", {"kind": "Status", "code": code, "message": "a fault of the test"})


class ScriptedServer(LocalServer):
    """Use as an async context manager.

    `lists` and `watches` are what is answered, one after the other: a page or the steps of a
    watch, or the status of a failure. After the last list comes 503, after the last watch silence.
    `asked` is what was asked for: `list`, or `watch` and the version.
    """

    def __init__(
        self, lists: Sequence[dict[str, Any] | int], watches: Sequence[Sequence[Step] | int] = ()
    ) -> None:
        super().__init__()
        self.asked: list[str] = []
        self.retry_after = ""
        self._lists = list(lists)
        self._watches = list(watches)

    async def _answer(self, request: web.Request) -> web.StreamResponse:
        if "watch" in request.query:
            self.asked.append(f"watch {request.query['resourceVersion']}")
            return await self._watch(request)
        self.asked.append(f"list {request.query['continue']}".strip())
        answer = self._lists.pop(0) if self._lists else 503
        return self._failed(answer) if isinstance(answer, int) else web.json_response(answer)

    async def _watch(self, request: web.Request) -> web.StreamResponse:
        steps = self._watches.pop(0) if self._watches else [HANG]
        if isinstance(steps, int):
            return self._failed(steps)
        answer = web.StreamResponse()
        await answer.prepare(request)
        for step in steps:
            if isinstance(step, bytes):
                await answer.write(step)
            elif step == CUT and request.transport is not None:
                request.transport.abort()
            else:
                await asyncio.Event().wait()
        return answer

    def _failed(self, status: int) -> web.Response:
        body = msgspec.json.encode(
            {"kind": "Status", "code": status, "message": "a fault of the test"}
        )
        headers = {"Retry-After": self.retry_after} if self.retry_after else {}
        return web.Response(body=body, status=status, headers=headers)
