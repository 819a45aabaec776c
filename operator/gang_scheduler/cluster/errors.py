"""Answers of the API server that are no success, by what the caller can do about them."""

import enum


class Kind(enum.Enum):
    """What an answer means to whoever asked."""

    GONE = "gone"
    """404: the object is not there (any more)."""
    CONFLICT = "conflict"
    """409: somebody else was faster, or a precondition does not hold."""
    THROTTLED = "throttled"
    """429: the same again, later."""
    PROTECTED = "protected"
    """429 of an eviction: a PodDisruptionBudget forbids it for now."""
    REFUSED = "refused"
    """Any other 4xx: the same again will fail again."""
    UNKNOWN = "unknown"
    """5xx, a timeout or a broken connection: it may have happened or not."""


BUDGET = "DisruptionBudget"
"""The cause in an answer that was given because of a PodDisruptionBudget."""


class ApiError(Exception):
    """An answer other than a success. `retry_after` is in seconds, `cause` a word of the server."""

    def __init__(
        self, status: int, message: str, retry_after: float = 0.0, cause: str = ""
    ) -> None:
        super().__init__(f"{status or 'no answer'}: {message}")
        self.status = status
        self.message = message
        self.retry_after = retry_after
        self.cause = cause

    @property
    def details(self) -> tuple[int, str, float, str]:
        """Return what the same answer is made of once more."""
        return self.status, self.message, self.retry_after, self.cause

    @property
    def kind(self) -> Kind:
        """Return what can be done about it."""
        if self.status == 0 or self.status >= 500:
            return Kind.UNKNOWN
        if self.status == 429 and self.cause == BUDGET:
            return Kind.PROTECTED
        known = {404: Kind.GONE, 409: Kind.CONFLICT, 429: Kind.THROTTLED}
        return known.get(self.status, Kind.REFUSED)
