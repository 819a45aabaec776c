"""The final state: all victims have gone, and the request is charged.

The final state decides by which classes each victim may be evicted. Some classes take only quota
that a queue borrows. Then there must be an order of evictions in which the queue of each victim
still borrows right before the eviction.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import Final, NamedTuple, Protocol

from gang_scheduler.model.evictions import EvictionClass
from gang_scheduler.model.queues import Charge, FlavorResource, QueueRef
from gang_scheduler.model.refs import GangKey
from gang_scheduler.scheduler.ordering.fairness import policy_of
from gang_scheduler.scheduler.quota.accounts import Comparison, Share
from gang_scheduler.scheduler.quota.forest import Forest
from gang_scheduler.scheduler.reclaim.eviction_policy import AllowedClasses, Branches, is_within
from gang_scheduler.scheduler.reclaim.request import ReclaimRequest, RunningInQueue

FROM_BORROWERS: Final = frozenset(EvictionClass) - {EvictionClass.OVERRUN, EvictionClass.IN_QUEUE}
"""The eviction classes that take only quota that a queue borrows."""
_ONE: Final = Share()._replace(number=Share().number + 1)


def is_due(share: Share) -> bool:
    """Return whether a queue with this share uses no more than its due."""
    return share <= _ONE


class QuotaLedger(Protocol):
    """The charges of queues, and the quota that is left."""

    @property
    def forest(self) -> Forest:
        """The trees."""

    @property
    def keeps(self) -> bool:
        """Whether any queue keeps quota for itself."""

    def lacking(self, ref: QueueRef, charge: Charge) -> Mapping[FlavorResource, int]:
        """Return the missing amounts of a request; empty if it fits."""

    def charge(self, ref: QueueRef, charge: Charge) -> None:
        """Charge amounts."""

    def release(self, ref: QueueRef, charge: Charge) -> None:
        """Take back a charge."""


class Part(NamedTuple):
    """Victims of one gang that are evicted together: the `whole` gang, or one pod of its surplus.

    `quorum` is the charge that the gang will ask for when it waits again, if that is less.
    """

    running: RunningInQueue
    charge: Charge
    whole: bool = True
    quorum: Charge | None = None


class ReclaimPolicy(Protocol):
    """The evictions that a request may make at all, before any final state is looked at."""

    @property
    def request(self) -> ReclaimRequest:
        """The request."""

    def allowed_at(self, row: int) -> AllowedClasses:
        """Return the eviction classes between the requesting queue and another."""

    def possible(self, running: RunningInQueue) -> frozenset[EvictionClass]:
        """Return the classes by which a gang may be evicted in some final state."""

    def is_beyond(self, running: RunningInQueue) -> bool:
        """Return whether the gang's queue borrows now, and each one up to the common ancestor."""


def by_queue(parts: Iterable[Part]) -> dict[QueueRef, dict[FlavorResource, int]]:
    """Return the sum of the charges of parts for each queue."""
    found: dict[QueueRef, dict[FlavorResource, int]] = {}
    for each in parts:
        sums = found.setdefault(each.running.ref, {})
        for key, amount in each.charge.items():
            sums[key] = sums.get(key, 0) + amount
    return found


def parts_released(quota: QuotaLedger, parts: Iterable[Part]) -> AbstractContextManager[None]:
    """Release the charges of parts inside the context."""
    return charges_released(quota, by_queue(parts))


@contextmanager
def charges_released(quota: QuotaLedger, charges: Mapping[QueueRef, Charge]) -> Iterator[None]:
    """Release charges of queues inside the context."""
    for ref, charge in charges.items():
        quota.release(ref, charge)
    try:
        yield
    finally:
        for ref, charge in charges.items():
            quota.charge(ref, charge)


class FinalState:
    """The final state. The quota must already be charged as in that state."""

    def __init__(self, policy: ReclaimPolicy, quota: QuotaLedger, parts: Sequence[Part]) -> None:
        self._policy = policy
        self._accounts = quota.forest.accounts
        self._trees = self._accounts.promises.trees
        self._quota = quota
        self._parts = parts
        self._within: dict[tuple[tuple[int, ...], bool], bool] = {}
        self._our_shares: dict[int, Share] = {}
        self._by_shares: dict[tuple[EvictionClass, Branches], bool] = {}

    def class_of(self, running: RunningInQueue) -> EvictionClass | None:
        """Return the lowest class by which a gang may be evicted."""
        return next(self.classes_of(running), None)

    def classes_of(self, running: RunningInQueue) -> Iterator[EvictionClass]:
        """Yield the classes by which a gang may be evicted, the lowest first."""
        branches = self._policy.allowed_at(self._trees.rows[running.ref]).branches
        for each in sorted(self._policy.possible(running)):
            if each is EvictionClass.RECLAIM and not self._is_within(branches):
                continue
            if each >= EvictionClass.FAIR_SHARE and not self._is_fair(each, branches):
                continue
            yield each

    def left_behind(self, borrowed: Collection[GangKey]) -> frozenset[GangKey]:
        """Return the gangs that fit in no order of evictions in which their queues still borrow.

        The `borrowed` gangs are evicted before all other victims. The order is found from its end:
        parts are put back one by one, which never makes a queue borrow less.
        """
        left = [part for part in self._parts if part.running.key in borrowed]
        back = [part for part in self._parts if part.running.key not in borrowed]
        for part in back:
            self._quota.charge(part.running.ref, part.charge)
        while left:
            later = [part for part in left if not self._put_back_if_borrowing(part, back)]
            if len(later) == len(left):
                break
            left = later
        for part in back:
            self._quota.release(part.running.ref, part.charge)
        return frozenset(part.running.key for part in left)

    def _put_back_if_borrowing(self, part: Part, back: list[Part]) -> bool:
        """Put victims back if their queue then borrows; return whether it does."""
        self._quota.charge(part.running.ref, part.charge)
        if self._policy.is_beyond(part.running):
            back.append(part)
            return True
        self._quota.release(part.running.ref, part.charge)
        return False

    def _is_within(self, branches: Branches | None) -> bool:
        """Return whether the request stays within the promises below the common ancestor.

        If the victim is in another tree, the request must be within every promise up to the root.
        """
        request, trees = self._policy.request, self._trees
        rows = trees.paths[trees.rows[request.ref]] if branches is None else branches.ours
        key = rows, branches is None
        if key not in self._within:
            judge = all if branches is None else any
            self._within[key] = judge(
                is_within(self._accounts, row, request.charge) for row in rows
            )
        return self._within[key]

    def _is_fair(self, eviction_class: EvictionClass, branches: Branches | None) -> bool:
        if branches is None:
            return False
        key = (eviction_class, branches)
        if key not in self._by_shares:
            self._by_shares[key] = self._is_fair_by_shares(eviction_class, branches)
        return self._by_shares[key]

    def _is_fair_by_shares(self, eviction_class: EvictionClass, branches: Branches) -> bool:
        """Compare the shares of the two children of the lowest common ancestor."""
        ours = self._our_share(branches.our_child)
        if policy_of(self._accounts, branches.our_child).compares is Comparison.DUES:
            return is_due(ours) and not all(map(is_due, self._with_one_back(branches.their_child)))
        if eviction_class is EvictionClass.FAIR_SHARE:
            return ours <= self._share(branches.their_child)
        return any(ours < each for each in self._with_one_back(branches.their_child))

    def _with_one_back(self, row: int) -> Iterator[Share]:
        """For each victim that may be evicted last, yield the share of a queue right before that.

        `row` is the row of the queue.
        """
        for part in self._parts:
            if row in self._trees.paths[self._trees.rows[part.running.ref]]:
                self._quota.charge(part.running.ref, part.charge)
                share, last = self._share(row), self._policy.is_beyond(part.running)
                self._quota.release(part.running.ref, part.charge)
                if last:
                    yield share

    def _our_share(self, row: int) -> Share:
        if row not in self._our_shares:
            self._our_shares[row] = self._share(row)
        return self._our_shares[row]

    def _share(self, row: int) -> Share:
        return policy_of(self._accounts, row).share(self._accounts.lasting.now(row))


class BestFinalState(FinalState):
    """The final states of some victims together with any of the `further` ones, all at once.

    A condition on how little the request's own queues use is checked with all further victims
    gone. A condition on how much the queue of a victim uses is checked with all of them there. So a
    class that is not allowed here is allowed in none of those states, since shares grow with
    charges.
    """

    def __init__(
        self,
        policy: ReclaimPolicy,
        quota: QuotaLedger,
        parts: Sequence[Part],
        further: Sequence[Part],
    ) -> None:
        super().__init__(policy, quota, parts)
        paths, rows, gone_too = self._trees.paths, self._trees.rows, by_queue(further)
        refs = {*gone_too, *(each.running.ref for each in parts)}
        allowed = [policy.allowed_at(rows[ref]) for ref in refs]
        all_branches = {
            each.branches for each in allowed if each.foreign or each.branches is not None
        }
        # The queues of the request use no less if pods go elsewhere, below none of them.
        own_root = paths[rows[policy.request.ref]][0]
        ours = {own_root if branches is None else branches.our_child for branches in all_branches}
        near = {ref: n for ref, n in gone_too.items() if not ours.isdisjoint(paths[rows[ref]])}
        with charges_released(quota, near):
            for branches in all_branches:
                self._is_within(branches)
                if branches is not None:
                    self._our_share(branches.our_child)

    def _with_one_back(self, row: int) -> Iterator[Share]:
        yield self._share(row)
        yield from super()._with_one_back(row)
