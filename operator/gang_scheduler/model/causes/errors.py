"""Errors of ours, and decisions that take too much of our time."""

from dataclasses import dataclass

from gang_scheduler.model.problems import Cause


@dataclass(frozen=True, slots=True)
class InternalError(Cause):
    """An exception that should not have been raised: the name of its class, and its message."""

    kind: str
    text: str

    @classmethod
    def of(cls, error: Exception) -> "InternalError":
        """Return what there is to say of an exception."""
        return cls(type(error).__name__, str(error))


@dataclass(frozen=True, slots=True)
class DecisionTooLong(Cause):
    """The last decision took the scheduler `seconds` of CPU time; the next is at `until`."""

    seconds: float
    until: int
