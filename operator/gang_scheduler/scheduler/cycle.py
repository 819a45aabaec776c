"""One cycle: many gangs decided on one snapshot. Open this file first."""

from collections.abc import Sequence
from itertools import groupby
from operator import attrgetter, itemgetter

from gang_scheduler.model.plan import Failure, Plan
from gang_scheduler.model.snapshot import Snapshot
from gang_scheduler.scheduler.elastic.limits import at_pace
from gang_scheduler.scheduler.policies import Profile
from gang_scheduler.scheduler.steps import Steps, Watch
from gang_scheduler.scheduler.turns.by_turns import ByTurns


def schedule(snapshot: Snapshot, profile: Profile, watch: Watch | None = None) -> Plan:
    """Decide every group of the snapshot. Pure: the same snapshot gives the same plan.

    A group whose decision raises is set aside as a failure, and all other groups are decided as if
    it were not there. Raises only where the error is not about one group. `watch` sees each group
    at its turn, and changes nothing.
    """
    paced = at_pace(snapshot)
    failures: list[Failure] = []
    while True:
        cycle = _cycle(paced.snapshot, profile)
        cycle.watch = watch
        try:
            return paced.told(cycle.decide(failures))
        except Exception as error:
            if cycle.deciding is None:
                raise
            failures.append(Failure(cycle.deciding, error))


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
        for _, level in groupby(ordered, key=attrgetter("priority")):
            # 2. Set those aside that cannot be tried, each with its reason.
            ready = [each for group in self.each(level) if (each := self.admitted(group))]
            # 3. At one priority every quorum comes before any surplus.
            for group in self.each(ready):
                self.place_quorums(group)
            # 4. Then the surplus of elastic gangs, where room is left.
            for group in self.each(ready):
                self.place_surplus(group)
            # 5. Where that moved quorums, what did not fit may fit now, before lower priorities.
            for group in self.each(self.worth_another_try(ready)):
                self.place_quorums(group)
            if self.moved:
                self.settle(ready)
            # 6. What still does not fit may take the room of lower priorities.
            for group in self.each(self.short_of_room(ready)):
                self.make_room(group)
            # 7. Where nothing made room, nodes may be bought.
            for group in self.each(self.without_room(ready) if self.asking.is_on else ()):
                self.ask_for_nodes(group)
        # 8. Give the decisions, with a reason for every gang that waits.
        return self.plan(failures)
