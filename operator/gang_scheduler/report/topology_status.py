"""The status of ClusterNetworkTopologies: computed from the tree, and kept current."""

import asyncio
import itertools
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

import msgspec
import numpy as np

from gang_scheduler.api import conditions
from gang_scheduler.api.conditions import Finding
from gang_scheduler.api.kinds import CLUSTER_NETWORK_TOPOLOGIES
from gang_scheduler.api.topology import DEFAULT_NAME
from gang_scheduler.client.backoff import Backoff
from gang_scheduler.client.interfaces import Api
from gang_scheduler.client.writing import RACED, Writes
from gang_scheduler.decode.topology import DeclaredTopology
from gang_scheduler.internal_errors import confined
from gang_scheduler.model.layers import NODE_LAYER, Layers
from gang_scheduler.model.nodes import BoolArray, IntArray
from gang_scheduler.model.topology import Level, Topology
from gang_scheduler.report.events import About, Events
from gang_scheduler.state.cache import Cache
from gang_scheduler.state.changes import Changes
from gang_scheduler.state.pruning import Reported
from gang_scheduler.telemetry.logger import Logger
from gang_scheduler.workloads import controllers

# The status that a ClusterNetworkTopology should have now. Pure: takes a tree and returns dicts.

READY = "Ready"
IN_USE = "InUse"
EXCLUDED_NODES = "ExcludedNodes"
INVALID_SPEC = "InvalidSpec"
NOT_DEFAULT = "NotDefault"
NAMES_SHOWN = 10
MOST_BYTES = 900_000
"""etcd accepts objects of at most 1.5 MiB, and the object has more than its detailStatus."""

Detail = dict[str, Any]
Levels = tuple[Level, ...]


def detail_status(tree: Topology) -> list[Detail]:
    """Return the domains above the nodes, depth first, each with its parent and children.

    Domains are left out if all of them would be too long to be stored.
    """
    levels = tree.levels
    listed = _listed(levels)
    # A domain starts where its first child does. Sorting those by depth gives depth-first order.
    domains = [
        (start, depth, place)
        for depth, level in enumerate(levels[:-1])
        for place, start in enumerate(level.starts.tolist())
        if listed[depth][place]
    ]
    ends = [_ends_of_children(above, below) for above, below in itertools.pairwise(levels)]
    return [_detail(levels, ends, listed, depth, place) for _, depth, place in sorted(domains)]


def _ends_of_children(above: Level, below: Level) -> list[int]:
    """Return for each domain where its children end in the level below."""
    ends: list[int] = np.searchsorted(below.parents, np.arange(len(above)), side="right").tolist()
    return ends


def _detail(
    levels: Levels, ends: list[list[int]], listed: list[list[bool]], depth: int, place: int
) -> Detail:
    level, below = levels[depth], levels[depth + 1]
    detail: Detail = {"topologyInfo": _named(level, place)}
    if depth > 0:
        detail["parentTopologyInfo"] = _named(levels[depth - 1], int(level.parents[place]))
    detail["childTopologyLayer"] = below.layer
    if below.layer != NODE_LAYER:
        children = slice(ends[depth][place - 1] if place else 0, ends[depth][place])
        names = itertools.compress(below.names[children], listed[depth + 1][children])
        detail["childTopologyNames"] = list(names)
    return {**detail, "nodeNum": int(level.sizes[place])}


def _named(level: Level, place: int) -> Mapping[str, str]:
    return {"topologyLayer": level.layer, "topologyName": level.names[place]}


def _listed(levels: Levels) -> list[list[bool]]:
    """Return which domains are listed: a list per level above the nodes, from the top.

    As many are listed as fit. Below a level that does not fit, no domain is listed. In that level,
    domains that are a single node come last.
    """
    listed = []
    left = MOST_BYTES
    for depth, level in enumerate(levels[:-1]):
        lengths = _lengths(levels, depth)
        order = np.argsort(_are_lone(level, levels[-1]), kind="stable")
        fits = np.zeros(len(level), dtype=np.bool_)
        fits[order] = np.cumsum(lengths[order]) <= left
        left = left - int(lengths.sum()) if fits.all() else 0
        listed.append(fits.tolist())
    return listed


def _lengths(levels: Levels, depth: int) -> IntArray:
    """Return how many bytes each domain takes, with its name among the children of its parent."""
    level, above = levels[depth], levels[max(depth - 1, 0)]
    names = np.array([len(name) for name in level.names], dtype=np.int64)
    names_above = np.array([len(name) for name in above.names], dtype=np.int64)
    blank = {"topologyLayer": level.layer, "topologyName": ""}
    longest = {
        "topologyInfo": blank,
        "parentTopologyInfo": {**blank, "topologyLayer": above.layer},
        "childTopologyLayer": levels[depth + 1].layer,
        "childTopologyNames": [""],
        "nodeNum": len(levels[-1]),
    }
    return len(msgspec.json.encode(longest)) + 2 * names + names_above[np.maximum(level.parents, 0)]


def _are_lone(level: Level, nodes: Level) -> BoolArray:
    """Return the mask of domains that are one node of the same name: they say least."""
    lone: BoolArray = level.sizes == 1
    for place in np.flatnonzero(lone).tolist():
        lone[place] = level.names[place] == nodes.names[level.starts[place]]
    return lone


def tree_in_use(tree: Topology, listed: int) -> Finding:
    """Return the condition of a tree in use; `listed` of its domains are in detailStatus."""
    reason = EXCLUDED_NODES if len(tree.outside) else IN_USE
    message = _excluded(tree) if len(tree.outside) else f"{len(tree.rows)} nodes are in the tree"
    domains = sum(len(level) for level in tree.levels[:-1])
    if listed < domains:
        message += f"; {domains - listed} of {domains} domains are left out of detailStatus, "
        message += "which would be too long to be stored"
    return Finding(READY, status=True, reason=reason, message=message)


def _excluded(tree: Topology) -> str:
    """Return the message about nodes outside the tree, with the first names."""
    outside = tree.outside_names
    shown = ", ".join(outside[:NAMES_SHOWN])
    more = f" and {len(outside) - NAMES_SHOWN} more" if len(outside) > NAMES_SHOWN else ""
    return (
        f"{len(outside)} of {len(tree.nodes)} nodes are outside the tree, "
        f"without a label of {' or '.join(_needed(tree.layers))}: {shown}{more}"
    )


def invalid_spec(cause: str, *, kept: bool) -> Finding:
    """Return the condition of a spec that makes no tree; `kept` if the earlier tree stays."""
    now = "the tree of the last valid spec stays in use" if kept else "no tree is made of it"
    return Finding(READY, status=False, reason=INVALID_SPEC, message=f"{cause}; {now}")


def not_default(name: str) -> Finding:
    """Return the condition of an object that is not used, because of its name."""
    words = f'only the ClusterNetworkTopology named "{name}" is used'
    return Finding(READY, status=False, reason=NOT_DEFAULT, message=words)


def _needed(layers: Layers) -> Iterator[str]:
    """Yield the layers whose label a node must have to be in the tree."""
    return (layer.name for layer in layers[:-2])


# Changes wake the writer, never a clock. The status of Kueue's Topologies belongs to Kueue, so a
# problem of such a Topology is reported by an Event.

WAIT_SECONDS = 1.0
"""Changes within this time are written at once: labels of a thousand nodes change one by one."""
FIRST_PAUSE, LAST_PAUSE = 2.0, 64.0
"""The pause after a failed write, in seconds: the status may be too large for the API server."""
WORTH_AN_EVENT = frozenset({EXCLUDED_NODES, INVALID_SPEC})

log = Logger()
Status = Mapping[str, Any]


class TopologyWriter:
    """Writes the statuses that have changed."""

    def __init__(
        self,
        api: Api,
        cache: Cache,
        events: Events,
        *,
        changes: Changes,
        writes: Writes,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._api = api
        self._cache = cache
        self._events = events
        self._writes = writes
        self._clock = clock
        self._changed = changes.topologies
        self._written: dict[str, Status] = {}
        self._reported: Reported[str, Finding] = Reported()
        self._backoff = Backoff(FIRST_PAUSE, LAST_PAUSE)
        self._wait_seconds = WAIT_SECONDS
        # If a CRD has no status subresource, every write raises the generation, and a status with
        # the generation in it would never settle.
        self._follows_generation = True

    async def run(self) -> None:
        """Write statuses until cancelled, at most once in WAIT_SECONDS."""
        while True:
            await self._changed.wait()
            await asyncio.sleep(self._wait_seconds)
            if self._writes.allowed():
                self._changed.clear()
                with confined("report", "topologies"):
                    await self.flush()

    async def flush(self) -> None:
        """Write all changes since the last call."""
        declared = dict(self._cache.topologies.declared)
        self._written = {uid: status for uid, status in self._written.items() if uid in declared}
        self._reported.keep(declared)
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
        # Another product's CRD may drop fields; the same status is not sent again for that.
        if status != self._written.get(declared.uid) and _differs(declared.status, status):
            self._tell(declared, finding, present)
            await self._write(declared, status)

    def _warn(self, declared: DeclaredTopology) -> None:
        """Report an object that makes no tree, once while its problem is the same."""
        if not declared.problem:
            self._reported.forget(declared.uid)
            return
        kept = self._cache.topologies.tree_spec_of(declared.uid) is not None
        finding = invalid_spec(declared.problem, kept=kept)
        if self._reported.is_news(declared.uid, finding):
            log.warning(
                "topology_left_out", kind=declared.kind, name=declared.name, why=finding.message
            )
            self._record(declared, finding)

    def _judge(self, declared: DeclaredTopology) -> tuple[Finding, list[dict[str, Any]] | None]:
        """Return the condition and the details; None removes the details in a merge patch."""
        if declared.name != DEFAULT_NAME:
            return not_default(DEFAULT_NAME), None
        tree = self._cache.topologies.tree(self._cache.node_usage.table())
        if tree is None:
            return invalid_spec(declared.problem, kept=False), None
        detail = detail_status(tree)
        if declared.problem:
            return invalid_spec(declared.problem, kept=True), detail
        return tree_in_use(tree, len(detail)), detail

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
        name, self._written[declared.uid] = declared.name, status

        async def write() -> None:
            self._follows_generation = await self._api.patch_status(
                CLUSTER_NETWORK_TOPOLOGIES, "", name, status
            )

        refusal = await self._writes.send(
            "topology_status", write, passing=RACED, about=declared.uid
        )
        if refusal is None:
            self._backoff.reset()
            self._wait_seconds = WAIT_SECONDS
        elif refusal.passes or refusal.error is None:
            self._written.pop(declared.uid, None)
            self._wait_seconds = self._backoff.seconds(refusal.retry_after)
            self._changed.set()
        elif refusal.is_final:
            log.warning("status_refused", what="topology", name=name, error=str(refusal.error))


def _conditions_now(present: Status, before: Status) -> list[Status]:
    """Return the present conditions of other writers, and our own as last written."""
    others = [e for e in controllers.parts(present, "conditions") if e.get("type") != READY]
    return others + [e for e in controllers.parts(before, "conditions") if e.get("type") == READY]


def _differs(present: Status, status: Status) -> bool:
    return any(present.get(key) != value for key, value in status.items())
