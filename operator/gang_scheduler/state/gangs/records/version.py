"""Which state of a gang something was made of."""


class Version:
    """Counts the changes of one gang that can make it another one for the scheduler.

    The records of the gang share it, and each counts its own changes. What was made of the gang is
    true for as long as `number` is the same.
    """

    __slots__ = ("number",)

    def __init__(self) -> None:
        self.number = 0

    def changed(self) -> None:
        """Count a change."""
        self.number += 1
