"""HTTP to pods: one request for each connection, to an IP address, with few features.

The answering code is not trusted. The client follows no redirect, resolves no name, unpacks
nothing, keeps nothing, and reads only as much as an answer may have.
"""

import asyncio
import contextlib
from typing import Final

import anyio

from gang_scheduler.client.http import Answer, BrokenError
from gang_scheduler.client.http1 import AnswerReader
from gang_scheduler.client.interfaces import PodAnswer, PodRequest

SECONDS: Final = 5.0
"""How long one request may take, from the connection to the end of the answer."""
LONGEST_BODY: Final = 4096
LONGEST_ANSWER: Final = LONGEST_BODY + 4096
"""How many bytes of an answer, with its headers, are read. A longer answer is invalid."""
REQUEST_ID: Final = "Checkpoint-Request-Id"


class PodHttpClient:
    """Sends requests to pods. Keeps no state between two requests."""

    def __init__(self, seconds: float = SECONDS) -> None:
        self._seconds = seconds

    async def ask(self, request: PodRequest) -> PodAnswer:
        """Return the answer. Raises OSError if no valid answer comes in time."""
        with anyio.fail_after(self._seconds):
            reader, writer = await asyncio.open_connection(request.host, request.port)
            try:
                writer.write(_bytes_of(request))
                await writer.drain()
                answer = await _answer(reader)
            finally:
                # Close at once, without waiting for further bytes.
                writer.transport.abort()
                with contextlib.suppress(OSError):
                    await writer.wait_closed()
        if len(answer.body) > LONGEST_BODY:
            raise BrokenError("the answer is too long")
        return PodAnswer(answer.status, answer.body)


async def _answer(reader: asyncio.StreamReader) -> Answer:
    """Read an answer up to its maximum size.

    Raises OSError if it is longer, or invalid.
    """
    parser, left = AnswerReader(), LONGEST_ANSWER
    while received := await reader.read(left):
        left -= len(received)
        answer = parser.feed(received)
        if answer is not None:
            return answer
        if left <= 0:
            raise BrokenError("the answer is too long")
    answer = parser.end()
    if answer is None:
        raise BrokenError("the connection was closed before an answer was whole")
    return answer


def _bytes_of(request: PodRequest) -> bytes:
    host = f"[{request.host}]" if ":" in request.host else request.host
    lines = [
        f"{request.method} {request.path} HTTP/1.1",
        f"Host: {host}:{request.port}",
        "Accept: application/json",
        "Connection: close",
        "User-Agent: py-gang-scheduler",
        f"{REQUEST_ID}: {request.id}",
    ]
    if request.body is not None:
        lines += ["Content-Type: application/json", f"Content-Length: {len(request.body)}"]
    head = "".join(f"{line}\r\n" for line in lines)
    return f"{head}\r\n".encode("ascii") + (request.body or b"")
