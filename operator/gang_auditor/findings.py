"""Findings of the auditor: each is a line of JSON for the command to print, and is counted by rule.

The command prints and counts them (`cli/answers/audit.py`), and serves the metric if asked to.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, Final

import msgspec
from prometheus_client import CollectorRegistry, Counter, start_http_server

from gang_auditor.watch_events import rfc3339


@dataclass(frozen=True)
class Finding:
    """A violation of a rule.

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


# The metric of findings has its own registry, because an auditor has none of a replica's metrics.

REGISTRY: Final = CollectorRegistry()
FINDINGS: Final = Counter(
    "pgs_audit_findings",
    "Violations that the auditor found, by rule.",
    ["rule"],
    registry=REGISTRY,
)


class CannotListenError(Exception):
    """The port cannot be listened on."""


def serve_metrics(port: int, rules: Iterable[str]) -> None:
    """Serve /metrics on a port; each rule begins at 0. Raises CannotListenError."""
    for rule in rules:
        FINDINGS.labels(rule)
    try:
        start_http_server(port, registry=REGISTRY)
    except OSError as error:
        raise CannotListenError(f"cannot listen on port {port}: {error.strerror}") from error
