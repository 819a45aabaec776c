"""Finds room for one group, and preempts for it. `cycle` decides the order of the groups."""

import functools
import operator
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Protocol

from gang_scheduler.model.causes.devices import ClaimInvalid
from gang_scheduler.model.gangs import GangGroup
from gang_scheduler.model.plan import (
    EmptyFlavor,
    Failure,
    Misfit,
    Plan,
    PreemptionOutcome,
    PreemptionVerdict,
    Refused,
)
from gang_scheduler.model.pods import Pod
from gang_scheduler.model.reasons import Problem, Reason
from gang_scheduler.model.refs import GangKey
from gang_scheduler.model.snapshot import Nominated, Snapshot
from gang_scheduler.scheduler import eligibility, provisioning, spare_nodes
from gang_scheduler.scheduler.cycle_decisions import Decided, KnownMisfits, Progress
from gang_scheduler.scheduler.devices.outcomes import Refused as RefusedClaim
from gang_scheduler.scheduler.empty_cluster import EmptyCluster
from gang_scheduler.scheduler.placement.anywhere import assume_again, release
from gang_scheduler.scheduler.placement.placement_units import PlacementUnit, with_quorum
from gang_scheduler.scheduler.policies import Profile
from gang_scheduler.scheduler.preemption.evaluator import PreemptionEvaluator
from gang_scheduler.scheduler.provisioning import NodeRequests
from gang_scheduler.scheduler.quorums import Outcome, Quorums
from gang_scheduler.scheduler.reclaim.request import ReclaimRequest
from gang_scheduler.scheduler.surplus import Surplus, in_steps, not_searched
from gang_scheduler.scheduler.trial import Placement, Trial

_GAINS = operator.attrgetter("gains")


class PlaceSurplus(Protocol):
    """Places the surplus of a group. Quorums stay on their nodes unless `moving`."""

    def __call__(self, group: GangGroup, *, moving: bool) -> None:
        """Place as much as fits, and note why the rest does not."""


class Placing:
    """Finds room for groups, and makes room for them, on one trial.

    The decisions go to `decided`. `watch`, if given, is called before a group is decided. The work
    has no limit with `to_the_end`.
    """

    def __init__(
        self, snapshot: Snapshot, profile: Profile, decided: Decided, *, to_the_end: bool = False
    ) -> None:
        self.snapshot = snapshot
        self.profile = profile
        self.decided = decided
        self.trial = Trial(snapshot)
        if profile.rules.gangs.spare_nodes:
            self.trial.keep(spare_nodes.kept(snapshot, profile.rules.gangs.spare_nodes))
        self.progress = Progress(decided, self.trial.effort, to_the_end=to_the_end)
        self.watch: Callable[[GangGroup], None] | None = None
        self.quorums = Quorums(self.trial, profile)
        self.evaluator = PreemptionEvaluator(snapshot, self.trial, profile)
        self.failed_preemptions: dict[Hashable, PreemptionOutcome] = {}
        self.known_misfits = KnownMisfits(snapshot.nodes)
        self.node_requests = NodeRequests(snapshot, self.trial.effort)
        self._unanswered: dict[GangKey, tuple[GangGroup, Sequence[PlacementUnit], Misfit]] = {}
        """Gangs that do not fit, and for which the empty cluster is not searched yet."""

    @functools.cached_property
    def surplus(self) -> Surplus:
        """Places the surplus of elastic gangs."""
        return Surplus(self.trial, self.profile)

    @functools.cached_property
    def empty_cluster(self) -> EmptyCluster:
        """Says whether a group that does not fit would fit if no pod ran."""
        return EmptyCluster(self.snapshot, self.profile)

    def admitted(self, group: GangGroup) -> GangGroup | None:
        """Return the group without departing members; None if it is refused, with reasons."""
        decided = self.decided
        group = decided.deciding = self.evaluator.departures.without(group)
        # This runs for every waiting gang, in each cycle.
        nominations: Sequence[Nominated] = ()
        if group.has_min_resources:
            # Room that is reserved for lower priorities counts for this group's minResources.
            nominations = self.evaluator.nominated_room.release(self.evaluator.displaceable(group))
        verdict = eligibility.check(group, self.snapshot, self.trial)
        if nominations:
            self.evaluator.nominated_room.keep(nominations)
        for gang in group.gangs:
            decided.groups[gang.key] = group
        decided.units[group.gangs[0].key] = verdict.units
        if verdict.refusals:
            decided.refused |= {each.gang.key: each for each in verdict.refusals}
        if verdict.warnings:
            decided.warned += verdict.warnings
        return None if verdict.refusals else group

    def place_quorums(self, group: GangGroup) -> None:
        """Place the quorum of every gang of the group, or of none."""
        # This runs for every waiting gang, in each cycle.
        if self.watch is not None or self.trial.spare is not None:
            self.show(group)
        nominations = self.evaluator.nominated_room.release(group.keys)
        units = self.decided.units[group.gangs[0].key]
        outcome = self.find_place(group, units, nominations)
        if isinstance(outcome, dict):
            self.decided.keep(group, outcome)
            return
        self.evaluator.nominated_room.keep(nominations)
        unit, misfit = outcome
        problem = self.invalid_claim((unit,))
        if problem is not None:
            self.decided.refused.note_problem(group, problem)
            return
        # A group that may evict pods yet needs no search of the empty cluster.
        self.decided.refused.note_misfit(group, unit, misfit, None, ())
        self._unanswered[unit.gangs[0].key] = group, units, misfit

    def show(self, group: GangGroup) -> None:
        """Open spare nodes to the group, or close them, and call `watch`."""
        self.open_spare(group)
        if self.watch is not None:
            self.watch(group)

    def open_spare(self, group: GangGroup) -> None:
        """Open spare nodes to a group that replaces lost members, and close them to others."""
        self.trial.open_spare(replacing=self.trial.spare is not None and group.replacing)

    def find_place(
        self, group: GangGroup, units: Sequence[PlacementUnit], nominations: Sequence[Nominated]
    ) -> Outcome:
        """Take room for the quorums, unless equal ones are known not to fit.

        `nominations` is the group's reserved room, which is released now.
        """
        # With room or nodes of its own, the group may fit where equal ones did not.
        has_more = bool(nominations) or self.trial.has_open_spare
        known = None if has_more else self.known_misfits.known(units)
        if known is not None:
            return known
        # On the nominated nodes, in free room, or in room that lower priorities wait for.
        nominated = self.quorums.as_nominated(units, nominations) if nominations else None
        outcome = nominated or self.quorums.in_any_order(units)
        if isinstance(outcome, tuple):
            outcome = self._in_room_kept_for_others(group, units) or outcome
        if isinstance(outcome, dict) and self.invalid_claim(units) is not None:
            # As in Kubernetes, a selector that fails on a device is at fault, even if other nodes
            # would do.
            for placement in outcome.values():
                release(placement, self.trial)
            blamed = units[0]
            misfit = Misfit(len(self.trial.nodes), fits=0, needs=blamed.at_least, rejections=())
            outcome = blamed, misfit
        if isinstance(outcome, dict):
            if nominations:
                self._give_up_room()
        elif not has_more:
            outcome = self.known_misfits.record(units, *outcome)
        return outcome

    def invalid_claim(self, units: Sequence[PlacementUnit]) -> Problem | None:
        """Return the fault of a claim that a search for devices found in this cycle."""
        failed = self.trial.devices.free_devices.failed
        for pod in (pod for unit in units for pod in unit.members) if failed else ():
            needs = pod.pod_class.devices
            if needs in failed:
                return _problem_of(pod, failed[needs])
        return None

    def make_room(self, group: GangGroup, request: ReclaimRequest | None = None) -> None:
        """Nominate the group to room that pods are leaving or must leave, if that is enough."""
        if self.trial.spare is not None:
            self.open_spare(group)
        units = self.lacking(group)
        nominations = self.evaluator.nominated_room.release(group.keys)
        outcome = self.make_room_for(group, units, nominations, request)
        if outcome.verdict not in (PreemptionVerdict.NO_VICTIMS, PreemptionVerdict.PROMISED):
            self.decided.refused.note_preemption(group, outcome)

    def lacking(self, group: GangGroup) -> tuple[PlacementUnit, ...]:
        """Return the units with the parts of their quorums that have no place."""
        # Units without a quorum are handled with the surplus.
        units = with_quorum(self.decided.units[group.gangs[0].key])
        if group.gangs[0].key in self.decided.in_part:
            return tuple(_partially_bound(units, self.decided.placements))
        return units

    def make_room_for(
        self,
        group: GangGroup,
        units: Sequence[PlacementUnit],
        nominations: Sequence[Nominated],
        request: ReclaimRequest | None = None,
    ) -> PreemptionOutcome:
        """Reserve room that pods are leaving or must leave for the quorums, if that is enough.

        With a `request`, quota must be enough, too.
        """
        alike = (
            None if nominations else preemption_key(group, units, self.evaluator.pools.own(group))
        )
        if alike and request is not None:
            alike = alike, self._judged_by(request)
        outcome = self.failed_preemptions.get(alike)
        if outcome is None:
            outcome = self._attempt(group, units, nominations, request)
            if outcome.waits:
                # Room that was reserved for lower priorities may be free now.
                self.known_misfits.clear()
            elif nominations:
                self._give_up_room()
            elif alike and outcome.verdict is not PreemptionVerdict.PROMISED:
                # After `PROMISED`, an equal group is tried: it may end before the promised start.
                self.failed_preemptions[alike] = outcome
        return outcome

    def _judged_by(self, request: ReclaimRequest) -> Hashable:
        """Return the parts of a request that decide about evictions."""
        return frozenset(request.charge.items()), request.priority, request.created_at

    def _attempt(
        self,
        group: GangGroup,
        units: Sequence[PlacementUnit],
        nominations: Sequence[Nominated],
        request: ReclaimRequest | None,
    ) -> PreemptionOutcome:
        """Preempt for the whole missing quorum, or else for each pod that is a gang of its own."""
        outcome = self.evaluator.attempt(group, units, nominations, request)
        if (
            outcome.waits
            or units[0].quorum == 1
            or not all(gang.each_alone for gang in group.waiting)
        ):
            return outcome
        return self.evaluator.attempt_each(group, units[0], nominations, request)

    def _give_up_room(self) -> None:
        """Record that a gang's room is no longer reserved: other gangs may fit there."""
        self.known_misfits.clear()
        self.failed_preemptions.clear()

    def ask_for_nodes(self, group: GangGroup) -> None:
        """Request new nodes for a group that lacks only room, if a provisioning class is set."""
        rules = provisioning.rules_of(group)
        if rules is not None and self.node_requests.may_ask(group) and self.may_ask(group):
            judgement = self.node_requests.consider(
                group, self.decided.units[group.gangs[0].key], rules
            )
            if judgement is not None:
                refused = self.decided.refused
                refused |= provisioning.with_judgement(group, refused, judgement)

    def may_ask(self, group: GangGroup) -> bool:
        """Return whether a group lacks only room, and eviction cannot make it.

        New nodes are not requested before that is certain. But an existing request is kept.
        """
        refused = self.decided.refused
        if group.waiting[0].key in self.decided.gangs:
            return False
        if not provisioning.lacks_only_room(group, refused):
            return False
        return self.node_requests.stands(group) or provisioning.was_searched(group, refused)

    def place_surplus(self, group: GangGroup, *, moving: bool = True) -> None:
        """Place the surplus that fits, and note why the rest does not."""
        if self.trial.spare is not None:
            self.trial.open_spare(replacing=False)
        for unit in self.surplus_in_time(group):
            self.grow(group, unit, unit, moving=moving)
        self.decided.report_full(group)

    def surplus_in_time(self, group: GangGroup) -> Iterator[PlacementUnit]:
        """Yield units with surplus members left, while the group's part of the cycle lasts.

        For the members of other units it is noted that they were not searched for.
        """
        units, searched = self.decided.with_surplus(group), set()
        for unit in self.progress.options_in_time(units, self.trial.effort.done):
            searched.add(unit)
            yield unit
        for unit in units:
            if unit not in searched:
                rest = unit.after(self.decided.placements[unit].binds)
                self._leave_over(rest, not_searched(rest, self.trial))

    def _leave_over(self, rest: PlacementUnit, misfit: Misfit) -> None:
        """Note why surplus members wait."""
        refused = Refused(rest.gangs[0], Reason.UNSCHEDULABLE, (), misfit, left_over=True)
        self.decided.refused.leave_over(rest, refused)

    def grow(
        self, group: GangGroup, unit: PlacementUnit, some: PlacementUnit, *, moving: bool
    ) -> None:
        """Place more members of a unit: as many members of `some`, a part of the unit, as fit."""
        decided = self.decided
        placed = decided.placements[unit]
        grown = self.surplus.grow(some, placed, decided.placements, moving=moving)
        if any(gang.elastic_size is not None for gang in some.gangs):
            grown = in_steps(some, placed, grown, self.trial, self.profile)
        decided.put(unit, grown.placement)
        if grown.moved:
            decided.moved[unit] = unit.numbers(_uids(placed))
        if unit.lacks(_uids(grown.placement)):
            decided.in_part.add(group.gangs[0].key)
        if grown.misfit is not None:
            self._leave_over(some.after(grown.placement.binds), grown.misfit)

    def worth_another_try(self, groups: Sequence[GangGroup]) -> list[GangGroup]:
        """Return the refused groups that may fit now: all of them, if quorums have moved since."""
        decided = self.decided
        waiting = decided.without_room(groups) if decided.placements else []
        if decided.moved:
            # Shapes that did not fit before may fit now.
            self.known_misfits.clear()
            return waiting
        # Newly placed pods may have made room for a group, by its affinity.
        return [each for each in waiting if any(map(_GAINS, decided.units[each.gangs[0].key]))]

    def refresh_surplus(
        self,
        groups: Sequence[GangGroup],
        place_quorums: Callable[[GangGroup], None],
        place_surplus: PlaceSurplus,
    ) -> None:
        """Give waiting quorums the room of surplus that was placed with moved quorums.

        A waiting quorum that did not fit before may fit now that other quorums have moved. Surplus
        is then placed again in the remaining room.
        """
        decided = self.decided
        waiting = decided.without_room(groups)
        whole = {unit: decided.placements[unit] for unit in decided.moved}
        if waiting:
            for unit, numbers in decided.moved.items():
                alone = self.surplus.without(unit, whole[unit], numbers, decided.placements)
                decided.put(unit, alone)
            self.known_misfits.clear()
            for group in decided.each(waiting):
                place_quorums(group)
            if len(decided.without_room(waiting)) == len(waiting):
                for unit, placement in whole.items():
                    release(decided.placements[unit], self.trial)
                    assume_again(placement, self.trial)
                    decided.put(unit, placement)
        decided.moved.clear()
        for group in decided.each(groups):
            decided.in_part.discard(group.gangs[0].key)
            decided.refused.forget_left_over(group)
            place_surplus(group, moving=False)

    def _in_room_kept_for_others(
        self, group: GangGroup, units: Sequence[PlacementUnit]
    ) -> Outcome | None:
        """Place the group in room that is reserved for gangs of lower priority, which lose it.

        Only a group that may preempt takes such room, and only for its quorum. Otherwise the
        victims of the reserved gang would have been evicted for nothing.
        """
        nominated_room = self.evaluator.nominated_room
        if any(gang.preemption_block or not gang.lacking for gang in group.waiting):
            return None
        released = nominated_room.release(self.evaluator.displaceable(group))
        if not released:
            return None
        outcome = self.quorums.as_preemptors(units)
        if isinstance(outcome, dict):
            self.known_misfits.clear()
            nodes = {bind.node for each in outcome.values() for bind in each.binds}
            self.evaluator.displace(group, released, nodes)
            return outcome
        nominated_room.keep(released)
        return None

    def plan(self, failures: Sequence[Failure]) -> Plan:
        """Return the plan of all that was decided."""
        self._search_empty_cluster()
        preemptions, node_requests = self.evaluator.preemptions, self.node_requests.found
        return self.decided.plan(failures, self.trial, preemptions, node_requests)

    def _search_empty_cluster(self) -> None:
        """Note for each group without a place whether it would fit without any pods."""
        refused = self.decided.refused
        for key, (group, units, misfit) in self._unanswered.items():
            why = refused.get(key)
            if why is None or why.misfit is not misfit:
                continue
            waits = why.preemption is not None and why.preemption.waits
            fits = self.empty_cluster.fits if waits else self.empty_cluster.would_fit
            refused.note_if_empty(group, key, fits(group, (units,)))

    def refuse(
        self,
        group: GangGroup,
        unit: PlacementUnit,
        misfit: Misfit,
        empty_flavors: tuple[EmptyFlavor, ...] = (),
        *,
        options: Iterable[Sequence[PlacementUnit] | None],
    ) -> None:
        """Record which unit of the group does not fit, and why.

        `options` are the units of the group, on all nodes or on the nodes of some flavors; None
        stands for options that there was no time for.
        """
        problem = self.invalid_claim((unit,))
        if problem is not None:
            self.decided.refused.note_problem(group, problem)
            return
        if_empty = self.empty_cluster.would_fit(group, options)
        self.decided.refused.note_misfit(group, unit, misfit, if_empty, empty_flavors)


def _partially_bound(
    units: Iterable[PlacementUnit], placements: Mapping[PlacementUnit, Placement]
) -> Iterator[PlacementUnit]:
    """Yield the rest of each quorum that is placed in part."""
    for unit in units:
        missing = frozenset(unit.lacks(_uids(placements[unit])))
        if missing:
            yield replace(unit.after(placements[unit].binds), required=missing)


def _problem_of(pod: Pod, why: RefusedClaim) -> Problem:
    """Return the problem of a pod with a claim that no device can satisfy as the claim is."""
    entry = pod.claims[why.claim].entry if why.claim < len(pod.claims) else ""
    reason = Reason.UNSUPPORTED_FEATURE if why.is_unsupported else Reason.INVALID_CLAIM
    return Problem(reason, ClaimInvalid.of_pod(entry, pod.key, why.request, why.why))


def _uids(placement: Placement) -> set[str]:
    return {bind.pod.uid for bind in placement.binds}


def preemption_key(
    group: GangGroup, units: Sequence[PlacementUnit], own: frozenset[GangKey]
) -> Hashable | None:
    """Return a key shared by groups for which preemption has the same result; None if unique."""
    # This runs for every waiting gang in each cycle: loops cost half as much as generators.
    for unit in units:
        if unit.bound_members:
            return None
    for gang in group.waiting:
        if gang.bound:
            return None
    shapes = tuple([unit.sought for unit in units])
    blocks = tuple([gang.preemption_block for gang in group.waiting])
    return shapes, group.priority, own, blocks, group.gangs[0].queue
