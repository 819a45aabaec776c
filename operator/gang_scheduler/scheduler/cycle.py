"""One cycle: many gangs decided on one snapshot. Open this file first."""

from collections import Counter
from collections.abc import Hashable
from itertools import groupby

from gang_scheduler.model.gangs import Gang, GangKey, Reason
from gang_scheduler.model.plan import Misfit, Placed, Plan, Refused
from gang_scheduler.model.snapshot import Snapshot
from gang_scheduler.scheduler.placement.gangs import Placement, give_back, place, retake
from gang_scheduler.scheduler.profile import Profile
from gang_scheduler.scheduler.trial import Trial

Shape = Hashable
"""Gangs of one shape and quorum fit or fail alike."""


def schedule(snapshot: Snapshot, profile: Profile) -> Plan:
    """Decide every gang of the snapshot. Pure: the same snapshot gives the same plan."""
    cycle = _Cycle(Trial(snapshot), profile)
    # 1. Order the gangs.
    ordered = sorted(snapshot.gangs, key=profile.order)
    for _, level in groupby(ordered, key=lambda gang: gang.priority):
        # 2. Set those aside that cannot be tried, each with its reason.
        ready = [gang for gang in level if cycle.can_be_tried(gang)]
        # 3. At one priority every quorum comes before any surplus.
        for gang in ready:
            cycle.place_quorum(gang)
        # 4. Then the surplus of elastic gangs, where room is left.
        for gang in ready:
            cycle.place_surplus(gang)
    # 5. Give the decisions, with a reason for every gang that waits.
    return cycle.plan()


class _Cycle:
    """The decisions made so far, and the trial they were made on."""

    def __init__(self, trial: Trial, profile: Profile) -> None:
        self.trial = trial
        self.profile = profile
        self.gangs: dict[GangKey, Gang] = {}
        self.placements: dict[GangKey, Placement] = {}
        self.refused: list[Refused] = []
        # Room only shrinks during a cycle, so what did not fit once need not be tried again:
        # a thousand equal gangs in a full cluster cost one trial.
        self.failures: dict[Shape, Misfit] = {}

    def can_be_tried(self, gang: Gang) -> bool:
        """Tell whether the gang is complete and valid; if not, say why."""
        refusal = _not_ready(gang)
        if refusal is not None:
            self.refused.append(refusal)
        return refusal is None

    def place_quorum(self, gang: Gang) -> None:
        """Place the members that must start together: the first in rank, else any that fit."""
        shape = _shape(gang)
        known = self.failures.get(shape)
        if known is not None and known.needs <= gang.quorum:
            self._refuse(gang, Misfit(known.nodes, known.fits, gang.quorum, known.rejections))
            return
        outcome = place(gang.pending[: gang.quorum], gang.quorum, self.trial, self.profile)
        if isinstance(outcome, Misfit) and len(gang.pending) > gang.quorum:
            outcome = place(gang.pending, gang.quorum, self.trial, self.profile)
        if isinstance(outcome, Misfit):
            self.failures[shape] = outcome
            self._refuse(gang, outcome)
        else:
            self.gangs[gang.key] = gang
            self.placements[gang.key] = outcome

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
            everyone = quorum
        self.placements[gang.key] = everyone
        # Nodes were exchanged, so a shape that did not fit before might fit now.
        self.failures.clear()
        self._report_left_over(gang, everyone)

    def plan(self) -> Plan:
        """Return the plan."""
        placed = tuple(Placed(self.gangs[key], each.binds) for key, each in self.placements.items())
        return Plan(placed, tuple(self.refused))

    def _refuse(self, gang: Gang, misfit: Misfit) -> None:
        self.refused.append(Refused(gang, Reason.UNSCHEDULABLE, gang.pending, misfit))

    def _report_left_over(self, gang: Gang, placement: Placement) -> None:
        bound = {bind.pod.uid for bind in placement.binds}
        rest = tuple(pod for pod in gang.pending if pod.uid not in bound)
        if rest:
            why = place(rest[:1], 1, self.trial, self.profile)
            misfit = why if isinstance(why, Misfit) else None
            self.refused.append(Refused(gang, Reason.UNSCHEDULABLE, rest, misfit, left_over=True))


def _not_ready(gang: Gang) -> Refused | None:
    if gang.problem is not None:
        problem = gang.problem
        return Refused(gang, problem.reason, gang.pending, detail=problem.message)
    for pod in gang.pending:
        if pod.ask.unsupported:
            fields = ", ".join(pod.ask.unsupported)
            detail = f"pod {pod.key}: {fields} cannot be honoured by this scheduler yet"
            return Refused(gang, Reason.UNSUPPORTED_FEATURE, gang.pending, detail=detail)
    if len(gang.pending) < gang.quorum:
        present = gang.bound + len(gang.pending)
        detail = f"{present} of minMember {gang.min_member} members exist"
        return Refused(gang, Reason.WAITING_FOR_MEMBERS, gang.pending, detail=detail)
    return None


def _shape(gang: Gang) -> Shape:
    everyone = Counter(pod.ask for pod in gang.pending)
    if len(everyone) == 1:
        return next(iter(everyone))
    # Members differ: which of them are the quorum matters, too.
    first = Counter(pod.ask for pod in gang.pending[: gang.quorum])
    return frozenset(everyone.items()), frozenset(first.items())
