"""Places the quorums of a group: of every gang of it, or of none.

A quorum is counted for each gang: surplus of one never stands in for another. The members of a gang
that has started are placed each for itself, unless its match policy says otherwise.
"""

from collections import Counter
from collections.abc import Iterable, Sequence

from gang_scheduler.model.gangs import GangKey
from gang_scheduler.model.plan import Misfit
from gang_scheduler.model.pods import Pod
from gang_scheduler.model.snapshot import Nominated
from gang_scheduler.scheduler.placement import gather, nominated
from gang_scheduler.scheduler.placement.gangs import Placement, give_back, retake
from gang_scheduler.scheduler.placement.offers import offer_slots
from gang_scheduler.scheduler.profile import Profile
from gang_scheduler.scheduler.trial import Trial
from gang_scheduler.scheduler.units import Unit

Outcome = dict[Unit, Placement] | tuple[Unit, Misfit]
"""Where the units of a group are, or which one did not fit."""

NOTHING = Placement((), ())


class Quorums:
    """Places quorums on one trial."""

    def __init__(self, trial: Trial, profile: Profile) -> None:
        self._trial = trial
        self._profile = profile

    def as_nominated(self, units: Sequence[Unit], kept: Sequence[Nominated]) -> Outcome | None:
        """Place the members on the nodes that they are nominated to, if all their room is free."""
        return nominated.place(units, kept, self._trial, self._profile)

    def in_any_order(self, units: Sequence[Unit]) -> Outcome:
        """Place the quorums of all units, those first that found no place beside the others."""
        if all(unit.singly for unit in units):
            return self._each_for_itself(units)
        return self._all_in_any_order(units)

    def as_preemptors(self, units: Sequence[Unit]) -> Outcome:
        """Place just those that the group would evict others for: all of them, or none."""
        whole = {unit.only(unit.required): unit for unit in units}
        outcome = self._all_in_any_order(tuple(whole))
        if isinstance(outcome, dict):
            return {whole[each]: placement for each, placement in outcome.items()}
        return whole[outcome[0]], outcome[1]

    def _all_in_any_order(self, units: Sequence[Unit]) -> Outcome:
        blamed = None
        for _ in units:
            outcome = self._all(units)
            if isinstance(outcome, dict):
                return outcome
            blamed = blamed or outcome
            units = (outcome[0], *(unit for unit in units if unit is not outcome[0]))
        return blamed or {}

    def _all(self, units: Sequence[Unit]) -> Outcome:
        """Place the quorums of all units; or of none, and tell which one did not fit."""
        placements = {}
        with self._trial.all_or_nothing() as attempt:
            for unit in units:
                outcome = self._quorum(unit, unit.quorum)
                if isinstance(outcome, Misfit):
                    return unit, outcome
                placements[unit] = outcome
            attempt.keep()
        return placements

    def _each_for_itself(self, units: Sequence[Unit]) -> Outcome:
        """Place the units that fit, of a gang that has started; or tell why none does."""
        outcomes = {unit: self._quorum(unit, unit.at_least) for unit in units}
        misfits = [(unit, each) for unit, each in outcomes.items() if isinstance(each, Misfit)]
        if units and len(misfits) == len(units):
            return misfits[0]
        return {
            unit: NOTHING if isinstance(each, Misfit) else each for unit, each in outcomes.items()
        }

    def _quorum(self, unit: Unit, at_least: int) -> Placement | Misfit:
        """Place the first members in rank, else any that fit."""
        outcome = self._place(unit.only(unit.required), at_least)
        if isinstance(outcome, Misfit) and unit.elastic:
            return self._any_quorum(unit, at_least, outcome)
        return outcome

    def _any_quorum(self, unit: Unit, at_least: int, misfit: Misfit) -> Placement | Misfit:
        """Place as many of any members as the quorum has: surplus waits for others' quorums."""
        if len(unit.gangs) > 1:
            return self._any_quorum_of_each(unit, misfit)
        everyone = self._place(unit, at_least)
        if isinstance(everyone, Misfit):
            return everyone
        first = _first_of_each(unit, (bind.pod for bind in everyone.binds))
        if len(first) == len(everyone.binds):
            return everyone
        give_back(everyone, self._trial)
        quorum = self._place(unit.only(first), len(first))
        if isinstance(quorum, Misfit):
            # Packed for themselves they do not fit: then with those beside which they did.
            retake(everyone, self._trial)
            return everyone
        return quorum

    def _any_quorum_of_each(self, unit: Unit, misfit: Misfit) -> Placement | Misfit:
        """Place the first members of each gang that have a place anywhere at all."""
        fits = {ask: offer_slots(ask, self._trial, self._profile).any() for ask in unit.classes}
        members = (pod for pod in unit.members if fits[pod.ask])
        first = _first_of_each(unit, members)
        if first == unit.required or Counter(unit.numbers(first)) != unit.quorums:
            return misfit
        return self._place(unit.only(first), len(first))

    def _place(self, unit: Unit, at_least: int) -> Placement | Misfit:
        self._trial.effort.begin(unit.gangs[0].key)
        return gather.place(unit, at_least, self._trial, self._profile)


def _first_of_each(unit: Unit, members: Iterable[Pod]) -> frozenset[str]:
    """Return the uids of the first of these of each gang, as many as its quorum has."""
    left: Counter[GangKey] = Counter(unit.quorums)
    first = []
    for pod in members:
        gang = unit.gang_of[pod.uid]
        if left[gang]:
            left[gang] -= 1
            first.append(pod.uid)
    return frozenset(first)
