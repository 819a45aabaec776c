"""One cycle: many gangs decided on one snapshot. Open this file first."""

from collections import Counter
from collections.abc import Hashable, Sequence
from itertools import groupby

from gang_scheduler.model.gangs import Gang, GangGroup, GangKey, Reason
from gang_scheduler.model.plan import Misfit, Placed, Plan, Refused
from gang_scheduler.model.pods import Pod
from gang_scheduler.model.snapshot import Snapshot
from gang_scheduler.scheduler import admission, diagnosis
from gang_scheduler.scheduler.placement.gangs import (
    Placement,
    give_back,
    joined,
    place,
    retake,
)
from gang_scheduler.scheduler.profile import Profile
from gang_scheduler.scheduler.trial import Trial

Shape = Hashable
"""Gangs of one shape and quorum fit or fail alike."""


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
            for gang in group.waiting:
                cycle.place_surplus(gang)
        # 5. Where that exchanged nodes, who did not fit may fit now, before any lower priority.
        for group in cycle.worth_another_try(ready):
            cycle.place_quorums(group)
    # 6. Give the decisions, with a reason for every gang that waits.
    return cycle.plan()


class _Cycle:
    """The decisions made so far, and the trial they were made on."""

    def __init__(self, snapshot: Snapshot, profile: Profile) -> None:
        self.snapshot = snapshot
        self.trial = Trial(snapshot)
        self.profile = profile
        self.gangs: dict[GangKey, Gang] = {}
        self.placements: dict[GangKey, Placement] = {}
        self.refused: dict[GangKey, Refused] = {}
        self.exchanged = False
        # Room only shrinks during a cycle, so what did not fit once need not be tried again:
        # a thousand equal gangs in a full cluster cost one trial.
        self.failures: dict[Shape, Misfit] = {}

    def can_be_tried(self, group: GangGroup) -> bool:
        """Tell whether the group is complete and valid; if not, say why."""
        refusals = admission.refusals(group, self.snapshot, self.trial)
        self.refused.update({each.gang.key: each for each in refusals})
        return not refusals

    def place_quorums(self, group: GangGroup) -> None:
        """Place the quorum of every gang of the group, or of none."""
        with self.trial.all_or_nothing() as attempt:
            placements = {}
            for gang in group.waiting:
                outcome = self._quorum(gang, alone=len(group.gangs) == 1)
                if isinstance(outcome, Misfit):
                    self._refuse(group, gang, outcome)
                    return
                placements[gang.key] = outcome
            attempt.keep()
        for gang in group.waiting:
            self.gangs[gang.key] = gang
            self.refused.pop(gang.key, None)
        self.placements.update(placements)

    def place_surplus(self, gang: Gang) -> None:
        """Place the gang anew with all its members; where they do not all fit, as many as do."""
        quorum = self.placements.get(gang.key)
        if quorum is None or len(quorum.binds) == len(gang.pending):
            return
        give_back(quorum, self.trial)
        everyone = place(gang.pending, len(quorum.binds), self.trial, self.profile)
        if isinstance(everyone, Misfit):
            # Placing all at once may pack several classes worse than the quorum alone was.
            retake(quorum, self.trial)
            more = place(_without(gang.pending, quorum), 1, self.trial, self.profile)
            everyone = quorum if isinstance(more, Misfit) else joined(gang.pending, quorum, more)
        else:
            self.exchanged = True
        self.placements[gang.key] = everyone
        self._report_left_over(gang, everyone)

    def worth_another_try(self, groups: Sequence[GangGroup]) -> list[GangGroup]:
        """Return the refused groups, if room was exchanged since."""
        if not self.exchanged:
            return []
        # Shapes that did not fit before may fit now.
        self.exchanged = False
        self.failures.clear()
        return [
            group
            for group in groups
            if not any(gang.key in self.placements for gang in group.waiting)
        ]

    def plan(self) -> Plan:
        """Return the plan."""
        placed = tuple(
            Placed(self.gangs[key], placement.binds) for key, placement in self.placements.items()
        )
        return Plan(placed, tuple(self.refused.values()))

    def _quorum(self, gang: Gang, *, alone: bool) -> Placement | Misfit:
        """Place the members that must start together: the first in rank, else any that fit."""
        shape = _shape(gang)
        known = self.failures.get(shape)
        if known is not None and known.needs <= gang.quorum:
            return Misfit(known.nodes, known.fits, gang.quorum, known.rejections)
        outcome = place(gang.pending[: gang.quorum], gang.quorum, self.trial, self.profile)
        if isinstance(outcome, Misfit) and len(gang.pending) > gang.quorum:
            outcome = self._any_quorum(gang)
        if isinstance(outcome, Misfit) and alone:
            # In a group, room that another gang of it took may be given back again.
            self.failures[shape] = outcome
        return outcome

    def _any_quorum(self, gang: Gang) -> Placement | Misfit:
        """Place as many of any members as the quorum has: surplus waits for others' quorums."""
        everyone = place(gang.pending, gang.quorum, self.trial, self.profile)
        if isinstance(everyone, Misfit) or len(everyone.binds) == gang.quorum:
            return everyone
        give_back(everyone, self.trial)
        some = [bind.pod for bind in everyone.binds[: gang.quorum]]
        quorum = place(some, gang.quorum, self.trial, self.profile)
        if isinstance(quorum, Misfit):
            # Packed for themselves they do not fit: then with those beside whom they did.
            retake(everyone, self.trial)
            return everyone
        return quorum

    def _refuse(self, group: GangGroup, blamed: Gang, misfit: Misfit) -> None:
        why = Refused(blamed, Reason.UNSCHEDULABLE, blamed.pending, misfit)
        pod = blamed.pending[min(misfit.fits, len(blamed.pending) - 1)]
        for_others = (
            f'GangGroup "{group.name}" gets rejected due to member Pod "{pod.key}" is '
            f'unschedulable with reason "{diagnosis.describe(why)}"'
        )
        for gang in group.waiting:
            others = Refused(gang, Reason.UNSCHEDULABLE, gang.pending, detail=for_others)
            self.refused[gang.key] = why if gang is blamed else others

    def _report_left_over(self, gang: Gang, placement: Placement) -> None:
        rest = _without(gang.pending, placement)
        if rest:
            ask = rest[0].ask
            reasons = diagnosis.diagnose(ask, self.trial, self.profile)
            misfit = Misfit(len(self.trial.nodes), fits=0, needs=1, rejections=reasons)
            self.refused[gang.key] = Refused(
                gang, Reason.UNSCHEDULABLE, rest, misfit, left_over=True
            )


def _without(members: Sequence[Pod], placement: Placement) -> tuple[Pod, ...]:
    placed = {bind.pod.uid for bind in placement.binds}
    return tuple(pod for pod in members if pod.uid not in placed)


def _shape(gang: Gang) -> Shape:
    everyone = Counter(pod.ask for pod in gang.pending)
    if len(everyone) == 1:
        return next(iter(everyone))
    # Members differ: which of them are the quorum matters, too.
    first = Counter(pod.ask for pod in gang.pending[: gang.quorum])
    return frozenset(everyone.items()), frozenset(first.items())
