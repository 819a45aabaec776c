"""A client of the API server that is killed between two of its writes."""

from typing import Any

from gang_scheduler.client.connection import Connection


class Killed(BaseException):
    """The client is gone."""


class Mortal(Connection):
    """A connection of a client that is killed before its next write."""

    writes_left = 0

    async def request(self, method: str, path: str, *given: Any, **named: Any) -> bytes:
        """Send a request, or be killed: a dry run writes nothing."""
        if method != "GET" and "dryRun" not in path:
            if not self.writes_left:
                raise Killed
            self.writes_left -= 1
        return await super().request(method, path, *given, **named)
