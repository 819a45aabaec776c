"""Answers of the API server other than success, by what the caller can do about them."""

import enum
from collections.abc import Mapping
from typing import Any, Final

import msgspec


class Kind(enum.Enum):
    """What an answer means for the caller."""

    GONE = "gone"
    """404: the object is not there (any more)."""
    CONFLICT = "conflict"
    """409: another writer was faster, or a precondition does not hold."""
    THROTTLED = "throttled"
    """429: the same request may succeed later."""
    PROTECTED = "protected"
    """429 of an eviction: a PodDisruptionBudget forbids it for now."""
    DENIED = "denied"
    """401 and 403: not allowed. That may pass, as of an API server that has just started."""
    REFUSED = "refused"
    """Any other 4xx: the same request would fail again."""
    UNKNOWN = "unknown"
    """5xx, a timeout or a broken connection: the write may have happened or not."""


UNREADABLE: Final = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)
"""What the decoder raises for text that is no JSON, no UTF-8, out of range or too deeply nested."""

BY_STATUS: Final = {
    401: Kind.DENIED,
    403: Kind.DENIED,
    404: Kind.GONE,
    409: Kind.CONFLICT,
    429: Kind.THROTTLED,
}
TERMINATING: Final = "NamespaceTerminating"
"""The cause in a 403 that no right would change: the namespace is being deleted."""

BUDGET = "DisruptionBudget"
"""The cause in an answer that a PodDisruptionBudget brought about."""


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
        """The arguments that make the same error once more."""
        return self.status, self.message, self.retry_after, self.cause

    @property
    def kind(self) -> Kind:
        """What the caller can do about the error."""
        if self.status == 0 or self.status >= 500:
            return Kind.UNKNOWN
        if self.status == 429 and self.cause == BUDGET:
            return Kind.PROTECTED
        if self.cause == TERMINATING:
            return Kind.REFUSED
        return BY_STATUS.get(self.status, Kind.REFUSED)


def of_answer(status: int, reason: str, content: bytes, retry_after: str) -> ApiError:
    """Return the error of an answer; its body is a Status if the API server itself wrote it."""
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
    """Return the reason of the first cause that the server gives; "" for none."""
    causes = (status.get("details") or {}).get("causes") or [{}]
    return str(causes[0].get("reason") or "")
