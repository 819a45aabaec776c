"""What the auditor has found: a line of JSON each."""

from dataclasses import dataclass, field
from typing import Any

import msgspec

from gang_scheduler.audit.stream.events import rfc3339


@dataclass(frozen=True)
class Finding:
    """Something that must not be.

    `at` is when it happened, in seconds since the epoch, `about` the object: a pod, gang, node or
    queue, as `kind namespace/name`. `details` are the figures, for programs.
    """

    at: float
    rule: str
    about: str
    message: str
    details: dict[str, Any] = field(default_factory=dict)

    @property
    def line(self) -> str:
        """The finding as a line of JSON, without a newline."""
        written = {
            "at": rfc3339(self.at),
            "rule": self.rule,
            "about": self.about,
            "message": self.message,
            "details": self.details,
        }
        return msgspec.json.encode(written).decode()
