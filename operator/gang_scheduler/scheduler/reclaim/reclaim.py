"""The class of each victim in the final state: all victims have gone, and the request is charged.

A set of victims is legal when each has a class. Where a class takes what a queue borrows, the
victims must be able to go one after the other so that their queues still borrow as each one goes.
"""

import math
from collections.abc import Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Final, NamedTuple, Protocol

from gang_scheduler.model.evictions import EvictionClass
from gang_scheduler.model.queues import NONE, Charge, FlavorResource, QueueRef
from gang_scheduler.model.refs import GangKey
from gang_scheduler.model.values import EvictionPolicy
from gang_scheduler.scheduler.ordering.fairness import policy_of
from gang_scheduler.scheduler.quota.accounts import Accounts, Comparison, Share
from gang_scheduler.scheduler.quota.forest import Forest
from gang_scheduler.scheduler.reclaim import eviction_policy
from gang_scheduler.scheduler.reclaim.eviction_policy import (
    EvictionLimits,
    Meeting,
    Permits,
    is_over,
    is_within,
    keys_at,
)
from gang_scheduler.scheduler.reclaim.request import ReclaimRequest, RunningInQueue

FROM_BORROWERS: Final = frozenset(EvictionClass) - {EvictionClass.OVERRUN, EvictionClass.IN_QUEUE}
"""The eviction classes that take only quota that a queue borrows."""
NO_CLASSES: Final = frozenset[EvictionClass]()
_ONE: Final = Share()._replace(number=Share().number + 1)


class QuotaLedger(Protocol):
    """The charges of queues, and the quota that is left."""

    @property
    def forest(self) -> Forest:
        """The trees."""

    @property
    def keeps(self) -> bool:
        """Whether any owner keeps quota for itself."""

    def lacking(self, ref: QueueRef, charge: Charge) -> Mapping[FlavorResource, int]:
        """Return the missing amounts of a request; empty if it fits."""

    def charge(self, ref: QueueRef, charge: Charge) -> None:
        """Charge amounts."""

    def release(self, ref: QueueRef, charge: Charge) -> None:
        """Take back a charge."""


class Part(NamedTuple):
    """Victims of one gang that go together: the `whole` gang, or one pod of its surplus.

    `quorum` is what the gang will ask for when it waits again, if that is less than the whole.
    """

    running: RunningInQueue
    charge: Charge
    whole: bool = True
    quorum: Charge | None = None


class Judgement(NamedTuple):
    """The classes of the gangs of a set of victims.

    The set is legal if no gang is `illegal`.
    """

    classes: Mapping[GangKey, EvictionClass]
    illegal: frozenset[GangKey] = frozenset()


class Reclaim:
    """The evictions that one request may make. The request itself is not charged yet.

    `resources` are those for which room is missing; missing quota is computed here.
    """

    def __init__(
        self,
        quota: QuotaLedger,
        request: ReclaimRequest,
        limits: EvictionLimits,
        resources: Collection[str] = (),
    ) -> None:
        self.request = request
        self.limits = limits
        self.resources = frozenset(resources)
        self._quota = quota
        self._accounts = quota.forest.accounts
        self._trees = self._accounts.promises.trees
        self.short = frozenset(quota.lacking(request.ref, request.charge))
        """The quota that is missing before any eviction."""
        self._permits: dict[int, Permits] = {}
        self._possible: dict[GangKey, frozenset[EvictionClass]] = {}
        self._alike: dict[Hashable, frozenset[EvictionClass]] = {}
        self._keys: dict[GangKey, frozenset[FlavorResource]] = {}
        self._keys_at: dict[int, frozenset[FlavorResource]] = {}

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

    # The most that could be possible, before looking at a certain set of victims.

    def possible(self, running: RunningInQueue) -> frozenset[EvictionClass]:
        """Return the classes by which a gang may have to go in some final state."""
        if running.key not in self._possible:
            self._possible[running.key] = self._found_possible(running)
        return self._possible[running.key]

    def _found_possible(self, running: RunningInQueue) -> frozenset[EvictionClass]:
        row = self._trees.rows.get(running.ref)
        if row is None:
            return NO_CLASSES
        given = self.permits_at(row)
        possible = self._possible_alike(row, running, given)
        if not possible or self._is_young(row, running, given):
            return NO_CLASSES
        return possible

    def _possible_alike(
        self, row: int, running: RunningInQueue, given: Permits
    ) -> frozenset[EvictionClass]:
        """Return the classes, leaving running time aside.

        Computed once for gangs that are alike.
        """
        newer = running.known.created_at > self.request.created_at
        alike = row, running.keys, running.resources, running.priority, running.pod_priority, newer
        if running.known.backfilled is not None:
            return self._allowed(running, given)
        if alike not in self._alike:
            self._alike[alike] = self._allowed(running, given)
        return self._alike[alike]

    def _allowed(self, running: RunningInQueue, given: Permits) -> frozenset[EvictionClass]:
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

    def permits_at(self, row: int) -> Permits:
        """Return the permits between the requesting queue and another, computed once."""
        if row not in self._permits:
            self._permits[row] = eviction_policy.permits(
                self._accounts, self.request, row, self.limits
            )
        return self._permits[row]

    def borrows_what_lacks(self, row: int) -> bool:
        """Return whether a queue borrows any of the missing resources."""
        root = self._trees.root(row)
        if root not in self._keys_at:
            self._keys_at[root] = keys_at(self._accounts, row, self.short, self.resources)
        return self._trees.queues[row].ref == NONE or is_over(
            self._accounts, row, self._keys_at[root]
        )

    def is_beside(self, running: RunningInQueue) -> bool:
        """Return whether a queue below the root contains both the gang and the request."""
        ours, theirs = (self._trees.rows.get(each) for each in (self.request.ref, running.ref))
        if ours is None or theirs is None:
            return False
        ways = self._trees.ways
        return ours == theirs or ways[ours][:2] == ways[theirs][:2]

    def is_beyond(self, running: RunningInQueue) -> bool:
        """Return whether the gang's queue, and each queue above it up to the meeting, borrows now.

        Each must borrow a resource that is missing and that the gang is charged for. A gang without
        a queue counts as borrowing.
        """
        row = self._trees.rows[running.ref]
        given = self.permits_at(row)
        if given.meeting is None and not given.foreign:
            return False
        if running.ref == NONE:
            return True
        if running.key not in self._keys:
            keys = keys_at(self._accounts, row, self._short_for(given), self.resources)
            self._keys[running.key] = keys & running.keys
        rows = (row,) if given.meeting is None else given.meeting.theirs
        return all(is_over(self._accounts, each, self._keys[running.key]) for each in rows)

    def _short_for(self, given: Permits) -> frozenset[FlavorResource]:
        """Return the resources that the queue is short of; empty for a victim in another tree."""
        return frozenset() if given.foreign else self.short

    def _uses(self, running: RunningInQueue, given: Permits) -> bool:
        """Return whether a gang uses any of the missing resources."""
        by_quota = not running.keys.isdisjoint(self._short_for(given))
        return by_quota or not self.resources.isdisjoint(running.resources)

    def _is_young(self, row: int, running: RunningInQueue, given: Permits) -> bool:
        return eviction_policy.is_young(self._accounts, row, given.meeting, running, self.limits)

    # The final state.

    def lacking(self, parts: Iterable[Part]) -> Mapping[FlavorResource, int]:
        """Return the remaining shortage after these gangs have gone; empty if the request fits."""
        with self._gone(parts):
            return self._quota.lacking(self.request.ref, self.request.charge)

    def borrows(self, parts: Iterable[Part]) -> bool:
        """Return whether the queue of the request borrows in the final state."""
        with self._gone(parts):
            return self._quota.forest.borrows(self.request.ref, self.request.charge)

    def judge(self, parts: Sequence[Part]) -> "Judgement":
        """Return the eviction class of each victim gang, and the gangs without a class."""
        illegal = frozenset(each.running.key for each in parts if not self.possible(each.running))
        if illegal:
            return Judgement({}, illegal)
        with self._gone(parts), self._charged(self.request.ref, self.request.charge):
            return self._judged(parts)

    @contextmanager
    def _gone(self, parts: Iterable[Part]) -> Iterator[None]:
        together = _by_queue(parts)
        for ref, charge in together.items():
            self._quota.release(ref, charge)
        try:
            yield
        finally:
            for ref, charge in together.items():
                self._quota.charge(ref, charge)

    @contextmanager
    def _charged(self, ref: QueueRef, charge: Charge) -> Iterator[None]:
        self._quota.charge(ref, charge)
        try:
            yield
        finally:
            self._quota.release(ref, charge)

    def _judged(self, parts: Sequence[Part]) -> "Judgement":
        final = _Final(self, self._accounts, self._quota, parts)
        classes = {each.running.key: final.class_of(each.running) for each in parts}
        borrowed = []
        for part in parts:
            found = classes[part.running.key]
            if found in FROM_BORROWERS:
                borrowed.append(part)
            elif found is not None:
                # A gang that goes last is still there while others go.
                final.put_back(part)
        illegal = {key for key, found in classes.items() if found is None}
        if not illegal:
            illegal = {part.running.key for part in final.left_behind(borrowed)}
        return Judgement(
            {key: found for key, found in classes.items() if found is not None}, frozenset(illegal)
        )


def _by_queue(parts: Iterable[Part]) -> dict[QueueRef, dict[FlavorResource, int]]:
    """Return the sum of the charges of parts for each queue."""
    found: dict[QueueRef, dict[FlavorResource, int]] = {}
    for each in parts:
        sums = found.setdefault(each.running.ref, {})
        for key, amount in each.charge.items():
            sums[key] = sums.get(key, 0) + amount
    return found


class _Final:
    """The final state, as it is charged now; victims are put back to see in which order they go."""

    def __init__(
        self, reclaim: Reclaim, accounts: Accounts, quota: QuotaLedger, parts: Sequence[Part]
    ) -> None:
        self._rights = reclaim
        self._accounts = accounts
        self._trees = accounts.promises.trees
        self._quota = quota
        self._parts = parts
        self._within: dict[Meeting | None, bool] = {}
        self._by_shares: dict[tuple[EvictionClass, Meeting], bool] = {}
        self._back: list[Part] = []

    def class_of(self, running: RunningInQueue) -> EvictionClass | None:
        """Return the lowest class by which a gang may go."""
        met = self._rights.permits_at(self._trees.rows[running.ref]).meeting
        for each in sorted(self._rights.possible(running)):
            if each is EvictionClass.RECLAIM and not self._is_within(met):
                continue
            if each >= EvictionClass.FAIR_SHARE and not self._is_fair(each, met):
                continue
            return each
        return None

    def put_back(self, part: Part) -> None:
        """Count victims as present again while others go."""
        self._back.append(part)

    def left_behind(self, borrowed: Sequence[Part]) -> list[Part]:
        """Return the parts that cannot go in any order while their queues still borrow.

        Goes from the last to the first: putting parts back never makes a queue borrow less.
        """
        left = list(borrowed)
        back = list(self._back)
        for part in back:
            self._quota.charge(part.running.ref, part.charge)
        while left:
            later = [part for part in left if not self._goes(part, back)]
            if len(later) == len(left):
                break
            left = later
        for part in back:
            self._quota.release(part.running.ref, part.charge)
        return left

    def _goes(self, part: Part, back: list[Part]) -> bool:
        """Put victims back if their queue then borrows; return whether it does."""
        self._quota.charge(part.running.ref, part.charge)
        if self._rights.is_beyond(part.running):
            back.append(part)
            return True
        self._quota.release(part.running.ref, part.charge)
        return False

    def _is_within(self, met: Meeting | None) -> bool:
        """Return whether the request stays within the promise of each queue below the meeting.

        If the victim is in another tree, the request must be within every promise up to the root.
        """
        if met not in self._within:
            request, trees = self._rights.request, self._trees
            rows = trees.ways[trees.rows[request.ref]] if met is None else met.ours
            judge = all if met is None else any
            self._within[met] = judge(
                is_within(self._accounts, row, request.charge) for row in rows
            )
        return self._within[met]

    def _is_fair(self, eviction_class: EvictionClass, met: Meeting | None) -> bool:
        if met is None:
            return False
        key = (eviction_class, met)
        if key not in self._by_shares:
            self._by_shares[key] = self._judged(eviction_class, met)
        return self._by_shares[key]

    def _judged(self, eviction_class: EvictionClass, met: Meeting) -> bool:
        """Compare the shares of the two children of the lowest common ancestor."""
        ours = self._share(met.our_child)
        if policy_of(self._accounts, met.our_child).compares is Comparison.DUES:
            return ours <= _ONE and any(
                each > _ONE for each in self._with_one_back(met.their_child)
            )
        if eviction_class is EvictionClass.FAIR_SHARE:
            return ours <= self._share(met.their_child)
        return any(ours < each for each in self._with_one_back(met.their_child))

    def _with_one_back(self, row: int) -> Iterator[Share]:
        """Yield the share of a queue with one victim back, for each victim that can go last."""
        for part in self._parts:
            if row in self._trees.ways[self._trees.rows[part.running.ref]]:
                self._quota.charge(part.running.ref, part.charge)
                share, last = self._share(row), self._rights.is_beyond(part.running)
                self._quota.release(part.running.ref, part.charge)
                if last:
                    yield share

    def _share(self, row: int) -> Share:
        return policy_of(self._accounts, row).share(self._accounts.lasting.now(row))
