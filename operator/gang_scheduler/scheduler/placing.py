"""The steps of a cycle: what can be done with one group, on the decisions that were made so far.

In which order groups take them is said elsewhere: `cycle` has the order without queues.
"""

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Final

from gang_scheduler.model.causes.gangs import InternalError
from gang_scheduler.model.gangs import Gang, GangGroup
from gang_scheduler.model.plan import (
    Bind,
    EmptyFlavor,
    Failure,
    IfEmpty,
    Misfit,
    Placed,
    Plan,
    PreemptionOutcome,
    PreemptionVerdict,
    Refused,
    Warned,
)
from gang_scheduler.model.reasons import Reason
from gang_scheduler.model.refs import GangKey
from gang_scheduler.model.snapshot import Nominated, Snapshot
from gang_scheduler.scheduler import admission, provisioning, spare_nodes
from gang_scheduler.scheduler.empty_cluster import EmptyCluster
from gang_scheduler.scheduler.placement.anywhere import Placement, assume_again, release
from gang_scheduler.scheduler.policies import Profile
from gang_scheduler.scheduler.preemption.evaluator import PreemptionEvaluator
from gang_scheduler.scheduler.provisioning import AskingGroups
from gang_scheduler.scheduler.quorums import NOTHING, Outcome, Quorums
from gang_scheduler.scheduler.refusals import KnownMisfits, Refusals
from gang_scheduler.scheduler.rights.claims import Claim
from gang_scheduler.scheduler.surplus import Surplus, in_steps
from gang_scheduler.scheduler.trial import Trial
from gang_scheduler.scheduler.units import Party, PlacementUnit

A_GROUP: Final = 0.5
"""Looks that it costs to look at a group, also at one of which all is known already."""

Watch = Callable[["Steps", GangGroup], None]
"""Looks at the decisions so far right before a group is decided. It changes none of them."""


class Steps:
    """The decisions made so far, and the trial they were made on.

    `deciding` is the group that an error now would be about. `watch` looks on, if anything does.
    `untried` are gangs that are left to the next cycle. There are none if the cycle goes on
    `to_the_end`: looks are renewed, as if the next cycle began.
    """

    def __init__(self, snapshot: Snapshot, profile: Profile) -> None:
        self.snapshot = snapshot
        self.trial = Trial(snapshot)
        self.trial.keep(spare_nodes.kept(snapshot, profile.spare_nodes))
        self.profile = profile
        self.deciding: GangGroup | None = None
        self.watch: Watch | None = None
        self.to_the_end = False
        self.untried: set[GangKey] = set()
        self.groups: dict[GangKey, GangGroup] = {}
        self.units: dict[GangKey, tuple[PlacementUnit, ...]] = {}
        self.gangs: dict[GangKey, Gang] = {}
        self.placements: dict[PlacementUnit, Placement] = {}
        self.refused = Refusals()
        self.warned: list[Warned] = []
        self.in_part: set[GangKey] = set()
        self.moved: dict[PlacementUnit, Mapping[Party, int]] = {}
        self.quorums = Quorums(self.trial, profile)
        self.surplus = Surplus(self.trial, profile)
        self.evaluator = PreemptionEvaluator(snapshot, self.trial, profile)
        self.hopeless: dict[Hashable, PreemptionOutcome] = {}
        self.known_misfits = KnownMisfits()
        self.empty_cluster = EmptyCluster(snapshot, profile)
        self.asking = AskingGroups(snapshot)

    def each(self, groups: Iterable[GangGroup]) -> Iterator[GangGroup]:
        """Yield groups; an error before the next one is about the group yielded last."""
        for group in groups:
            self.deciding = group
            yield group
        self.deciding = None

    def in_time(
        self, groups: Iterable[GangGroup], part: float = 1, *, one: bool = False
    ) -> Iterator[GangGroup]:
        """Yield groups while this part of the work of a cycle is not done; the rest stay untried.

        `one`: the first is begun in any case.
        """
        effort = self.trial.effort
        for group in self.each(groups):
            if effort.takes(A_GROUP, part) or one or self._goes_on():
                one = False
                yield group
            else:
                self.leave_untried(group)

    def is_over(self, part: float = 1) -> bool:
        """Return whether no further group is begun, as this part of the cycle's work is done."""
        return self.trial.effort.is_over(part) and not self._goes_on()

    def _goes_on(self) -> bool:
        """Return whether the cycle goes on to the end; then looks are renewed once all are used."""
        if self.to_the_end and self.trial.effort.is_over():
            self.trial.effort.renew()
        return self.to_the_end

    def leave_untried(self, *groups: GangGroup) -> None:
        """Leave groups to the next cycle: what was found of them so far is no verdict."""
        for gang in (gang for group in groups for gang in group.waiting):
            self.untried.add(gang.key)
            if gang.key not in self.gangs:
                self.refused.pop(gang.key, None)

    def admitted(self, group: GangGroup) -> GangGroup | None:
        """Return the group as it is to be tried; None, with refusals noted, if it cannot be."""
        group = self.deciding = self.evaluator.departures.without(group)
        # Room that is reserved for lower priorities counts for the minResources of this group.
        nominated_room = self.evaluator.nominated_room
        asks = any(gang.min_resources for gang in group.gangs)
        nominations = nominated_room.release(self.evaluator.displaceable(group)) if asks else ()
        verdict = admission.admit(group, self.snapshot, self.trial)
        nominated_room.keep(nominations)
        self.groups.update(dict.fromkeys([gang.key for gang in group.gangs], group))
        self.units[group.gangs[0].key] = verdict.units
        self.refused |= {each.gang.key: each for each in verdict.refusals}
        self.warned += verdict.warnings
        return None if verdict.refusals else group

    def place_quorums(self, group: GangGroup) -> None:
        """Place the quorum of every gang of the group, or of none."""
        # Asked of every gang that waits, in each cycle.
        if self.watch is not None or self.trial.spare is not None:
            self.show(group)
        nominations = self.evaluator.nominated_room.release(gang.key for gang in group.gangs)
        units = self.units[group.gangs[0].key]
        outcome = self.find_place(group, units, nominations)
        if isinstance(outcome, dict):
            self.keep(group, outcome)
            return
        self.evaluator.nominated_room.keep(nominations)
        self.refuse(group, *outcome)

    def show(self, group: GangGroup) -> None:
        """Open spare nodes to the group, or close them; and let what watches look."""
        self.open_spare(group)
        if self.watch is not None:
            self.watch(self, group)

    def open_spare(self, group: GangGroup) -> None:
        """Open spare nodes to a group that replaces lost members, and close them to others."""
        self.trial.open_spare(replacing=self.trial.spare is not None and group.replacing)

    def find_place(
        self, group: GangGroup, units: Sequence[PlacementUnit], nominations: Sequence[Nominated]
    ) -> Outcome:
        """Take room for the quorums, unless equal ones are known not to fit.

        `nominations` is the room that was reserved for the group and is released now.
        """
        # To members that replace lost ones more nodes are open.
        opened = self.trial.closed is not self.trial.spare
        known = None if nominations or opened else self.known_misfits.known(units)
        outcome = known or self._anywhere(group, units, nominations)
        if isinstance(outcome, dict):
            if nominations:
                self._give_up_room()
        elif not nominations and not known and not opened:
            self.known_misfits.note(units, *outcome)
        return outcome

    def without_room(self, groups: Sequence[GangGroup]) -> list[GangGroup]:
        """Return the groups that were tried and did not fit."""
        return [
            group for group in groups if not any(gang.key in self.gangs for gang in group.waiting)
        ]

    def short_of_room(self, groups: Sequence[GangGroup]) -> list[GangGroup]:
        """Return the groups that did not fit, or of whose quorum only a part found a place."""
        waiting = self.without_room(groups)
        if not self.in_part:
            return waiting
        short = {group.gangs[0].key for group in waiting} | self.in_part
        return [group for group in groups if group.gangs[0].key in short]

    def make_room(self, group: GangGroup, claim: Claim | None = None) -> None:
        """Nominate the group to room that pods leave or must leave, if that is enough."""
        if self.trial.spare is not None:
            self.open_spare(group)
        units = self.lacking(group)
        nominations = self.evaluator.nominated_room.release(gang.key for gang in group.gangs)
        outcome = self.make_room_for(group, units, nominations, claim)
        if outcome.verdict not in (PreemptionVerdict.NO_VICTIMS, PreemptionVerdict.PROMISED):
            self.refused.note_preemption(group, outcome)

    def lacking(self, group: GangGroup) -> tuple[PlacementUnit, ...]:
        """Return the units with the part of their quorums that has no place."""
        # Units without a quorum come with the surplus.
        units = tuple(unit for unit in self.units[group.gangs[0].key] if unit.quorum)
        if group.gangs[0].key in self.in_part:
            return tuple(_partially_bound(units, self.placements))
        return units

    def make_room_for(
        self,
        group: GangGroup,
        units: Sequence[PlacementUnit],
        nominations: Sequence[Nominated],
        claim: Claim | None = None,
    ) -> PreemptionOutcome:
        """Reserve room for the quorums that pods leave or must leave, if that is enough.

        With a `claim` on quota, too.
        """
        alike = None if nominations else prospects(group, units, self.evaluator.pools.own(group))
        if alike and claim is not None:
            alike = alike, self.judged_by(claim)
        outcome = self.hopeless.get(alike)
        if outcome is None:
            outcome = self._attempt(group, units, nominations, claim)
            if outcome.waits:
                # Room that was reserved for lower priorities may be free now.
                self.known_misfits.clear()
            elif nominations:
                self._give_up_room()
            elif alike and outcome.verdict is not PreemptionVerdict.PROMISED:
                # Another one may end sooner.
                self.hopeless[alike] = outcome
        return outcome

    def judged_by(self, claim: Claim) -> Hashable:
        """Return what counts of a claim where evictions are judged."""
        return frozenset(claim.charge.items()), claim.priority, claim.created_at

    def _attempt(
        self,
        group: GangGroup,
        units: Sequence[PlacementUnit],
        nominations: Sequence[Nominated],
        claim: Claim | None,
    ) -> PreemptionOutcome:
        """Make room for all that the group lacks; if that fails, for gangs of one one by one."""
        outcome = self.evaluator.attempt(group, units, nominations, claim)
        if outcome.waits or units[0].quorum == 1 or not all(gang.apart for gang in group.waiting):
            return outcome
        return self.evaluator.attempt_each(group, units[0], nominations, claim)

    def _give_up_room(self) -> None:
        """Note that room is not reserved for a gang any more: other gangs may fit there."""
        self.known_misfits.clear()
        self.hopeless.clear()

    def ask_for_nodes(self, group: GangGroup) -> None:
        """Ask for nodes for a group that lacks nothing but room, if it says by which class."""
        rules = provisioning.rules_of(group)
        if rules is not None and self.asking.may_ask(group) and self.may_ask(group):
            judgement = self.asking.consider(group, self.units[group.gangs[0].key], rules)
            if judgement is not None:
                self.refused |= provisioning.retold(group, self.refused, judgement)

    def may_ask(self, group: GangGroup) -> bool:
        """Return whether a group lacks nothing but room, which was not found by eviction, either.

        Nothing is asked for before that is sure. But a request that stands is not forgotten.
        """
        if group.waiting[0].key in self.gangs or not provisioning.lacks_only_room(
            group, self.refused
        ):
            return False
        return self.asking.stands(group) or provisioning.was_searched(group, self.refused)

    def place_surplus(self, group: GangGroup, *, moving: bool = True) -> None:
        """Place the surplus that fits, and note why the rest does not."""
        if self.trial.spare is not None:
            self.trial.open_spare(replacing=False)
        for unit in self.units[group.gangs[0].key]:
            placed = self.placements.get(unit)
            if placed is not None and len(placed.binds) < len(unit.members):
                self.grow(group, unit, unit, moving=moving)
        self.report_full(group)

    def has_surplus(self, group: GangGroup) -> bool:
        """Return whether members of a group are left that may be placed beside its quorums."""
        units = self.units[group.gangs[0].key]
        return any(
            unit in self.placements and len(self.placements[unit].binds) < len(unit.members)
            for unit in units
        )

    def grow(
        self, group: GangGroup, unit: PlacementUnit, some: PlacementUnit, *, moving: bool
    ) -> None:
        """Place more members of a unit: those that it has as `some`, as many as fit."""
        placed = self.placements[unit]
        grown = self.surplus.grow(some, placed, self.placements, moving=moving)
        if any(gang.pace is not None for gang in some.gangs):
            grown = in_steps(some, placed, grown, self.trial, self.profile)
        self.put(unit, grown.placement)
        if grown.moved:
            self.moved[unit] = unit.numbers(_uids(placed))
        if unit.lacks(_uids(grown.placement)):
            self.in_part.add(group.gangs[0].key)
        if grown.misfit is not None:
            refused = Refused(unit.gangs[0], Reason.UNSCHEDULABLE, (), grown.misfit, left_over=True)
            self.refused.leave_over(some.after(grown.placement.binds), refused)

    def worth_another_try(self, groups: Sequence[GangGroup]) -> list[GangGroup]:
        """Return the refused groups that may fit now: all of them, if quorums have moved since."""
        if not self.moved:
            return [group for group in self.without_room(groups) if self._gains(group)]
        # Shapes that did not fit before may fit now.
        self.known_misfits.clear()
        return self.without_room(groups)

    def settle(self, groups: Sequence[GangGroup]) -> None:
        """Give waiting quorums the room of surplus that was placed with moved quorums.

        Before a quorum moved it was known that no waiting quorum fits beside it; now it is not.
        Surplus is placed again in the room that is left.
        """
        waiting = self.without_room(groups)
        whole = {unit: self.placements[unit] for unit in self.moved}
        if waiting:
            for unit, numbers in self.moved.items():
                alone = self.surplus.without(unit, whole[unit], numbers, self.placements)
                self.put(unit, alone)
            self.known_misfits.clear()
            for group in self.each(waiting):
                self.place_quorums(group)
            if len(self.without_room(waiting)) == len(waiting):
                for unit, placement in whole.items():
                    release(self.placements[unit], self.trial)
                    assume_again(placement, self.trial)
                    self.put(unit, placement)
        self.moved.clear()
        for group in self.each(groups):
            self.in_part.discard(group.gangs[0].key)
            self.refused.forget_left_over(group)
            self.place_surplus(group, moving=False)

    def plan(self, failures: Sequence[Failure]) -> Plan:
        """Return the plan."""
        binds: dict[GangKey, list[Bind]] = {key: [] for key in self.gangs}
        gang_of = {uid: key for unit in self.placements for uid, key in unit.gang_of.items()}
        for bind in self.trial.volumes.choices.kept(self._binds()):
            binds[gang_of[bind.pod.uid]].append(bind)
        placed: list[Placed] = []
        for key, gang in self.gangs.items():
            self.deciding = self.groups[key]
            if binds[key]:
                together = _together(self.deciding, binds)
                placed.append(Placed(gang, _in_rank_order(gang, binds[key]), together))
        self.deciding = None
        return Plan(
            placed=tuple(placed),
            preemptions=tuple(self.evaluator.preemptions),
            refused=(*self.refused.values(), *_refusals(failures)),
            warned=tuple(each for each in self.warned if self._has_verdict(each.gang)),
            failures=tuple(failures),
            asking=tuple(each for key, each in self.asking.found.items() if key not in self.gangs),
            untried=frozenset(self.untried),
        )

    def _has_verdict(self, gang: Gang) -> bool:
        return gang.key not in self.untried or gang.key in self.gangs

    def _binds(self) -> Iterator[Bind]:
        """Yield the binds of all placements."""
        for unit, placement in self.placements.items():
            self.deciding = self.groups[unit.gangs[0].key]
            yield from placement.binds

    def _anywhere(
        self, group: GangGroup, units: Sequence[PlacementUnit], nominations: Sequence[Nominated]
    ) -> Outcome:
        """Place quorums on nominated nodes, in free room, or in room of lower priorities."""
        outcome = self.quorums.as_nominated(units, nominations) or self.quorums.in_any_order(units)
        if isinstance(outcome, tuple):
            return self._in_room_kept_for_others(group, units) or outcome
        return outcome

    def _in_room_kept_for_others(
        self, group: GangGroup, units: Sequence[PlacementUnit]
    ) -> Outcome | None:
        """Place the group in room that is reserved for gangs of lower priority; these plan again.

        Only a group that may preempt takes such room, and only for the members of its quorum: else
        the victims of the gang of lower priority would have been evicted for nothing.
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

    def keep(self, group: GangGroup, placements: Mapping[PlacementUnit, Placement]) -> None:
        """Note where the quorums are. Units without a quorum are placed with the surplus."""
        for unit in self.units[group.gangs[0].key]:
            self.put(unit, placements.get(unit, NOTHING))
        for gang in group.waiting:
            self.gangs[gang.key] = gang
            self.refused.pop(gang.key, None)

    def put(self, unit: PlacementUnit, placement: Placement) -> None:
        """Note where members of a unit are from now on."""
        self.placements[unit] = placement

    def _gains(self, group: GangGroup) -> bool:
        """Return whether pods that were placed since may have made room for the group."""
        return bool(self.placements) and any(unit.gains for unit in self.units[group.gangs[0].key])

    def refuse(
        self,
        group: GangGroup,
        unit: PlacementUnit,
        misfit: Misfit,
        empty_flavors: tuple[EmptyFlavor, ...] = (),
    ) -> None:
        """Note which unit of the group does not fit and why."""
        self.refused.note_misfit(group, unit, misfit, self.would_fit_empty(group), empty_flavors)

    def would_fit_empty(self, group: GangGroup) -> IfEmpty | None:
        """Return whether the group would fit the empty cluster; None where that says nothing."""
        return self.empty_cluster.would_fit(group, [self.units[group.gangs[0].key]])

    def report_full(self, group: GangGroup) -> None:
        """Note the members of gangs with a place that are more than their roles may have."""
        for gang in group.waiting:
            if gang.roles and gang.key in self.gangs:
                self.refused.note_full(gang)


def _partially_bound(
    units: Iterable[PlacementUnit], placements: Mapping[PlacementUnit, Placement]
) -> Iterator[PlacementUnit]:
    """Yield the missing part of quorums of which another part is placed."""
    for unit in units:
        missing = frozenset(unit.lacks(_uids(placements[unit])))
        if missing:
            yield replace(unit.after(placements[unit].binds), required=missing)


def _uids(placement: Placement) -> set[str]:
    return {bind.pod.uid for bind in placement.binds}


def _refusals(failures: Iterable[Failure]) -> Iterator[Refused]:
    for each in failures:
        for gang in each.group.waiting:
            cause = InternalError.of(each.error)
            yield Refused(gang, Reason.INTERNAL_ERROR, gang.pending, cause=cause)


def _together(group: GangGroup, binds: Mapping[GangKey, Sequence[Bind]]) -> tuple[GangKey, ...]:
    """Return the gangs of the group that are bound together; empty if only one is."""
    keys = tuple(gang.key for gang in group.waiting if binds[gang.key])
    return keys if len(keys) > 1 else ()


def _in_rank_order(gang: Gang, binds: Iterable[Bind]) -> tuple[Bind, ...]:
    by_pod = {bind.pod.uid: bind for bind in binds}
    return tuple(by_pod[pod.uid] for pod in gang.pending if pod.uid in by_pod)


def prospects(
    group: GangGroup, units: Sequence[PlacementUnit], own: frozenset[GangKey]
) -> Hashable | None:
    """Return a key shared by groups for which preemption ends alike; None for a unique group."""
    # Asked of every gang that waits, in each cycle: loops cost half of what generators do.
    for unit in units:
        if unit.bound_members:
            return None
    for gang in group.waiting:
        if gang.bound:
            return None
    shapes = tuple([(unit.shape, unit.quorum, unit.singly) for unit in units])
    blocks = tuple([gang.preemption_block for gang in group.waiting])
    return shapes, group.priority, own, blocks, group.gangs[0].queue
