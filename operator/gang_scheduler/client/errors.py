"""Errors of the API server, sorted by how the caller can react."""

import enum
from collections.abc import Mapping
from typing import Any, Final

import msgspec


class Kind(enum.Enum):
    """The meaning of an answer for the caller."""

    GONE = "gone"
    """A 404: the object does not exist, or no longer."""
    CONFLICT = "conflict"
    """409: another writer was faster, or a precondition does not hold."""
    THROTTLED = "throttled"
    """429: the same request may succeed later."""
    PROTECTED = "protected"
    """429 of an eviction: a PodDisruptionBudget forbids it for now."""
    DENIED = "denied"
    """401 and 403: not allowed. This may pass, for example while an API server is starting."""
    REFUSED = "refused"
    """Any other 4xx: the same request would fail again."""
    UNKNOWN = "unknown"
    """5xx, a timeout or a broken connection: the write may have happened or not."""


UNREADABLE: Final = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)
"""Errors of the decoder: no JSON, no UTF-8, a number out of range, or too deep nesting."""

BY_STATUS: Final = {
    401: Kind.DENIED,
    403: Kind.DENIED,
    404: Kind.GONE,
    409: Kind.CONFLICT,
    429: Kind.THROTTLED,
}
TERMINATING: Final = "NamespaceTerminating"
"""The cause of a 403 that no right would change: the namespace is being deleted."""

BUDGET = "DisruptionBudget"
"""The cause in an answer if a PodDisruptionBudget forbids an eviction."""


class ApiError(Exception):
    """An answer other than a success. `retry_after` is in seconds, `cause` the server's reason."""

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
        """The arguments with which an equal error can be made."""
        return self.status, self.message, self.retry_after, self.cause

    @property
    def kind(self) -> Kind:
        """The kind of error, which decides what the caller can do."""
        if self.status == 0 or self.status >= 500:
            return Kind.UNKNOWN
        if self.status == 429 and self.cause == BUDGET:
            return Kind.PROTECTED
        if self.cause == TERMINATING:
            return Kind.REFUSED
        return BY_STATUS.get(self.status, Kind.REFUSED)


class AnswerTooLongError(ApiError):
    """An answer was too long to be read, whatever its status. A list can be read in more pages."""

    def __init__(self, message: str) -> None:
        super().__init__(0, message)


def of_answer(status: int, reason: str, content: bytes, retry_after: str) -> ApiError:
    """Return the error for an answer; its body is a Status if the API server itself wrote it."""
    cause = ""
    try:
        told: Any = msgspec.json.decode(content)
        message = str(told["message"])
        cause = _cause(told)
    except (*UNREADABLE, AttributeError, KeyError, TypeError):
        message = content[:200].decode(errors="replace") or reason
    try:
        seconds = float(retry_after or 0)
    except ValueError:
        seconds = 0.0
    return ApiError(status, message, seconds, cause)


def _cause(status: Mapping[str, Any]) -> str:
    """Return the reason of the first cause that the server names; "" without a cause."""
    causes = (status.get("details") or {}).get("causes") or [{}]
    return str(causes[0].get("reason") or "")
