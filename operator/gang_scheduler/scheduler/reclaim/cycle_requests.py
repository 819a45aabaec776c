"""The eviction requests of one cycle, judged by the charges without pods that are leaving."""

import functools
import math
from collections import Counter, deque
from collections.abc import Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from typing import Final, NamedTuple, Protocol

import numpy as np

from gang_scheduler.model.bound_pods import BoundPod, BoundPods, Charged
from gang_scheduler.model.evictions import RunningGang
from gang_scheduler.model.nodes import BoolArray, IntArray
from gang_scheduler.model.queues import NONE, Charge, FlavorResource, QueueRef
from gang_scheduler.model.refs import GangKey
from gang_scheduler.scheduler.quota.charges import add_up
from gang_scheduler.scheduler.quota.trees import NO_ROW, Trees
from gang_scheduler.scheduler.reclaim.after_eviction import QuotaLedger
from gang_scheduler.scheduler.reclaim.eviction_policy import EvictionLimits, min_runtimes
from gang_scheduler.scheduler.reclaim.legal_victims import Positions, Reclaim
from gang_scheduler.scheduler.reclaim.request import (
    ReclaimRequest,
    RunningInQueue,
    running_in_queue_of,
)

MOST_ANSWERS: Final = 16
"""At most this many answers are kept for requests of one queue and priority."""

# The queues with gangs on nodes, as columns that show which queues a request can skip. A request
# that may evict searches queue by queue. Most queues are ruled out by facts about all of their
# gangs: a fence or a veto on the path, the longest run time, and the lowest priority. All queues
# are judged at once.


class OccupiedQueues:
    """The queues with gangs that may be evicted at all, as of the snapshot.

    Queues are in the order in which their first gangs came. `rows` and `lowest` have one
    entry for each queue: its row, and the lowest priority of a gang in it.
    """

    def __init__(
        self, gangs: Iterable[RunningInQueue], trees: Trees, limits: EvictionLimits
    ) -> None:
        self._trees = trees
        self.by_row: dict[int, list[RunningInQueue]] = {}
        self._extremes: dict[int, tuple[int, int]] = {}
        # This runs for each gang on nodes in every cycle: one loop costs half as much as three.
        for each in gangs:
            row, began, lowest = trees.rows[each.ref], int(each.known.started_at), each.lowest
            if row in self.by_row:
                self.by_row[row].append(each)
                low, old = self._extremes[row]
                if lowest < low or began < old:
                    self._extremes[row] = min(lowest, low), min(began, old)
            else:
                self.by_row[row] = [each]
                self._extremes[row] = lowest, began
        self.rows: IntArray = np.array([*self.by_row], dtype=np.int64)
        extremes = np.array([*self._extremes.values()], dtype=np.int64).reshape(-1, 2)
        self.lowest, oldest = extremes[:, 0], extremes[:, 1]
        self._lowest_of_all = min((low for low, _ in self._extremes.values()), default=0)
        self._gates = np.array([_gate(trees, row) for row in self.by_row], dtype=np.int64)
        self._gate_ends = np.array([trees.ends[gate] for gate in self._gates], dtype=np.int64)
        self._may_have_run = limits.now - oldest >= min_runtimes(trees, self.by_row, limits)
        self._open_to: dict[int, BoolArray] = {}

    def __len__(self) -> int:
        return len(self.rows)

    @functools.cached_property
    def resources(self) -> frozenset[str]:
        """The resources that any gang requests."""
        gangs = (each for some in self.by_row.values() for each in some)
        return frozenset[str]().union(*{each.resources for each in gangs})

    def reached(self, reclaim: Reclaim, worth: BoolArray | None) -> list[int]:
        """Return the rows of queues where a request may find candidates, in order.

        `worth` is the mask of the other queues that borrow a missing resource; None if none does.
        """
        own = self._trees.rows.get(reclaim.request.ref)
        if own is None or not self._reaches(reclaim, own, outside=worth is not None):
            return []
        here = self.rows == own
        found = here & (self.lowest <= reclaim.highest_reached(within=True))
        if worth is not None:
            found |= worth & ~here & (self.lowest <= reclaim.highest_reached(within=False))
        if not found.any():
            return []
        rows: list[int] = self.rows[found & self.open_to(own)].tolist()
        return rows

    def _reaches(self, reclaim: Reclaim, own: int, *, outside: bool) -> bool:
        """Return whether the lowest priorities let a request reach any queue; exact if False.

        This is asked for every full queue in each cycle, and most may evict nothing.
        """
        there = self._extremes.get(own)
        if there is not None and there[0] <= reclaim.highest_reached(within=True):
            return True
        return outside and self._lowest_of_all <= reclaim.highest_reached(within=False)

    def as_one(self, row: int, charge: Charge) -> RunningInQueue:
        """Return all gangs of a queue as one: a request that may not evict it may evict none.

        `charge` is at least what they are charged. It has the lowest priority of any and the oldest
        start, is newer than any request, and was not backfilled.
        """
        lowest, oldest = self._extremes[row]
        first, known = self.by_row[row][0], RunningGang(created_at=math.inf, started_at=oldest)
        charges = {"": charge}
        return RunningInQueue(first.key, first.ref, lowest, known, charges, lowest, self.resources)

    def open_to(self, own: int) -> BoolArray:
        """Return the mask of the queues whose gangs the queue of row `own` may evict.

        Such a queue has no fence or veto against `own`, and one of its gangs has run for long
        enough.
        """
        if own not in self._open_to:
            self._open_to[own] = self._found_open(own)
        return self._open_to[own]

    def _found_open(self, own: int) -> BoolArray:
        path, ends = self._trees.paths[own], self._trees.ends
        shared = np.sum([(row <= self.rows) & (self.rows < ends[row]) for row in path], axis=0)
        # In the request's own queue, or in a queue above it, only the queue itself counts.
        level = np.where(shared < len(path), shared, 0)
        found: BoolArray = self._may_have_run[level, np.arange(len(self))]
        top = _top(self._trees, path)
        if top != NO_ROW:
            found &= (top <= self.rows) & (self.rows < ends[top])
        inside = (self._gates <= own) & (own < self._gate_ends)
        found &= inside | (self._gates == NO_ROW)
        return found


def _gate(trees: Trees, row: int) -> int:
    """Return the lowest queue from `row` up from which no outside gang may evict; NO_ROW if none.

    Only gangs below that queue may evict gangs of `row`.
    """
    closed = (each for each in trees.paths[row][::-1] if not trees.queues[each].evictions.may_lose)
    return next(closed, NO_ROW)


def _top(trees: Trees, path: Sequence[int]) -> int:
    """Return the highest queue that fences allow a request to search; NO_ROW without a fence."""
    return next((row for row in path[::-1] if trees.queues[row].evictions.fence), NO_ROW)


class Charges(QuotaLedger, Protocol):
    """The charges of this cycle until now."""

    @property
    def version(self) -> tuple[int, int]:
        """A value that changes whenever quota is charged, released or kept."""

    gone: Counter[QueueRef]

    def leave(self, ref: QueueRef, charge: Charge) -> None:
        """Note the quota that victims of this cycle give back."""

    def copy(self) -> "Charges":
        """Return an independent copy of the charges."""


class Reach(NamedTuple):
    """Whether a request may evict from `any` queue, and whether it may once others have started.

    If not `later`, no gang that starts below another child of the root changes the answer, as long
    as the queues below the request's own child use no less.
    """

    any: bool
    later: bool


UNKNOWN_REACH: Final = Reach(any=True, later=True)


class ReclaimRequests:
    """The gangs on nodes by queue, and all charges except those of gangs that leave.

    Gangs are read once, when they are first needed.
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
        self._borrowers: dict[Hashable, BoolArray | None] = {}
        self._as_one: dict[int, RunningInQueue] = {}
        self._reaching: dict[Hashable, deque[tuple[Charge, Reach]]] = {}
        self._positions: dict[QueueRef, Positions] = {}
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
        """A value that changes whenever anything is charged, or a pod leaves."""
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
            self._as_one.clear()
            self._reaching.clear()
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
        """Return whether evictions, or pods that leave in any case, might give the request quota.

        The request is treated as older than all gangs, since equal but newer gangs can then be
        evicted. Evictions for other requests count, too: they may give back quota of its own queue.
        """
        reclaim = self.reclaim(request.as_oldest())
        return not reclaim.short or any(self.candidates(reclaim))

    @functools.cached_property
    def behind_overrun(self) -> frozenset[GangKey]:
        """The gangs that wait behind a backfilled gang that has not ended as declared."""
        known = (each.known.backfilled for each in self._backfilled)
        return frozenset(
            each.ahead_of for each in known if each is not None and each.until <= self.limits.now
        )

    def reclaim(self, request: ReclaimRequest, resources: Collection[str] = ()) -> Reclaim:
        """Return the evictions a request may make now; room is short of the `resources`."""
        positions = self._positions.setdefault(request.ref, Positions())
        return Reclaim(self.without_leaving(), request, self.limits, resources, positions)

    def reaches_any(self, request: ReclaimRequest) -> bool:
        """Return whether the request may evict from any queue, whatever room is missing.

        False is certain: no final state allows the request to evict any gang. True is not. This is
        cheap: each queue counts as one gang, and answers are kept. If a request may evict no gang,
        a larger one may not, either.
        """
        return self.reach(request).any

    def reach(self, request: ReclaimRequest) -> Reach:
        """Return whether the request may evict from any queue, now or after others have started."""
        if not self.behind_overrun.isdisjoint(request.gangs):
            return UNKNOWN_REACH
        self.without_leaving()  # Forgets the answers, if anything was charged since.
        asked = request.ref, request.priority, request.pod_priority
        known = self._reaching.setdefault(asked, deque(maxlen=MOST_ANSWERS))
        for charge, reach in known:
            large, small = (charge, request.charge) if reach.any else (request.charge, charge)
            if _covers(large, small):
                return reach
        known.append((request.charge, self._reach(request)))
        return known[-1][1]

    def _reach(self, request: ReclaimRequest) -> Reach:
        there = self._occupied_queues
        reclaim = self.reclaim(request, there.resources)
        reached = there.reached(reclaim, self._worth(reclaim))
        if reclaim.has_no_right(reached):
            return Reach(any=False, later=False)
        if not reached:
            return Reach(any=False, later=True)
        queues = [self._queue_as_one(row) for row in reached]
        queues = [each for each in queues if reclaim.possible(each)]
        reclaim.rule_out(queues)
        return Reach(any=any(map(reclaim.possible, queues)), later=True)

    def _queue_as_one(self, row: int) -> RunningInQueue:
        if row not in self._as_one:
            there, forest = self._occupied_queues, self.without_leaving().forest
            ref = there.by_row[row][0].ref
            charge = {key: forest.total(ref, key) for key in forest.governed(ref)}
            self._as_one[row] = there.as_one(row, charge)
        return self._as_one[row]

    def candidates(self, reclaim: Reclaim) -> Iterator[RunningInQueue]:
        """Yield the gangs that may be evicted for a request in some final state."""
        there = self._occupied_queues
        reached = there.reached(reclaim, self._worth(reclaim))
        for row in reached:
            yield from reclaim.possible_among(row, there.by_row[row])
        for running in self._backfilled:
            if self._rows[running.ref] not in reached and reclaim.possible(running):
                yield running

    def _worth(self, reclaim: Reclaim) -> BoolArray | None:
        """Return the mask of the queues that borrow a missing resource; None if none does.

        None, too, if the request reaches no other queue. Computed once for each set of missing
        resources.
        """
        if not reclaim.reaches_out:
            return None
        key = reclaim.short, reclaim.resources
        if key not in self._borrowers:
            borrow = map(reclaim.borrows_what_lacks, self._occupied_queues.by_row)
            found = np.fromiter(borrow, dtype=np.bool_)
            self._borrowers[key] = found if found.any() else None
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
        rows, found = self._rows, map(running_in_queue_of, self._bound_pods.gangs.values())
        return [each for each in found if each is not None and each.ref in rows]

    def _charge_of(self, bound_pod: BoundPod) -> Charged:
        return self._bound_pods.charged.get(bound_pod.pod.uid, (NONE, {}))


def _covers(large: Charge, small: Charge) -> bool:
    """Return whether a charge has at least as much of everything as another one."""
    return all(large.get(key, 0) >= amount for key, amount in small.items())
