"""Why gangs wait, as far as a cycle has come."""

from dataclasses import replace

from gang_scheduler.model.gangs import Gang, GangGroup
from gang_scheduler.model.plan import (
    EmptyFlavor,
    GroupRejection,
    IfEmpty,
    Misfit,
    PreemptionOutcome,
    Refused,
)
from gang_scheduler.model.problems import Reason
from gang_scheduler.model.refs import GangKey
from gang_scheduler.scheduler import admission
from gang_scheduler.scheduler.units.placement_units import PlacementUnit


class Refusals(dict[GangKey, Refused]):
    """The refusals by gang; of a gang with a place, of the members that are left over."""

    def note_misfit(
        self,
        group: GangGroup,
        unit: PlacementUnit,
        misfit: Misfit,
        if_empty: IfEmpty | None,
        empty_flavors: tuple[EmptyFlavor, ...],
    ) -> None:
        """Note which unit of a group does not fit and why."""
        blamed = unit.gangs[0]
        why = Refused(
            *(blamed, Reason.UNSCHEDULABLE, blamed.pending, misfit),
            if_empty=if_empty,
            empty_flavors=empty_flavors,
        )
        rejection = _rejection(group, why, misfit) if len(group.waiting) > 1 else None
        for gang in group.waiting:
            others = Refused(gang, Reason.UNSCHEDULABLE, gang.pending, with_group=rejection)
            self[gang.key] = why if gang is blamed else others

    def note_preemption(self, group: GangGroup, outcome: PreemptionOutcome) -> None:
        """Note the outcome of the preemption of a group that was refused."""
        reason = Reason.WAITING_FOR_VICTIMS if outcome.waits else Reason.UNSCHEDULABLE
        first = group.waiting[0]
        for gang in group.waiting:
            own = outcome if gang is first else replace(outcome, attempted_by=first.key)
            self[gang.key] = replace(self[gang.key], reason=reason, preemption=own)

    def leave_over(self, unit: PlacementUnit, why: Refused) -> None:
        """Note why the members of a unit wait, gang by gang."""
        left = {pod.uid for pod in unit.members}
        for gang in unit.gangs:
            pods = tuple(pod for pod in gang.pending if pod.uid in left)
            if pods:
                self._leave_over(replace(why, gang=gang, pods=pods))

    def note_full(self, gang: Gang) -> None:
        """Note the members of a gang with a place that are more than its roles may have."""
        role = gang.full_role()
        if role is not None:
            startable = {pod.uid for pod in gang.startable}
            pods = tuple(pod for pod in gang.pending if pod.uid not in startable)
            limit = admission.limit_of(role)
            self._leave_over(Refused(gang, limit.reason, pods, cause=limit.cause, left_over=True))

    def forget_left_over(self, group: GangGroup) -> None:
        """Forget the members of a group that are left over, before its surplus is placed anew."""
        for gang in group.waiting:
            if gang.key in self and self[gang.key].left_over:
                del self[gang.key]

    def _leave_over(self, refused: Refused) -> None:
        """Note members that wait; for a gang in several units, the members of all units."""
        before = self.get(refused.gang.key)
        if before is not None:
            refused = replace(before, pods=(*before.pods, *refused.pods))
        self[refused.gang.key] = refused


def _rejection(group: GangGroup, why: Refused, misfit: Misfit) -> GroupRejection:
    """Return why the other gangs of a group wait when one of them does not fit."""
    pods = why.gang.pending
    return GroupRejection(group.name, pods[min(misfit.fits, len(pods) - 1)].key, why)
