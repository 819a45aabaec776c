"""The eviction requests of one cycle, on the charges that remain once leaving pods have left."""

import functools
import math
from collections import Counter
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Protocol

import numpy as np

from gang_scheduler.model.bound_pods import BoundPod, BoundPods, Charged
from gang_scheduler.model.nodes import BoolArray, IntArray
from gang_scheduler.model.queues import NONE, Charge, FlavorResource, QueueRef
from gang_scheduler.model.refs import GangKey
from gang_scheduler.scheduler.quota.charges import add_up
from gang_scheduler.scheduler.quota.trees import NO_ROW, Trees
from gang_scheduler.scheduler.reclaim.eviction_policy import EvictionLimits, min_runtimes
from gang_scheduler.scheduler.reclaim.final_state import QuotaLedger
from gang_scheduler.scheduler.reclaim.reclaim import Reclaim
from gang_scheduler.scheduler.reclaim.request import (
    ReclaimRequest,
    RunningInQueue,
    running_in_queue_of,
)

# The queues with gangs on nodes, as columns that show which queues a request can skip. A request
# that may evict searches queue by queue. Most queues are ruled out by facts about all of their
# gangs: a fence or a veto on the way, the longest run time, and the lowest priority. All queues are
# judged at once.


class OccupiedQueues:
    """The queues with gangs that may be evicted at all, as of the snapshot.

    Queues are in the order in which their first gangs came. `rows` and the `lowest` priority of a
    gang there are columns with one entry a queue.
    """

    def __init__(
        self, gangs: Iterable[RunningInQueue], trees: Trees, limits: EvictionLimits
    ) -> None:
        self._trees = trees
        self.by_row: dict[int, list[RunningInQueue]] = {}
        for each in gangs:
            self.by_row.setdefault(trees.rows[each.ref], []).append(each)
        self.rows: IntArray = np.array([*self.by_row], dtype=np.int64)
        self.lowest = _column(self.by_row, lambda each: min(each.priority, each.pod_priority))
        oldest = _column(self.by_row, lambda each: each.known.started_at)
        self._gates = np.array([_gate(trees, row) for row in self.by_row], dtype=np.int64)
        self._gate_ends = np.array([trees.ends[gate] for gate in self._gates], dtype=np.int64)
        self._may_have_run = limits.now - oldest >= min_runtimes(trees, self.by_row, limits)
        self._open_to: dict[int, BoolArray] = {}

    def __len__(self) -> int:
        return len(self.rows)

    def reached(self, reclaim: Reclaim, worth: BoolArray) -> list[int]:
        """Return the rows of queues where a request may find candidates, in order.

        `worth` is the mask of the other queues that borrow a missing resource.
        """
        own = self._trees.rows.get(reclaim.request.ref)
        if own is None:
            return []
        here = self.rows == own
        found = worth & ~here & (self.lowest <= reclaim.highest_reached(within=False))
        found |= here & (self.lowest <= reclaim.highest_reached(within=True))
        if not found.any():
            return []
        rows: list[int] = self.rows[found & self.open_to(own)].tolist()
        return rows

    def open_to(self, own: int) -> BoolArray:
        """Return the mask of the queues whose gangs the queue of row `own` may evict.

        Such a queue has no fence or veto against `own`, and one of its gangs has run for long
        enough.
        """
        if own not in self._open_to:
            self._open_to[own] = self._found_open(own)
        return self._open_to[own]

    def _found_open(self, own: int) -> BoolArray:
        way, ends = self._trees.ways[own], self._trees.ends
        shared = np.sum([(row <= self.rows) & (self.rows < ends[row]) for row in way], axis=0)
        # In the request's own queue, or in a queue above it, only the queue itself counts.
        level = np.where(shared < len(way), shared, 0)
        found: BoolArray = self._may_have_run[level, np.arange(len(self))]
        top = _top(self._trees, way)
        if top != NO_ROW:
            found &= (top <= self.rows) & (self.rows < ends[top])
        inside = (self._gates <= own) & (own < self._gate_ends)
        found &= inside | (self._gates == NO_ROW)
        return found


def _column(
    by_row: Mapping[int, Sequence[RunningInQueue]], figure: Callable[[RunningInQueue], int]
) -> IntArray:
    """Return the least value of any gang, queue by queue."""
    return np.array([min(map(figure, gangs)) for gangs in by_row.values()], dtype=np.int64)


def _gate(trees: Trees, row: int) -> int:
    """Return the queue below which a gang must be, too, to evict from another; NO_ROW for none.

    It is the lowest queue on the way to the root from which no outside gang may evict.
    """
    closed = (each for each in trees.ways[row][::-1] if not trees.queues[each].evictions.may_lose)
    return next(closed, NO_ROW)


def _top(trees: Trees, way: Sequence[int]) -> int:
    """Return the highest queue that fences allow a request to search; NO_ROW without a fence."""
    return next((row for row in way[::-1] if trees.queues[row].evictions.fence), NO_ROW)


class Charges(QuotaLedger, Protocol):
    """The charges of this cycle until now."""

    @property
    def version(self) -> tuple[int, int]:
        """Changes whenever quota is charged, released or kept."""

    gone: Counter[QueueRef]

    def leave(self, ref: QueueRef, charge: Charge) -> None:
        """Note the quota that victims of this cycle give back."""

    def copy(self) -> "Charges":
        """Return an independent copy of the charges."""


class ReclaimRequests:
    """The gangs on nodes by queue, and all charges except those of gangs that leave.

    Gangs are read once, in the first round.
    """

    def __init__(self, bound_pods: BoundPods, charged: Charges, limits: EvictionLimits) -> None:
        self.limits = limits
        self._bound_pods = bound_pods
        self._charged = charged
        self._leaving = 0
        self._freed: dict[QueueRef, dict[FlavorResource, int]] = {}
        """The charges of all leaving pods, queue by queue."""
        self._expected: list[ReclaimRequest] = []
        self._without: tuple[Hashable, Charges] | None = None
        self._borrowers: dict[Hashable, BoolArray] = {}
        self._leave(bound_pods.leaving)

    def leave(self, victims: Sequence[BoundPod]) -> None:
        """Note that victims of this cycle leave."""
        self._leave(victims)
        for each in victims:
            self._charged.leave(*self._charge_of(each))
        uids = {each.pod.uid for each in victims}
        for gang in {each.gang: None for each in victims}:
            members = self.members(gang)
            if all(each.pod.uid in uids for each in members):
                ref, _ = self._charge_of(members[0] if members else victims[0])
                self._charged.gone[ref] += 1

    def _leave(self, leaving: Sequence[BoundPod]) -> None:
        self._leaving += len(leaving)
        for each in leaving:
            add_up(self._freed, *self._charge_of(each))

    def expect(self, request: ReclaimRequest | None) -> None:
        """Record a request that succeeds and will be charged; None once all such are charged."""
        self._expected = [*self._expected, request] if request is not None else []

    @property
    def state(self) -> Hashable:
        """Changes whenever anything is charged, or leaves."""
        return self._charged.version, self._leaving, len(self._expected)

    def without_leaving(self) -> Charges:
        """Return the charges once all leaving pods have left. They must not be changed."""
        state = self.state
        if self._without is None or self._without[0] != state:
            quota = self._charged.copy()
            for ref, charge in self._freed.items():
                quota.release(ref, charge)
            for request in self._expected:
                quota.charge(request.ref, request.charge)
            self._without = (state, quota)
            self._borrowers.clear()
        return self._without[1]

    def borrows(self, request: ReclaimRequest, victims: Iterable[BoundPod]) -> bool:
        """Return whether the queue of a request exceeds its own quota once victims have gone."""
        quota = self.without_leaving()
        charged = [self._charge_of(each) for each in victims]
        for each in charged:
            quota.release(*each)
        try:
            return quota.forest.borrows(request.ref, request.charge)
        finally:
            for each in charged:
                quota.charge(*each)

    @property
    def is_idle(self) -> bool:
        """Whether no pod could leave."""
        return not (self._bound_pods.pods or self._leaving)

    def may_help(self, request: ReclaimRequest) -> bool:
        """Return whether evictions, or pods that leave in any case, might help the request.

        The request is treated as older than all gangs, since equal but newer gangs can then be
        evicted.
        """
        reclaim = self.reclaim(replace(request, created_at=-math.inf))
        return not reclaim.short or any(self.candidates(reclaim))

    @functools.cached_property
    def has_backfilled(self) -> bool:
        """Whether a gang on nodes was let past others because of its declared end."""
        return bool(self._backfilled)

    def reclaim(self, request: ReclaimRequest, resources: Collection[str] = ()) -> Reclaim:
        """Return the evictions a request may make now; room is short of the `resources`."""
        return Reclaim(self.without_leaving(), request, self.limits, resources)

    def reaches_any(self, request: ReclaimRequest) -> bool:
        """Return whether the request may evict from any queue at all. Cheap."""
        reclaim, there = self.reclaim(request), self._occupied_queues
        worth = np.full(len(there), reclaim.reaches_out)
        return bool(self._backfilled or there.reached(reclaim, worth))

    def candidates(self, reclaim: Reclaim) -> Iterator[RunningInQueue]:
        """Yield the gangs that may have to go for a request in some final state."""
        there = self._occupied_queues
        reached = there.reached(reclaim, self._worth(reclaim))
        for row in reached:
            yield from filter(reclaim.possible, there.by_row[row])
        for running in self._backfilled:
            if self._rows[running.ref] not in reached and reclaim.possible(running):
                yield running

    def _worth(self, reclaim: Reclaim) -> BoolArray:
        """Return the mask of the queues that borrow a missing resource.

        Empty if the request reaches no other queue. Computed once for each set of missing
        resources.
        """
        if not reclaim.reaches_out:
            return np.zeros(len(self._occupied_queues), dtype=np.bool_)
        key = reclaim.short, reclaim.resources
        if key not in self._borrowers:
            borrow = map(reclaim.borrows_what_lacks, self._occupied_queues.by_row)
            self._borrowers[key] = np.fromiter(borrow, dtype=np.bool_)
        return self._borrowers[key]

    def members(self, gang: GangKey) -> Sequence[BoundPod]:
        """Return the pods of a gang on nodes that do not leave as of the snapshot."""
        found = self._bound_pods.gangs.get(gang)
        return () if found is None else found.pods

    @property
    def bound_pods(self) -> BoundPods:
        """The pods on nodes."""
        return self._bound_pods

    @property
    def _rows(self) -> Mapping[QueueRef, int]:
        return self._charged.forest.accounts.promises.trees.rows

    @functools.cached_property
    def _occupied_queues(self) -> OccupiedQueues:
        return OccupiedQueues(
            self._gangs, self._charged.forest.accounts.promises.trees, self.limits
        )

    @functools.cached_property
    def _backfilled(self) -> Sequence[RunningInQueue]:
        return [each for each in self._gangs if each.known.backfilled is not None]

    @functools.cached_property
    def _gangs(self) -> Sequence[RunningInQueue]:
        """Return the gangs with at least one evictable pod."""
        gangs = self._bound_pods.gangs.values()
        found = (
            running_in_queue_of(gang) for gang in gangs if any(each.evictable for each in gang.pods)
        )
        return [each for each in found if each is not None and each.ref in self._rows]

    def _charge_of(self, bound_pod: BoundPod) -> Charged:
        return self._bound_pods.charged.get(bound_pod.pod.uid, (NONE, {}))
