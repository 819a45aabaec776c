"""Metrics of gangs, decisions and the cluster: counted as they change, shown now and then.

A scrape then costs nothing but the time to write the values.
"""

import asyncio
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np

from gang_scheduler.api.pod_group import Phase
from gang_scheduler.apply.outcomes import GangBinding
from gang_scheduler.internal_errors import confined
from gang_scheduler.model import topology
from gang_scheduler.model.consequences import Result
from gang_scheduler.model.layers import TreeSpec
from gang_scheduler.model.nodes import ABSENT, IntArray, NodeTable
from gang_scheduler.model.plan import Placed, Plan, Preemption, Refused
from gang_scheduler.model.pods import Elastic, Pod
from gang_scheduler.model.reasons import NOT_IN_LINE, RULES, Reason
from gang_scheduler.model.refs import GangKey
from gang_scheduler.model.resources import CPU
from gang_scheduler.model.topology import Topology
from gang_scheduler.report.words import messages
from gang_scheduler.state.cache import Cache
from gang_scheduler.state.gangs import phases
from gang_scheduler.state.gangs.gang_info import GangInfo
from gang_scheduler.state.gangs.observed import NO_SPEC
from gang_scheduler.state.pruning import pruned
from gang_scheduler.telemetry import metrics
from gang_scheduler.telemetry.family import Gauge, Values
from gang_scheduler.telemetry.metrics import BY_PRIORITY, DRAINED, NO_CLASS, NO_QUEUE, WHOLE_CLUSTER
from gang_scheduler.workloads import table

# Nodes by state, and the used and free resources on them.

PART = "cluster"
"""The part of a gauge that this module sets; other modules set other parts."""


Offers = Callable[[NodeTable, IntArray], tuple[Mapping[str, int], IntArray, IntArray]]
"""Returns the columns of resources, the amounts that each node offers, and the used amounts.

Its arguments are the table of nodes, and the free amounts of the resources that nodes list.
"""


def as_listed(nodes: NodeTable, free: IntArray) -> tuple[Mapping[str, int], IntArray, IntArray]:
    """Return the allocatable amounts of nodes, and the used ones."""
    return nodes.axis, nodes.allocatable, nodes.allocatable - free


class ClusterGauges:
    """Sets the gauges of the cluster. Nodes are counted only after a node or a tree has changed."""

    def __init__(self, cache: Cache, offered: Offers = as_listed) -> None:
        self._cache = cache
        self._counted: tuple[NodeTable, tuple[TreeSpec, ...]] | None = None
        self._offered = offered

    def show(self, asked: Collection[str]) -> None:
        """Set the gauges of the cluster; gangs wait for the resources in `asked`."""
        table, trees = self._cache.node_usage.table(), self._cache.topologies.tree_specs()
        before = self._counted
        if before is None or before[0] is not table or before[1] != trees:
            metrics.NODES.show(_by_state(table, trees))
            self._counted = table, trees
        axis, allocatable, used_of_nodes = self._offered(table, self._cache.node_usage.free())
        used = used_of_nodes[table.ready].sum(axis=0)
        there = allocatable[table.ready].sum(axis=0)
        metrics.UTILIZATION.show(
            (
                ((name, WHOLE_CLUSTER), used[at] / there[at])
                for name, at in axis.items()
                if there[at]
            ),
            of=PART,
        )
        free = allocatable - used_of_nodes
        usable = np.maximum(free[table.ready & ~table.unschedulable], 0).sum(axis=0)
        metrics.IDLE_WHILE_WAITING.show(
            ((name,), _in_units(name, int(usable[at])) if name in asked else 0)
            for name, at in axis.items()
        )


def _by_state(table: NodeTable, trees: tuple[TreeSpec, ...]) -> Iterator[tuple[Values, float]]:
    """Yield how many nodes are in each state; a cordoned node is in no other state."""
    cordoned = table.unschedulable
    yield ("ready",), int((table.ready & ~cordoned).sum())
    yield ("not_ready",), int((~table.ready & ~cordoned).sum())
    yield ("cordoned",), int(cordoned.sum())
    outside = np.ones(len(table), dtype=np.bool_) if trees else np.zeros(len(table), dtype=np.bool_)
    for tree_spec in trees:
        outside &= topology.build(tree_spec, table).places == ABSENT
    yield ("outside_tree",), int(outside.sum())


def _in_units(resource: str, amount: int) -> float:
    return amount / 1000 if resource == CPU else amount


# One gang as it was last examined: the labels of its series, and its values.

ENDED: Final = frozenset({Phase.FINISHED, Phase.FAILED})


@dataclass(frozen=True, slots=True)
class GangSeries:
    """The labels and values of one gang, as it was last examined. Times are Unix seconds.

    `reason` is why the gang waits, None if it does not wait. `requested` are the resources that it
    requests, if it waits for room. `complete_since` is when the gang had minMember members, until
    all of these are bound. `whole_at` is when they were bound, while the gang runs. `elastic` has
    the least, the current and the largest number of workers.
    """

    phase: Phase
    job_type: str
    queue: str
    priority_class: str
    created_at: float
    reason: Reason | None = None
    requested: frozenset[str] = frozenset()
    complete_since: int | None = None
    whole_at: float | None = None
    is_partial: bool = False
    elastic: tuple[int, int, int] | None = None

    def figures(self) -> Iterator[tuple[Gauge, Values, int]]:
        """Yield each gauge that counts this gang, with its labels and the amount to add."""
        yield metrics.GANGS, (self.phase.value, self.job_type), 1
        if self.reason is not None and self.queue == NO_QUEUE:
            yield metrics.QUEUE_LENGTH, (NO_QUEUE, self.priority_class), 1
        if self.is_partial:
            yield metrics.PARTIAL_GANGS, (), 1
        for bound, number in zip(("min", "now", "max"), self.elastic or (), strict=False):
            yield metrics.ELASTIC_MEMBERS, (self.queue, bound), number


def series_of(info: GangInfo, cache: Cache, before: GangSeries | None, now: float) -> GangSeries:
    """Return the labels and values of a gang as it is now. Linear in members."""
    attempt, phase = info.attempt, phases.phase_of(phases.counts_of(info))
    refusal = info.verdict.refusal
    waits = refusal is not None and not refusal.left_over
    runs = attempt.was_whole and phase not in ENDED
    complete = phase not in ENDED and not attempt.was_whole and attempt.quorum_since is not None
    whole_at = before.whole_at if before is not None else None
    return GangSeries(
        phase=phase,
        job_type=job_type_of(info),
        queue=queue_of(info, cache),
        priority_class=class_of(info),
        created_at=created_at(info),
        reason=refusal.reason if refusal is not None and waits else None,
        requested=_requested(refusal) if refusal and waits and complete else frozenset(),
        complete_since=attempt.quorum_since if complete else None,
        whole_at=(whole_at or became_whole_at(info, before, now)) if runs else None,
        is_partial=any(info.observed.with_node()) and attempt.is_partially_bound(),
        elastic=_workers(info),
    )


def _requested(refusal: Refused) -> frozenset[str]:
    if refusal.reason in NOT_IN_LINE:
        return frozenset()
    classes = {pod.pod_class for pod in refusal.pods}
    return frozenset(name for each in classes for name, amount in each.requests if amount)


def _workers(info: GangInfo) -> tuple[int, int, int] | None:
    """Return the workers of an elastic gang that runs: at least, now, and at most."""
    elastic = info.scaling.elastic
    if elastic is None or not (now := len(info.scaling.workers())):
        return None
    return elastic.min_workers, now, elastic.max_workers


def became_whole_at(info: GangInfo, before: GangSeries | None, now: float) -> float:
    """Return when a gang first had all members bound.

    For a gang from before this process, the time in its status counts.
    """
    written = (info.observed.spec or NO_SPEC).scheduled_at if before is None else 0
    bound = max((pod.scheduled_at for pod in info.observed.members.values()), default=0)
    return written or bound or now


def queue_of(info: GangInfo, cache: Cache) -> str:
    """Return the name of the queue of a gang."""
    ref = cache.queue_of(info.key)
    return ref.name if ref is not None else NO_QUEUE


def job_type_of(info: GangInfo) -> str:
    """Return the kind of the object that describes a gang."""
    source = table.BY_NAME[info.key.source]
    return source.object_kind or source.name


def class_of(info: GangInfo) -> str:
    """Return the name of the PriorityClass of a gang."""
    return next((pod.priority_class for pod in info.observed.living), "") or NO_CLASS


def created_at(info: GangInfo) -> float:
    """Return when a gang was created, in seconds since the epoch."""
    spec = info.observed.spec
    if spec is not None and spec.uid:
        return spec.created_at
    return min((pod.created_at for pod in info.observed.living), default=0)


# Decisions on gangs that have all their members, and the outcomes of these decisions.

SCHEDULED: Final = "scheduled"
LATE, ON_TIME = "true", "false"
"""Whether a decision comes after the schedule timeout of the gang."""
UP, DOWN = "up", "down"


def mode_of(elastic: Elastic | None) -> str:
    """Return how the scheduler changes the size of a gang, as its annotation says."""
    return "Replicas" if elastic is not None and elastic.by_replicas else "Bind"


class Decisions:
    """Counts decisions. A repeated refusal of a gang for the same reason is not counted."""

    def __init__(self, cache: Cache, clock: Callable[[], float] = time.time) -> None:
        self._cache = cache
        self._clock = clock
        # The last refusal of each gang: its result, and whether it came after the schedule timeout.
        self._last: dict[GangKey, tuple[Result, bool]] = {}
        # When gangs of one member became complete, if their start is counted already.
        self._started: dict[GangKey, int] = {}

    def refused(self, refused: Iterable[Refused]) -> None:
        """Count refusals whose result differs from the gang's last one."""
        for each in refused:
            result = None if each.left_over else RULES[each.reason].result
            info = self._cache.gang_queue.infos.get(each.gang.key)
            if result is not None and info is not None:
                self._refuse(info, result)
        self._forget_the_gone()

    def _refuse(self, info: GangInfo, result: Result) -> None:
        since, key = info.attempt.quorum_since, info.key
        if since is None:
            return
        before, decision = self._last.get(key), (result, self._is_late(info))
        if decision == before:
            return
        self._last[key] = decision
        _, late = decision
        metrics.DECISIONS.labels(result.value, LATE if late else ON_TIME).inc()
        if late and (before is None or not before[1]):
            labels = (queue_of(info, self._cache), job_type_of(info), "timeout")
            metrics.SCHEDULING_SECONDS.labels(*labels).observe(max(0, self._clock() - since))

    def bound(self, binding: GangBinding) -> None:
        """Count the outcome of the plan for a quorum, and how long it took."""
        info = self._cache.gang_queue.infos.get(binding.gang.key)
        if info is None:
            return
        if binding.failed:
            self._refuse(info, Result.UNSCHEDULABLE)
            return
        if messages.scaled_up(binding.gang, binding.placed.binds):
            mode = mode_of(info.observed.elastic)
            metrics.ELASTIC_CHANGES.labels(self._queue_of(info.key), UP, mode).inc()
        since = info.attempt.quorum_since
        if since is None or (binding.joins and not self._note_first_member_start(binding, since)):
            return
        self._last.pop(info.key, None)
        if binding.gang.was_whole:
            # It has started long ago: these members replace others, or let it grow.
            metrics.DECISIONS.labels(SCHEDULED, ON_TIME).inc()
            return
        # The queue of the cycle's decision. Looking it up again would cost more than the rest.
        queue = binding.gang.queue.name if binding.gang.queue is not None else NO_QUEUE
        waited = max(0, self._clock() - since)
        metrics.DECISIONS.labels(SCHEDULED, LATE if self._is_late(info) else ON_TIME).inc()
        metrics.SCHEDULING_SECONDS.labels(queue, job_type_of(info), SCHEDULED).observe(waited)
        metrics.WAIT_SECONDS.labels(queue).observe(waited)
        if len(binding.placed.binds) > 1:
            self._spread(binding.placed)

    def _note_first_member_start(self, binding: GangBinding, since: int) -> bool:
        """Note the start of a gang that needs one member; return whether it is the first.

        Each member of such a gang waits only for its own claims.
        """
        key = binding.gang.key
        if binding.gang.quorum != 1 or self._started.get(key) == since:
            return False
        self._started[key] = since
        return True

    def _spread(self, placed: Placed) -> None:
        """Observe for each layer over how many domains the plan spreads the members."""
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
        """Count the gangs that are preempted, and the work that their members lose."""
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
        """Count the work lost by the members of a gang that is evicted whole."""
        for gang in preemption.gangs:
            pods = [victim.pod for victim in preemption.victims if victim.gang == gang.key]
            self._lose(gang.key, self._queue_of(gang.key), pods)

    def _lose(self, key: GangKey, queue: str, pods: list[Pod]) -> None:
        """Count the lost work: since the last checkpoint, or since the pods began to run."""
        now, info = self._clock(), self._cache.gang_queue.infos.get(key)
        saved_at = self._cache.checkpoints.saved_at(key)
        since = saved_at if saved_at <= now else 0
        seconds = (now - max(pod.started_at, since) for pod in pods if pod.started_at)
        metrics.LOST_SECONDS.labels(queue).inc(sum(max(0, each) for each in seconds))
        if info is not None and messages.scaled_down(info, pods, ""):
            metrics.ELASTIC_CHANGES.labels(queue, DOWN, mode_of(info.observed.elastic)).inc()

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


# The number of gangs of each sort, by how far they have come, and the end of each run. A gang is
# examined again when it has changed, and its share of each gauge is added or taken away. So the
# cost follows the number of changes, plus one step for each waiting gang.

SLICE: Final = 200
"""This many gangs are examined before other tasks get a turn."""
GANGS_PART: Final = "gangs"
"""The name of this module's part of gauges that other modules set, too."""


class GangGauges:
    """The gauges that count gangs, kept up to date gang by gang."""

    def __init__(self, cache: Cache, clock: Callable[[], float] = time.time) -> None:
        self._cache = cache
        self._clock = clock
        self._seen: dict[GangKey, GangSeries] = {}
        self._waiting: dict[GangKey, GangSeries] = {}
        self._counts: defaultdict[Gauge, Counter[Values]] = defaultdict(Counter)
        self._changed: set[GangKey] = set()
        self._evicted: set[GangKey] = set()
        self._has_looked = False

    def changed(self, keys: Collection[GangKey]) -> None:
        """Note the gangs that must be examined again."""
        self._changed.update(keys)

    def evicted(self, keys: Iterable[GangKey]) -> None:
        """Note gangs that lose members to an eviction, which then ends their runs."""
        self._evicted.update(keys)

    def refresh(self) -> Iterator[None]:
        """Examine changed gangs, and yield now and then to give other tasks a turn."""
        infos = self._cache.gang_queue.infos
        due = self._changed | self._cache.gang_queue.changed if self._has_looked else set(infos)
        self._changed = set()
        for key in self._seen.keys() - infos.keys():
            self._gone(key)
        for number, key in enumerate(due, start=1):
            info = infos.get(key)
            if info is not None:
                with confined("measure", str(key)):
                    self._examine(info)
            if not number % SLICE:
                yield
        self._evicted &= infos.keys()
        self._has_looked = True

    def show(self) -> None:
        """Set the number of gangs, and how long the oldest gangs have waited, in seconds."""
        gauges = (metrics.GANGS, metrics.QUEUE_LENGTH, metrics.ELASTIC_MEMBERS)
        for gauge in gauges:
            gauge.show(self._counts[gauge].items(), of=GANGS_PART)
        metrics.PARTIAL_GANGS.set(self._counts[metrics.PARTIAL_GANGS][()])
        now = self._clock()
        ages = (((each.reason, now - each.created_at)) for each in self._waiting.values())
        waits = (((reason.value,), max(0, age)) for reason, age in ages if reason is not None)
        metrics.OLDEST_WAIT.show(waits, max)

    def asked(self) -> frozenset[str]:
        """Return the resources that complete gangs wait for."""
        return frozenset().union(*{each.requested for each in self._waiting.values()})

    def _examine(self, info: GangInfo) -> None:
        before, now = self._seen.get(info.key), self._clock()
        seen = series_of(info, self._cache, before, now)
        self._replace(info.key, seen)
        if before is not None and before.whole_at is not None and seen.whole_at is None:
            self._ended(info.key, seen.phase, before, before.whole_at)
        elif seen.phase in ENDED and self._is_news(before) and _ran(info):
            # The gang became whole and ended since it was last examined.
            self._ended(info.key, seen.phase, seen, became_whole_at(info, before, now))
        if seen.whole_at is not None and not info.preempted.by:
            self._evicted.discard(info.key)

    def _is_news(self, before: GangSeries | None) -> bool:
        """Return whether a gang had not ended when this process last examined it."""
        return self._has_looked if before is None else before.phase not in ENDED

    def _ended(self, key: GangKey, phase: Phase | None, seen: GangSeries, whole_at: float) -> None:
        if phase is Phase.FINISHED:
            status = "succeeded"
        elif phase is Phase.FAILED:
            status = "failed"
        else:
            status = "evicted" if key in self._evicted else "deleted"
        self._evicted.discard(key)
        series = metrics.COMPLETION_SECONDS.labels(seen.queue, seen.job_type, status)
        series.observe(max(0, self._clock() - whole_at))

    def _gone(self, key: GangKey) -> None:
        seen = self._seen[key]
        if seen.whole_at is not None:
            self._ended(key, None, seen, seen.whole_at)
        elif seen.complete_since is not None:
            series = metrics.SCHEDULING_SECONDS.labels(seen.queue, seen.job_type, "deleted")
            series.observe(max(0, self._clock() - seen.complete_since))
        self._replace(key, None)

    def _replace(self, key: GangKey, seen: GangSeries | None) -> None:
        before = self._seen.pop(key, None)
        self._waiting.pop(key, None)
        if before is not None:
            self._count(before, -1)
        if seen is not None:
            self._seen[key] = seen
            self._count(seen, 1)
            if seen.reason is not None:
                self._waiting[key] = seen

    def _count(self, seen: GangSeries, sign: int) -> None:
        for gauge, values, number in seen.figures():
            counts = self._counts[gauge]
            counts[values] += sign * number
            if not counts[values]:
                del counts[values]


def _ran(info: GangInfo) -> bool:
    """Return whether as many members as the quorum needs had a node, so the gang has been whole."""
    return info.attempt.holds_quorum([pod for pod in info.observed.members.values() if pod.node])


LEAST_SECONDS: Final = 2.0
MOST_SECONDS: Final = 30.0
LARGEST_PART: Final = 0.01
"""At most this part of the time is spent on gauges, however many gangs there are."""


class Measures:
    """Counts gangs and the cluster, while this replica schedules."""

    def __init__(
        self,
        cache: Cache,
        clock: Callable[[], float] = time.time,
        offered: Offers = as_listed,
    ) -> None:
        self.gangs = GangGauges(cache, clock)
        self._decisions = Decisions(cache, clock)
        self._cluster = ClusterGauges(cache, offered)

    async def run(self) -> None:
        """Update changed metrics until cancelled."""
        while True:
            seconds = 0.0
            with confined("measure", "gangs and nodes"):
                steps = self._show()
                while (took := _one(steps)) is not None:
                    seconds += took
                    await asyncio.sleep(0)
            await asyncio.sleep(min(max(LEAST_SECONDS, seconds / LARGEST_PART), MOST_SECONDS))

    def show(self) -> None:
        """Update the gauges of gangs and nodes."""
        for _ in self._show():
            pass

    def _show(self) -> Iterator[None]:
        yield from self.gangs.refresh()
        self.gangs.show()
        yield
        self._cluster.show(self.gangs.asked())
        yield

    def planned(self, plan: Plan) -> None:
        """Count the refusals of a cycle, and the steps of its searches for devices."""
        with confined("measure", "refusals"):
            self._decisions.refused(plan.refused)
        steps, cut = plan.device_searches
        if steps:
            metrics.DEVICE_SEARCH_STEPS.observe(steps)
            metrics.DEVICE_SEARCHES_CUT.inc(cut)

    def bound(self, binding: GangBinding, seconds: float) -> None:
        """Count the outcome of a gang's bindings, before the state takes it in.

        `seconds` is the time from the plan to the last binding.
        """
        for outcome, number in Counter(binding.outcomes.values()).items():
            metrics.BINDINGS.labels(outcome.value).inc(number)
        if not binding.failed:
            metrics.GANGS_BOUND.inc()
            metrics.GANG_SECONDS.observe(seconds)
        self._decisions.bound(binding)

    def preempted(self, preemption: Preemption, evicted: int) -> None:
        """Count the gangs that lose members to a preemption, and the number of evicted pods."""
        metrics.PREEMPTIONS.labels("carried_out").inc()
        metrics.VICTIMS.inc(evicted)
        self.gangs.evicted({victim.gang for victim in preemption.victims})
        self._decisions.preempted(preemption)

    def withdrawn(self) -> None:
        """Count a preemption that was given up and taken back."""
        metrics.PREEMPTIONS.labels("withdrawn").inc()

    def victims_gone(self, seconds: float) -> None:
        """Observe the time from the plan of a preemption until the last victim is gone."""
        metrics.VICTIM_SECONDS.observe(seconds)

    def lost(self, preemption: Preemption) -> None:
        """Count the members of a gang that is evicted whole for its own sake."""
        self.gangs.evicted({victim.gang for victim in preemption.victims})
        self._decisions.lost(preemption)


def _one(steps: Iterator[None]) -> float | None:
    """Take one step; return its CPU time in seconds, None if there was no step left."""
    started = time.thread_time()
    try:
        next(steps)
    except StopIteration:
        return None
    return time.thread_time() - started
