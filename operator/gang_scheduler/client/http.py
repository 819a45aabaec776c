"""The interface of the HTTP clients. Only the connection knows that there are two.

Callers depend on whether a request was carried out. `http1` and `aiohttp_client` make the same
promises about that, and the same tests check both.
"""

from collections.abc import AsyncIterator, Callable, Mapping
from typing import NamedTuple, Protocol

CONNECT_SECONDS = 10
KEEP_SECONDS = 60
"""How long an idle connection is kept, so that the next gang needs no new handshake.

The API server would keep it for 90 s.
"""
SEND_SECONDS = 4
"""A write is sent within this time or not at all.

It was allowed when it was requested, but the process may have been stopped since.
"""


class BrokenError(ConnectionError):
    """A connection ended, or carried something else, before an answer was complete."""


LARGEST_ANSWER = 32 * 2**20
"""In bytes. The objects of one user may be a gigabyte: lists are then read in shorter pages."""


class TooLongError(ConnectionError):
    """An answer is longer than LARGEST_ANSWER. Its connection is closed, and the rest not read."""

    def __init__(self) -> None:
        super().__init__(f"the answer is longer than {LARGEST_ANSWER // 2**20} MiB")


async def joined(parts: AsyncIterator[bytes]) -> bytes:
    """Return the content of an answer that comes in parts. TooLongError: the rest is not read."""
    found, size = [], 0
    async for part in parts:
        found.append(part)
        size += len(part)
        if size > LARGEST_ANSWER:
            raise TooLongError
    return b"".join(found)


class NotSentError(TimeoutError):
    """Nothing was sent: it was too late, or writing is no longer allowed."""


MaySend = Callable[[], bool]
"""Whether a write may be sent at this moment."""


def always() -> bool:
    """Return True: the write may be sent."""
    return True


class Answer(NamedTuple):
    """An answer. Names of headers are in lower case.

    `lasts`: the connection can be used again; only the client needs this.
    """

    status: int
    reason: str
    headers: Mapping[bytes, bytes]
    body: bytes
    lasts: bool = True


class HttpClient(Protocol):
    """Sends requests to one server over a limited number of kept connections."""

    async def ask(
        self,
        method: str,
        path: str,
        headers: Mapping[str, str],
        body: bytes | None,
        timeout_seconds: float,
        *,
        may_send: MaySend = always,
    ) -> Answer:
        """Return the answer with any status. Raises OSError if none comes in time.

        TooLongError: the answer is longer than LARGEST_ANSWER.
        After an exception a write may have been carried out, but at most once: only reads are
        repeated. A write is not sent later than SEND_SECONDS after it was requested, not if
        `may_send` forbids it just before, and not after this method has returned or raised.
        NotSentError: the request was not sent.
        """

    async def close(self) -> None:
        """Close all connections. Running requests and all later ones end with an error."""
