"""The port of what feeds a sink."""

from typing import Protocol


class Source(Protocol):
    """Feeds a sink with pods, or with other kinds, for as long as it runs."""

    async def run(self) -> None:
        """Run until cancelled. Whatever ends a watch, it goes on with a new one."""

    async def complete(self) -> None:
        """Return when everything that was there at first is in the sink."""

    async def catch_up(self) -> None:
        """Return when all is in the sink that had happened when this was called.

        Watches that stall, or were interrupted, are not believed.
        """

    async def fresh(self) -> None:
        """Return at once, unless pods or nodes have not been told of for long: then when they are.

        What has stalled without a sign is found to after some seconds.
        """
