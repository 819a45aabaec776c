"""The rules of queues for sets of victims: which sets are allowed, and how they compare.

Only queues need a judge. A set must free enough quota. Each eviction must be allowed in the final
state, in which all victims have left. No victim may at once take back the quota for which it was
evicted.
"""

from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager

from gang_scheduler.model.bound_pods import BoundPod, by_gang
from gang_scheduler.model.evictions import EvictionClass
from gang_scheduler.model.queues import Charge, FlavorResource
from gang_scheduler.model.refs import GangKey, natural_key
from gang_scheduler.scheduler.preemption.eviction_units import (
    NO_SHARE,
    EvictionUnit,
    ShareRank,
    Standing,
)
from gang_scheduler.scheduler.preemption.victim_costs import Cost, VictimCosts, Victims
from gang_scheduler.scheduler.quota.accounts import Share, borrowed_share
from gang_scheduler.scheduler.reclaim.after_eviction import Part, QuotaLedger
from gang_scheduler.scheduler.reclaim.cycle_requests import ReclaimRequests
from gang_scheduler.scheduler.reclaim.legal_victims import Judgement, Reclaim
from gang_scheduler.scheduler.reclaim.ping_pong import Memory, returning
from gang_scheduler.scheduler.reclaim.request import RunningInQueue

Classes = Mapping[GangKey, EvictionClass]


class Judge:
    """Judges the victims of one request."""

    def __init__(self, reclaim_requests: ReclaimRequests, reclaim: Reclaim, memory: Memory) -> None:
        self.reclaim = reclaim
        self._memory = memory
        self._quota = reclaim_requests.without_leaving()
        candidates = [*reclaim_requests.candidates(reclaim)]
        reclaim.rule_out(candidates)
        self.running = {each.key: each for each in candidates if reclaim.possible(each)}
        """The gangs that may be evicted in some final state."""
        self._shares: dict[object, ShareRank] = {}
        self._frees: dict[int, bool] = {}
        self._lacking: dict[frozenset[str], Mapping[FlavorResource, int]] = {}
        self._judged: dict[frozenset[str], Judgement] = {}
        self.counts = not self._quota.keeps
        """Whether the available quota grows by no more than the charges that are freed."""
        self.costs: VictimCosts | None = None

    # The least cost of each gang.

    def standings(self) -> dict[GangKey, Standing]:
        """Return the rank of each gang among victims: its lowest possible class, and its queue."""
        return {key: self._standing(running) for key, running in self.running.items()}

    def _standing(self, running: RunningInQueue) -> Standing:
        own = running.ref == self.reclaim.request.ref
        share = NO_SHARE if own else self._share(running)
        return Standing(min(self.reclaim.possible(running)), share, running.name)

    def _share(self, running: RunningInQueue) -> ShareRank:
        """Return the borrowed share of a gang's queue before any plan, as a sort key."""
        if running.ref not in self._shares:
            accounts = self._quota.forest.accounts
            row = accounts.promises.trees.rows[running.ref]
            self._shares[running.ref] = ranked(borrowed_share(accounts.now(row)))
        return self._shares[running.ref]

    # Sets of victims.

    def lacking(self, victims: Victims) -> Mapping[FlavorResource, int]:
        """Return the shortage of quota once victims have gone; empty if there is enough."""
        if not self.reclaim.short:
            return {}
        key = frozenset(victims)
        if key not in self._lacking:
            self._lacking[key] = self.reclaim.lacking(self._charged(victims))
        return self._lacking[key]

    def freed(self, unit: EvictionUnit) -> Mapping[FlavorResource, int]:
        """Return the charges of a unit to its queue."""
        return self.running[unit.gang].charge_of(unit.uids)

    def frees_quota(self, bound_pod: BoundPod) -> bool:
        """Return whether a pod is charged any of the lacking resources."""
        charge = self.running[bound_pod.gang].charges[bound_pod.pod.uid]
        # Equal pods have the same charge, and there are many pods.
        if id(charge) not in self._frees:
            self._frees[id(charge)] = any(charge.get(key, 0) > 0 for key in self.reclaim.short)
        return self._frees[id(charge)]

    def classes(self, victims: Victims) -> Classes | None:
        """Return the class of each gang with victims; None if the set is not allowed."""
        judged = self.judged(victims)
        return None if judged.illegal else judged.classes

    def judged(self, victims: Victims) -> Judgement:
        """Return the classes of victims, and the gangs that may not be evicted with the others."""
        key = frozenset(victims)
        if key not in self._judged:
            parts = self._parts(victims)
            found = self.reclaim.judge(parts)
            if not found.illegal:
                found = found._replace(illegal=self._refused(victims, parts, found.classes))
            self._judged[key] = found
        return self._judged[key]

    def is_impossible(self, victims: Victims, further: Victims) -> bool:
        """Return True if these victims may not be evicted, whichever `further` pods are, too.

        False leaves this open.
        """
        others = {uid: each for uid, each in further.items() if uid not in victims}
        return self.reclaim.is_impossible(self._parts(victims), self._charged(others))

    def borrows(self, victims: Victims) -> bool:
        """Return whether the queue of the request borrows in the final state."""
        return self.reclaim.borrows(self._charged(victims))

    def yielding(self, victims: Victims, classes: Classes) -> Classes:
        """Return the gangs that are evicted as a whole, with their classes."""
        gangs = by_gang(victims.values())
        return {gang: classes[gang] for gang, some in gangs.items() if self._breaks(some)}

    def _refused(
        self, victims: Victims, parts: Sequence[Part], classes: Classes
    ) -> frozenset[GangKey]:
        """Return the victims with which an otherwise legal plan would evict in circles."""
        reclaim = self.reclaim
        circling = frozenset(
            gang
            for gang, by in self.yielding(victims, classes).items()
            if self._memory.closes_a_circle(reclaim.request.gangs, gang, by)
        )
        return circling | returning(self._quota, reclaim.request, parts, reclaim.limits)

    def _charged(self, victims: Victims) -> list[Part]:
        """Return the victims with their charges to queues, whatever the class of each eviction."""
        uids: dict[GangKey, list[str]] = {}
        for uid, each in victims.items():
            uids.setdefault(each.gang, []).append(uid)
        gangs = ((self.running[gang], some) for gang, some in uids.items())
        return [Part(running, running.charge_of(some)) for running, some in gangs]

    def _parts(self, victims: Victims) -> list[Part]:
        """Return victims in the parts that leave: broken gangs as a whole, surplus pod by pod."""
        found = []
        for gang, some in by_gang(victims.values()).items():
            running = self.running[gang]
            if self._breaks(some):
                charge = running.charge_of([each.pod.uid for each in some])
                found.append(Part(running, charge, quorum=self._quorum_of(running, some)))
            else:
                uids = (each.pod.uid for each in some)
                found += [Part(running, running.charge_of([uid]), whole=False) for uid in uids]
        return found

    def _quorum_of(self, running: RunningInQueue, members: Sequence[BoundPod]) -> Charge | None:
        """Return the charge of the quorum of a gang, evicted as a whole; None without surplus."""
        if self.costs is None:
            return None
        numbers = self.costs.numbers(members)
        if not any(map(self.costs.surplus, numbers)):
            return None
        left = {each: n - self.costs.surplus(each) for each, n in numbers.items()}
        asked = []
        for each in sorted(members, key=lambda each: natural_key(each.pod.name)):
            portion = self.costs.portion(each)
            left[portion] -= 1
            if left[portion] >= 0:
                asked.append(each.pod.uid)
        return running.charge_of(asked)

    def _breaks(self, members: Iterable[BoundPod]) -> bool:
        return self.costs is None or self.costs.is_broken(self.costs.numbers(members))

    @contextmanager
    def draining(self) -> Iterator["Draining"]:
        """Let units leave one by one inside the context; all are put back at its end."""
        drained = Draining(self, self._quota)
        try:
            yield drained
        finally:
            drained.restore()

    def traits(self, unit: EvictionUnit) -> tuple[Hashable, ...]:
        """Return the traits of a unit that matter besides its room and its price."""
        running, request = self.running[unit.gang], self.reclaim.request
        charge = frozenset(running.charge_of(unit.uids).items())
        ours, theirs = request.created_at, running.known.created_at
        age = (theirs > ours) - (theirs < ours)
        possible = self.reclaim.possible(running)
        circling = frozenset(
            by for by in possible if self._memory.closes_a_circle(request.gangs, running.key, by)
        )
        return running.ref, charge, possible, circling, running.priority, age, running.preempts

    # How sets compare.

    def cost(self, cost: Cost, victims: Victims, classes: Classes) -> Cost:
        """Return the cost of an allowed set of victims, with its classes and its tie-break."""
        highest = _highest(victims, classes)
        return cost._replace(highest_class=highest, ties=self._ties(victims))

    def highest_class(self, victims: Victims) -> int:
        """Return the highest class by which a victim of an allowed set is evicted."""
        return _highest(victims, self.judged(victims).classes)

    def is_beside(self, gang: GangKey) -> bool:
        """Return whether a gang's queue and the preemptor's share an ancestor below the root."""
        return self.reclaim.is_beside(self.running[gang])

    def _ties(self, victims: Victims) -> tuple[object, ...]:
        """Return the tie-break between sets of equal cost; never empty."""
        running = [self.running[gang] for gang in by_gang(victims.values())]
        own = self.reclaim.request.ref
        shares = sorted((self._share(each) for each in running if each.ref != own), reverse=True)
        return (
            tuple(sorted((each.priority for each in running), reverse=True)),
            tuple(shares),
            self._left_over(victims),
            tuple(sorted(each.name for each in running)),
            tuple(sorted(natural_key(each.pod.name) for each in victims.values())),
        )

    def _left_over(self, victims: Victims) -> int:
        """Return how much victims free of the resources that are short; less is better."""
        reclaim = self.reclaim
        resources = reclaim.resources.union(key.resource for key in reclaim.short)
        freed = 0
        for each in victims.values():
            requests = dict(each.pod.pod_class.requests)
            freed += sum(requests.get(name, 0) for name in resources)
            # Quotas may also count resources that the pod does not request.
            charge = self.running[each.gang].charges.get(each.pod.uid, {})
            others = resources.difference(requests)
            freed += sum(amount for key, amount in charge.items() if key.resource in others)
        return freed


class Draining:
    """The amount that each queue borrows as units leave it one by one."""

    def __init__(self, judge: Judge, quota: QuotaLedger) -> None:
        self._judge = judge
        self._quota = quota
        self.taken: list[tuple[GangKey, Charge]] = []
        self._gone: frozenset[str] = frozenset()

    def take(self, unit: EvictionUnit) -> None:
        """Let a unit leave."""
        freed = self._judge.running[unit.gang].charge_of(unit.uids - self._gone)
        self._quota.release(self._judge.running[unit.gang].ref, freed)
        # Later steps of a gang come on top of its earlier steps.
        self._gone |= unit.uids
        self.taken.append((unit.gang, freed))

    def rank(self, unit: EvictionUnit) -> ShareRank:
        """Return the sort key of a unit's queue: the queue that borrows most now comes first."""
        accounts = self._quota.forest.accounts
        row = accounts.promises.trees.rows[self._judge.running[unit.gang].ref]
        return ranked(borrowed_share(accounts.now(row)))

    def restore(self) -> None:
        """Put all units back."""
        for gang, freed in self.taken:
            self._quota.charge(self._judge.running[gang].ref, freed)


def _highest(victims: Victims, classes: Classes) -> int:
    """Return the highest class of an eviction, without victims that were chosen before."""
    going = {each.gang for each in victims.values() if not each.pod.is_victim}
    return int(max((classes[gang] for gang in going), default=0))


def ranked(share: Share) -> ShareRank:
    """Return a share as a sort key: the larger share comes first."""
    return (0 if share.is_infinite else 1, -share.number)


def victims_of(units: Iterable[EvictionUnit]) -> Victims:
    """Return the pods of units by uid."""
    return {each.pod.uid: each for unit in units for each in unit.bound_pods}
