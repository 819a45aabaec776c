"""The state of a cycle at the turn of one gang. `schedule` itself runs the cycle."""

from gang_scheduler.model.gangs import GangGroup
from gang_scheduler.model.plan import Plan
from gang_scheduler.model.queues import NONE
from gang_scheduler.model.reasons import Problem
from gang_scheduler.model.refs import GangKey
from gang_scheduler.model.snapshot import Snapshot
from gang_scheduler.scheduler import eligibility
from gang_scheduler.scheduler.cycle import Cycle, schedule
from gang_scheduler.scheduler.effort import Effort
from gang_scheduler.scheduler.placement.placement_units import PlacementUnit
from gang_scheduler.scheduler.policies import Profile
from gang_scheduler.scheduler.trial import Trial
from gang_scheduler.scheduler.turns.requests import Request


class Turn:
    """The state of the cycle when it decides a group: earlier decisions have taken their room.

    `snapshot` lacks members that the pace of their gangs holds back. `forest` is None without
    queues. `placements` and `preemptions` were decided earlier, and `nominated` is reserved room.
    """

    def __init__(self, cycle: Cycle, group: GangGroup) -> None:
        placing = cycle.placing
        self.group = group
        self.snapshot = placing.snapshot
        self.profile = placing.profile
        self.forest = None if cycle.quota is None else cycle.quota.forest.copy()
        self.placements = dict(placing.decided.placements)
        self.preemptions = tuple(placing.evaluator.preemptions)
        self.nominated = tuple(placing.evaluator.nominated_room.all())
        self._cycle = cycle
        self._trial = placing.trial.copy()

    def trial(self) -> Trial:
        """Return a copy of the trial that may be changed, with its own effort."""
        trial = self._trial.copy()
        trial.effort = Effort()
        return trial

    def group_of(self, unit: PlacementUnit) -> GangGroup:
        """Return the group of a unit that was placed."""
        return self._cycle.placing.decided.groups[unit.gangs[0].key]

    def units(self) -> tuple[PlacementUnit, ...]:
        """Return the units of the group, on the nodes of the first flavors of its queue."""
        units = eligibility.check(self.group, self.snapshot, self._trial).units
        request = self.request()
        if request is None or not request.assignments:
            return units
        assignment = request.assignments[0]
        found = assignment.option.units(assignment.units, self.snapshot)
        return units if isinstance(found, Problem) else found

    def request(self) -> Request | None:
        """Return the request of the group to its queue; None without queues, or if refused."""
        quota, group = self._cycle.quota, self.group
        if quota is None:
            return None
        units = eligibility.check(group, self.snapshot, self._trial).units
        queue = quota.forest.queue(group.queue or NONE)
        holds = any(gang.bound for gang in group.gangs)
        if not units:
            return None
        asked = quota.requests.request_of(
            group, queue, units, holds=holds, nominated=group.nominated
        )
        return asked if isinstance(asked, Request) else None


class Watched:
    """A cycle, and the turn of one gang in it.

    `order` has all groups in the order of their turns, by their first gangs. `turn` is None for a
    gang without a turn: the cycle could not try it.
    """

    def __init__(self, snapshot: Snapshot, profile: Profile, asked: GangKey) -> None:
        self.order: dict[GangKey, GangGroup] = {}
        self.turn: Turn | None = None
        self._asked = asked
        self._cycle: Cycle | None = None
        self.plan: Plan = schedule(snapshot, profile, self._record, to_the_end=True)

    def _record(self, cycle: Cycle, group: GangGroup) -> None:
        if cycle is not self._cycle:
            # The cycle began again: the decision of one group failed, and that group is now left
            # out.
            self._cycle, self.order, self.turn = cycle, {}, None
        self.order.setdefault(group.gangs[0].key, group)
        if self._asked in group.keys:
            self.turn = Turn(cycle, group)
