"""What a cycle with queues charges for what it decides, and in which flavors."""

import functools
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

from gang_scheduler.model.bound_pods import BoundPod, BoundPods
from gang_scheduler.model.causes.queues import DelaysReserved
from gang_scheduler.model.gangs import Gang, GangGroup
from gang_scheduler.model.plan import Bind, Failure, Placed, Plan, Preemption, Refused
from gang_scheduler.model.pods import Pod
from gang_scheduler.model.queues import NONE, Charge, FlavorResource, QueueRef, QueueState
from gang_scheduler.model.reasons import Problem, Reason
from gang_scheduler.model.refs import GangKey
from gang_scheduler.model.snapshot import Nominated, Snapshot
from gang_scheduler.scheduler.placement.anywhere import Placement
from gang_scheduler.scheduler.policies import Profile
from gang_scheduler.scheduler.quota.forest import Forest
from gang_scheduler.scheduler.reservation.reservations import Eviction, Reservations
from gang_scheduler.scheduler.rights.claims import Claim, MayTake, claim_of
from gang_scheduler.scheduler.rights.permits import Limits
from gang_scheduler.scheduler.rights.rounds import Rounds
from gang_scheduler.scheduler.steps import Steps
from gang_scheduler.scheduler.surplus import of_payable
from gang_scheduler.scheduler.turns.ledger import Ledger
from gang_scheduler.scheduler.turns.requests import Offer, Request, Requests, Way, podset_of
from gang_scheduler.scheduler.turns.shortages import cause_of
from gang_scheduler.scheduler.units import PlacementUnit, PodSetKey


class Charging(Steps):
    """The decisions made so far, each charged to the queue of its group.

    `offers` are the flavors of each group that has a place, or room that pods leave.
    """

    def __init__(self, snapshot: Snapshot, profile: Profile, state: QueueState) -> None:
        super().__init__(snapshot, profile)
        self.declared = state.declared
        self.forest = Forest(state, snapshot.nodes)
        self.ledger = Ledger(self.forest, state.usage.running, state.declared.enforced)
        self.requests = Requests(snapshot, state, self.ledger)
        limits_of = Limits.of(profile, snapshot.taken_at)
        self.rounds = Rounds(snapshot.bound_pods or BoundPods(), self.ledger, limits_of)
        self.evaluator.rounds = self.rounds
        self.reservations = Reservations(
            *(snapshot, profile, self.trial, self.ledger, self.evaluator),
            units_of=self.units_of,
        )
        self.tried: dict[GangKey, Request] = {}
        self.unsearched: set[GangKey] = set()
        """Gangs that wait, for which victims may be found in another cycle."""
        self.offers: dict[GangKey, Offer] = {}
        self._borrowing: set[GangKey] = set()
        self._charged: dict[PlacementUnit, Charge] = {}
        self.members: dict[str, Pod] = {}
        self._flavored: dict[Way, tuple[PlacementUnit, ...]] = {}

    def set_aside(self, group: GangGroup, problem: Problem) -> None:
        """Note why a group is not tried: by the same refusals as before for the same problem."""
        refusals = group.derive(
            "set_aside", (problem,), functools.partial(_refusals, group.waiting, problem)
        )
        for each in refusals:
            self.refused[each.gang.key] = each

    def has_reserved_room(self, group: GangGroup) -> bool:
        """Return whether a group waits for pods to leave."""
        refused = self.refused.get(group.waiting[0].key)
        return refused is not None and refused.reason is Reason.WAITING_FOR_VICTIMS

    def released(self, request: Request) -> Sequence[Nominated]:
        """Release the room and the quota that are reserved for a group, to be found again."""
        keys = [gang.key for gang in request.group.gangs]
        nominations = self.evaluator.nominated_room.release(keys)
        if nominations:
            self.ledger.release(request.ref, self.requests.nominated(request, nominations))
        held = self.asking.held(request.group)
        if held:
            self.ledger.release(request.ref, held)
        return nominations

    def choose(self, request: Request, way: Way) -> None:
        """Note by which way a group is charged."""
        key = request.group.gangs[0].key
        self.offers[key] = way.offer
        self.members.update((pod.uid, pod) for unit in request.units for pod in unit.members)
        if not request.holds:
            self.ledger.running[request.ref] += 1
        if self.forest.borrows(request.ref, way.charge):
            self._borrowing.add(key)

    def units_of(self, way: Way) -> tuple[PlacementUnit, ...]:
        """Return the units on the nodes of their flavors: the same ones each time."""
        if way not in self._flavored:
            units = way.offer.units(way.units, self.snapshot)
            if isinstance(units, Problem):
                raise AssertionError(units)
            self._flavored[way] = units
        return self._flavored[way]

    def put(self, unit: PlacementUnit, placement: Placement) -> None:
        """Note where members of a unit are from now on, and charge them."""
        super().put(unit, placement)
        group = self.groups[unit.gangs[0].key]
        ref, offer = group.queue or NONE, self.offers[group.gangs[0].key]
        charge = offer.charge_of(self.members[bind.pod.uid] for bind in placement.binds)
        before = self._charged.get(unit, {})
        self.reservations.put(unit, group, placement)
        if charge != before:
            self.reservations.charge(unit, group, before, charge)
            self.ledger.release(ref, before)
            self.ledger.charge(ref, charge)
            self._charged[unit] = charge

    def payable(self, ref: QueueRef, offer: Offer, pods: Iterable[Pod]) -> tuple[list[Pod], Charge]:
        """Return the pods that there is quota for, one after the other, and what they charge."""
        some: list[Pod] = []
        charge: dict[FlavorResource, int] = {}
        refused: set[PodSetKey] = set()
        for pod in pods:
            key = podset_of(pod)
            if key in refused or key not in offer.choices:
                continue
            more = offer.charge({key: 1})
            with_it = {fr: charge.get(fr, 0) + more.get(fr, 0) for fr in {**charge, **more}}
            if self.ledger.fits(ref, with_it):
                some.append(pod)
                charge = with_it
            else:
                refused.add(key)
        return some, charge

    def place_surplus(self, group: GangGroup, *, moving: bool = True) -> None:
        """Place the surplus that there is quota and room for, and note why the rest waits."""
        key, ref = group.gangs[0].key, group.queue or NONE
        for unit in self.units[key]:
            placed = self.placements.get(unit)
            if placed is None or len(placed.binds) == len(unit.members):
                continue
            there = {bind.pod.uid for bind in placed.binds}
            rest = [self.members[pod.uid] for pod in unit.members if pod.uid not in there]
            with self.reservations.kept_free(group):
                more, charge = self.payable(ref, self.offers[key], rest)
                more = of_payable(unit, there, more)
                if more:
                    some = unit.only(there | {pod.uid for pod in more})
                    self.grow(group, unit, some, moving=moving)
            if len(more) < len(rest):
                paid = {pod.uid for pod in more}
                unpaid = [pod for pod in rest if pod.uid not in paid]
                self._report_unpaid(group, unit, unpaid, charge)
        self.report_full(group)

    def _report_unpaid(
        self, group: GangGroup, unit: PlacementUnit, unpaid: Sequence[Pod], charge: Charge
    ) -> None:
        """Note that there is no quota for members beside what is charged for others."""
        ref, offer = group.queue or NONE, self.offers[group.gangs[0].key]
        one = offer.charge_of(unpaid[:1])
        short = self.ledger.shortage(ref, one)
        if short is None:
            short = self.ledger.shortage(ref, {fr: n + charge.get(fr, 0) for fr, n in one.items()})
        cause = cause_of(ref, short) if short else None
        why = Refused(unit.gangs[0], Reason.WAITING_FOR_QUOTA, (), cause=cause, left_over=True)
        self.refused.leave_over(unit.only({pod.uid for pod in unpaid}), why)

    def make_room(self, group: GangGroup, claim: Claim | None = None) -> None:
        """Nominate the members that a quorum still lacks, if there is quota for them or will be."""
        key, ref = group.gangs[0].key, group.queue or NONE
        lacking = self.lacking(group)
        pods = [pod for unit in lacking for pod in unit.members if pod.uid in unit.required]
        charge = self.offers[key].charge_of(self.members[pod.uid] for pod in pods)
        if pods and claim is None:
            request, way = self.tried[key], Way(self.offers[key], charge, lacking)
            asked = claim_of(group, ref, charge, self.charger(request, way))
            self.reservations.refresh()
            super().make_room(group, replace(asked, may_take=self.may_take(request, [])))
            if self.has_reserved_room(group):
                self.ledger.charge(ref, charge)
                self.reservations.nominated(request, way)

    def may_take(self, request: Request, delaying: list[DelaysReserved]) -> MayTake:
        """Return what refuses plans that delay a gang which was promised a start, and notes it."""
        placements: list[Placement] = []
        victims: list[BoundPod] = []
        charge: Counter[FlavorResource] = Counter()

        def may_take(claim: Claim, more: Sequence[Placement], gone: Sequence[BoundPod]) -> bool:
            # Members that are gangs of one are asked for one by one: those before them count.
            eviction = Eviction(
                [*placements, *more],
                charge + Counter(claim.charge),
                [*victims, *gone],
                within=not self.rounds.borrows(claim, gone),
            )
            delayed = self.reservations.delayed_by_eviction(request, eviction)
            if delayed is not None:
                delaying.append(delayed)
                return False
            placements.extend(more)
            victims.extend(gone)
            charge.update(claim.charge)
            return True

        return may_take

    def charger(self, request: Request, way: Way) -> Callable[[Iterable[Pod]], Charge]:
        """Return what says what members are charged: by the requests that they were declared."""
        as_they_are = {pod.uid: pod for unit in request.units for pod in unit.members}
        return lambda pods: way.offer.charge_of(as_they_are[pod.uid] for pod in pods)

    def plan(self, failures: Sequence[Failure]) -> Plan:
        """Return the plan, with the pods as they are and the flavors that they are charged in."""
        plan = super().plan(failures)
        return replace(
            plan,
            reservations=self.reservations.made(),
            unsearched=frozenset(self.unsearched),
            placed=tuple(map(self._with_flavors, plan.placed)),
            preemptions=tuple(map(self._as_they_are, plan.preemptions)),
        )

    def _with_flavors(self, placed: Placed) -> Placed:
        key = self.groups[placed.gang.key].gangs[0].key
        binds = tuple(self._bind(key, bind) for bind in placed.binds)
        backfilled = self.reservations.backfilled.get(key)
        return replace(placed, binds=binds, borrows=key in self._borrowing, backfilled=backfilled)

    def _as_they_are(self, preemption: Preemption) -> Preemption:
        nominations, backfilled = preemption.nominations, None
        if preemption.gangs and nominations:
            key = self.groups[preemption.gangs[0].key].gangs[0].key
            backfilled = self.reservations.backfilled.get(key)
            nominations = tuple(self._bind(key, bind) for bind in nominations)
        displaced = tuple(
            replace(self.members.get(pod.uid, pod), nominated=pod.nominated)
            for pod in preemption.displaced
        )
        return replace(
            preemption, nominations=nominations, displaced=displaced, backfilled=backfilled
        )

    def _bind(self, key: GangKey, bind: Bind) -> Bind:
        pod = self.members[bind.pod.uid]
        return replace(bind, pod=pod, flavors=self.offers[key].flavors_of(pod))


def _refusals(gangs: Iterable[Gang], problem: Problem) -> tuple[Refused, ...]:
    return tuple(Refused(gang, problem.reason, gang.pending, cause=problem.cause) for gang in gangs)
