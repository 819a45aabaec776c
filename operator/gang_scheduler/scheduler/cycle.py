"""One cycle: many gangs decided on one snapshot. Open this file first."""

from collections.abc import Callable, Iterable, Sequence
from itertools import groupby
from operator import attrgetter, itemgetter
from typing import Final

from gang_scheduler.model.gangs import GangGroup
from gang_scheduler.model.plan import Failure, Plan
from gang_scheduler.model.snapshot import Snapshot
from gang_scheduler.scheduler.pace import at_pace
from gang_scheduler.scheduler.policies import Profile
from gang_scheduler.scheduler.steps import Steps, Watch
from gang_scheduler.scheduler.turns.by_turns import ByTurns

IN_ORDER: Final = 0.05
"""Looks that it costs to put a group in order."""
FOR_ADMISSION: Final = 0.3
FOR_PLACES: Final = 0.7
"""By which part of what is left of a cycle the groups of a priority are admitted and tried.

The rest is there to make room for those that found none: each cycle is done with some groups.
"""


def schedule(
    snapshot: Snapshot,
    profile: Profile,
    watch: Watch | None = None,
    *,
    to_the_end: bool = False,
    begun: Callable[[Steps], None] | None = None,
) -> Plan:
    """Decide every group of the snapshot. Pure: the same snapshot gives the same plan.

    Groups that are left once the cycle has done its share of work are `untried`, unless the cycle
    goes on `to_the_end`. A group whose decision raises is set aside as a failure, and all others
    are decided as if it were not there. Raises only where the error is not about one group. `watch`
    sees each group at its turn, and `begun` the steps before the first one; neither changes
    anything.
    """
    paced = at_pace(snapshot)
    failures: list[Failure] = []
    done: float = 0
    while True:
        cycle = _cycle(paced.snapshot, profile)
        cycle.watch, cycle.to_the_end = watch, to_the_end
        # However many groups fail, what was decided beside them is work of the same cycle.
        cycle.trial.effort.count(done)
        if begun is not None:
            begun(cycle)
        try:
            return paced.told(cycle.decide(failures))
        except Exception as error:
            if cycle.deciding is None:
                raise
            failures.append(Failure(cycle.deciding, error))
            done = cycle.trial.effort.done


def _cycle(snapshot: Snapshot, profile: Profile) -> "_ByPriority | ByTurns":
    if snapshot.queues is None:
        return _ByPriority(snapshot, profile)
    return ByTurns(snapshot, profile, snapshot.queues)


class _ByPriority(Steps):
    """All groups in one line, one priority after the other."""

    def decide(self, failures: Sequence[Failure]) -> Plan:
        """Return the plan for all groups but those that failed."""
        # 1. Order the groups.
        failed = {each.group.name for each in failures}
        groups = (each for each in self.snapshot.groups if each.name not in failed)
        keyed = [(self.profile.order(group), group) for group in self.each(groups)]
        ordered = [group for _, group in sorted(keyed, key=itemgetter(0))]
        self.trial.effort.count(IN_ORDER * len(ordered))
        for _, level in groupby(ordered, key=attrgetter("priority")):
            if self.untried or (failures and self.is_over()):
                # No lower priority takes room before all of a higher one are tried.
                self.leave_untried(*level)
            else:
                self._decide_level(level)
        # 8. Give the decisions, with a reason for every gang that waits.
        return self.plan(failures)

    def _decide_level(self, level: Iterable[GangGroup]) -> None:
        """Decide the groups of one priority: wholly, or as far as the cycle has looks left."""
        is_first, effort = not self.groups, self.trial.effort
        for_admission, for_places = effort.by(FOR_ADMISSION), effort.by(FOR_PLACES)
        # 2. Set those aside that cannot be tried, each with its reason.
        timely = self.in_time(level, for_admission, one=is_first)
        ready = [each for group in timely if (each := self.admitted(group))]
        # 3. At one priority every quorum comes before any surplus.
        tried = []
        for group in self.in_time(ready, for_places, one=is_first):
            self.place_quorums(group)
            tried.append(group)
        # 4. Then the surplus of elastic gangs, where room is left.
        self._place_surplus(tried, for_places)
        # 5. Where that moved quorums, what did not fit may fit now, before lower priorities.
        for group in self.each(self.worth_another_try(tried)):
            self.place_quorums(group)
        if self.moved:
            self.settle(tried)
        # 6. What still does not fit may take the room of lower priorities.
        short = self.short_of_room(tried)
        for group in self.in_time(short, one=is_first):
            self.make_room(group)
        # 7. Where nothing made room, nodes may be bought.
        for group in self.each(self.without_room(tried) if self.asking.is_on else ()):
            if group.waiting[0].key not in self.untried:
                self.ask_for_nodes(group)

    def _place_surplus(self, tried: Sequence[GangGroup], part: float) -> None:
        """Place the surplus of these groups; of none while quorums of their priority are left."""
        for group in self.each(tried):
            if (self.untried or self.is_over(part)) and self.has_surplus(group):
                self.leave_untried(group)
            else:
                self.place_surplus(group)
