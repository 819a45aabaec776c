"""Decisions on gangs that have all their members, and what came of them."""

import time
from collections import Counter
from collections.abc import Callable, Iterable
from typing import Final

import numpy as np

from gang_scheduler.apply.binding.gang_binding import GangBinding
from gang_scheduler.model.network import topology
from gang_scheduler.model.network.topology import Topology
from gang_scheduler.model.nodes import ABSENT, IntArray
from gang_scheduler.model.plan import Placed, Preemption, Refused
from gang_scheduler.model.pods import Pod
from gang_scheduler.model.problems import Reason
from gang_scheduler.model.refs import GangKey
from gang_scheduler.report.measures.seen import job_type_of, queue_of
from gang_scheduler.report.texts import elastic_texts
from gang_scheduler.state.cache import Cache
from gang_scheduler.state.gangs.gang_info import GangInfo
from gang_scheduler.state.pruning import pruned
from gang_scheduler.telemetry import metrics
from gang_scheduler.telemetry.metrics import BY_PRIORITY, DRAINED, NO_QUEUE

SCHEDULED, UNSCHEDULABLE, QUOTA, INVALID = "scheduled", "unschedulable", "quota", "invalid"
RESULTS: Final = {
    Reason.UNSCHEDULABLE: UNSCHEDULABLE,
    Reason.WAITING_FOR_VOLUMES: UNSCHEDULABLE,
    Reason.WAITING_FOR_VICTIMS: "waiting_for_victims",
    Reason.WAITING_FOR_CHECKPOINT: "waiting_for_victims",
    Reason.QUEUE_STOPPED: QUOTA,
    Reason.ADMISSION_DENIED: QUOTA,
    Reason.QUOTA_EXCEEDED: QUOTA,
    Reason.JOB_LIMIT_REACHED: QUOTA,
    Reason.WAITING_FOR_QUOTA: QUOTA,
    Reason.WAITING_FOR_TURN: QUOTA,
    Reason.WAITING_FOR_CHECKS: QUOTA,
    Reason.WAITING_FOR_PROVISIONING: UNSCHEDULABLE,
    Reason.INVALID_SPEC: INVALID,
    Reason.UNKNOWN_LAYER: INVALID,
    Reason.UNSUPPORTED_FEATURE: INVALID,
    Reason.QUEUE_NOT_FOUND: INVALID,
}
"""The decisions that there are. Of a gang that lacks members, or others, there is none."""
LATE, ON_TIME = "true", "false"
"""Whether a decision comes after the schedule timeout of the gang."""
UP, DOWN = "up", "down"
MODE: Final = "Bind"
"""How the scheduler changes the size of gangs: it binds more members, or evicts some."""


class Decisions:
    """Counts them. The same refusal of a gang again is no other decision."""

    def __init__(self, cache: Cache, clock: Callable[[], float] = time.time) -> None:
        self._cache = cache
        self._clock = clock
        # The last refusal of each gang: what came of it, and whether after the schedule timeout.
        self._last: dict[GangKey, tuple[str, bool]] = {}
        # Since when gangs that need one member were complete whose start is counted.
        self._started: dict[GangKey, int] = {}

    def refused(self, refused: Iterable[Refused]) -> None:
        """Count refusals that say another thing than the last one of the gang."""
        for each in refused:
            result = None if each.left_over else RESULTS.get(each.reason)
            info = self._cache.gang_queue.infos.get(each.gang.key)
            if result is not None and info is not None:
                self._refuse(info, result)
        self._forget_the_gone()

    def _refuse(self, info: GangInfo, result: str) -> None:
        since, key = info.attempt.quorum_since, info.key
        if since is None:
            return
        before, decision = self._last.get(key), (result, self._is_late(info))
        if decision == before:
            return
        self._last[key] = decision
        _, late = decision
        metrics.DECISIONS.labels(result, LATE if late else ON_TIME).inc()
        if late and (before is None or not before[1]):
            labels = (queue_of(info, self._cache), job_type_of(info), "timeout")
            metrics.SCHEDULING_SECONDS.labels(*labels).observe(max(0, self._clock() - since))

    def bound(self, binding: GangBinding) -> None:
        """Count how the plan for a quorum was carried out, and how long that took."""
        info = self._cache.gang_queue.infos.get(binding.gang.key)
        if info is None:
            return
        if binding.failed:
            self._refuse(info, UNSCHEDULABLE)
            return
        if elastic_texts.scaled_up(binding.gang, binding.placed.binds):
            metrics.ELASTIC_CHANGES.labels(self._queue_of(info.key), UP, MODE).inc()
        since = info.attempt.quorum_since
        if since is None or (binding.joins and not self._is_start_of_one(binding, since)):
            return
        self._last.pop(info.key, None)
        if binding.gang.was_whole:
            # It has started long ago: these members replace others, or let it grow.
            metrics.DECISIONS.labels(SCHEDULED, ON_TIME).inc()
            return
        # The queue that the cycle decided for: to find it out again would cost more than the rest.
        queue = binding.gang.queue.name if binding.gang.queue is not None else NO_QUEUE
        waited = max(0, self._clock() - since)
        metrics.DECISIONS.labels(SCHEDULED, LATE if self._is_late(info) else ON_TIME).inc()
        metrics.SCHEDULING_SECONDS.labels(queue, job_type_of(info), SCHEDULED).observe(waited)
        metrics.WAIT_SECONDS.labels(queue).observe(waited)
        if len(binding.placed.binds) > 1:
            self._spread(binding.placed)

    def _is_start_of_one(self, binding: GangBinding, since: int) -> bool:
        """Return whether a gang starts with a member that others need not wait for.

        So it is with a gang that needs one: each of its members waits for its own claims.
        """
        key = binding.gang.key
        if binding.gang.quorum != 1 or self._started.get(key) == since:
            return False
        self._started[key] = since
        return True

    def _spread(self, placed: Placed) -> None:
        """Count over how many domains of each layer the members of a plan are spread."""
        tree_specs = self._cache.topologies.tree_specs()
        if not tree_specs:
            return
        nodes = self._cache.node_usage.table()
        names = {bind.node for bind in placed.binds}
        rows = np.array([nodes.rows.get(name, ABSENT) for name in names])
        if (rows == ABSENT).any():
            return
        for tree_spec in tree_specs:
            tree = topology.build(tree_spec, nodes)
            if (tree.places[rows] != ABSENT).all():
                _count_domains(tree, tree.places[rows])
                return

    def preempted(self, preemption: Preemption) -> None:
        """Count the gangs that lose members for a gang, and what work is lost with these."""
        preemptor = self._queue_of(preemption.gangs[0].key) if preemption.gangs else NO_QUEUE
        lost: dict[GangKey, list[Pod]] = {}
        for victim in preemption.victims:
            lost.setdefault(victim.gang, []).append(victim.pod)
        for key, pods in lost.items():
            queue, by = self._queue_of(key), preemption.classes.get(key)
            other = DRAINED if preemption.drained is not None else BY_PRIORITY
            right = by.shown if by is not None else other
            metrics.GANGS_PREEMPTED.labels(preemptor, queue, right).inc()
            self._lose(key, queue, pods)
            if by is not None and self._cache.evictions.of(key).count > 1:
                metrics.EVICTIONS_REPEATED.labels(queue).inc()

    def lost(self, preemption: Preemption) -> None:
        """Count what work is lost with the members of a gang that is evicted whole."""
        for gang in preemption.gangs:
            pods = [victim.pod for victim in preemption.victims if victim.gang == gang.key]
            self._lose(gang.key, self._queue_of(gang.key), pods)

    def _lose(self, key: GangKey, queue: str, pods: list[Pod]) -> None:
        """Count what is lost since the work was saved last, or since the pods began to run."""
        now, info = self._clock(), self._cache.gang_queue.infos.get(key)
        saved_at = self._cache.checkpoints.saved_at(key)
        since = saved_at if saved_at <= now else 0
        seconds = (now - max(pod.started_at, since) for pod in pods if pod.started_at)
        metrics.LOST_SECONDS.labels(queue).inc(sum(max(0, each) for each in seconds))
        if info is not None and elastic_texts.scaled_down(info, pods, ""):
            metrics.ELASTIC_CHANGES.labels(queue, DOWN, MODE).inc()

    def _queue_of(self, key: GangKey) -> str:
        ref = self._cache.queue_of(key)
        return ref.name if ref is not None else NO_QUEUE

    def _is_late(self, info: GangInfo) -> bool:
        """Return whether a gang has not started by its schedule timeout."""
        if info.attempt.was_whole:
            return False
        deadline = self._cache.gang_queue.deadlines.of(info)
        return deadline is not None and self._clock() >= deadline

    def _forget_the_gone(self) -> None:
        infos = self._cache.gang_queue.infos
        self._last, self._started = pruned(self._last, infos), pruned(self._started, infos)


def _count_domains(tree: Topology, places: IntArray) -> None:
    for level in tree.levels[1:]:
        number = len(Counter(level.at(places).tolist()))
        metrics.GANG_DOMAINS.labels(level.layer).observe(number)
