"""Gangs that wait in their queues, and which of them are tried when quota is given back.

A tree of queues shares its quota: quota that one queue gives back may help gangs of all its queues.
If the order of gangs matters, a gang is tried only together with the gangs that may come before it.
A gang that begins to run may give way to gangs that wait for quota, for room or for their turn.
"""

import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from typing import Final

from gang_scheduler.model.api_words import EvictionPolicy, Strategy
from gang_scheduler.model.consequences import RetryAfter, Strict
from gang_scheduler.model.plan import Placed, Plan, Refused
from gang_scheduler.model.queues import NONE, ROOT, Product, Queue, QueueRef, QueueSet
from gang_scheduler.model.reasons import Reason, those_with
from gang_scheduler.model.refs import GangKey

# Gangs that have just begun to run, so that waiting gangs may evict them from now on.
#
# While a gang is being bound, it holds room and quota and cannot be evicted. So a waiting gang that
# was refused then may make room once the gang runs. No other change tells this.


@dataclass(slots=True)
class Started:
    """The lowest priority of the gangs that began to run, by queue; None without queues.

    `borrowing` are those of the queues that may have borrowed quota: others may take that back,
    also from gangs that ran before.
    """

    lowest: dict[QueueRef | None, int] = field(default_factory=dict)
    borrowing: set[QueueRef] = field(default_factory=set)

    def __bool__(self) -> bool:
        return bool(self.lowest)


class StartedGangs:
    """The gangs that are being bound, and those that have begun to run since `clear`."""

    def __init__(self) -> None:
        self.new = Started()
        self._admitted: dict[GangKey, Placed] = {}
        self._borrowers: dict[GangKey, QueueRef] = {}
        self._borrowing: Counter[QueueRef] = Counter()

    def admitted(self, placed: Placed) -> None:
        """Note that a gang is being bound."""
        key, ref = placed.gang.key, placed.gang.queue
        self._admitted[key] = placed
        if placed.borrows and ref is not None and key not in self._borrowers:
            self._borrowers[key] = ref
            self._borrowing[ref] += 1

    def runs(self, key: GangKey) -> None:
        """Note that a gang is bound: from now on it may be evicted."""
        placed = self._admitted.pop(key, None)
        if placed is None:
            return
        ref, priority = placed.gang.queue, placed.gang.queue_priority
        self.new.lowest[ref] = min(priority, self.new.lowest.get(ref, priority))
        if ref is not None and (ref == NONE or self._borrowing[ref]):
            self.new.borrowing.add(ref)

    def forget(self, key: GangKey) -> None:
        """Forget a gang that is gone."""
        self._admitted.pop(key, None)
        ref = self._borrowers.pop(key, None)
        if ref is not None:
            self._borrowing[ref] -= 1

    def clear(self) -> None:
        """Forget which gangs have begun to run: the gangs that may evict them are tried now."""
        self.new = Started()


RETRIED_AFTER_QUOTA: Final = those_with(lambda rule: RetryAfter.QUOTA in rule.retry_after)
RETRIED_AFTER_POOL: Final = those_with(lambda rule: RetryAfter.POOL in rule.retry_after)
RETRIED_AFTER_VICTIMS: Final = those_with(lambda rule: RetryAfter.VICTIMS in rule.retry_after)
PASSED: Final = those_with(lambda rule: rule.strict is Strict.PASSED)


class _Trees:
    """Which queues share a tree, and which of their rules decide about waiting gangs."""

    def __init__(self, queue_set: QueueSet | None) -> None:
        self.queue_set = queue_set
        self._queues = {each.ref: each for each in (queue_set or QueueSet()).queues}
        self._roots: dict[QueueRef, QueueRef] = {}
        self._branches: dict[QueueRef, QueueRef] = {}

    def root(self, ref: QueueRef) -> QueueRef:
        """Return the root of a queue's tree; for a circle, the first queue by name."""
        if ref not in self._roots:
            way = list(self._way(ref))
            top = way[-1]
            circle = top in self._queues and self._queues[top].parent in way
            self._roots[ref] = min(way) if circle else top
        return self._roots[ref]

    def branch(self, ref: QueueRef) -> QueueRef:
        """Return the child of the root that a queue is or is below; for the root, the root."""
        if ref not in self._branches:
            way, root = list(self._way(ref)), self.root(ref)
            self._branches[ref] = way[-2] if way[-1] == root and len(way) > 1 else root
        return self._branches[ref]

    def is_strict(self, ref: QueueRef) -> bool:
        """Return whether a gang of a queue must wait for the gangs before it."""
        return self._queue(ref).strategy is Strategy.STRICT_FIFO

    def keeps(self, ref: QueueRef) -> bool:
        """Return whether the free quota of a queue is kept for a gang that waits for it."""
        return self._queue(ref).evictions.reclaim is not EvictionPolicy.ANY

    def takes_back(self, ref: QueueRef) -> bool:
        """Return whether gangs of a queue may evict gangs of others."""
        return ref != NONE and self._queue(ref).evictions.reaches_out

    def to_outrank(self, ref: QueueRef, lowest: int | None) -> float:
        """Return the least priority with which a gang may evict a `lowest` one of its queue."""
        if lowest is None:
            return math.inf
        match self._queue(ref).evictions.within_queue:
            case EvictionPolicy.ANY:
                return -math.inf
            case EvictionPolicy.NEVER:
                return math.inf
            case EvictionPolicy.LOWER_OR_NEWER_EQUAL_PRIORITY:
                return lowest
        return lowest + 1

    def evicts(self, ref: QueueRef) -> bool:
        """Return whether gangs of a queue may evict any."""
        return self._queue(ref).evictions.may_evict

    def _queue(self, ref: QueueRef) -> Queue:
        return self._queues.get(ref) or Queue(ref)

    def _way(self, ref: QueueRef) -> Iterator[QueueRef]:
        seen: set[QueueRef] = set()
        above: QueueRef | None = ref
        while above is not None and above not in seen:
            seen.add(above)
            yield above
            queue = self._queues.get(above)
            above = queue.parent if queue is not None else _above_undeclared(above)


class QuotaWaits:
    """The waiting gangs by queue; empty without queues."""

    def __init__(self, queue_set: Callable[[], QueueSet | None]) -> None:
        self._queue_set = queue_set
        self._kept = _Trees(None)
        self._waiting: dict[QueueRef, dict[GangKey, Reason]] = {}
        self._freed: set[QueueRef] = set()
        self._nodes_changed = False
        self._priorities: dict[GangKey, int] = {}
        self._without_right: frozenset[GangKey] = frozenset()

    @property
    def pending(self) -> bool:
        """Whether quota was freed for waiting gangs: they are due without any other change."""
        return any(self._of_trees(self._freed, RETRIED_AFTER_QUOTA))

    def moved(
        self, key: GangKey, before: Refused | None, after: Refused | None, *, placed: bool = False
    ) -> None:
        """Note why a gang waits now.

        A gang that no longer waits for quota may have kept some. Unless it was placed, others may
        have that quota now.
        """
        if before is not None and (ref := before.gang.queue) is not None:
            of_queue = self._waiting.get(ref, {})
            of_queue.pop(key, None)
            self._priorities.pop(key, None)
            if not of_queue:
                self._waiting.pop(ref, None)
            still = after is not None and (after.gang.queue, after.reason) == (ref, before.reason)
            trees = self._trees
            if not (still or placed) and (trees.is_strict(ref) or trees.keeps(ref)):
                self._freed.add(ref)
        if after is not None and (ref := after.gang.queue) is not None:
            self._waiting.setdefault(ref, {})[key] = after.reason
            self._priorities[key] = after.gang.queue_priority

    def take_in(self, plan: Plan) -> None:
        """Note which gangs may evict none of other parts of their tree."""
        before = self._without_right
        if before:
            before = before.difference(each.gang.key for each in plan.refused)
        self._without_right = before.intersection(self._priorities) | plan.without_right

    def freed(self, refs: Iterable[QueueRef]) -> None:
        """Note that queues hold less than before."""
        self._freed.update(refs)

    def may_take_back(self, refusal: Refused) -> bool:
        """Return whether a gang waits for quota for which it may evict others."""
        ref = refusal.gang.queue
        if ref is None or refusal.reason is not Reason.WAITING_FOR_QUOTA:
            return False
        return self._trees.evicts(ref)

    def nodes_changed(self) -> None:
        """Note that the nodes have changed."""
        self._nodes_changed = bool(self._waiting)

    def helped(self) -> set[GangKey]:
        """Return the gangs to try again because of changes since the last call."""
        found = set(self._of_trees(self._freed, RETRIED_AFTER_QUOTA))
        if self._nodes_changed:
            found.update(self._of_queues(self._waiting, RETRIED_AFTER_POOL))
        self._freed.clear()
        self._nodes_changed = False
        return found

    def that_may_evict(self, started: Started) -> Iterator[GangKey]:
        """Yield the gangs of queues that may evict gangs since others have begun to run."""
        trees, borrowing = self._trees, started.borrowing
        roots = {trees.root(ref) for ref in borrowing}
        branches = {trees.branch(ref) for ref in borrowing} if self._without_right else set()
        for ref in self._waiting if borrowing else self._waiting.keys() & started.lowest.keys():
            least = trees.to_outrank(ref, started.lowest.get(ref))
            from_others = bool(borrowing - {ref}) and trees.takes_back(ref)
            # Gangs of another tree give room, and no quota.
            for_quota = from_others and trees.root(ref) in roots
            # Gangs that start in other branches of the tree give no right: this one uses no less.
            elsewhere = roots == {trees.root(ref)} and trees.branch(ref) not in branches
            for key, reason in self._waiting[ref].items():
                may_evict = for_quota if reason is Reason.WAITING_FOR_QUOTA else from_others
                if elsewhere and key in self._without_right:
                    may_evict = False
                if reason in RETRIED_AFTER_VICTIMS and (
                    may_evict or self._priorities[key] >= least
                ):
                    yield key

    def companions(self, refs: set[QueueRef], there: AbstractSet[GangKey]) -> set[GangKey]:
        """Return the other gangs that must be tried with gangs of these queues.

        Their order matters. `there` are the gangs that are tried in any case.
        """
        trees = self._trees
        roots = {trees.root(ref) for ref in refs}
        found: set[GangKey] = set()
        for ref, of_queue in self._waiting.items():
            if trees.root(ref) not in roots or not (others := of_queue.keys() - there):
                continue
            kept = list(self._of_queues([ref], RETRIED_AFTER_QUOTA)) if trees.keeps(ref) else []
            found.update(others.intersection(kept))
            if trees.is_strict(ref) and (kept or ref in refs):
                found.update(key for key in others if of_queue[key] not in PASSED)
        return found

    @property
    def _trees(self) -> _Trees:
        queue_set = self._queue_set()
        if self._kept.queue_set is not queue_set:
            self._kept = _Trees(queue_set)
        return self._kept

    def _of_trees(self, refs: Iterable[QueueRef], reasons: frozenset[Reason]) -> Iterator[GangKey]:
        trees = self._trees
        roots = {trees.root(ref) for ref in refs}
        if roots:
            yield from self._of_queues(
                (r for r in self._waiting if trees.root(r) in roots), reasons
            )

    def _of_queues(self, refs: Iterable[QueueRef], reasons: frozenset[Reason]) -> Iterator[GangKey]:
        for ref in refs:
            of_queue = self._waiting.get(ref, {})
            yield from (key for key, reason in of_queue.items() if reason in reasons)


def _above_undeclared(ref: QueueRef) -> QueueRef | None:
    """Return the parent of an undeclared queue: the root for ours, else None."""
    return ROOT if ref.product is Product.OURS and ref != ROOT else None
