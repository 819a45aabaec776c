"""Answers of the API server that are no success, by what the caller can do about them."""

import enum
from collections.abc import Mapping
from typing import Any, Final

import msgspec


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


UNREADABLE: Final = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)
"""What the decoder raises for what is no JSON, no text, beyond all bounds, or nested too deeply."""

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


def of_answer(status: int, reason: str, content: bytes, retry_after: str) -> ApiError:
    """Return what an answer says: in a Status object, if the API server itself wrote it."""
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
    """Return the first word that the server gives for what caused its answer."""
    causes = (status.get("details") or {}).get("causes") or [{}]
    return str(causes[0].get("reason") or "")
