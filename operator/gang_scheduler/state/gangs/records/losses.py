"""The nodes that members of a gang were lost with, and since when there is no room for others."""

from collections.abc import Iterable


class Losses:
    """What a gang has lost with nodes, until it is whole on healthy ones again.

    `nodes` are names. `no_room_since` is when it was first found that members which replace lost
    ones have no room, in seconds since the epoch; None while they have, or none waits.
    """

    __slots__ = ("no_room_since", "nodes")

    def __init__(self) -> None:
        self.nodes: frozenset[str] = frozenset()
        self.no_room_since: int | None = None

    def note(self, nodes: Iterable[str]) -> None:
        """Note nodes with members that are failing."""
        self.nodes |= frozenset(nodes)

    def refused(self, now: int) -> None:
        """Note that there is no room for members that replace lost ones."""
        if self.no_room_since is None:
            self.no_room_since = now

    def end(self) -> None:
        """Note that the gang is whole on healthy nodes, or has started anew."""
        self.nodes = frozenset()
        self.no_room_since = None
