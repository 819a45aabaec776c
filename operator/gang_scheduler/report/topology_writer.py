"""Keeps the status of ClusterNetworkTopologies current. Woken by changes, never by a clock.

The status of Kueue's Topologies belongs to Kueue: a problem of one is reported by an Event.
"""

import asyncio
import time
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from gang_scheduler.api import conditions
from gang_scheduler.api.conditions import Finding
from gang_scheduler.api.kinds import CLUSTER_NETWORK_TOPOLOGIES
from gang_scheduler.api.network_topology import DEFAULT_NAME
from gang_scheduler.client.errors import ApiError, Kind
from gang_scheduler.client.port import Api
from gang_scheduler.client.retry import Backoff, Denials
from gang_scheduler.decode.network.topologies import DeclaredTopology
from gang_scheduler.internal_errors import confined
from gang_scheduler.report import topology_status
from gang_scheduler.report.events import About, Events
from gang_scheduler.state.cache import Cache
from gang_scheduler.state.changes import Changes
from gang_scheduler.telemetry import metrics
from gang_scheduler.telemetry.logger import Logger

WAIT_SECONDS = 1.0
"""Changes within this time are written at once: labels of a thousand nodes change one by one."""
FIRST_PAUSE, LAST_PAUSE = 2.0, 64.0
"""In seconds, after a failure: a status that the API server cannot take now may be large."""
WORTH_AN_EVENT = frozenset({topology_status.EXCLUDED_NODES, topology_status.INVALID_SPEC})

log = Logger()
Status = Mapping[str, Any]


class TopologyWriter:
    """Writes statuses that have changed, while `may_write()` says that we are the leader."""

    def __init__(
        self,
        api: Api,
        cache: Cache,
        events: Events,
        *,
        changes: Changes,
        may_write: Callable[[], bool] = lambda: True,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._api = api
        self._cache = cache
        self._events = events
        self._may_write = may_write
        self._clock = clock
        self._changed = changes.topologies
        self._written: dict[str, Status] = {}
        self._told: dict[str, Finding] = {}
        self._backoff = Backoff(FIRST_PAUSE, LAST_PAUSE)
        self._denials = Denials()
        self._wait_seconds = WAIT_SECONDS
        # If a CRD has no status subresource, every write moves the generation, and a status that
        # follows the generation would never settle.
        self._follows_generation = True

    async def run(self) -> None:
        """Write until cancelled, at most once in WAIT_SECONDS."""
        while True:
            await self._changed.wait()
            await asyncio.sleep(self._wait_seconds)
            if self._may_write():
                self._changed.clear()
                with confined("report", "topologies"):
                    await self.flush()

    async def flush(self) -> None:
        """Write what has changed since the last time."""
        declared = dict(self._cache.topologies.declared)
        self._written = {uid: status for uid, status in self._written.items() if uid in declared}
        self._told = {uid: finding for uid, finding in self._told.items() if uid in declared}
        for each in declared.values():
            if each.gvr == CLUSTER_NETWORK_TOPOLOGIES:
                await self._update(each)
            else:
                self._warn(each)

    async def _update(self, declared: DeclaredTopology) -> None:
        finding, detail = self._judge(declared)
        before = self._written.get(declared.uid, declared.status)
        present = _conditions_now(declared.status, before)
        now = int(self._clock())
        generation = declared.generation if self._follows_generation else 0
        status = {
            "detailStatus": detail,
            "conditions": conditions.merged(present, [finding], generation, now),
        }
        # Another product's CRD may drop fields: the same status is not sent again for that.
        if status != self._written.get(declared.uid) and _differs(declared.status, status):
            self._tell(declared, finding, present)
            await self._write(declared, status)

    def _warn(self, declared: DeclaredTopology) -> None:
        """Report an object that makes no tree, once while its problem is the same."""
        if not declared.problem:
            self._told.pop(declared.uid, None)
            return
        kept = self._cache.topologies.tree_spec_of(declared.uid) is not None
        finding = topology_status.invalid_spec(declared.problem, kept=kept)
        if finding != self._told.get(declared.uid):
            self._told[declared.uid] = finding
            log.warning(
                "topology_left_out", kind=declared.kind, name=declared.name, why=finding.message
            )
            self._record(declared, finding)

    def _judge(self, declared: DeclaredTopology) -> tuple[Finding, list[dict[str, Any]] | None]:
        """Return the condition and the details; None removes the details in a merge patch."""
        if declared.name != DEFAULT_NAME:
            return topology_status.not_default(DEFAULT_NAME), None
        tree = self._cache.topologies.tree(self._cache.node_usage.table())
        if tree is None:
            return topology_status.invalid_spec(declared.problem, kept=False), None
        detail = topology_status.detail_status(tree)
        if declared.problem:
            return topology_status.invalid_spec(declared.problem, kept=True), detail
        return topology_status.tree_in_use(tree, len(detail)), detail

    def _tell(
        self, declared: DeclaredTopology, finding: Finding, present: Iterable[Status]
    ) -> None:
        said = {(each.get("reason"), each.get("message")) for each in present}
        if finding.reason in WORTH_AN_EVENT and (finding.reason, finding.message) not in said:
            self._record(declared, finding)

    def _record(self, declared: DeclaredTopology, finding: Finding) -> None:
        group, version, _ = declared.gvr
        about = About(f"{group}/{version}", declared.kind, "", declared.name, declared.uid)
        self._events.record(about, finding.reason, finding.message, warning=True)

    async def _write(self, declared: DeclaredTopology, status: Status) -> None:
        if not self._may_write():
            return
        self._written[declared.uid] = status
        try:
            self._follows_generation = await self._api.patch_status(
                CLUSTER_NETWORK_TOPOLOGIES, "", declared.name, status
            )
        except ApiError as error:
            metrics.WRITES.labels("topology_status", error.kind.value).inc()
            passes = error.kind in (Kind.UNKNOWN, Kind.THROTTLED, Kind.CONFLICT)
            if passes or self._denials.may_pass(error, declared.uid):
                self._written.pop(declared.uid, None)
                self._wait_seconds = self._backoff.seconds(error.retry_after)
                self._changed.set()
            elif error.kind in (Kind.REFUSED, Kind.DENIED):
                log.warning("status_refused", what="topology", name=declared.name, error=str(error))
        else:
            self._backoff.reset()
            self._wait_seconds = WAIT_SECONDS
            metrics.WRITES.labels("topology_status", "written").inc()


def _conditions_now(present: Status, before: Status) -> list[Status]:
    """Return other writers' conditions as they are present, and ours as it was written last."""
    others = [each for each in _conditions(present) if each.get("type") != topology_status.READY]
    return others + [e for e in _conditions(before) if e.get("type") == topology_status.READY]


def _conditions(status: Status) -> list[Status]:
    found = status.get("conditions")
    return [each for each in found if isinstance(each, Mapping)] if isinstance(found, list) else []


def _differs(present: Status, status: Status) -> bool:
    return any(present.get(key) != value for key, value in status.items())
