"""Kinds that the scheduler can do without: workloads of others, which its rights may not cover.

Without a kind of these only pods of such workloads wait. Had its list to be answered first, a role
of an older release would keep all gangs from being scheduled.
"""

import asyncio
from typing import Final

from gang_scheduler.api.kinds import (
    DEVICE_CLASSES,
    JOBS,
    PROVISIONING_REQUEST_CONFIGS,
    PROVISIONING_REQUESTS,
)
from gang_scheduler.client.errors import ApiError, Kind
from gang_scheduler.decode.workloads import makers, queue_namers, table
from gang_scheduler.telemetry import metrics
from gang_scheduler.telemetry.logger import Logger

OPTIONAL: Final = frozenset(
    each.objects.versions[0].name for each in table.KINDS if each.objects is not None
) - {JOBS.name} | {
    DEVICE_CLASSES.name,
    *(PROVISIONING_REQUESTS[0].name, PROVISIONING_REQUEST_CONFIGS[0].name),
    *(each.versions[0].name for each in makers.MAKERS),
    *(versions[0].name for versions in queue_namers.KINDS.values()),
}
FORBIDDEN: Final = 403
BRIEF_SECONDS: Final = 20.0
"""An API server that has just started forbids everything until it has read the roles."""

log = Logger()


class OptionalKinds:
    """What is known of whether kinds may be read; told in the log when that changes."""

    def __init__(self) -> None:
        # By name, with the time of the first such answer.
        self._forbidden: dict[str, float] = {}

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
            self._forbidden[name] = asyncio.get_running_loop().time()
            metrics.KIND_FORBIDDEN.labels(name).set(1)
            log.warning("kind_forbidden", kind=name, error=error.message)
        return True

    def may_be_brief(self, name: str) -> bool:
        """Return whether a kind is forbidden, but not for long: what is known of it counts on."""
        since = self._forbidden.get(name)
        return since is not None and asyncio.get_running_loop().time() - since < BRIEF_SECONDS

    def listed(self, name: str) -> None:
        """Note that a kind could be listed, or is not served."""
        if self._forbidden.pop(name, None) is not None:
            metrics.KIND_FORBIDDEN.labels(name).set(0)
            log.info("kind_allowed", kind=name)
