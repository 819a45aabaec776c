"""The words that people read about a cause."""

from gang_scheduler.api.parsing import message
from gang_scheduler.model.reasons import Cause


def text_of(cause: Cause) -> str:
    """Return the words that people read about a cause."""
    return message(cause.text())


def text_if_any(cause: Cause | None) -> str:
    """Return the words that people read about a cause; "" if there is no cause."""
    return text_of(cause) if cause is not None else ""
