"""What leaves the nodes in any case, and the room that this frees: for one cycle."""

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import replace

from gang_scheduler.model.bound_pods import BoundPod, BoundPods
from gang_scheduler.model.gangs import Gang, GangGroup
from gang_scheduler.scheduler.policies import Profile
from gang_scheduler.scheduler.preemption.preemptor import Preemptor, usage_of
from gang_scheduler.scheduler.trial import Trial, merged
from gang_scheduler.scheduler.units.placement_units import PlacementUnit


class Departures:
    """The pods that terminate, and the victims of this cycle as they are added.

    `victims` are the latter; `room` is what all of them free.
    """

    def __init__(self, bound_pods: BoundPods, trial: Trial, profile: Profile) -> None:
        self.victims: list[BoundPod] = []
        self.room = usage_of(bound_pods.leaving, trial.nodes)
        self._trial = trial
        self._profile = profile
        self._gone = [each for each in bound_pods.leaving if each.pod.living]
        self._numbers = Counter(each.gang for each in self._gone)

    def add(self, victims: Sequence[BoundPod]) -> None:
        """Note pods that are evicted."""
        self.victims += victims
        self._gone += victims
        self._numbers.update(each.gang for each in victims)
        self.room = merged([*self.room, *usage_of(victims, self._trial.nodes)])

    def preemptor(self, units: Sequence[PlacementUnit]) -> Preemptor:
        """Return a group as a preemptor that has this room."""
        preemptor = Preemptor(units, self._trial.copy(), self._profile)
        preemptor.free(self.room)
        return preemptor

    def without(self, group: GangGroup) -> GangGroup:
        """Return the group without the members that are being evicted.

        The same object if no member is evicted. A gang that loses all members counts as not
        started: it needs its minMember again.
        """
        if not self._numbers:
            return group
        keys = {gang.key for gang in group.gangs} | group.declared
        if keys.isdisjoint(self._numbers):
            return group
        gone = {each.pod.uid for each in self._gone if each.gang in keys}
        started = tuple(pod for pod in group.started if pod.uid not in gone)
        gangs = tuple(self._without(gone, gang) for gang in group.gangs)
        return replace(group, gangs=gangs, started=started)

    def _without(self, gone: Collection[str], gang: Gang) -> Gang:
        evicted = self._numbers[gang.key]
        if not evicted:
            return gang
        bound = max(0, gang.bound - evicted)
        by_role = Counter(dict(gang.bound_by_role))
        if gang.roles:
            by_role -= Counter(each.pod.role for each in self._gone if each.gang == gang.key)
        bound_members = tuple(pod for pod in gang.bound_members if pod.uid not in gone)
        return replace(
            gang,
            bound=bound,
            bound_members=bound_members,
            was_whole=gang.was_whole and bound > 0,
            bound_by_role=tuple(by_role.items()),
        )
