"""The protocol of sources, which feed a sink."""

from typing import Protocol


class Source(Protocol):
    """Feeds a sink with the objects of all watched kinds while it runs."""

    @property
    def not_served(self) -> list[str]:
        """The names of the kinds that the API server did not serve when it was last asked."""

    @property
    def forbidden(self) -> list[str]:
        """The names of the kinds that the scheduler may not read, when it last tried."""

    async def run(self) -> None:
        """Run until cancelled. A watch that ends is followed by a new one."""

    async def complete(self) -> None:
        """Return when every object of the first lists is in the sink."""

    async def catch_up(self) -> None:
        """Return when the sink has every change from before this call.

        Watches are not relied on, since they may have stalled or been interrupted.
        """

    def begin_anew(self, kind: str) -> None:
        """Begin the watch of a kind anew, with a list, whatever is under way. Waits for nothing.

        Watches of other kinds may be begun anew with it.
        """

    async def fresh(self) -> None:
        """Return at once unless watches of pods or nodes are out of step for long; else when not.

        A watch that stalls without a sign counts as out of step after some seconds.
        """
