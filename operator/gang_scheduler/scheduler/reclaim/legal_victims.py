"""The evictions that one request may make: which gangs may be evicted, and which of them together.

A set of victims is legal when each has a class in the final state (`after_eviction`).
"""

import math
from collections.abc import Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Final, NamedTuple

from gang_scheduler.model.api_words import EvictionPolicy
from gang_scheduler.model.evictions import EvictionClass
from gang_scheduler.model.queues import NONE, FlavorResource, QueueRef
from gang_scheduler.model.refs import GangKey
from gang_scheduler.scheduler.ordering.fairness import policy_of
from gang_scheduler.scheduler.quota.accounts import Comparison
from gang_scheduler.scheduler.reclaim import eviction_policy
from gang_scheduler.scheduler.reclaim.after_eviction import (
    FROM_BORROWERS,
    BestFinalState,
    FinalState,
    Part,
    QuotaLedger,
    is_due,
    parts_released,
)
from gang_scheduler.scheduler.reclaim.eviction_policy import (
    NOTHING_ALLOWED,
    AllowedClasses,
    EvictionLimits,
    is_over,
    missing_keys_in_tree,
)
from gang_scheduler.scheduler.reclaim.request import ReclaimRequest, RunningInQueue

NO_CLASSES: Final = frozenset[EvictionClass]()


class Judgement(NamedTuple):
    """The eviction class of each gang in a set of victims.

    The set is legal if no gang is `illegal`.
    """

    classes: Mapping[GangKey, EvictionClass]
    illegal: frozenset[GangKey] = frozenset()


class Positions:
    """The eviction classes of one queue at other queues, and how long gangs there must have run.

    They depend on where the queues are, so they are the same for all requests of a queue in a
    cycle.
    """

    def __init__(self) -> None:
        self.allowed: dict[int, AllowedClasses] = {}
        self.min_runtimes: dict[int, int] = {}


class Reclaim:
    """The evictions that one request may make. The request itself is not charged yet.

    `resources` are the resources that are short on nodes; missing quota is computed here.
    `positions` are the positions of the queue, if they are known already.
    """

    def __init__(
        self,
        quota: QuotaLedger,
        request: ReclaimRequest,
        limits: EvictionLimits,
        resources: Collection[str] = (),
        positions: Positions | None = None,
    ) -> None:
        self.request = request
        self.limits = limits
        self.resources = frozenset(resources)
        self._quota = quota
        self._accounts = quota.forest.accounts
        self._trees = self._accounts.promises.trees
        self.short = frozenset(quota.lacking(request.ref, request.charge))
        """The quota that is missing before any eviction."""
        self._positions = positions or Positions()
        self._possible: dict[GangKey, frozenset[EvictionClass]] = {}
        self._alike: dict[Hashable, frozenset[EvictionClass]] = {}
        self._keys: dict[GangKey, frozenset[FlavorResource]] = {}
        self._keys_at: dict[tuple[int, bool], frozenset[FlavorResource]] = {}

    @property
    def reaches_out(self) -> bool:
        """Whether the queue's policy lets the request evict from other queues at all."""
        row = self._trees.rows.get(self.request.ref)
        return row is not None and self._trees.queues[row].evictions.reaches_out

    def highest_reached(self, *, within: bool) -> float:
        """Return the highest priority of gangs that the request may evict.

        `within` asks for its own queue, otherwise for the other ones. This is cheap: a queue whose
        gangs all have a higher priority need not be searched.
        """
        row = self._trees.rows.get(self.request.ref)
        if row is None:
            return -math.inf
        rules = self._trees.queues[row].evictions
        policies = {rules.within_queue} if within else {rules.reclaim, rules.while_borrowing}
        if EvictionPolicy.ANY in policies:
            return math.inf
        most = max(self.request.priority, self.request.pod_priority)
        equal = EvictionPolicy.LOWER_OR_NEWER_EQUAL_PRIORITY in policies
        return most if equal else most - 1

    def has_no_right(self, rows: Sequence[int]) -> bool:
        """Return True if the request may evict no gang of these queues, whichever gangs leave.

        False leaves this open. It is always False with a queue below the same child of the root:
        only evictions there lower what the own queues use. Backfilled gangs that overran are not
        asked for here.
        """
        trees, own = self._trees, self._trees.rows.get(self.request.ref)
        path = () if own is None else trees.paths[own]
        if len(path) < 2:
            return False
        (root, child), ends = path[:2], trees.ends
        if any(not root < row < ends[root] or child <= row < ends[child] for row in rows):
            return False
        policy = policy_of(self._accounts, child)
        if policy.compares is not Comparison.DUES:
            return False
        with self._request_charged():
            return not any(
                eviction_policy.is_within(self._accounts, row, self.request.charge)
                for row in path[1:]
            ) and not is_due(policy.share(self._accounts.lasting.now(child)))

    # The most that could be possible, before looking at a certain set of victims.

    def possible(self, running: RunningInQueue) -> frozenset[EvictionClass]:
        """Return the classes by which a gang may be evicted in some final state."""
        found = self._possible.get(running.key)
        if found is None:
            row = self._trees.rows.get(running.ref)
            if row is None:
                return NO_CLASSES
            found = self._found_possible(row, running, self.allowed_at(row))
        return found

    def possible_among(self, row: int, gangs: Iterable[RunningInQueue]) -> Iterator[RunningInQueue]:
        """Yield the gangs of one queue that may be evicted in some final state."""
        given = self.allowed_at(row)
        if not given.classes:
            return
        known = self._possible
        for running in gangs:
            found = known.get(running.key)
            if found is None:
                found = self._found_possible(row, running, given)
            if found:
                yield running

    def _found_possible(
        self, row: int, running: RunningInQueue, given: AllowedClasses
    ) -> frozenset[EvictionClass]:
        """Return the classes, and remember them; computed once for gangs that are alike."""
        facts = running.known
        if facts.backfilled is not None:
            found = self._allowed_classes(running, given)
        else:
            alike = row, running.traits, facts.created_at > self.request.created_at
            known = self._alike.get(alike)
            found = self._alike[alike] = (
                self._allowed_classes(running, given) if known is None else known
            )
        if found and self._is_young(row, running, given):
            found = NO_CLASSES
        self._possible[running.key] = found
        return found

    def _allowed_classes(
        self, running: RunningInQueue, given: AllowedClasses
    ) -> frozenset[EvictionClass]:
        if not given.classes or not self._uses(running, given):
            return NO_CLASSES
        queue = self._trees.queues[self._trees.rows[self.request.ref]]
        allowed = frozenset(
            each
            for each in given.classes
            if eviction_policy.allows(each, self.request, running, queue, self.limits)
        )
        # The evictions of other gangs do not make a queue borrow that does not borrow now.
        return allowed if self.is_beyond(running) else allowed - FROM_BORROWERS

    def allowed_at(self, row: int) -> AllowedClasses:
        """Return the eviction classes between the requesting queue and another, computed once."""
        allowed = self._positions.allowed
        if row not in allowed:
            allowed[row] = eviction_policy.allowed_classes(
                self._accounts, self.request, row, self.limits
            )
        return allowed[row]

    def borrows_what_lacks(self, row: int) -> bool:
        """Return whether a queue borrows any of the missing resources."""
        return self._trees.queues[row].ref == NONE or is_over(
            self._accounts, row, self._lacking_at(row, NOTHING_ALLOWED)
        )

    def _lacking_at(self, row: int, given: AllowedClasses) -> frozenset[FlavorResource]:
        """Return the missing keys and resources that the tree of a queue has numbers for."""
        tree = self._trees.root(row), given.foreign
        if tree not in self._keys_at:
            short = self._short_for(given)
            self._keys_at[tree] = missing_keys_in_tree(self._accounts, row, short, self.resources)
        return self._keys_at[tree]

    def is_beside(self, running: RunningInQueue) -> bool:
        """Return whether a queue below the root contains both the gang and the request."""
        ours, theirs = (self._trees.rows.get(each) for each in (self.request.ref, running.ref))
        if ours is None or theirs is None:
            return False
        paths = self._trees.paths
        return ours == theirs or paths[ours][:2] == paths[theirs][:2]

    def is_beyond(self, running: RunningInQueue) -> bool:
        """Return whether the gang's queue borrows now, and each one up to the common ancestor.

        Each must borrow a resource that is missing and that the gang is charged for. A gang without
        a queue counts as borrowing.
        """
        row = self._trees.rows[running.ref]
        given = self.allowed_at(row)
        if given.branches is None and not given.foreign:
            return False
        if running.ref == NONE:
            return True
        if running.key not in self._keys:
            self._keys[running.key] = self._lacking_at(row, given) & running.keys
        rows = (row,) if given.branches is None else given.branches.theirs
        return all(is_over(self._accounts, each, self._keys[running.key]) for each in rows)

    def _short_for(self, given: AllowedClasses) -> frozenset[FlavorResource]:
        """Return the resources that the queue is short of; empty for a victim in another tree."""
        return frozenset() if given.foreign else self.short

    def _uses(self, running: RunningInQueue, given: AllowedClasses) -> bool:
        """Return whether a gang uses any of the missing resources."""
        by_quota = not running.keys.isdisjoint(self._short_for(given))
        return by_quota or not self.resources.isdisjoint(running.resources)

    def _is_young(self, row: int, running: RunningInQueue, given: AllowedClasses) -> bool:
        least = self._positions.min_runtimes
        if row not in least:
            least[row] = eviction_policy.min_runtime(
                self._accounts, row, given.branches, self.limits
            )
        return eviction_policy.is_young(running, least[row], self.limits)

    # The final state.

    def lacking(self, parts: Iterable[Part]) -> Mapping[FlavorResource, int]:
        """Return the remaining shortage after these gangs have gone; empty if the request fits."""
        with parts_released(self._quota, parts):
            return self._quota.lacking(self.request.ref, self.request.charge)

    def borrows(self, parts: Iterable[Part]) -> bool:
        """Return whether the queue of the request borrows in the final state."""
        with parts_released(self._quota, parts):
            return self._quota.forest.borrows(self.request.ref, self.request.charge)

    def judge(self, parts: Sequence[Part]) -> "Judgement":
        """Return the eviction class of each victim gang, and the gangs without a class."""
        illegal = frozenset(each.running.key for each in parts if not self.possible(each.running))
        if illegal:
            return Judgement({}, illegal)
        with parts_released(self._quota, parts), self._request_charged():
            return self._judgement(parts)

    def is_impossible(self, parts: Sequence[Part], further: Sequence[Part]) -> bool:
        """Return True if these parts may not be evicted, whichever `further` parts are, too.

        False leaves this open. It is always False for surplus: its gang may be evicted as a whole
        instead.
        """
        if not all(each.whole for each in parts):
            return False
        if not all(self.possible(each.running) for each in parts):
            return True
        with parts_released(self._quota, parts), self._request_charged():
            best = BestFinalState(self, self._quota, parts, further)
            classes = {each.running.key: frozenset(best.classes_of(each.running)) for each in parts}
            if not all(classes.values()):
                return True
            borrowed = {key for key, found in classes.items() if found <= FROM_BORROWERS}
            return bool(best.left_behind(borrowed))

    def rule_out(self, candidates: Sequence[RunningInQueue]) -> None:
        """Drop the possible classes that no final state allows if all victims are candidates."""
        if not candidates:
            return
        everything = [Part(each, each.charge) for each in candidates]
        with self._request_charged():
            best = BestFinalState(self, self._quota, (), everything)
            # A final state tells gangs apart by queue and possible classes alone.
            found: dict[tuple[QueueRef, frozenset[EvictionClass]], frozenset[EvictionClass]] = {}
            for each in candidates:
                kind = each.ref, self.possible(each)
                if kind not in found:
                    found[kind] = frozenset(best.classes_of(each))
                self._possible[each.key] = found[kind]

    @contextmanager
    def _request_charged(self) -> Iterator[None]:
        self._quota.charge(self.request.ref, self.request.charge)
        try:
            yield
        finally:
            self._quota.release(self.request.ref, self.request.charge)

    def _judgement(self, parts: Sequence[Part]) -> "Judgement":
        final = FinalState(self, self._quota, parts)
        classes = {each.running.key: final.class_of(each.running) for each in parts}
        illegal = frozenset(key for key, found in classes.items() if found is None)
        if not illegal:
            borrowed = {key for key, found in classes.items() if found in FROM_BORROWERS}
            illegal = final.left_behind(borrowed)
        return Judgement(
            {key: found for key, found in classes.items() if found is not None}, illegal
        )
