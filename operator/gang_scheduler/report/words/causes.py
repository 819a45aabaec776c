"""What people read of a cause: its own words, whatever users wrote of which they are made."""

from gang_scheduler.api.parsing import message
from gang_scheduler.model.reasons import Cause


def text_of(cause: Cause) -> str:
    """Return what people read of a cause."""
    return message(cause.text())


def text_if_any(cause: Cause | None) -> str:
    """Return what people read of a cause; "" where there is none."""
    return text_of(cause) if cause is not None else ""
