"""How many objects of a list are read at once: fewer where they are long.

One user may have a thousand objects of a megabyte each. If a page is longer than an answer may be,
it is requested again with fewer objects. So no list takes more memory than a few answers.
"""

from collections.abc import Awaitable, Callable
from typing import Final

from gang_scheduler.client import http
from gang_scheduler.client.errors import AnswerTooLongError

SHORTER: Final = 8
"""A page that was too long is requested again with this many times fewer objects."""


class Pages:
    """Asks for the pages of one list, at most `most` objects at once."""

    def __init__(self, most: int) -> None:
        self._most = self._limit = most

    async def get(self, ask: Callable[[int], Awaitable[bytes]]) -> bytes:
        """Return a page. `ask` is called with the number of objects; its errors are raised."""
        while True:
            limit = self._limit
            try:
                answer = await ask(limit)
            except AnswerTooLongError:
                if limit == 1:
                    raise
                self._limit = max(1, limit // SHORTER)
            else:
                # The next page is half as long as an answer may be, if its objects are like these.
                length = len(answer) // limit + 1
                self._limit = min(self._most, max(1, http.LARGEST_ANSWER // 2 // length))
                return answer
