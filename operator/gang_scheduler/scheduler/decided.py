"""Shapes that did not fit in this cycle, and the refusals that gangs get for them."""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace

from gang_scheduler.model.gangs import Gang, GangGroup
from gang_scheduler.model.plan import (
    EmptyFlavor,
    GroupRejection,
    IfEmpty,
    Misfit,
    PreemptionOutcome,
    Refused,
)
from gang_scheduler.model.reasons import Reason
from gang_scheduler.model.refs import GangKey
from gang_scheduler.scheduler import admission
from gang_scheduler.scheduler.units import PlacementUnit

# Shapes of placement units that did not fit in this cycle: equal units are refused without a
# trial. Room only shrinks during a cycle, and lower priorities come later. So units of the same
# shape that need no less do not fit either. A thousand equal gangs in a full cluster cost one
# trial.


@dataclass(frozen=True, slots=True)
class _KnownMisfit:
    """How many members of each unit did not fit together, and the place of the unit to blame."""

    quorums: tuple[int, ...]
    blamed: int
    misfit: Misfit


class KnownMisfits:
    """The shapes that did not fit, each the units of one group."""

    def __init__(self) -> None:
        self._by_shape: dict[Hashable, _KnownMisfit] = {}
        self.generation = 0
        """How often there was room again."""

    def note(self, units: Sequence[PlacementUnit], blamed: PlacementUnit, misfit: Misfit) -> None:
        """Note that units did not fit."""
        if _are_comparable(units):
            quorums = tuple(unit.at_least for unit in units)
            self._by_shape[_shape(units)] = _KnownMisfit(quorums, units.index(blamed), misfit)

    def known(self, units: Sequence[PlacementUnit]) -> tuple[PlacementUnit, Misfit] | None:
        """Return which of the units does not fit and why, if that is known."""
        if not self._by_shape or not _are_comparable(units):
            return None
        found = self._by_shape.get(_shape(units))
        if found is None or any(u.at_least < q for u, q in zip(units, found.quorums, strict=True)):
            return None
        blamed, misfit = units[found.blamed], found.misfit
        if misfit.needs != blamed.at_least:
            misfit = replace(misfit, needs=blamed.at_least)
        return blamed, misfit

    def clear(self) -> None:
        """Note that there may be room again."""
        self._by_shape.clear()
        self.generation += 1


def _are_comparable(units: Sequence[PlacementUnit]) -> bool:
    """Return whether the shapes alone decide what fits, and other pods can only take room."""
    return not any(unit.bound_members or unit.gains for unit in units)


def _shape(units: Sequence[PlacementUnit]) -> Hashable:
    return tuple(unit.shape for unit in units)


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
