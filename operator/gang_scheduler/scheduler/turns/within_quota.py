"""What a cycle can do with one group within the quota of its queue.

A try looks for flavors with quota and room together. What it decides is charged at once, so it
counts for all later tries.
"""

import functools
import math
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from operator import itemgetter
from typing import Final

from gang_scheduler.model.bound_pods import BoundPods
from gang_scheduler.model.causes import ChecksUnanswered, DelaysReserved, QuotaShort
from gang_scheduler.model.gangs import Gang, GangGroup
from gang_scheduler.model.plan import (
    Bind,
    Failure,
    IfEmpty,
    Misfit,
    Placed,
    Plan,
    Preemption,
    PreemptionOutcome,
    PreemptionVerdict,
    Refused,
)
from gang_scheduler.model.pods import Pod
from gang_scheduler.model.problems import Problem, Reason
from gang_scheduler.model.queues import (
    NONE,
    Charge,
    FlavorPreference,
    FlavorResource,
    Fungibility,
    Queue,
    QueueRef,
    QueueState,
)
from gang_scheduler.model.refs import GangKey
from gang_scheduler.model.snapshot import Nominated, Snapshot
from gang_scheduler.scheduler import admission
from gang_scheduler.scheduler.placement.anywhere import Placement, release
from gang_scheduler.scheduler.placement_units import PlacementUnit, PodSetKey
from gang_scheduler.scheduler.policies import Profile
from gang_scheduler.scheduler.quorums import Outcome
from gang_scheduler.scheduler.quota.forest import Forest, Shortage
from gang_scheduler.scheduler.reservation.reservations import Reservations
from gang_scheduler.scheduler.rights.claims import Claim, claim_of
from gang_scheduler.scheduler.rights.permits import Limits
from gang_scheduler.scheduler.rights.rounds import Rounds
from gang_scheduler.scheduler.steps import Steps
from gang_scheduler.scheduler.turns import limits
from gang_scheduler.scheduler.turns.ledger import Ledger
from gang_scheduler.scheduler.turns.offers import Offer, podset_of
from gang_scheduler.scheduler.turns.requests import Request, Requests, Way

NO_VICTIMS: Final = PreemptionVerdict.NO_VICTIMS
MOST_KEPT: Final = 8192
"""How many shortages of queues are kept from cycle to cycle."""
Unfit = tuple[PlacementUnit, Misfit]


@dataclass(eq=False)
class Try:
    """One try of a group: the ways without room, with the reason, and what evictions came to.

    `delaying` are the gangs that were promised a start and would be delayed, way by way. `unpaid`
    are the ways without quota, where evictions may free some.
    """

    request: Request
    nominations: Sequence[Nominated]
    evicting: bool
    full: list[tuple[Way, Unfit]] = field(default_factory=list)
    unpaid: list[Way] = field(default_factory=list)
    outcomes: dict[Way, PreemptionOutcome] = field(default_factory=dict)
    delaying: list[DelaysReserved] = field(default_factory=list)


class WithinQuota(Steps):
    """The steps of a cycle, each within quota and on the nodes of flavors."""

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
            units_of=self._units,
        )
        self.tried: dict[GangKey, Request] = {}
        self._offers: dict[GangKey, Offer] = {}
        self._borrowing: set[GangKey] = set()
        self._charged: dict[PlacementUnit, Charge] = {}
        self._pods: dict[str, Pod] = {}
        self._flavored: dict[Way, tuple[PlacementUnit, ...]] = {}
        self._basis = (state.declared, snapshot.nodes, snapshot.tree_specs)
        self._short: dict[QueueRef, tuple[tuple[int, int], Charge, Problem]] = {}
        self._judged_at: Hashable = None
        self._for_good: dict[Hashable, Problem | None] = {}
        # The lowest priority for which something is known not to fit.
        self._failed_at: float = math.inf

    def set_aside(self, group: GangGroup, problem: Problem) -> None:
        """Note why a group is not tried: by the same refusals as before for the same problem."""
        refusals = group.derive(
            "set_aside", (problem,), functools.partial(_refusals, group.waiting, problem)
        )
        for each in refusals:
            self.refused[each.gang.key] = each

    def place_quorums(self, group: GangGroup) -> None:
        """Place the quorums of a group that was tried before, without evictions."""
        before = {gang.key: self.refused.get(gang.key) for gang in group.waiting}
        request = self.tried[group.gangs[0].key]
        self.attempt(Try(request, (), evicting=False))
        if group.waiting[0].key not in self.gangs:
            self.refused.update({key: why for key, why in before.items() if why is not None})

    def released(self, request: Request) -> Sequence[Nominated]:
        """Release the room and the quota that are reserved for a group, to be found again."""
        keys = [gang.key for gang in request.group.gangs]
        nominations = self.evaluator.nominated_room.release(keys)
        if nominations:
            self.ledger.release(request.ref, self.requests.nominated(request, nominations))
        return nominations

    def attempt(self, trying: Try) -> None:
        """Find flavors with quota and room for a group, and charge what came of it."""
        request = trying.request
        self.tried[request.group.gangs[0].key] = request
        ways = self._with_quota(request)
        problem = self._not_now(request, ways)
        short = problem is not None and problem.reason is Reason.WAITING_FOR_QUOTA
        if (problem is None or (short and trying.evicting)) and self._find(trying, ways):
            return
        if trying.delaying:
            problem = Problem(Reason.WAITING_FOR_TURN, trying.delaying[0])
            self.set_aside(request.group, problem)
            return
        if problem is None:
            self._refuse_all(trying)
            return
        self.set_aside(request.group, problem)
        if short and trying.evicting:
            self.ledger.keep(request.queue, [way.charge for way in request.ways])

    def plain_request(self, group: GangGroup, queue: Queue) -> Request | None:
        """Return what a group asks, without ways if it has no turn; None where more matters.

        Worked out once for a group while neither queues nor nodes change.
        """
        if self.evaluator.without_victims(group) is not group:
            return None
        return group.derive("plain", self._basis, functools.partial(self._plain, group, queue))

    def _plain(self, group: GangGroup, queue: Queue) -> Request | None:
        has_begun = group.nominated or bool(group.started) or any(g.bound for g in group.gangs)
        if has_begun or any(gang.min_resources for gang in group.gangs):
            return None
        without_turn = Request(group, queue, (), ())
        verdict = admission.admit(group, self.snapshot, self.trial)
        if verdict.refusals or self.not_taken(queue, group):
            return without_turn
        asked = self.requests.of(group, queue, verdict.units, holds=False, nominated=False)
        if isinstance(asked, Problem):
            return without_turn
        return None if asked.singly or verdict.warnings else asked

    def not_taken(self, queue: Queue, group: GangGroup, *, holds: bool = False) -> Problem | None:
        """Return why a queue takes nothing new, or not this group; it may `hold` quota already."""
        if queue.ref.product not in self.declared.enforced:
            return None
        problem = limits.stopped(queue)
        return problem if problem or holds else limits.denied(queue, group, self.declared)

    def short_for_good(self, request: Request) -> Problem | None:
        """Return what a request lacks of quota in all its ways; None if pods may leave for it.

        Worked out once for requests alike, until anything is charged: cheap.
        """
        state = self.rounds.state
        if self._judged_at != state:
            self._judged_at, self._for_good = state, {}
        kind = request.kind
        if kind not in self._for_good:
            problem = self._lacking_quota(request)
            may_help = problem is not None and self._may_free_quota(request)
            self._for_good[kind] = None if may_help else problem
        return self._for_good[kind]

    def _lacking_quota(self, request: Request) -> Problem | None:
        """Return what a request lacks of quota; None if there is quota for one of its ways."""
        if len(request.ways) == 1 and (known := self._known_short(request)) is not None:
            return known
        if any(self.ledger.fits(request.ref, way.charge) for way in request.ways):
            return None
        return self._quota_short(request)

    def _may_free_quota(self, request: Request) -> bool:
        """Return whether quota may be free once pods have left for a group."""
        if self.rounds.is_idle:
            return False
        claims = (
            claim_of(request.group, request.ref, way.charge, way.offer.charge_of)
            for way in request.ways
        )
        return any(map(self.rounds.may_help, claims))

    def _with_quota(self, request: Request) -> list[Way]:
        """Return the ways that there is quota for."""
        if request.singly:
            parts = (self._part_with_quota(request, way) for way in request.ways)
            return [each for each in parts if each is not None]
        return [way for way in request.ways if self.ledger.fits(request.ref, way.charge)]

    def _part_with_quota(self, request: Request, way: Way) -> Way | None:
        """Return the way for as many of the quorum as there is quota for; None for no member."""
        if self.ledger.fits(request.ref, way.charge):
            return way
        required = [pod for unit in way.units for pod in unit.members if pod.uid in unit.required]
        some, charge = self._payable(request.ref, way.offer, required)
        uids = frozenset(pod.uid for pod in some)
        units = tuple(replace(unit, required=unit.required & uids) for unit in way.units)
        return Way(way.offer, charge, units) if some else None

    def _payable(
        self, ref: QueueRef, offer: Offer, pods: Iterable[Pod]
    ) -> tuple[list[Pod], Charge]:
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

    def _not_now(self, request: Request, ways: Sequence[Way]) -> Problem | None:
        """Return why the group cannot be admitted now, whatever room there is."""
        queue, ref = request.queue, request.ref
        if ref.product not in self.declared.enforced:
            return None
        if not request.holds:
            full = limits.full(queue, self.ledger.running[ref])
            if full is not None:
                return full
        if not ways:
            return self._quota_short(request)
        if not request.holds and all(limits.checks(queue, way.offer.names) for way in ways):
            names = limits.checks(queue, ways[0].offer.names)
            return Problem(Reason.WAITING_FOR_CHECKS, ChecksUnanswered(ref.name, names))
        return None

    def _quota_short(self, request: Request) -> Problem:
        """Return what is lacking: the same object for requests alike, until anything is charged."""
        known = self._known_short(request)
        if known is not None:
            return known
        charge = request.ways[0].charge
        short = self.ledger.shortage(request.ref, charge)
        if short is None:
            raise AssertionError(request.ref)
        problem = _problem_of(request.ref, short)
        self._short[request.ref] = (self.ledger.version, charge, problem)
        return problem

    def _known_short(self, request: Request) -> Problem | None:
        """Return what the first way is known to lack, if nothing was charged since."""
        known = self._short.get(request.ref)
        if known is None or known[0] != self.ledger.version or known[1] != request.ways[0].charge:
            return None
        return known[2]

    def _find(self, trying: Try, paid: Sequence[Way]) -> bool:
        """Take the best way by the rules of the queue; return whether there is one.

        There is quota for the ways that are `paid`; for others it may be freed.
        """
        request = trying.request
        rules = request.queue.fungibility
        trying.unpaid = self._unpaid(trying, paid)
        ways = self._unchecked(request, in_order(request, [*paid, *trying.unpaid]))
        if trying.nominations:
            ways = sorted(ways, key=lambda way: not self._suits(way, trying.nominations))
        over = rules.preference is FlavorPreference.PREEMPTION_OVER_BORROWING
        judged, later = [], []
        for way in ways:
            judged.append(way)
            borrows = self.forest.borrows(request.ref, way.charge)
            if borrows and (over or not rules.stop_when_borrowing):
                later += [way] * self._has_room(trying, way)
            elif self._places(trying, way):
                return True
            if self._is_last(rules, trying, way, borrows=way in later):
                break
        if over and self._evicts(trying, judged, borrowing=False):
            return True
        return any(self._places(trying, way) for way in later) or self._evicts(trying, judged)

    def _is_last(self, rules: Fungibility, trying: Try, way: Way, *, borrows: bool) -> bool:
        """Return whether the search for a flavor ends with one that borrows, or evicts."""
        if borrows:
            return rules.stop_when_borrowing
        return rules.stop_when_evicting and bool(self._by_class(trying, [way], borrowing=True))

    def _unchecked(self, request: Request, ways: Sequence[Way]) -> Sequence[Way]:
        """Return the ways that no admission check stands against."""
        if request.holds or request.ref.product not in self.declared.enforced:
            return ways
        return [way for way in ways if not limits.checks(request.queue, way.offer.names)]

    def _unpaid(self, trying: Try, paid: Sequence[Way]) -> list[Way]:
        """Return the ways without quota, as long as evictions may free some."""
        if not trying.evicting:
            return []
        offers = {way.offer for way in paid}
        return [way for way in trying.request.ways if way.offer not in offers]

    def _has_room(self, trying: Try, way: Way) -> bool:
        """Return whether there is room for a way with quota, and leave it free."""
        if way in trying.unpaid:
            return False
        units = self._units(way)
        outcome = self.known_misfits.known(units) or self.quorums.in_any_order(units)
        if not isinstance(outcome, dict):
            trying.full.append((way, outcome))
            return False
        for placement in outcome.values():
            release(placement, self.trial)
        return True

    def _places(self, trying: Try, way: Way) -> bool:
        """Take room for the quorums on the nodes of their flavors, if there is enough."""
        if way in trying.unpaid:
            return False
        request, units = trying.request, self._units(way)
        group, ref = request.group, request.ref
        outcome = self.find_place(group, units, trying.nominations)
        if isinstance(outcome, dict) and not self.ledger.fits(ref, self._charge(way, outcome)):
            # Other members than the first in rank ask for more: only these were judged.
            for placement in outcome.values():
                release(placement, self.trial)
            outcome = self.quorums.as_preemptors(units)
        if not isinstance(outcome, dict):
            trying.full.append((way, outcome))
            return False
        delayed = self.reservations.delayed(request, way, [*outcome.values()])
        if delayed is not None:
            beside = self._beside_reserved(request, way, outcome)
            if beside is None:
                trying.delaying.append(delayed)
                return False
            outcome = beside
        self._choose(request, way)
        self.units[group.gangs[0].key] = units
        self.keep(group, outcome)
        return True

    def _beside_reserved(
        self, request: Request, way: Way, best: Mapping[PlacementUnit, Placement]
    ) -> dict[PlacementUnit, Placement] | None:
        """Place the quorums where they delay no gang that was promised a start; None if nowhere.

        `best` is where they would be without, and is taken back.
        """
        for placement in best.values():
            release(placement, self.trial)
        found: Outcome | None = None
        with self.reservations.kept_free(request.group):
            if self.ledger.fits(request.ref, way.charge):
                found = self.quorums.in_any_order(self._units(way))
        if not isinstance(found, dict):
            return None
        if self.reservations.delayed(request, way, [*found.values()]) is None:
            return found
        for placement in found.values():
            release(placement, self.trial)
        return None

    def _charge(self, way: Way, outcome: Mapping[PlacementUnit, Placement]) -> Charge:
        pods = {pod.uid: pod for unit in way.units for pod in unit.members}
        binds = (bind for placement in outcome.values() for bind in placement.binds)
        return way.offer.charge_of(pods[bind.pod.uid] for bind in binds)

    def find_place(
        self, group: GangGroup, units: Sequence[PlacementUnit], nominations: Sequence[Nominated]
    ) -> Outcome:
        """Take room for the quorums, unless equal ones of no less priority are known not to fit."""
        if group.priority > self._failed_at and self.evaluator.displaceable(group):
            self.known_misfits.clear()
            self._failed_at = group.priority
        outcome = super().find_place(group, units, nominations)
        if not isinstance(outcome, dict):
            self._failed_at = min(self._failed_at, group.priority)
        return outcome

    def _evicts(self, trying: Try, ways: Sequence[Way], *, borrowing: bool = True) -> bool:
        """Reserve room and quota that pods leave or must leave, if that is enough in any way.

        Of several ways the one with victims of the lower class. Unless `borrowing`, the queue must
        stay within its promise.
        """
        left = self._short_of(trying, ways)
        if len(left) > 1 or not borrowing:
            left = self._by_class(trying, left, borrowing=borrowing)
        return any(self._evicts_in(trying, way) for way in left)

    def _short_of(self, trying: Try, ways: Sequence[Way]) -> list[Way]:
        """Return the ways that lack room or quota, if evictions may help and were not tried yet."""
        short = {way for way, _ in trying.full} | set(trying.unpaid) if trying.evicting else ()
        return [way for way in ways if way in short and way not in trying.outcomes]

    def _by_class(self, trying: Try, ways: Sequence[Way], *, borrowing: bool) -> list[Way]:
        """Return the ways in which evictions help, those of lower classes first."""
        found = []
        for way in self._short_of(trying, ways):
            units = tuple(unit for unit in self._units(way) if unit.quorum)
            foreseen = self.evaluator.foreseen(
                trying.request.group, units, self._claim(trying.request, way)
            )
            if foreseen is not None and (borrowing or not foreseen.borrows):
                found.append((foreseen.highest_class, way))
        return [way for _, way in sorted(found, key=itemgetter(0))]

    def _evicts_in(self, trying: Try, way: Way) -> bool:
        request, units = trying.request, tuple(unit for unit in self._units(way) if unit.quorum)
        claim = self._claim(request, way)
        outcome = self.make_room_for(request.group, units, trying.nominations, claim)
        trying.nominations = ()
        trying.outcomes[way] = outcome
        if not outcome.waits:
            return False
        full = next((why for each, why in trying.full if each is way), None)
        if full is not None:
            self.refuse(request.group, *full)
        else:
            self.set_aside(request.group, self._quota_short(replace(request, ways=(way,))))
        self.note_preemption(request.group, outcome)
        self._choose(request, way)
        self.ledger.charge(request.ref, self._charge_of_nominated(request, way))
        self.reservations.nominated(request, way)
        return True

    def _claim(self, request: Request, way: Way) -> Claim:
        """Return what a group asks for in one way."""
        return claim_of(request.group, request.ref, way.charge, self._charger(request, way))

    def _charger(self, request: Request, way: Way) -> Callable[[Iterable[Pod]], Charge]:
        """Return what says what members are charged: by the requests that they were declared."""
        as_they_are = {pod.uid: pod for unit in request.units for pod in unit.members}
        return lambda pods: way.offer.charge_of(as_they_are[pod.uid] for pod in pods)

    def _charge_of_nominated(self, request: Request, way: Way) -> Charge:
        room = self.evaluator.nominated_room
        binds = (bind for gang in request.group.waiting for bind in room.binds(gang.key))
        return self._charger(request, way)(bind.pod for bind in binds)

    def _refuse_all(self, trying: Try) -> None:
        """Note why the first way that has nodes has no room, and why none can be made."""
        group = trying.request.group
        self.evaluator.nominated_room.keep(() if trying.evicting else trying.nominations)
        empty = self.requests.empty_flavors
        way, unfit = min(trying.full, key=lambda each: len(empty(trying.request, each[0])))
        self.refuse(group, *unfit, empty(trying.request, way))
        tried = (trying.outcomes[way] for way, _ in trying.full if way in trying.outcomes)
        told = next((each for each in tried if each.verdict is not NO_VICTIMS), None)
        if told is not None:
            self.note_preemption(group, told)

    def would_fit_empty(self, group: GangGroup) -> IfEmpty | None:
        """Return whether the group would fit the empty cluster in any way, on nodes of flavors."""
        ways = self.tried[group.gangs[0].key].ways
        return self.empty_cluster.would_fit(group, map(self._units, ways))

    def _choose(self, request: Request, way: Way) -> None:
        """Note by which way a group is charged."""
        key = request.group.gangs[0].key
        self._offers[key] = way.offer
        self._pods.update((pod.uid, pod) for unit in request.units for pod in unit.members)
        if not request.holds:
            self.ledger.running[request.ref] += 1
        if self.forest.borrows(request.ref, way.charge):
            self._borrowing.add(key)

    def _units(self, way: Way) -> tuple[PlacementUnit, ...]:
        """Return the units on the nodes of their flavors: the same ones each time."""
        if way not in self._flavored:
            units = way.offer.units(way.units, self.snapshot)
            if isinstance(units, Problem):
                raise AssertionError(units)
            self._flavored[way] = units
        return self._flavored[way]

    def _suits(self, way: Way, nominations: Sequence[Nominated]) -> bool:
        """Return whether all nominated nodes are of the flavors."""
        return all(
            self.requests.is_of(way.offer, each.pod, each.pod.nominated) for each in nominations
        )

    def has_reserved_room(self, group: GangGroup) -> bool:
        """Return whether a group waits for pods to leave."""
        refused = self.refused.get(group.waiting[0].key)
        return refused is not None and refused.reason is Reason.WAITING_FOR_VICTIMS

    # What is charged.

    def put(self, unit: PlacementUnit, placement: Placement) -> None:
        """Note where members of a unit are from now on, and charge them."""
        super().put(unit, placement)
        group = self.groups[unit.gangs[0].key]
        ref, offer = group.queue or NONE, self._offers[group.gangs[0].key]
        charge = offer.charge_of(self._pods[bind.pod.uid] for bind in placement.binds)
        before = self._charged.get(unit, {})
        self.reservations.put(unit, group, placement)
        if charge != before:
            self.reservations.charge(unit, ref, before, charge)
            self.ledger.release(ref, before)
            self.ledger.charge(ref, charge)
            self._charged[unit] = charge

    def place_surplus(self, group: GangGroup, *, moving: bool = True) -> None:
        """Place the surplus that there is quota and room for, and note why the rest waits."""
        key, ref = group.gangs[0].key, group.queue or NONE
        for unit in self.units[key]:
            placed = self.placements.get(unit)
            if placed is None or len(placed.binds) == len(unit.members):
                continue
            there = {bind.pod.uid for bind in placed.binds}
            rest = [self._pods[pod.uid] for pod in unit.members if pod.uid not in there]
            with self.reservations.kept_free(group):
                more, charge = self._payable(ref, self._offers[key], rest)
                if more:
                    some = unit.only(there | {pod.uid for pod in more})
                    self.grow(group, unit, some, moving=moving)
            if len(more) < len(rest):
                paid = {pod.uid for pod in more}
                unpaid = [pod for pod in rest if pod.uid not in paid]
                self._report_unpaid(group, unit, unpaid, charge)

    def _report_unpaid(
        self, group: GangGroup, unit: PlacementUnit, unpaid: Sequence[Pod], charge: Charge
    ) -> None:
        """Note that there is no quota for members beside what is charged for others."""
        ref, offer = group.queue or NONE, self._offers[group.gangs[0].key]
        one = offer.charge_of(unpaid[:1])
        short = self.ledger.shortage(ref, one)
        if short is None:
            short = self.ledger.shortage(ref, {fr: n + charge.get(fr, 0) for fr, n in one.items()})
        cause = _cause_of(ref, short) if short else None
        why = Refused(unit.gangs[0], Reason.WAITING_FOR_QUOTA, (), cause=cause, left_over=True)
        self.report_left_over(unit.only({pod.uid for pod in unpaid}), why)

    def make_room(self, group: GangGroup, claim: Claim | None = None) -> None:
        """Nominate the members that a quorum still lacks, if there is quota for them or will be."""
        key, ref = group.gangs[0].key, group.queue or NONE
        lacking = self.lacking(group)
        pods = [pod for unit in lacking for pod in unit.members if pod.uid in unit.required]
        charge = self._offers[key].charge_of(self._pods[pod.uid] for pod in pods)
        if pods and claim is None:
            way = Way(self._offers[key], charge, lacking)
            super().make_room(
                group, claim_of(group, ref, charge, self._charger(self.tried[key], way))
            )
            if self.has_reserved_room(group):
                self.ledger.charge(ref, charge)

    # What is said.

    def plan(self, failures: Sequence[Failure]) -> Plan:
        """Return the plan, with the pods as they are and the flavors that they are charged in."""
        plan = super().plan(failures)
        return replace(
            plan,
            reservations=self.reservations.made(),
            placed=tuple(map(self._with_flavors, plan.placed)),
            preemptions=tuple(map(self._as_they_are, plan.preemptions)),
        )

    def _with_flavors(self, placed: Placed) -> Placed:
        key = self.groups[placed.gang.key].gangs[0].key
        binds = tuple(self._bind(key, bind) for bind in placed.binds)
        backfilled = self.reservations.backfilled.get(key)
        return replace(placed, binds=binds, borrows=key in self._borrowing, backfilled=backfilled)

    def _as_they_are(self, preemption: Preemption) -> Preemption:
        nominations = preemption.nominations
        if preemption.gangs and nominations:
            key = self.groups[preemption.gangs[0].key].gangs[0].key
            nominations = tuple(self._bind(key, bind) for bind in nominations)
        displaced = tuple(
            replace(self._pods.get(pod.uid, pod), nominated=pod.nominated)
            for pod in preemption.displaced
        )
        return replace(preemption, nominations=nominations, displaced=displaced)

    def _bind(self, key: GangKey, bind: Bind) -> Bind:
        pod = self._pods[bind.pod.uid]
        return replace(bind, pod=pod, flavors=self._offers[key].flavors_of(pod))


def _refusals(gangs: Iterable[Gang], problem: Problem) -> tuple[Refused, ...]:
    return tuple(Refused(gang, problem.reason, gang.pending, cause=problem.cause) for gang in gangs)


@functools.lru_cache(MOST_KEPT)
def _problem_of(ref: QueueRef, short: Shortage) -> Problem:
    # The same object for equal ones: a gang that waits on with the same words is no news.
    return Problem(Reason.WAITING_FOR_QUOTA, _cause_of(ref, short))


def in_order(request: Request, ways: Sequence[Way]) -> list[Way]:
    """Return ways in the order of the flavors of the queue."""
    order = {way.offer: place for place, way in enumerate(request.ways)}
    return sorted(ways, key=lambda way: order[way.offer])


def _cause_of(ref: QueueRef, short: Shortage) -> QuotaShort:
    borrowers = tuple(map(_name_of, short.borrowers))
    return QuotaShort(_name_of(ref), *short.key, short.asked, short.available, borrowers)


def _name_of(ref: QueueRef) -> str:
    return "" if ref == NONE else ref.name
