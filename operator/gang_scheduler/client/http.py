"""What requests need of an HTTP client: that there are two shows nowhere beyond the connection.

Whether a request was carried out decides what follows: `http1` and `aiohttp_client` promise the
same of that, and one suite of tests holds them to it.
"""

from collections.abc import Callable, Mapping
from typing import NamedTuple, Protocol

CONNECT_SECONDS = 10
KEEP_SECONDS = 60
"""How long an idle connection is kept: the next gang need not shake hands. The API server would
keep it for 90 s."""
SEND_SECONDS = 4
"""What is to be changed is sent within this time or not at all: it was allowed when it was asked
for, and the process may have been stopped since."""


class BrokenError(ConnectionError):
    """A connection ended, or brought something else, before an answer was whole."""


class NotSentError(TimeoutError):
    """Nothing was sent: it was too late for that, or it is not allowed any more."""


MaySend = Callable[[], bool]
"""Whether a write may be sent at this moment."""


def always() -> bool:
    """Return that a write may be sent."""
    return True


class Answer(NamedTuple):
    """What came back. Names of headers are in lower case.

    `lasts`: its connection can go on, which is for the client alone to know.
    """

    status: int
    reason: str
    headers: Mapping[bytes, bytes]
    body: bytes
    lasts: bool = True


class HttpClient(Protocol):
    """Asks one server over a bounded number of connections, which are kept for the next request."""

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
        """Return the answer, whatever its status. Raises OSError if none comes in time.

        Whatever is raised, a write may have been carried out, once at most: only reading is sent
        again. No write is sent later than SEND_SECONDS after it was asked for, none unless
        `may_send` says so just before, and none after this has returned or raised. NotSentError:
        it was not sent.
        """

    async def close(self) -> None:
        """Close all connections. What is under way ends with an error, and so does what follows."""
