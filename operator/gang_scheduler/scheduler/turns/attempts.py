"""Tries one group within the quota of its queue.

A try looks for flavors that have quota and room at the same time. Its result is charged at once, so
all later tries in the cycle see it.
"""

import math
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from operator import itemgetter
from typing import Final

from gang_scheduler.model.api_words import FlavorPreference
from gang_scheduler.model.causes.queues import DelaysReserved
from gang_scheduler.model.gangs import GangGroup
from gang_scheduler.model.plan import Misfit, PreemptionOutcome, PreemptionVerdict
from gang_scheduler.model.queues import Charge, Fungibility, ProvisioningRules
from gang_scheduler.model.reasons import Problem, Reason
from gang_scheduler.model.refs import GangKey
from gang_scheduler.model.snapshot import Nominated
from gang_scheduler.scheduler import provisioning
from gang_scheduler.scheduler.place_or_preempt import Placing, preemption_key
from gang_scheduler.scheduler.placement.anywhere import release
from gang_scheduler.scheduler.placement.placement_units import PlacementUnit, with_quorum
from gang_scheduler.scheduler.provisioning import Labels, Step
from gang_scheduler.scheduler.quorums import Outcome
from gang_scheduler.scheduler.reclaim.request import ReclaimRequest, reclaim_request_of
from gang_scheduler.scheduler.trial import Placement
from gang_scheduler.scheduler.turns.quota import Quota
from gang_scheduler.scheduler.turns.requests import FlavorAssignment, Request, podset_of

NO_VICTIMS: Final = PreemptionVerdict.NO_VICTIMS
Unfit = tuple[PlacementUnit, Misfit]


@dataclass(eq=False)
class Attempt:
    """One attempt to place a group.

    `full` are the assignments without room, with the reasons, and `outcomes` the results of
    evictions. `delaying` are reserved gangs that would be delayed, one for each assignment.
    `unpaid` are the assignments without quota, if evictions may free some. `since` is how much work
    the cycle had done before; `cut_off`: there was no time for all assignments.
    """

    request: Request
    nominations: Sequence[Nominated]
    evicting: bool
    since: float = 0
    cut_off: bool = False
    full: list[tuple[FlavorAssignment, Unfit]] = field(default_factory=list)
    unpaid: list[FlavorAssignment] = field(default_factory=list)
    outcomes: dict[FlavorAssignment, PreemptionOutcome] = field(default_factory=dict)
    delaying: list[DelaysReserved] = field(default_factory=list)


class Attempts:
    """Finds flavors with quota and room for one group at a time."""

    def __init__(self, placing: Placing, quota: Quota) -> None:
        self._placing = placing
        self._progress = placing.progress
        self._quota = quota
        self._decided = placing.decided
        self._trial = placing.trial
        self._evaluator = placing.evaluator
        self._known_misfits = placing.known_misfits
        self._ledger = quota.ledger
        self._reservations = quota.reservations
        self._delaying: dict[Hashable, tuple[DelaysReserved, int]] = {}
        """The gang that similar groups would delay, and how many trials it took to find this."""
        self._asked_for: dict[GangKey, Charge] = {}
        """The charges of groups that wait for new nodes, by the first waiting gang of each."""
        # The lowest priority for which it is known that something does not fit.
        self._failed_at: float = math.inf

    def place_again(self, group: GangGroup) -> None:
        """Place the quorums of a group that was tried before, without evictions."""
        before = {gang.key: self._decided.refused.get(gang.key) for gang in group.waiting}
        request = self._quota.tried[group.gangs[0].key]
        asked = self._asked_for.get(group.waiting[0].key, {})
        self._ledger.release(request.ref, asked)
        self.attempt(Attempt(request, (), evicting=False))
        if group.waiting[0].key not in self._decided.gangs:
            self._ledger.charge(request.ref, asked)
            whys = {key: why for key, why in before.items() if why is not None}
            self._decided.refused.update(whys)

    def ask_for_nodes(self, trying: Attempt) -> None:
        """Request nodes for a group that has quota and lacks room, and charge it for them."""
        request, group = trying.request, trying.request.group
        node_requests = self._placing.node_requests
        if not (node_requests.may_ask(group, request.queue) and self._placing.may_ask(group)):
            return
        if group.waiting[0].key in self._quota.unsearched and not node_requests.stands(group):
            return
        found = self._assignment_to_ask(trying)
        if found is None:
            return
        assignment, rules = found
        judgement = node_requests.consider(
            *(group, assignment.units, rules),
            labels=_labels_of(assignment),
            flavors_of=assignment.option.flavors_of,
        )
        if judgement is None:
            return
        self._decided.refused |= provisioning.with_judgement(
            group, self._decided.refused, judgement
        )
        if judgement.step in (Step.ASK, Step.STAND):
            self._asked_for[group.waiting[0].key] = assignment.charge
            self._ledger.charge(request.ref, assignment.charge)
            if not request.holds:
                self._ledger.running[request.ref] += 1

    def _assignment_to_ask(
        self, trying: Attempt
    ) -> tuple[FlavorAssignment, ProvisioningRules] | None:
        """Return the first assignment that has quota and for which nodes can be requested.

        The assignment of the last request for nodes is tried first.
        """
        group, queue = trying.request.group, trying.request.queue
        assignments = []
        for assignment, _ in trying.full:
            rules = provisioning.rules_of(group, queue, assignment.option.names)
            if rules is not None and assignment not in trying.unpaid:
                assignments.append((assignment, rules))
        asked = {each.digest for each in self._placing.node_requests.known(group) if each.stands}
        for assignment, rules in assignments if asked else ():
            if (
                self._placing.node_requests.digest_of(
                    assignment.units, rules, _labels_of(assignment)
                )
                in asked
            ):
                return assignment, rules
        return assignments[0] if assignments else None

    def attempt(self, trying: Attempt) -> None:
        """Find flavors with quota and room for a group, and charge the group for them."""
        request = trying.request
        trying.since = self._trial.effort.done
        self._placing.open_spare(request.group)
        self._quota.tried[request.group.gangs[0].key] = request
        self._reservations.refresh()
        alike, before = self._likeness(trying), self._reservations.trials.of(request.group)
        known = self._delaying.get(alike) if alike is not None else None
        if known is not None:
            cause, trials = known
            self._reservations.trials.count(request.group, trials)
            self._quota.set_aside(request.group, Problem(Reason.WAITING_FOR_TURN, cause))
            return
        assignments = self._quota.with_quota(request)
        problem = self._quota.refusal_now(request, assignments)
        short = problem is not None and problem.reason is Reason.WAITING_FOR_QUOTA
        if (problem is None or (short and trying.evicting)) and self._find(trying, assignments):
            return
        if trying.cut_off:
            self._leave_unsearched(trying)
        if trying.delaying:
            problem = Problem(Reason.WAITING_FOR_TURN, trying.delaying[0])
            self._quota.set_aside(request.group, problem)
            if alike is not None and not (trying.cut_off or trying.full):
                trials = self._reservations.trials.of(request.group) - before
                self._delaying[alike] = trying.delaying[0], trials
            return
        if problem is None:
            self._refuse_all(trying)
            return
        self._quota.set_aside(request.group, problem)
        if short and trying.evicting:
            self._ledger.keep(
                request.queue, [assignment.charge for assignment in request.assignments]
            )

    def _likeness(self, trying: Attempt) -> Hashable | None:
        """Return a key shared by groups that would delay the promised gang in the same way.

        It changes whenever room or quota does. None for a group that is unique, or if several gangs
        are promised a start.
        """
        request, group = trying.request, trying.request.group
        promise = self._reservations.likeness(group)
        if promise is None or not trying.evicting or trying.nominations or request.holds:
            return None
        if len(request.assignments) != 1 or len(group.waiting) > 1:
            return None
        if any(unit.gains for unit in request.units):
            return None
        alike = preemption_key(group, request.units, self._evaluator.pools.own(group))
        if alike is None:
            return None
        state = (
            self._quota.reclaim_requests.state,
            self._known_misfits.generation,
            len(self._decided.gangs),
            len(self._evaluator.preemptions),
        )
        return request.kind, alike, promise, state

    def _find(self, trying: Attempt, paid: Sequence[FlavorAssignment]) -> bool:
        """Take the best assignment by the rules of the queue; return whether there is one.

        The `paid` assignments have quota; for the others, evictions may free it.
        """
        request = trying.request
        rules = request.queue.fungibility
        trying.unpaid = self._unpaid(trying, paid)
        assignments = self._quota.without_pending_checks(
            request, in_order(request, [*paid, *trying.unpaid])
        )
        if trying.nominations:
            assignments = sorted(
                assignments, key=lambda assignment: not self._suits(assignment, trying.nominations)
            )
        evicts_first = rules.preference is FlavorPreference.PREEMPTION_OVER_BORROWING
        judged, borrowing = [], []
        for assignment in self._in_time(trying, assignments):
            judged.append(assignment)
            borrows = self._quota.forest.borrows(request.ref, assignment.charge)
            if borrows and (evicts_first or not rules.stop_when_borrowing):
                # Assignments that borrow are taken only if no other one is. Where room does not
                # matter before, it is looked for when the assignment is taken.
                needs_room = evicts_first or rules.stop_when_evicting
                if not needs_room or self._has_room(trying, assignment):
                    borrowing.append(assignment)
            elif self._places(trying, assignment):
                return True
            if self._is_last(rules, trying, assignment, borrows=assignment in borrowing):
                break
        if evicts_first and self._evicts(trying, judged, borrowing=False):
            return True
        if any(self._places(trying, each) for each in self._in_time(trying, borrowing)):
            return True
        return self._evicts(trying, judged)

    def _in_time(
        self, trying: Attempt, assignments: Sequence[FlavorAssignment]
    ) -> Iterator[FlavorAssignment]:
        """Yield assignments while the cycle has time for the group; note if there are more."""
        number = 0
        for assignment in self._progress.options_in_time(assignments, trying.since):
            number += 1
            yield assignment
        trying.cut_off |= number < len(assignments)

    def _is_last(
        self, rules: Fungibility, trying: Attempt, assignment: FlavorAssignment, *, borrows: bool
    ) -> bool:
        """Return whether no further flavor is tried after this one."""
        if borrows:
            return rules.stop_when_borrowing
        return rules.stop_when_evicting and bool(
            self._by_class(trying, [assignment], borrowing=True)
        )

    def _unpaid(self, trying: Attempt, paid: Sequence[FlavorAssignment]) -> list[FlavorAssignment]:
        """Return the assignments without quota, if evictions may free some."""
        if not trying.evicting:
            return []
        options = {assignment.option for assignment in paid}
        return [
            assignment
            for assignment in trying.request.assignments
            if assignment.option not in options
        ]

    def _has_room(self, trying: Attempt, assignment: FlavorAssignment) -> bool:
        """Return whether an assignment with quota has room, and leave that room free."""
        if assignment in trying.unpaid:
            return False
        units = self._quota.units_of(assignment)
        replacing = trying.request.group.replacing
        known = None if replacing else self._known_misfits.known(units)
        outcome = known or self._placing.quorums.in_any_order(units)
        if not isinstance(outcome, dict):
            if not (known or replacing or trying.nominations):
                outcome = self._known_misfits.record(units, *outcome)
            trying.full.append((assignment, outcome))
            return False
        for placement in outcome.values():
            release(placement, self._trial)
        return True

    def _places(self, trying: Attempt, assignment: FlavorAssignment) -> bool:
        """Take room for the quorums on the nodes of their flavors, if there is enough."""
        if assignment in trying.unpaid:
            return False
        request, units = trying.request, self._quota.units_of(assignment)
        group, ref = request.group, request.ref
        outcome = self._find_place(group, units, trying.nominations)
        if isinstance(outcome, dict) and not self._ledger.fits(
            ref, self._charge(assignment, outcome)
        ):
            # Other members than the first in rank request more: quota was checked only for the
            # first.
            for placement in outcome.values():
                release(placement, self._trial)
            outcome = self._placing.quorums.as_preemptors(units)
        if not isinstance(outcome, dict):
            trying.full.append((assignment, outcome))
            return False
        delayed = self._reservations.delayed(request, assignment, [*outcome.values()])
        if delayed is not None:
            beside = self._beside_reserved(request, assignment, outcome)
            if beside is None:
                trying.delaying.append(delayed)
                return False
            outcome = beside
        self._quota.choose(request, assignment)
        self._decided.units[group.gangs[0].key] = units
        self._decided.keep(group, outcome)
        return True

    def _beside_reserved(
        self,
        request: Request,
        assignment: FlavorAssignment,
        best: Mapping[PlacementUnit, Placement],
    ) -> dict[PlacementUnit, Placement] | None:
        """Place the quorums where they delay no reserved gang; None if that is impossible.

        `best` is their place if they might delay others; it is released here.
        """
        for placement in best.values():
            release(placement, self._trial)
        found: Outcome | None = None
        with self._reservations.kept_free(request.group):
            if self._ledger.fits(request.ref, assignment.charge):
                found = self._placing.quorums.in_any_order(self._quota.units_of(assignment))
        if not isinstance(found, dict):
            return None
        if self._reservations.delayed(request, assignment, [*found.values()]) is None:
            return found
        for placement in found.values():
            release(placement, self._trial)
        return None

    def _charge(
        self, assignment: FlavorAssignment, outcome: Mapping[PlacementUnit, Placement]
    ) -> Charge:
        pods = {pod.uid: pod for unit in assignment.units for pod in unit.members}
        binds = (bind for placement in outcome.values() for bind in placement.binds)
        return assignment.option.charge_of(pods[bind.pod.uid] for bind in binds)

    def _find_place(
        self, group: GangGroup, units: Sequence[PlacementUnit], nominations: Sequence[Nominated]
    ) -> Outcome:
        """Take room for the quorums, unless equal quorums of no lower priority did not fit."""
        if group.priority > self._failed_at and self._evaluator.displaceable(group):
            self._known_misfits.clear()
            self._failed_at = group.priority
        outcome = self._placing.find_place(group, units, nominations)
        if not isinstance(outcome, dict):
            self._failed_at = min(self._failed_at, group.priority)
        return outcome

    def _evicts(
        self, trying: Attempt, assignments: Sequence[FlavorAssignment], *, borrowing: bool = True
    ) -> bool:
        """Reserve the room and quota of leaving pods or victims, if any assignment fits then.

        If several fit, the one with victims of the lowest class is taken. Unless `borrowing`, the
        queue must stay within its promise.
        """
        left = self._short_of(trying, assignments)
        if len(left) > 1 or not borrowing:
            left = self._by_class(trying, left, borrowing=borrowing)
        return any(self._evicts_in(trying, assignment) for assignment in left)

    def _short_of(
        self, trying: Attempt, assignments: Sequence[FlavorAssignment]
    ) -> list[FlavorAssignment]:
        """Return assignments that lack room or quota and for which no evictions were tried yet."""
        short = (
            {assignment for assignment, _ in trying.full} | set(trying.unpaid)
            if trying.evicting
            else ()
        )
        return [
            assignment
            for assignment in assignments
            if assignment in short and assignment not in trying.outcomes
        ]

    def _by_class(
        self, trying: Attempt, assignments: Sequence[FlavorAssignment], *, borrowing: bool
    ) -> list[FlavorAssignment]:
        """Return the assignments for which evictions help, lower eviction classes first."""
        found = []
        effort = self._trial.effort
        for assignment in self._short_of(trying, assignments):
            if effort.is_over() and not (self._evaluator.departures.room or trying.nominations):
                self._leave_unsearched(trying)
                break
            units = with_quorum(self._quota.units_of(assignment))
            foreseen = self._evaluator.foreseen(
                trying.request.group, units, self._reclaim_request(trying.request, assignment)
            )
            if foreseen is None and effort.cut_off:
                self._leave_unsearched(trying)
            if foreseen is not None and (borrowing or not foreseen.borrows):
                found.append((foreseen.highest_class, assignment))
        return [assignment for _, assignment in sorted(found, key=itemgetter(0))]

    def _leave_unsearched(self, trying: Attempt) -> None:
        """Note that another cycle may find room or victims for a group."""
        self._quota.unsearched.update(gang.key for gang in trying.request.group.waiting)

    def _evicts_in(self, trying: Attempt, assignment: FlavorAssignment) -> bool:
        request, group, quota = trying.request, trying.request.group, self._quota
        units = with_quorum(quota.units_of(assignment))
        may_take = quota.may_take(request, trying.delaying)
        reclaim_request = replace(self._reclaim_request(request, assignment), may_take=may_take)
        outcome = self._placing.make_room_for(group, units, trying.nominations, reclaim_request)
        trying.nominations = ()
        trying.outcomes[assignment] = outcome
        if not outcome.waits:
            if outcome.cut_off:
                self._leave_unsearched(trying)
            return False
        quota.unsearched.difference_update(gang.key for gang in group.waiting)
        full = next((why for each, why in trying.full if each is assignment), None)
        if full is not None:
            self._placing.refuse(group, *_with_cut_off(trying, full), options=self._options(trying))
        else:
            quota.set_aside(
                group, quota.shortages.problem_of(replace(request, assignments=(assignment,)))
            )
        self._decided.refused.note_preemption(group, outcome)
        quota.choose(request, assignment)
        self._ledger.charge(request.ref, self._charge_of_nominated(request, assignment))
        self._reservations.note_nominated(request, assignment)
        return True

    def _reclaim_request(self, request: Request, assignment: FlavorAssignment) -> ReclaimRequest:
        """Return the reclaim request of a group for one assignment."""
        return reclaim_request_of(
            request.group, request.ref, assignment.charge, self._quota.charger(request, assignment)
        )

    def _charge_of_nominated(self, request: Request, assignment: FlavorAssignment) -> Charge:
        room = self._evaluator.nominated_room
        binds = (bind for gang in request.group.waiting for bind in room.binds(gang.key))
        return self._quota.charger(request, assignment)(bind.pod for bind in binds)

    def _refuse_all(self, trying: Attempt) -> None:
        """Record why the first assignment with nodes has no room, and why none can be made."""
        group = trying.request.group
        order = {assignment: place for place, assignment in enumerate(trying.request.assignments)}
        trying.full.sort(key=lambda each: order.get(each[0], 0))
        self._evaluator.nominated_room.keep(() if trying.evicting else trying.nominations)
        empty = self._quota.requests.empty_flavors
        assignment, unfit = min(trying.full, key=lambda each: len(empty(trying.request, each[0])))
        empty_flavors = empty(trying.request, assignment)
        options = self._options(trying)
        self._placing.refuse(group, *_with_cut_off(trying, unfit), empty_flavors, options=options)
        tried = (
            trying.outcomes[assignment]
            for assignment, _ in trying.full
            if assignment in trying.outcomes
        )
        told = next((each for each in tried if each.verdict is not NO_VICTIMS), None)
        if told is not None:
            self._decided.refused.note_preemption(group, told)

    def _options(self, trying: Attempt) -> Iterable[Sequence[PlacementUnit] | None]:
        """Return the units of all assignments; None if there is no time for all of them."""
        return (None,) if trying.cut_off else self._quota.units_of_assignments(trying.request.group)

    def _suits(self, assignment: FlavorAssignment, nominations: Sequence[Nominated]) -> bool:
        """Return whether all nominated nodes belong to the flavors."""
        return all(
            self._quota.requests.is_of(assignment.option, each.pod, each.pod.nominated)
            for each in nominations
        )


def _with_cut_off(trying: Attempt, unfit: Unfit) -> Unfit:
    """Return the misfit, marked as cut off if part of the search was skipped."""
    unit, misfit = unfit
    return unit, replace(misfit, cut_off=misfit.cut_off or trying.cut_off)


def _labels_of(assignment: FlavorAssignment) -> Labels:
    """Return the labels that nodes of members must have because of their flavors."""
    chosen = (
        (pod.uid, assignment.option.choices.get(podset_of(pod)))
        for u in assignment.units
        for pod in u.members
    )
    return {uid: choice.labels for uid, choice in chosen if choice is not None and choice.labels}


def in_order(request: Request, assignments: Sequence[FlavorAssignment]) -> list[FlavorAssignment]:
    """Return assignments in the order of the flavors of the queue."""
    order = {assignment.option: place for place, assignment in enumerate(request.assignments)}
    return sorted(assignments, key=lambda assignment: order[assignment.option])
