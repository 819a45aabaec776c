"""Kinds with special rules: always needed, optional, or counted briefly after a deletion."""

import asyncio
from collections.abc import Collection, Iterable
from typing import Any, Final, TypeVar

from gang_scheduler.api import kinds
from gang_scheduler.api.kinds import (
    DEVICE_CLASSES,
    JOBS,
    NODES,
    PODS,
    PROVISIONING_REQUEST_CONFIGS,
    PROVISIONING_REQUESTS,
)
from gang_scheduler.client.errors import ApiError, Kind
from gang_scheduler.decode.events import HasUid, Sink
from gang_scheduler.decode.reader import Reader
from gang_scheduler.telemetry import metrics
from gang_scheduler.telemetry.logger import Logger
from gang_scheduler.workloads import table

# Kinds that decide on gangs: they are always served, and must never be outdated for long.

DECISIVE: Final = frozenset({NODES.name, PODS.name})


def require_absent(name: str) -> None:
    """Raise ApiError for pods and nodes, which are always served: the API server was not ready.

    If the answer were trusted, the cluster would seem empty, and all of its room would be given
    away.
    """
    if name in DECISIVE:
        raise ApiError(0, f"{name} are not served")


# Queues, flavors and priority classes count for a moment after they were deleted. `kubectl replace
# --force` deletes an object and creates it again. Without its queue, a gang would have no quota in
# between, and gangs of other queues could reclaim its room immediately.

_WITH_GRACE: Final = {
    *(kinds.QUEUES, *kinds.CLUSTER_QUEUES, *kinds.COHORTS, kinds.VOLCANO_QUEUES),
    *(*kinds.LOCAL_QUEUES, kinds.RESOURCE_FLAVORS, *kinds.KUEUE_RESOURCE_FLAVORS),
    *kinds.WORKLOAD_PRIORITY_CLASSES,
}


T = TypeVar("T", bound=HasUid)


def with_grace(
    sinks: Iterable[tuple[Reader[Any], Sink[Any]]], seconds: float
) -> list[tuple[Reader[Any], Sink[Any]]]:
    """Return the sinks; for some kinds, sinks that delete objects this many seconds later."""
    return [
        (reader, GraceSink(sink, seconds) if reader.gvr in _WITH_GRACE else sink)
        for reader, sink in sinks
    ]


class GraceSink(Sink[T]):
    """Deletes an object `seconds` later, unless it comes back. Needs a running event loop.

    A new object with the name of a deleted one counts immediately: stores have one of each name.
    """

    def __init__(self, sink: Sink[T], seconds: float) -> None:
        self._sink = sink
        self._seconds = seconds
        self._deletions: dict[str, asyncio.TimerHandle] = {}

    def upsert(self, decoded: T, /) -> None:
        """Add or replace an object, even one that was deleted moments ago."""
        if deletion := self._deletions.pop(decoded.uid, None):
            deletion.cancel()
        self._sink.upsert(decoded)

    def delete(self, uid: str, /) -> None:
        """Forget an object after the grace."""
        if uid not in self._deletions:
            later = asyncio.get_running_loop().call_later
            self._deletions[uid] = later(self._seconds, self._delete, uid)

    def uids(self) -> Collection[str]:
        """Return the uids of all objects that were not deleted."""
        found = self._sink.uids()
        return {*found} - self._deletions.keys() if self._deletions else found

    def known(self, uid: str, /) -> T | None:
        """Return the present state of an object."""
        return self._sink.known(uid)

    def _delete(self, uid: str) -> None:
        del self._deletions[uid]
        self._sink.delete(uid)


# Optional kinds: workloads of other products, which the scheduler's rights may not cover. Without
# such a kind only pods of these workloads wait. If its list were required first, a role from an
# older release would keep all gangs from being scheduled.

OPTIONAL: Final = frozenset(each.versions[0].name for each in table.WATCHED) - {JOBS.name} | {
    DEVICE_CLASSES.name,
    *(PROVISIONING_REQUESTS[0].name, PROVISIONING_REQUEST_CONFIGS[0].name),
}
FORBIDDEN: Final = 403
BRIEF_SECONDS: Final = 20.0
"""An API server that has just started forbids everything until it has read the roles."""

log = Logger()


class OptionalKinds:
    """Whether each kind may be read; changes are logged."""

    def __init__(self) -> None:
        # The kinds that may not be listed, each with the time of the first such answer.
        self._forbidden: dict[str, float] = {}

    @property
    def forbidden(self) -> list[str]:
        """The names of the kinds that may not be read, as of the last check."""
        return sorted(self._forbidden)

    def is_absent(self, name: str, error: ApiError) -> bool:
        """Return whether an answer means that a kind has no objects that can be read."""
        if error.kind is Kind.GONE:
            # Ask for rights first: the kind may be readable once its CRD appears.
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
        """Return whether a kind is forbidden only briefly: its known objects still count."""
        since = self._forbidden.get(name)
        return since is not None and asyncio.get_running_loop().time() - since < BRIEF_SECONDS

    def listed(self, name: str) -> None:
        """Note that a kind could be listed, or is not served."""
        if self._forbidden.pop(name, None) is not None:
            metrics.KIND_FORBIDDEN.labels(name).set(0)
            log.info("kind_allowed", kind=name)
