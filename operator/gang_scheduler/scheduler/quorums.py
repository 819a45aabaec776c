"""Places the quorums of a group: of every gang of the group, or of none.

The quorum of each role is counted by itself: surplus of one role never counts for another. A gang
without roles counts as one role. Members of a gang that has started are placed one by one, unless
its match policy says otherwise.
"""

import itertools
from collections import Counter
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Final

from gang_scheduler.model.plan import Misfit
from gang_scheduler.model.snapshot import Nominated
from gang_scheduler.scheduler.effort import PART_OF_A_GROUP, looks
from gang_scheduler.scheduler.placement import anywhere, packing
from gang_scheduler.scheduler.placement.anywhere import assume_again, joined, release
from gang_scheduler.scheduler.placement.feasible_slots import offer_slots
from gang_scheduler.scheduler.placement.placement_units import PlacementUnit, RoleKey, with_quorum
from gang_scheduler.scheduler.placement.tree import gather
from gang_scheduler.scheduler.policies import Profile
from gang_scheduler.scheduler.trial import Placement, Trial

Outcome = dict[PlacementUnit, Placement] | tuple[PlacementUnit, Misfit]
"""The placements of a group's units, or the unit that did not fit and why."""

NOTHING = Placement((), ())

MOST_SELECTIONS: Final = 64
"""At most this many quorums of other members are tried for one group."""
MOST_CHOICES: Final = 64
"""Among these quorums are at most this many choices of members of one role."""


class Quorums:
    """Places quorums on one trial.

    Units without a quorum, which have only surplus, are left out.
    """

    def __init__(self, trial: Trial, profile: Profile, *, explained: bool = True) -> None:
        self._trial = trial
        self._profile = profile
        self._explained = explained

    def as_nominated(
        self, units: Sequence[PlacementUnit], nominations: Sequence[Nominated]
    ) -> Outcome | None:
        """Place the members on their nominated nodes, if all of that room is free."""
        self._trial.devices.next_gang()
        return anywhere.place_nominated(with_quorum(units), nominations, self._trial, self._profile)

    def in_any_order(self, units: Sequence[PlacementUnit]) -> Outcome:
        """Place the quorums of all units; a unit that found no place is placed first next time."""
        self._trial.devices.next_gang()
        asked = with_quorum(units)
        if len(units) == len(asked) == 1 and not (units[0].placed_singly or units[0].elastic):
            # Most gangs: one unit, placed as a whole or not at all.
            unit = units[0]
            placed = self._place(unit, unit.quorum)
            return (unit, placed) if isinstance(placed, Misfit) else {unit: placed}
        if all(unit.placed_singly for unit in asked):
            return self._each_for_itself(asked)
        outcome = self._together_in_any_order(asked)
        if isinstance(outcome, tuple) and _may_differ(units):
            return self._with_other_members(units) or outcome
        return outcome

    def as_preemptors(self, units: Sequence[PlacementUnit]) -> Outcome:
        """Place just the members that the group may preempt for: all of them, or none."""
        self._trial.devices.next_gang()
        return self._parts_together({unit.only(unit.required): unit for unit in with_quorum(units)})

    def _parts_together(self, whole: Mapping[PlacementUnit, PlacementUnit]) -> Outcome:
        """Place the quorums of parts of units; the outcome names the whole units."""
        outcome = self._together_in_any_order(tuple(whole))
        if isinstance(outcome, dict):
            return {whole[each]: placement for each, placement in outcome.items()}
        return whole[outcome[0]], outcome[1]

    def _together_in_any_order(self, units: Sequence[PlacementUnit]) -> Outcome:
        """Place the quorums of all units; start again with a unit that found no place.

        Two orders are tried whatever they cost, and more of them while the group's part of the
        cycle lasts.
        """
        effort, blamed = self._trial.effort, None
        since = effort.done
        for number in range(len(units)):
            if blamed is not None and number > 1 and effort.has_taken(PART_OF_A_GROUP, since):
                unit, misfit = blamed
                return unit, replace(misfit, cut_off=True)
            outcome = self._in_this_order(units)
            if isinstance(outcome, dict):
                return outcome
            blamed = blamed or outcome
            units = (outcome[0], *(unit for unit in units if unit is not outcome[0]))
        return blamed or {}

    def _in_this_order(self, units: Sequence[PlacementUnit]) -> Outcome:
        """Place the quorums of all units; or of none, and return the unit that did not fit."""
        placements = {}
        with self._trial.all_or_nothing() as transaction:
            for unit in units:
                outcome = self._place_quorum(unit, unit.quorum)
                if isinstance(outcome, Misfit):
                    return unit, outcome
                placements[unit] = outcome
            transaction.commit()
        return placements

    def _each_for_itself(self, units: Sequence[PlacementUnit]) -> Outcome:
        """Place the units that fit, or return why none does; for gangs that have started."""
        outcomes = {unit: self._place_quorum(unit, unit.at_least) for unit in units}
        misfits = [(unit, each) for unit, each in outcomes.items() if isinstance(each, Misfit)]
        if units and len(misfits) == len(units):
            return misfits[0]
        return {
            unit: NOTHING if isinstance(each, Misfit) else each for unit, each in outcomes.items()
        }

    def _place_quorum(self, unit: PlacementUnit, at_least: int) -> Placement | Misfit:
        """Place the first members in rank, else any members that fit."""
        # If any members may form the quorum, the reason why these do not fit is explained instead.
        told = unit.mixed or not unit.elastic
        outcome = self._place(unit.only(unit.required), at_least, explained=told)
        if isinstance(outcome, Misfit) and unit.elastic:
            return self._place_any_members(unit, at_least, outcome)
        return outcome

    def _place_any_members(
        self, unit: PlacementUnit, at_least: int, misfit: Misfit
    ) -> Placement | Misfit:
        """Place any members, as many as the quorum has: surplus waits for other gangs' quorums."""
        if unit.mixed:
            # Each role has a number of its own, which `_with_other_members` respects.
            return self._role_by_role(unit, misfit) if unit.placed_singly else misfit
        placed = self._place(unit, at_least)
        if isinstance(placed, Misfit):
            return placed
        first = [bind.pod.uid for bind in placed.binds[: unit.quorum]]
        if len(first) == len(placed.binds):
            return placed
        release(placed, self._trial)
        quorum = self._place(unit.only(first), len(first), explained=False)
        if isinstance(quorum, Misfit):
            # The quorum alone does not fit, but packed together with the surplus it does: keep
            # both.
            assume_again(placed, self._trial)
            return placed
        return quorum

    def _role_by_role(self, unit: PlacementUnit, misfit: Misfit) -> Placement | Misfit:
        """Place as many missing members of each role of a started gang as fit."""
        placed = NOTHING
        for part in unit.by_role():
            outcome = self._place_any_members(part, part.at_least, misfit)
            if isinstance(outcome, Placement):
                placed = joined(unit.members, placed, outcome)
        return placed if placed.binds else misfit

    def _with_other_members(
        self, units: Sequence[PlacementUnit]
    ) -> dict[PlacementUnit, Placement] | None:
        """Place quorums of other members than the first in rank, with as many of each role."""
        nodes, classes = len(self._trial.nodes), sum(len(unit.classes) for unit in units)
        for chosen in itertools.islice(self._selections(units), MOST_SELECTIONS):
            self._trial.effort.begin(units[0].gangs[0].key)
            if not self._trial.effort.may_go_on():
                return None
            self._trial.effort.spend(looks(nodes, classes))
            whole = {part: unit for unit in units if (part := _just(unit, chosen)).members}
            if any(part.quorum % part.step for part in whole):
                continue
            outcome = self._parts_together(whole)
            if isinstance(outcome, dict):
                return outcome
        return None

    def _selections(self, units: Sequence[PlacementUnit]) -> Iterator[frozenset[str]]:
        """Yield quorums as sets of pod uids that differ in classes, first ranks first.

        Members that fit on no node are left out.
        """
        classes: dict[RoleKey, dict[Hashable, list[str]]] = {}
        needed: Counter[RoleKey] = Counter()
        for number, unit in enumerate(units):
            needed.update(unit.quorums)
            fits = {
                pod_class: offer_slots(pod_class, self._trial, self._profile).any()
                for pod_class in unit.classes
            }
            for pod in unit.members:
                if fits[pod.pod_class]:
                    alike = classes.setdefault(unit.role_key_of[pod.uid], {})
                    alike.setdefault((number, pod.pod_class), []).append(pod.uid)
        of_each = [
            itertools.islice(_choices([*classes.get(role, {}).values()], count), MOST_CHOICES)
            for role, count in needed.items()
        ]
        for some in itertools.product(*of_each):
            yield frozenset(uid for uids in some for uid in uids)

    def _place(
        self, unit: PlacementUnit, at_least: int, *, explained: bool = True
    ) -> Placement | Misfit:
        self._trial.effort.begin(unit.gangs[0].key)
        told = explained and self._explained
        return gather.place(unit, at_least, self._trial, self._profile, explained=told)


def _may_differ(units: Sequence[PlacementUnit]) -> bool:
    """Return whether other members could form the quorum.

    In a single unit with one role, other members were tried before.
    """
    one = len(units) == 1 and not units[0].mixed
    return not one and any(unit.elastic for unit in units)


def _just(unit: PlacementUnit, uids: frozenset[str]) -> PlacementUnit:
    """Return the unit with only these members, all of which are required."""
    only = unit.only(uids)
    return replace(only, required=frozenset(pod.uid for pod in only.members))


def _choices(classes: Sequence[Sequence[str]], number: int) -> Iterator[list[str]]:
    """Yield choices of this many uids that differ in their numbers of some class."""
    for counts in packing.choices([len(alike) for alike in classes], number):
        yield [uid for alike, some in zip(classes, counts, strict=True) for uid in alike[:some]]
