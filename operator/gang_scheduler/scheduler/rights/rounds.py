"""The claims of one cycle, on what is charged once leaving pods have left."""

import functools
import math
from collections import Counter
from collections.abc import Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Protocol

import numpy as np

from gang_scheduler.model.bound_pods import BoundPod, BoundPods, Charged
from gang_scheduler.model.nodes import BoolArray
from gang_scheduler.model.queues import NONE, Charge, FlavorResource, QueueRef
from gang_scheduler.model.refs import GangKey
from gang_scheduler.scheduler.quota.charges import add_up
from gang_scheduler.scheduler.rights.claims import Claim, Held, held_of
from gang_scheduler.scheduler.rights.held_queues import HeldQueues
from gang_scheduler.scheduler.rights.permits import Limits
from gang_scheduler.scheduler.rights.rights import Quota, Rights


class Charges(Quota, Protocol):
    """What is charged in this cycle so far."""

    @property
    def version(self) -> tuple[int, int]:
        """What is another one after anything was charged, released or kept."""

    gone: Counter[QueueRef]

    def leave(self, ref: QueueRef, charge: Charge) -> None:
        """Note what victims of this cycle give back."""

    def copy(self) -> "Charges":
        """Return the same charges, to be changed apart."""


class Rounds:
    """The gangs on nodes by queue, and what is charged without those that leave.

    The gangs are looked at once, in the first round.
    """

    def __init__(self, bound_pods: BoundPods, charged: Charges, limits: Limits) -> None:
        self.limits = limits
        self._bound_pods = bound_pods
        self._charged = charged
        self._leaving = 0
        self._freed: dict[QueueRef, dict[FlavorResource, int]] = {}
        """What is charged for all that leaves, queue by queue."""
        self._expected: list[Claim] = []
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

    def expect(self, claim: Claim | None) -> None:
        """Note that a claim is met, and will be charged; None: all such claims are charged now."""
        self._expected = [*self._expected, claim] if claim is not None else []

    @property
    def state(self) -> Hashable:
        """What is another one once anything else is charged, or leaves."""
        return self._charged.version, self._leaving, len(self._expected)

    def without_leaving(self) -> Charges:
        """Return what is charged once all that leaves has left. To be left as it was."""
        state = self.state
        if self._without is None or self._without[0] != state:
            quota = self._charged.copy()
            for ref, charge in self._freed.items():
                quota.release(ref, charge)
            for claim in self._expected:
                quota.charge(claim.ref, claim.charge)
            self._without = (state, quota)
            self._borrowers.clear()
        return self._without[1]

    def borrows(self, claim: Claim, victims: Iterable[BoundPod]) -> bool:
        """Return whether the queue of a claim is over its own quota once victims have gone."""
        quota = self.without_leaving()
        charged = [self._charge_of(each) for each in victims]
        for each in charged:
            quota.release(*each)
        try:
            return quota.forest.borrows(claim.ref, claim.charge)
        finally:
            for each in charged:
                quota.charge(*each)

    @property
    def is_idle(self) -> bool:
        """Whether there is nothing that could leave."""
        return not (self._bound_pods.pods or self._leaving)

    def may_help(self, claim: Claim) -> bool:
        """Return whether any gang might have to go for what a claim lacks, or leaves in any case.

        As if the claim were older than all: what is equal and newer may be possible then.
        """
        rights = self.rights(replace(claim, created_at=-math.inf))
        return not rights.short or any(self.candidates(rights))

    @functools.cached_property
    def has_backfilled(self) -> bool:
        """Whether a gang on nodes was let pass by its declared end."""
        return bool(self._backfilled)

    def rights(self, claim: Claim, resources: Collection[str] = ()) -> Rights:
        """Return the rights of a claim now; `resources` are those of which room lacks."""
        return Rights(self.without_leaving(), claim, self.limits, resources)

    def reaches_any(self, claim: Claim) -> bool:
        """Return whether there is any queue that a claim may look into, whatever lacks. Cheap."""
        rights, there = self.rights(claim), self._held_queues
        worth = np.full(len(there), rights.reaches_out)
        return bool(self._backfilled or there.reached(rights, worth))

    def candidates(self, rights: Rights) -> Iterator[Held]:
        """Yield the gangs that may have to go for a claim in some final state."""
        there = self._held_queues
        reached = there.reached(rights, self._worth(rights))
        for row in reached:
            yield from filter(rights.possible, there.by_row[row])
        for held in self._backfilled:
            if self._rows[held.ref] not in reached and rights.possible(held):
                yield held

    def _worth(self, rights: Rights) -> BoolArray:
        """Return the mask of the queues that use more than promised of what lacks.

        None if the claim reaches out to none. Worked out once for what lacks.
        """
        if not rights.reaches_out:
            return np.zeros(len(self._held_queues), dtype=np.bool_)
        key = rights.short, rights.resources
        if key not in self._borrowers:
            borrow = map(rights.borrows_what_lacks, self._held_queues.by_row)
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
    def _held_queues(self) -> HeldQueues:
        return HeldQueues(self._gangs, self._charged.forest.accounts.promises.trees, self.limits)

    @functools.cached_property
    def _backfilled(self) -> Sequence[Held]:
        return [each for each in self._gangs if each.known.backfilled is not None]

    @functools.cached_property
    def _gangs(self) -> Sequence[Held]:
        """The gangs of which any pod may go: those of others are no candidates."""
        gangs = self._bound_pods.gangs.values()
        found = (held_of(gang) for gang in gangs if any(each.evictable for each in gang.pods))
        return [each for each in found if each is not None and each.ref in self._rows]

    def _charge_of(self, bound_pod: BoundPod) -> Charged:
        return self._bound_pods.charged.get(bound_pod.pod.uid, (NONE, {}))
