"""The quota of a cycle: the flavors in which a group may start, and the charge of each decision."""

import functools
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Final

from gang_scheduler.model.bound_pods import BoundPod, BoundPods
from gang_scheduler.model.causes.queues import ChecksUnanswered, DelaysReserved
from gang_scheduler.model.gangs import Gang, GangGroup
from gang_scheduler.model.plan import Bind, Placed, Plan, Preemption, Refused
from gang_scheduler.model.pods import Pod
from gang_scheduler.model.queues import NONE, Charge, FlavorResource, Queue, QueueRef, QueueState
from gang_scheduler.model.reasons import Problem, Reason
from gang_scheduler.model.refs import GangKey
from gang_scheduler.model.snapshot import Nominated
from gang_scheduler.scheduler import eligibility
from gang_scheduler.scheduler.place_or_preempt import Placing
from gang_scheduler.scheduler.placement.placement_units import PlacementUnit, PodSetKey
from gang_scheduler.scheduler.quota.forest import Forest
from gang_scheduler.scheduler.reclaim.cycle_requests import ReclaimRequests
from gang_scheduler.scheduler.reclaim.eviction_policy import EvictionLimits
from gang_scheduler.scheduler.reclaim.request import MayTake, ReclaimRequest, reclaim_request_of
from gang_scheduler.scheduler.reservation.reservations import Eviction, Reservations
from gang_scheduler.scheduler.surplus import of_payable
from gang_scheduler.scheduler.trial import Placement
from gang_scheduler.scheduler.turns import limits
from gang_scheduler.scheduler.turns.known_lines import KnownLine
from gang_scheduler.scheduler.turns.ledger import Ledger
from gang_scheduler.scheduler.turns.requests import (
    FlavorAssignment,
    FlavorOption,
    Request,
    Requests,
    podset_of,
)
from gang_scheduler.scheduler.turns.shortages import Shortages, cause_of

MEMBERS_A_LOOK: Final = 6
"""Restricting this many members to the nodes of a flavor takes one look."""
A_REQUEST: Final = 1.25
AN_OPTION: Final = 0.25
"""The cost of a group's request, and of each combination of flavors for it, in looks.

The request is kept until queues, nodes or trees change.
"""


class Quota:
    """The quota that queues have left in a cycle, and the charge of each decision.

    `tried` are the requests of groups that had a turn. `options` are the flavors of each group that
    has a place, or for which other pods are making room.
    """

    def __init__(self, placing: Placing, state: QueueState) -> None:
        snapshot, profile = placing.snapshot, placing.profile
        self._placing = placing
        self._snapshot = snapshot
        self._decided = placing.decided
        self._trial = placing.trial
        self._evaluator = placing.evaluator
        self._node_requests = placing.node_requests
        self.declared = state.declared
        self.forest = Forest(state, snapshot.nodes)
        self.ledger = Ledger(self.forest, state.usage.running, state.declared.enforced)
        self.requests = Requests(snapshot, state, self.ledger)
        eviction_limits = EvictionLimits(snapshot.taken_at, profile.rules)
        self.reclaim_requests = ReclaimRequests(
            snapshot.bound_pods or BoundPods(), self.ledger, eviction_limits
        )
        self.reservations = Reservations(
            *(snapshot, profile, self._trial, self.ledger, self._evaluator),
            units_of=self.units_of,
        )
        self.shortages = Shortages(self.ledger, self.reclaim_requests)
        self.basis = (state.declared, snapshot.nodes, snapshot.tree_specs)
        """The objects on which the requests of groups depend."""
        self.tried: dict[GangKey, Request] = {}
        self.alike: dict[GangKey, Request] = {}
        """The requests that had a turn, for other groups that were refused as they were."""
        self.unsearched: set[GangKey] = set()
        """Waiting gangs for which another cycle may find room or victims."""
        self.options: dict[GangKey, FlavorOption] = {}
        self._borrowing: set[GangKey] = set()
        self._charged: dict[PlacementUnit, Charge] = {}
        self._members: dict[str, Pod] = {}
        self._flavored: dict[FlavorAssignment, tuple[PlacementUnit, ...]] = {}
        self._evaluator.reclaim_requests = self.reclaim_requests
        self._decided.charge = self.charge

    # Which flavors a group may have.

    def plain_request(self, group: GangGroup, queue: Queue) -> Request | None:
        """Return the request of a group; None if more must be known before its turn.

        A request without assignments gets no turn. Computed once for a group until queues or nodes
        change.
        """
        if self._evaluator.departures.without(group) is not group or self._node_requests.stands(
            group
        ):
            return None
        return group.cached("plain", self.basis, functools.partial(self._plain, group, queue))

    def asks_as_known(self, line: KnownLine) -> bool:
        """Return whether no gang of a line asks for anything else than what is known of it.

        A gang that loses members may ask for more. Requested nodes, or a backfilled gang that has
        overrun, give a gang other rights.
        """
        others = (
            self._evaluator.departures.gangs,
            self._node_requests.asking,
            self.reclaim_requests.behind_overrun,
        )
        return not any(each and not line.gangs.isdisjoint(each) for each in others)

    def _plain(self, group: GangGroup, queue: Queue) -> Request | None:
        judged = self.requests.judged
        found = self._plain_of(group, queue)
        self._trial.effort.count(A_REQUEST + AN_OPTION * (self.requests.judged - judged))
        return found

    def _plain_of(self, group: GangGroup, queue: Queue) -> Request | None:
        has_begun = group.nominated or bool(group.started) or any(g.bound for g in group.gangs)
        if has_begun or any(gang.min_resources for gang in group.gangs):
            return None
        by_number = self.requests.without_members(group, queue)
        if by_number is not None:
            return self._unless_refused(by_number, group, queue)
        without_turn = Request(group, queue, (), ())
        verdict = eligibility.check(group, self._snapshot, self._trial)
        if verdict.refusals or self.queue_refusal(queue, group):
            return without_turn
        asked = self.requests.request_of(group, queue, verdict.units, holds=False, nominated=False)
        if isinstance(asked, Problem):
            return without_turn
        if asked.placed_singly or verdict.warnings:
            return None
        return _without_members(asked) if group.suspended else asked

    def _unless_refused(self, asked: Request | Problem, group: GangGroup, queue: Queue) -> Request:
        """Return the request of a group, without assignments if it gets no turn."""
        without_turn = Request(group, queue, (), ())
        if isinstance(asked, Problem) or self.queue_refusal(queue, group) is not None:
            return without_turn
        return without_turn if eligibility.refuses(group, self._snapshot, self._trial) else asked

    def queue_refusal(
        self, queue: Queue, group: GangGroup, *, holds: bool = False
    ) -> Problem | None:
        """Return why a queue does not admit a group; `holds` if the group has quota already."""
        if queue.ref.product not in self.declared.enforced:
            return None
        problem = limits.stop_problem(queue)
        if problem or holds:
            return problem
        return limits.admission_problem(queue, group, self.declared)

    def may_be_promised(self, group: GangGroup, queue: Queue) -> bool:
        """Return whether a group has waited long enough to be promised a start."""
        return self.reservations.may_get_one(group, queue.reservations.after_seconds)

    def with_quota(self, request: Request) -> list[FlavorAssignment]:
        """Return the assignments with quota."""
        if request.placed_singly:
            parts = (
                self._part_with_quota(request, assignment) for assignment in request.assignments
            )
            return [each for each in parts if each is not None]
        return [
            assignment
            for assignment in request.assignments
            if self.ledger.fits(request.ref, assignment.charge)
        ]

    def _part_with_quota(
        self, request: Request, assignment: FlavorAssignment
    ) -> FlavorAssignment | None:
        """Return the assignment for the part of the quorum that has quota; None if no part has."""
        if self.ledger.fits(request.ref, assignment.charge):
            return assignment
        required = [
            pod for unit in assignment.units for pod in unit.members if pod.uid in unit.required
        ]
        some, charge = self.payable(request.ref, assignment.option, required)
        uids = frozenset(pod.uid for pod in some)
        units = tuple(replace(unit, required=unit.required & uids) for unit in assignment.units)
        return FlavorAssignment(assignment.option, charge, units) if some else None

    def refusal_now(
        self, request: Request, assignments: Sequence[FlavorAssignment]
    ) -> Problem | None:
        """Return why the group cannot be admitted now, even if there were room."""
        queue, ref = request.queue, request.ref
        if ref.product not in self.declared.enforced:
            return None
        if not request.holds:
            running = self.ledger.running[ref]
            full = limits.job_limit_problem(queue, running)
            if full is not None:
                # If only victims of this cycle make the queue full, the group waits for their end.
                left = running - self.ledger.gone[ref]
                return limits.job_limit_problem(queue, left) or limits.turn_problem(queue)
        if not assignments:
            return self.shortages.problem_of(request)
        if not request.holds and all(
            limits.admission_checks(queue, assignment.option.names) for assignment in assignments
        ):
            names = limits.admission_checks(queue, assignments[0].option.names)
            return Problem(Reason.WAITING_FOR_CHECKS, ChecksUnanswered(ref.name, names))
        return None

    def without_pending_checks(
        self, request: Request, assignments: Sequence[FlavorAssignment]
    ) -> Sequence[FlavorAssignment]:
        """Return the assignments without an unanswered admission check."""
        if request.holds or request.ref.product not in self.declared.enforced:
            return assignments
        return [
            assignment
            for assignment in assignments
            if not limits.admission_checks(request.queue, assignment.option.names)
        ]

    # Charges of groups.

    def set_aside(self, group: GangGroup, problem: Problem) -> None:
        """Note why a group is not tried."""
        for each in refusals_of(group, problem):
            self._decided.refused[each.gang.key] = each

    def has_reserved_room(self, group: GangGroup) -> bool:
        """Return whether a group waits for pods to leave."""
        refused = self._decided.refused.get(group.waiting[0].key)
        return refused is not None and refused.reason is Reason.WAITING_FOR_VICTIMS

    def release_reserved(self, request: Request) -> Sequence[Nominated]:
        """Release the reserved room and quota of a group; it will be searched again."""
        nominations = self._evaluator.nominated_room.release(request.group.keys)
        if nominations:
            self.ledger.release(
                request.ref, self.requests.charge_of_nominated(request, nominations)
            )
        held = self._node_requests.held(request.group)
        if held:
            self.ledger.release(request.ref, held)
        return nominations

    def choose(self, request: Request, assignment: FlavorAssignment) -> None:
        """Record the assignment by which a group is charged."""
        key = request.group.gangs[0].key
        self.options[key] = assignment.option
        self._members.update((pod.uid, pod) for unit in request.units for pod in unit.members)
        if not request.holds:
            self.ledger.running[request.ref] += 1
        if self.forest.borrows(request.ref, assignment.charge):
            self._borrowing.add(key)

    def units_of(self, assignment: FlavorAssignment) -> tuple[PlacementUnit, ...]:
        """Return the units on the nodes of their flavors: the same objects each time."""
        if assignment not in self._flavored:
            confined = self.requests.confined
            units = assignment.option.units(assignment.units, self._snapshot, confined)
            if isinstance(units, Problem):
                raise AssertionError(units)
            if units != assignment.units:
                members = sum(len(unit.members) for unit in units)
                self._trial.effort.count(members / MEMBERS_A_LOOK)
            self._flavored[assignment] = units
        return self._flavored[assignment]

    def units_of_assignments(self, group: GangGroup) -> Iterator[tuple[PlacementUnit, ...]]:
        """Yield the units of a group that had a turn, on the nodes of each assignment."""
        yield from map(self.units_of, self.tried[group.gangs[0].key].assignments)

    def charge(self, unit: PlacementUnit, placement: Placement) -> None:
        """Charge a unit for its members with a place, and release its earlier charge."""
        group = self._decided.groups[unit.gangs[0].key]
        ref, option = group.queue or NONE, self.options[group.gangs[0].key]
        charge = option.charge_of(self._members[bind.pod.uid] for bind in placement.binds)
        before = self._charged.get(unit, {})
        self.reservations.note_placed(unit, group, placement)
        if charge != before:
            self.reservations.charge(unit, group, before, charge)
            self.ledger.release(ref, before)
            self.ledger.charge(ref, charge)
            self._charged[unit] = charge

    def payable(
        self, ref: QueueRef, option: FlavorOption, pods: Iterable[Pod]
    ) -> tuple[list[Pod], Charge]:
        """Return the pods for which there is quota, taken one after the other, and their charge."""
        some: list[Pod] = []
        charge: dict[FlavorResource, int] = {}
        refused: set[PodSetKey] = set()
        for pod in pods:
            key = podset_of(pod)
            if key in refused or key not in option.choices:
                continue
            more = option.charge({key: 1})
            with_it = {fr: charge.get(fr, 0) + more.get(fr, 0) for fr in {**charge, **more}}
            if self.ledger.fits(ref, with_it):
                some.append(pod)
                charge = with_it
            else:
                refused.add(key)
        return some, charge

    def place_surplus(self, group: GangGroup, *, moving: bool = True) -> None:
        """Place the surplus that has quota and room, and note why the rest waits."""
        key, ref = group.gangs[0].key, group.queue or NONE
        for unit in self._placing.surplus_in_time(group):
            there = {bind.pod.uid for bind in self._decided.placements[unit].binds}
            rest = [self._members[pod.uid] for pod in unit.members if pod.uid not in there]
            with self.reservations.kept_free(group):
                more, charge = self.payable(ref, self.options[key], rest)
                more = of_payable(unit, there, more)
                if more:
                    some = unit.only(there | {pod.uid for pod in more})
                    self._placing.grow(group, unit, some, moving=moving)
            if len(more) < len(rest):
                paid = {pod.uid for pod in more}
                unpaid = [pod for pod in rest if pod.uid not in paid]
                self._report_unpaid(group, unit, unpaid, charge)
        self._decided.report_full(group)

    def _report_unpaid(
        self, group: GangGroup, unit: PlacementUnit, unpaid: Sequence[Pod], charge: Charge
    ) -> None:
        """Record that the quota does not cover these members in addition to the others."""
        ref, option = group.queue or NONE, self.options[group.gangs[0].key]
        one = option.charge_of(unpaid[:1])
        short = self.ledger.shortage(ref, one)
        if short is None:
            short = self.ledger.shortage(ref, {fr: n + charge.get(fr, 0) for fr, n in one.items()})
        cause = cause_of(ref, short) if short else None
        why = Refused(unit.gangs[0], Reason.WAITING_FOR_QUOTA, (), cause=cause, left_over=True)
        self._decided.refused.leave_over(unit.only({pod.uid for pod in unpaid}), why)

    def make_room(self, group: GangGroup) -> None:
        """Nominate the missing members of a quorum, if there is or will be quota for them."""
        key, ref = group.gangs[0].key, group.queue or NONE
        lacking = self._placing.lacking(group)
        pods = [pod for unit in lacking for pod in unit.members if pod.uid in unit.required]
        charge = self.options[key].charge_of(self._members[pod.uid] for pod in pods)
        if not pods:
            return
        request, assignment = self.tried[key], FlavorAssignment(self.options[key], charge, lacking)
        asked = reclaim_request_of(group, ref, charge, self.charger(request, assignment))
        self.reservations.refresh()
        self._placing.make_room(group, replace(asked, may_take=self.may_take(request, [])))
        if self.has_reserved_room(group):
            self.ledger.charge(ref, charge)
            self.reservations.note_nominated(request, assignment)

    def may_take(self, request: Request, delaying: list[DelaysReserved]) -> MayTake:
        """Return a function that refuses plans delaying a promised start, and records the delay."""
        placements: list[Placement] = []
        victims: list[BoundPod] = []
        charge: Counter[FlavorResource] = Counter()

        def may_take(
            reclaim_request: ReclaimRequest, more: Sequence[Placement], gone: Sequence[BoundPod]
        ) -> bool:
            # If each member is a gang of its own, quota is asked for one by one: the members before
            # it count.
            eviction = Eviction(
                [*placements, *more],
                charge + Counter(reclaim_request.charge),
                [*victims, *gone],
                within=not self.reclaim_requests.borrows(reclaim_request, gone),
            )
            delayed = self.reservations.delayed_by_eviction(request, eviction)
            if delayed is not None:
                delaying.append(delayed)
                return False
            placements.extend(more)
            victims.extend(gone)
            charge.update(reclaim_request.charge)
            return True

        return may_take

    def charger(
        self, request: Request, assignment: FlavorAssignment
    ) -> Callable[[Iterable[Pod]], Charge]:
        """Return a function that computes the charge of pods from their declared requests."""
        as_they_are = {pod.uid: pod for unit in request.units for pod in unit.members}
        return lambda pods: assignment.option.charge_of(as_they_are[pod.uid] for pod in pods)

    def with_charges(self, plan: Plan) -> Plan:
        """Return a plan with its original pods, and with the flavors in which they are charged."""
        return replace(
            plan,
            reservations=self.reservations.all(),
            without_start=frozenset(self.reservations.without_start),
            without_right=frozenset(self._without_right()),
            unsearched=frozenset(self.unsearched),
            placed=tuple(map(self._with_flavors, plan.placed)),
            preemptions=tuple(map(self._as_they_are, plan.preemptions)),
        )

    def _without_right(self) -> Iterator[GangKey]:
        """Yield the refused gangs that may evict none, whichever others start elsewhere."""
        if self.reclaim_requests.is_idle:
            return
        tried = ([gang.key for gang in each.group.waiting] for each in self.tried.values())
        alike = ([key] for key in self.alike)
        requests = (*self.tried.values(), *self.alike.values())
        for keys, request in zip((*tried, *alike), requests, strict=True):
            refused = [key for key in keys if key in self._decided.refused]
            if refused and not any(
                self.reclaim_requests.reach(
                    reclaim_request_of(request.group, request.ref, assignment.charge)
                ).later
                for assignment in request.assignments
            ):
                yield from refused

    def _with_flavors(self, placed: Placed) -> Placed:
        key = self._decided.groups[placed.gang.key].gangs[0].key
        binds = tuple(self._bind(key, bind) for bind in placed.binds)
        backfilled = self.reservations.backfilled.get(key)
        return replace(placed, binds=binds, borrows=key in self._borrowing, backfilled=backfilled)

    def _as_they_are(self, preemption: Preemption) -> Preemption:
        nominations, backfilled = preemption.nominations, None
        if preemption.gangs and nominations:
            key = self._decided.groups[preemption.gangs[0].key].gangs[0].key
            backfilled = self.reservations.backfilled.get(key)
            nominations = tuple(self._bind(key, bind) for bind in nominations)
        displaced = tuple(
            replace(self._members.get(pod.uid, pod), nominated=pod.nominated)
            for pod in preemption.displaced
        )
        return replace(
            preemption, nominations=nominations, displaced=displaced, backfilled=backfilled
        )

    def _bind(self, key: GangKey, bind: Bind) -> Bind:
        pod = self._members[bind.pod.uid]
        return replace(bind, pod=pod, flavors=self.options[key].flavors_of(pod))


def _without_members(asked: Request) -> Request:
    """Return the request without units: many suspended groups wait, and few get a turn."""
    assignments = tuple(replace(assignment, units=()) for assignment in asked.assignments)
    asked.group.forget_members()
    return replace(asked, units=(), assignments=assignments)


def refusals_of(group: GangGroup, problem: Problem) -> tuple[Refused, ...]:
    """Return the refusals of a group. The same problem gives the same objects as before."""
    compute = functools.partial(_refusals, group.waiting, problem)
    return group.cached("set_aside", (problem,), compute)


def _refusals(gangs: Iterable[Gang], problem: Problem) -> tuple[Refused, ...]:
    return tuple(Refused(gang, problem.reason, gang.pending, cause=problem.cause) for gang in gangs)
