"""Members of one gang that have room and wait for their claims."""

from gang_scheduler.state.gangs.records.version import Version


class VolumeWaits:
    """Counts the placements of a gang whose claims are not bound yet, and whose room is held.

    `of_quorum`: one of them is that of the quorum.
    """

    __slots__ = ("_version", "number", "of_quorum")

    def __init__(self, version: Version) -> None:
        self.number = 0
        self.of_quorum = False
        self._version = version

    def hold(self, *, joins: bool) -> None:
        """Add a placement. One that only `joins` the gang is not of the quorum."""
        self.number += 1
        self.of_quorum |= not joins
        self._version.changed()

    def let_go(self, *, joins: bool) -> bool:
        """Take a placement out; return whether there was any."""
        if not self.number:
            return False
        self.number -= 1
        self.of_quorum &= joins
        self._version.changed()
        return True
