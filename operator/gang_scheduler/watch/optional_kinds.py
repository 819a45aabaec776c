"""Kinds that the scheduler can do without: workloads of others, which its rights may not cover.

Without a kind of these only pods of such workloads wait. Had its list to be answered first, a role
of an older release would keep all gangs from being scheduled.
"""

from typing import Final

import structlog

from gang_scheduler.api.kinds import JOBS, PROVISIONING_REQUEST_CONFIGS, PROVISIONING_REQUESTS
from gang_scheduler.client.errors import ApiError, Kind
from gang_scheduler.decode.workloads import makers, table
from gang_scheduler.telemetry import metrics

OPTIONAL: Final = frozenset(
    each.objects.versions[0].name for each in table.KINDS if each.objects is not None
) - {JOBS.name} | {
    *(PROVISIONING_REQUESTS[0].name, PROVISIONING_REQUEST_CONFIGS[0].name),
    *(each.versions[0].name for each in makers.MAKERS),
}
FORBIDDEN: Final = 403

log = structlog.get_logger()


class OptionalKinds:
    """What is known of whether kinds may be read; told in the log when that changes."""

    def __init__(self) -> None:
        self._forbidden: set[str] = set()

    @property
    def forbidden(self) -> list[str]:
        """The names of the kinds that may not be read, as of the last look."""
        return sorted(self._forbidden)

    def is_absent(self, name: str, error: ApiError) -> bool:
        """Return whether an answer means that there is no object of a kind to be read."""
        if error.kind is Kind.GONE:
            # Rights are asked before anything else: it may be read, if it comes.
            self.listed(name)
            return True
        if error.status != FORBIDDEN or name not in OPTIONAL:
            return False
        if name not in self._forbidden:
            self._forbidden.add(name)
            metrics.KIND_FORBIDDEN.labels(name).set(1)
            log.warning("kind_forbidden", kind=name, error=error.message)
        return True

    def listed(self, name: str) -> None:
        """Note that a kind could be listed, or is not served."""
        if name in self._forbidden:
            self._forbidden.discard(name)
            metrics.KIND_FORBIDDEN.labels(name).set(0)
            log.info("kind_allowed", kind=name)
