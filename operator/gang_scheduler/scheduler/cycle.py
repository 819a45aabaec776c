"""One cycle: many gangs decided on one snapshot. Open this file first."""

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import groupby

from gang_scheduler.model.gangs import Gang, GangGroup, GangKey, Reason
from gang_scheduler.model.plan import Bind, Misfit, Placed, Plan, Refused, Warned
from gang_scheduler.model.snapshot import Nominated, Snapshot
from gang_scheduler.scheduler import admission, diagnosis
from gang_scheduler.scheduler.placement import gangs, gather
from gang_scheduler.scheduler.placement.gangs import Placement, give_back, joined, retake
from gang_scheduler.scheduler.preemption.rounds import Rounds
from gang_scheduler.scheduler.profile import Profile
from gang_scheduler.scheduler.setbacks import Setbacks
from gang_scheduler.scheduler.trial import Trial
from gang_scheduler.scheduler.units import Unit

Outcome = dict[Unit, Placement] | tuple[Unit, Misfit]
"""Where the units of a group are, or which one did not fit."""


def schedule(snapshot: Snapshot, profile: Profile) -> Plan:
    """Decide every group of the snapshot. Pure: the same snapshot gives the same plan."""
    cycle = _Cycle(snapshot, profile)
    # 1. Order the groups.
    ordered = sorted(snapshot.groups, key=profile.order)
    for _, level in groupby(ordered, key=lambda group: group.priority):
        # 2. Set those aside that cannot be tried, each with its reason.
        ready = [group for group in level if cycle.can_be_tried(group)]
        # 3. At one priority every quorum comes before any surplus.
        for group in ready:
            cycle.place_quorums(group)
        # 4. Then the surplus of elastic gangs, where room is left.
        for group in ready:
            cycle.place_surplus(group)
        # 5. Where that exchanged nodes, who did not fit may fit now, before any lower priority.
        for group in cycle.worth_another_try(ready):
            cycle.place_quorums(group)
        # 6. Who still does not fit may take the room of lower priorities.
        for group in cycle.without_room(ready):
            cycle.make_room(group)
    # 7. Give the decisions, with a reason for every gang that waits.
    return cycle.plan()


class _Cycle:
    """The decisions made so far, and the trial they were made on."""

    def __init__(self, snapshot: Snapshot, profile: Profile) -> None:
        self.snapshot = snapshot
        self.trial = Trial(snapshot)
        self.profile = profile
        self.units: dict[GangKey, tuple[Unit, ...]] = {}
        self.gangs: dict[GangKey, Gang] = {}
        self.placements: dict[Unit, Placement] = {}
        self.refused: dict[GangKey, Refused] = {}
        self.warned: list[Warned] = []
        self.exchanged = False
        self.rounds = Rounds(snapshot, self.trial, profile)
        self.hopeless: dict[Hashable, str] = {}
        self.setbacks = Setbacks()

    def can_be_tried(self, group: GangGroup) -> bool:
        """Tell whether the group is complete and valid; if not, say why."""
        verdict = admission.admit(group, self.snapshot, self.trial)
        self.units[group.gangs[0].key] = verdict.units
        self.refused.update({each.gang.key: each for each in verdict.refusals})
        self.warned += verdict.warnings
        return not verdict.refusals

    def place_quorums(self, group: GangGroup) -> None:
        """Place the quorum of every gang of the group, or of none."""
        kept = self.rounds.reservations.release(gang.key for gang in group.gangs)
        units = self.units[group.gangs[0].key]
        known = None if kept else self.setbacks.known(units)
        outcome = known or self._anywhere(group, units, kept)
        if isinstance(outcome, dict):
            if kept:
                self._give_up_room()
            self._keep(group, outcome)
            return
        if not kept and not known:
            self.setbacks.note(units, *outcome)
        self.rounds.reservations.keep(kept)
        self._refuse(group, *outcome)

    def without_room(self, groups: Sequence[GangGroup]) -> list[GangGroup]:
        """Return the groups that were tried and did not fit."""
        return [
            group for group in groups if not any(gang.key in self.gangs for gang in group.waiting)
        ]

    def make_room(self, group: GangGroup) -> None:
        """Nominate the group to room that others leave or must leave, if there would be enough."""
        units = self.units[group.gangs[0].key]
        kept = self.rounds.reservations.release(gang.key for gang in group.gangs)
        alike = None if kept else _prospects(group, units)
        if alike in self.hopeless:
            waits, words = False, self.hopeless[alike]
        else:
            waits, words = self.rounds.attempt(group, units, kept)
        if waits:
            # Room that was kept for lower priorities may be free now.
            self.setbacks.clear()
        elif kept:
            self._give_up_room()
        elif alike:
            self.hopeless[alike] = words
        if waits or words:
            self._say(group, words, waits=waits)

    def _give_up_room(self) -> None:
        """Note that room was kept for somebody, and is not any more: others may fit there."""
        self.setbacks.clear()
        self.hopeless.clear()

    def _say(self, group: GangGroup, words: str, *, waits: bool) -> None:
        """Note what came of a group's try to make room."""
        blamed = group.waiting[0]
        for gang in group.waiting:
            said = words
            if words and gang is not blamed:
                said = f"preemption already attempted by {blamed.key} with message {words}"
            reason = Reason.WAITING_FOR_VICTIMS if waits else Reason.UNSCHEDULABLE
            why = self.refused[gang.key]
            self.refused[gang.key] = replace(why, reason=reason, preemption=said)

    def place_surplus(self, group: GangGroup) -> None:
        """Place units anew with all their members; where they do not all fit, as many as do."""
        for unit in self.units[group.gangs[0].key]:
            quorum = self.placements.get(unit)
            if quorum is not None and len(quorum.binds) < len(unit.members):
                everyone = self._with_surplus(unit, quorum)
                self.placements[unit] = everyone
                self._report_left_over(unit, everyone)

    def worth_another_try(self, groups: Sequence[GangGroup]) -> list[GangGroup]:
        """Return the refused groups that may fit now: all, if room was exchanged since."""
        if not self.exchanged:
            return [group for group in self.without_room(groups) if self._gains(group)]
        # Shapes that did not fit before may fit now.
        self.exchanged = False
        self.setbacks.clear()
        return self.without_room(groups)

    def plan(self) -> Plan:
        """Return the plan."""
        binds: dict[GangKey, list[Bind]] = {key: [] for key in self.gangs}
        gang_of = {
            pod.uid: gang.key
            for unit in self.placements
            for gang in unit.gangs
            for pod in gang.pending
        }
        placed_binds = (bind for each in self.placements.values() for bind in each.binds)
        for bind in self.trial.volumes.promises.kept(placed_binds):
            binds[gang_of[bind.pod.uid]].append(bind)
        together = _together(self.snapshot.groups)
        placed = (
            Placed(gang, _in_rank_order(gang, binds[key]), together.get(key, ()))
            for key, gang in self.gangs.items()
        )
        return Plan(
            placed=tuple(placed),
            preemptions=tuple(self.rounds.preemptions),
            refused=tuple(self.refused.values()),
            warned=tuple(self.warned),
        )

    def _anywhere(
        self, group: GangGroup, units: Sequence[Unit], kept: Sequence[Nominated]
    ) -> Outcome:
        """Place the quorums where they are nominated, in free room, or in that of lower ranks."""
        outcome = self._as_nominated(units, kept) or self._in_any_order(units)
        if isinstance(outcome, tuple):
            return self._in_room_kept_for_others(group, units) or outcome
        return outcome

    def _as_nominated(self, units: Sequence[Unit], kept: Sequence[Nominated]) -> Outcome | None:
        """Place the members on the nodes that they are nominated to, if all their room is free."""
        nodes = {each.pod.uid: each.pod.nominated for each in kept}
        if not nodes or any(unit.required - nodes.keys() for unit in units):
            return None
        placements = {}
        with self.trial.all_or_nothing() as attempt:
            for unit in units:
                needed = unit.only(unit.required).members
                binds = tuple(Bind(pod, nodes[pod.uid]) for pod in needed)
                placement = gangs.place_on(binds, self.trial, self.profile)
                if placement is None:
                    return None
                placements[unit] = placement
            attempt.keep()
        return placements

    def _in_any_order(self, units: Sequence[Unit]) -> Outcome:
        """Place the quorums of all units, those first that found no place beside the others."""
        blamed = None
        for _ in units:
            outcome = self._all_quorums(units)
            if isinstance(outcome, dict):
                return outcome
            blamed = blamed or outcome
            units = (outcome[0], *(unit for unit in units if unit is not outcome[0]))
        return blamed or {}

    def _in_room_kept_for_others(self, group: GangGroup, units: Sequence[Unit]) -> Outcome | None:
        """Place the group in room that is kept for gangs of lower priority; those plan again."""
        reservations = self.rounds.reservations
        released = reservations.release(reservations.below(group.priority))
        if not released:
            return None
        outcome = self._in_any_order(units)
        if isinstance(outcome, dict):
            self.setbacks.clear()
            nodes = {bind.node for each in outcome.values() for bind in each.binds}
            self.rounds.displace(group, released, nodes)
            return outcome
        reservations.keep(released)
        return None

    def _all_quorums(self, units: Sequence[Unit]) -> Outcome:
        """Place the quorums of all units; or of none, and tell which one did not fit."""
        placements = {}
        with self.trial.all_or_nothing() as attempt:
            for unit in units:
                outcome = self._quorum(unit)
                if isinstance(outcome, Misfit):
                    return unit, outcome
                placements[unit] = outcome
            attempt.keep()
        return placements

    def _keep(self, group: GangGroup, placements: Mapping[Unit, Placement]) -> None:
        self.placements.update(placements)
        for gang in group.waiting:
            self.gangs[gang.key] = gang
            self.refused.pop(gang.key, None)

    def _quorum(self, unit: Unit) -> Placement | Misfit:
        """Place the members that must start together: the first in rank, else any that fit."""
        outcome = self._place(unit.only(unit.required), unit.quorum)
        if isinstance(outcome, Misfit) and unit.elastic:
            outcome = self._any_quorum(unit)
        return outcome

    def _any_quorum(self, unit: Unit) -> Placement | Misfit:
        """Place as many of any members as the quorum has: surplus waits for others' quorums."""
        everyone = self._place(unit, unit.quorum)
        if isinstance(everyone, Misfit) or len(everyone.binds) == unit.quorum:
            return everyone
        give_back(everyone, self.trial)
        some = unit.only({bind.pod.uid for bind in everyone.binds[: unit.quorum]})
        quorum = self._place(some, unit.quorum)
        if isinstance(quorum, Misfit):
            # Packed for themselves they do not fit: then with those beside whom they did.
            retake(everyone, self.trial)
            return everyone
        return quorum

    def _gains(self, group: GangGroup) -> bool:
        """Tell whether others that were placed since may have made room for the group."""
        return bool(self.placements) and any(unit.gains for unit in self.units[group.gangs[0].key])

    def _with_surplus(self, unit: Unit, quorum: Placement) -> Placement:
        if not self._is_leant_on(unit):
            give_back(quorum, self.trial)
            everyone = self._place(unit, len(quorum.binds))
            if isinstance(everyone, Placement) and _has_all(everyone, quorum, unit):
                self.exchanged = True
                return everyone
            # Placing all at once may pack several classes worse than the quorum alone was.
            if isinstance(everyone, Placement):
                give_back(everyone, self.trial)
            retake(quorum, self.trial)
        more = self._place(unit.after(quorum.binds), unit.step)
        return quorum if isinstance(more, Misfit) else joined(unit.members, quorum, more)

    def _is_leant_on(self, unit: Unit) -> bool:
        """Tell whether others have their places because of where the quorum of this unit is."""
        meant = {selector for pod in unit.members for selector in pod.ask.selected_by}
        others = (other for other in self.placements if meant and other is not unit)
        return any(not meant.isdisjoint(other.approached) for other in others)

    def _place(self, unit: Unit, at_least: int) -> Placement | Misfit:
        return gather.place(unit, at_least, self.trial, self.profile)

    def _refuse(self, group: GangGroup, unit: Unit, misfit: Misfit) -> None:
        blamed = unit.gangs[0]
        why = Refused(blamed, Reason.UNSCHEDULABLE, blamed.pending, misfit)
        for_others = _for_others(group, why, misfit) if len(group.waiting) > 1 else ""
        for gang in group.waiting:
            others = Refused(gang, Reason.UNSCHEDULABLE, gang.pending, detail=for_others)
            self.refused[gang.key] = why if gang is blamed else others

    def _report_left_over(self, unit: Unit, placement: Placement) -> None:
        rest = unit.after(placement.binds)
        if not rest.members:
            return
        with self.trial.all_or_nothing():
            misfit = self._place(rest, rest.step)
        if isinstance(misfit, Placement):
            return
        left = {pod.uid for pod in rest.members}
        for gang in unit.gangs:
            pods = tuple(pod for pod in gang.pending if pod.uid in left)
            if pods:
                self.refused[gang.key] = Refused(
                    gang, Reason.UNSCHEDULABLE, pods, misfit, left_over=True
                )


def _for_others(group: GangGroup, why: Refused, misfit: Misfit) -> str:
    """Return what the other gangs of a group are told when one of them does not fit."""
    pods = why.gang.pending
    pod = pods[min(misfit.fits, len(pods) - 1)]
    return (
        f'GangGroup "{group.name}" gets rejected due to member Pod "{pod.key}" is '
        f'unschedulable with reason "{diagnosis.describe(why)}"'
    )


def _has_all(everyone: Placement, quorum: Placement, unit: Unit) -> bool:
    """Tell whether nobody of the quorum was left out who must not be: members of other gangs."""
    if len(unit.gangs) == 1:
        return True
    return {bind.pod.uid for bind in quorum.binds} <= {bind.pod.uid for bind in everyone.binds}


def _together(groups: Iterable[GangGroup]) -> dict[GangKey, tuple[GangKey, ...]]:
    """Return the gangs that each gang starts with, of groups in which several wait."""
    waiting = (tuple(gang.key for gang in group.waiting) for group in groups)
    return {key: keys for keys in waiting if len(keys) > 1 for key in keys}


def _in_rank_order(gang: Gang, binds: Iterable[Bind]) -> tuple[Bind, ...]:
    by_pod = {bind.pod.uid: bind for bind in binds}
    return tuple(by_pod[pod.uid] for pod in gang.pending if pod.uid in by_pod)


def _prospects(group: GangGroup, units: Sequence[Unit]) -> Hashable | None:
    """Return what it depends on whom a group may evict; None where that is itself alone."""
    if any(unit.mates for unit in units) or any(gang.bound for gang in group.waiting):
        return None
    shapes = tuple((unit.shape, unit.quorum) for unit in units)
    return shapes, group.priority, tuple(gang.spares_others for gang in group.waiting)
