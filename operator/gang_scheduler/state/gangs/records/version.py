"""Which state of a gang something was made of."""


class Version:
    """Counts the changes of one gang that can make it another one for the scheduler.

    The records of the gang share it, and each counts its own changes. What was made of the gang is
    true for as long as `number` is the same. What was made of its members, its objects and its
    workloads alone is true for as long as `seen` is.
    """

    __slots__ = ("number", "seen")

    def __init__(self) -> None:
        self.number = 0
        self.seen = 0

    def changed(self) -> None:
        """Count a change of what is remembered of the gang."""
        self.number += 1

    def seen_otherwise(self) -> None:
        """Count a change of the members, of what describes them, or of what belongs with them."""
        self.number += 1
        self.seen += 1
