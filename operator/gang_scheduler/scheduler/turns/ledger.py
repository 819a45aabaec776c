"""The charges of gangs within one cycle, and the quota that queues keep for themselves.

A queue that cannot get its quota back from others stops lending it while one of its gangs waits for
it. The kept quota counts as used for requests that would borrow, and for no other request.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping

from gang_scheduler.model.api_words import EvictionPolicy
from gang_scheduler.model.queues import Charge, FlavorResource, Product, Queue, QueueRef
from gang_scheduler.scheduler.quota.forest import Forest, QuotaShortage


class Ledger:
    """The charges of one cycle on a forest. Products that are not `enforced` are never short."""

    def __init__(
        self, forest: Forest, running: Mapping[QueueRef, int], enforced: Collection[Product]
    ) -> None:
        self.forest = forest
        self.running = Counter(running)
        """How many groups of each queue hold quota."""
        self._enforced = enforced
        self.gone: Counter[QueueRef] = Counter()
        """How many groups of each queue are victims of this cycle and have yet to end."""
        self.spent: Counter[FlavorResource] = Counter()
        """The sum of all charges and kept quota in this cycle, in any tree.

        Free quota has shrunk by no more than this.
        """
        self.given_back = 0
        """How many times victims of this cycle have given up quota."""
        self.promised: tuple[Forest, ...] = ()
        """The charges at each promised start: a request must fit there, too."""
        self._lending: Forest | None = None
        self._ahead: Forest | None = None

    @property
    def version(self) -> tuple[int, int]:
        """A value that changes whenever anything is charged, released or kept."""
        lending, ahead = self._lending, self._ahead
        # This runs several times for each waiting gang.
        others = 0 if lending is None else lending.version
        others += 0 if ahead is None else ahead.version
        return self.forest.version, others

    @property
    def ahead(self) -> Forest:
        """The trees as they will be once the victims of this cycle have gone.

        Turns are decided by them.
        """
        return self.forest if self._ahead is None else self._ahead

    def leave(self, ref: QueueRef, charge: Charge) -> None:
        """Note the quota that victims of this cycle give back.

        It stays charged until they have ended.
        """
        if self._ahead is None:
            self._ahead = self.forest.copy()
        self._ahead.release(ref, charge)
        self.given_back += 1

    def enforces(self, ref: QueueRef) -> bool:
        """Return whether this scheduler enforces the quota of a queue."""
        return ref.product in self._enforced

    def shortage(self, ref: QueueRef, charge: Charge) -> QuotaShortage | None:
        """Return the first shortage of a request; None if it fits."""
        if ref.product not in self._enforced:
            return None
        short = self.ahead.shortage(ref, charge) or self.forest.shortage(ref, charge)
        if short is None and self._lending is not None and self.forest.borrows(ref, charge):
            return self._lending.shortage(ref, charge)
        return short

    def fits(self, ref: QueueRef, charge: Charge) -> bool:
        """Return whether a request fits now."""
        return self._fits(self.forest, ref, charge)

    def will_fit(self, ref: QueueRef, charge: Charge) -> bool:
        """Return whether a request fits once the victims of this cycle have gone."""
        return self._fits(self.ahead, ref, charge)

    def left_beside(self, ref: QueueRef, key: FlavorResource, asked: int) -> int:
        """Return how much more of a key may be charged before a request for it no longer fits.

        Promised starts are ignored.
        """
        known = [self.ahead] if self._lending is None else [self.ahead, self._lending]
        return min(each.available(ref, key) for each in known) - asked

    def _fits(self, forest: Forest, ref: QueueRef, charge: Charge) -> bool:
        if ref.product not in self._enforced:
            return True
        if not all(each.fits(ref, charge) for each in (forest, *self.promised)):
            return False
        if self._lending is None or not self.forest.borrows(ref, charge):
            return True
        return self._lending.fits(ref, charge)

    def lacking(self, ref: QueueRef, charge: Charge) -> dict[FlavorResource, int]:
        """Return the missing amounts of a request; empty if it fits."""
        if ref.product not in self._enforced:
            return {}
        short = self.forest.lacking(ref, charge)
        if self._lending is None or not self.forest.borrows(ref, charge):
            return short
        return {**short, **self._lending.lacking(ref, charge)}

    def copy(self) -> "Ledger":
        """Return an independent copy of the charges."""
        copied = Ledger(self.forest.copy(), self.running, self._enforced)
        if self._lending is not None:
            copied._lending = self._lending.copy()
        return copied

    @property
    def keeps(self) -> bool:
        """Whether any queue keeps quota for itself."""
        return self._lending is not None

    def exceeds_potential(self, ref: QueueRef, charge: Charge) -> QuotaShortage | None:
        """Return the first amount of a request that its tree could never provide."""
        if ref.product not in self._enforced:
            return None
        return self.forest.exceeds_potential(ref, charge)

    def charge(self, ref: QueueRef, charge: Charge) -> None:
        """Add a charge, which must fit."""
        self.spent.update(charge)
        for each in self._trees:
            each.charge(ref, charge)

    def release(self, ref: QueueRef, charge: Charge) -> None:
        """Take back a charge."""
        for each in self._trees:
            each.release(ref, charge)

    @property
    def _trees(self) -> list[Forest]:
        known = (self.forest, self._lending, self._ahead)
        return [each for each in known if each is not None]

    def keep(self, queue: Queue, charges: Iterable[Charge]) -> None:
        """Keep a queue's free quota for its first request that is within its promise."""
        kept = self.kept(queue, charges)
        if kept:
            if self._lending is None:
                self._lending = self.forest.copy()
            self._lending.charge(queue.ref, kept)
            self.spent.update(kept)

    def kept(self, queue: Queue, charges: Iterable[Charge]) -> Charge:
        """Return the quota that a queue would keep; empty if none of it is free.

        A queue that may reclaim from all others lends its quota instead, and takes it back later.
        """
        if queue.evictions.reclaim is EvictionPolicy.ANY:
            return {}
        for charge in charges:
            nominal = {key: self.forest.nominal(queue.ref, key) for key in charge}
            if all(amount <= nominal[key] for key, amount in charge.items()):
                return self._free_of(queue.ref, charge, nominal)
        return {}

    def _free_of(self, ref: QueueRef, charge: Charge, nominal: Charge) -> Charge:
        known = self._lending or self.forest
        free = {key: max(0, nominal[key] - known.used(ref, key)) for key in charge}
        return {key: min(amount, free[key]) for key, amount in charge.items() if free[key]}
