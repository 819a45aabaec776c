"""The metric of findings, in a registry of its own: an auditor is no replica of the scheduler."""

from collections.abc import Iterable
from typing import Final

from prometheus_client import CollectorRegistry, Counter, start_http_server

REGISTRY: Final = CollectorRegistry()
FINDINGS: Final = Counter(
    "pgs_audit_findings",
    "Findings of the auditor: what must not be, and was.",
    ["rule"],
    registry=REGISTRY,
)


class CannotListenError(Exception):
    """The port cannot be listened on."""


def serve(port: int, rules: Iterable[str]) -> None:
    """Serve /metrics on a port, with a 0 for each rule. Raises CannotListenError."""
    for rule in rules:
        FINDINGS.labels(rule)
    try:
        start_http_server(port, registry=REGISTRY)
    except OSError as error:
        raise CannotListenError(f"cannot listen on port {port}: {error.strerror}") from error
