"""The decisions of a cycle: the nodes of members, and the reasons why gangs wait."""

import operator
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, TypeVar

from gang_scheduler.model.causes.gangs import InternalError
from gang_scheduler.model.gangs import Gang, GangGroup
from gang_scheduler.model.nodes import NodeTable
from gang_scheduler.model.plan import (
    Bind,
    EmptyFlavor,
    Failure,
    GroupRejection,
    IfEmpty,
    Misfit,
    Placed,
    Plan,
    Preemption,
    PreemptionOutcome,
    Refused,
    Warned,
)
from gang_scheduler.model.provisioning import NodeRequest
from gang_scheduler.model.reasons import Problem, Reason
from gang_scheduler.model.records import revised
from gang_scheduler.model.refs import GangKey
from gang_scheduler.scheduler import eligibility
from gang_scheduler.scheduler.devices import planned_claims
from gang_scheduler.scheduler.effort import PART_OF_A_GROUP, Effort
from gang_scheduler.scheduler.placement.placement_units import PlacementUnit, RoleKey
from gang_scheduler.scheduler.quorums import NOTHING
from gang_scheduler.scheduler.trial import Placement, Trial

MOST_MISFITS: Final = 4096
"""At most this many misfits are kept from cycle to cycle."""
A_GROUP: Final = 0.5
"""The cost of each group in looks, even if its verdict is known already."""
_Option = TypeVar("_Option")

# Shapes of placement units that did not fit in this cycle: equal units are refused without a trial.
# Room only shrinks during a cycle, and lower priorities come later. So units of the same shape that
# need at least as much do not fit either. A thousand equal gangs in a full cluster cost one trial.


@dataclass(frozen=True, slots=True)
class _KnownMisfit:
    """How many members of each unit did not fit together, and the index of the unit to blame."""

    quorums: tuple[int, ...]
    blamed: int
    misfit: Misfit


class KnownMisfits:
    """The shapes of units that did not fit; each entry is for all units of one group.

    A misfit that is as in an earlier cycle is the same object, and so is the refusal of a gang that
    waits as before. `nodes` keeps the earlier ones.
    """

    def __init__(self, nodes: NodeTable) -> None:
        self._before = nodes.cached("misfits", dict[Hashable, Misfit])
        self._by_shape: dict[Hashable, _KnownMisfit] = {}
        self.generation = 0
        """How often `clear` was called, because there might be room again."""

    def record(
        self, units: Sequence[PlacementUnit], blamed: PlacementUnit, misfit: Misfit
    ) -> tuple[PlacementUnit, Misfit]:
        """Record that units did not fit; return the unit that does not fit, and why."""
        if _are_comparable(units):
            shape, quorums = _shape(units), tuple(unit.at_least for unit in units)
            misfit = self._as_before(shape, misfit)
            self._by_shape[shape] = _KnownMisfit(quorums, units.index(blamed), misfit)
        return blamed, misfit

    def _as_before(self, shape: Hashable, misfit: Misfit) -> Misfit:
        known = self._before.get(shape)
        if known == misfit:
            return known
        if len(self._before) > MOST_MISFITS:
            self._before.clear()
        self._before[shape] = misfit
        return misfit

    def known(self, units: Sequence[PlacementUnit]) -> tuple[PlacementUnit, Misfit] | None:
        """Return the unit that does not fit, and why, if that is known."""
        if not self._by_shape or not _are_comparable(units):
            return None
        shape = _shape(units)
        found = self._by_shape.get(shape)
        if found is None:
            return None
        for unit, quorum in zip(units, found.quorums, strict=True):
            if unit.at_least < quorum:
                return None
        blamed, misfit = units[found.blamed], found.misfit
        if misfit.needs != blamed.at_least:
            needs = blamed.at_least
            misfit = self._as_before((shape, needs), replace(misfit, needs=needs))
        return blamed, misfit

    def clear(self) -> None:
        """Record that there may be room again."""
        self._by_shape.clear()
        self.generation += 1


_DEPENDS_ON_PODS = operator.attrgetter("depends_on_pods")


def _are_comparable(units: Sequence[PlacementUnit]) -> bool:
    """Return whether a fit depends only on shapes, and other pods can only take room away."""
    return not any(map(_DEPENDS_ON_PODS, units))


def _shape(units: Sequence[PlacementUnit]) -> Hashable:
    return tuple([unit.shape for unit in units])


class Refusals(dict[GangKey, Refused]):
    """The refusals by gang. For a gang with a place, the refusal is about left-over members."""

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
        why = group.cached(
            "misfit",
            (blamed, misfit, if_empty, empty_flavors),
            lambda: Refused(
                *(blamed, Reason.UNSCHEDULABLE, blamed.pending, misfit),
                if_empty=if_empty,
                empty_flavors=empty_flavors,
            ),
        )
        rejection = _rejection(group, why, misfit) if len(group.waiting) > 1 else None
        for gang in group.waiting:
            self[gang.key] = why
            if gang is not blamed:
                self[gang.key] = Refused(
                    gang, Reason.UNSCHEDULABLE, gang.pending, with_group=rejection
                )

    def note_if_empty(self, group: GangGroup, blamed: GangKey, if_empty: IfEmpty | None) -> None:
        """Note whether a refused group would fit the empty cluster."""
        why = self[blamed]
        self[blamed] = group.cached(
            "if_empty", (why, if_empty), lambda: revised(why, if_empty=if_empty)
        )
        for gang in group.waiting if len(group.waiting) > 1 else ():
            rejection = self[gang.key].with_group
            if rejection is not None:
                refused = replace(rejection.refused, if_empty=if_empty)
                rejected = replace(rejection, refused=refused)
                self[gang.key] = replace(self[gang.key], with_group=rejected)

    def note_problem(self, group: GangGroup, problem: Problem) -> None:
        """Note a problem that was found only during the search for room."""
        for gang in group.waiting:
            self[gang.key] = Refused(gang, problem.reason, gang.pending, cause=problem.cause)

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
        """Note the waiting members of a placed gang that exceed the maximum of their role."""
        role = gang.full_role()
        if role is not None:
            startable = {pod.uid for pod in gang.startable}
            pods = tuple(pod for pod in gang.pending if pod.uid not in startable)
            limit = eligibility.limit_of(role)
            self._leave_over(Refused(gang, limit.reason, pods, cause=limit.cause, left_over=True))

    def forget_left_over(self, group: GangGroup) -> None:
        """Forget the left-over members of a group, before its surplus is placed again."""
        for gang in group.waiting:
            if gang.key in self and self[gang.key].left_over:
                del self[gang.key]

    def _leave_over(self, refused: Refused) -> None:
        """Note members that wait, in addition to members of the same gang from other units."""
        before = self.get(refused.gang.key)
        if before is not None:
            # The first reason is told. But members that were not searched for are tried again after
            # a pause, which other reasons do not have.
            is_cut_off = refused.misfit is not None and refused.misfit.cut_off
            told = refused if is_cut_off and before.reason is not refused.reason else before
            refused = replace(told, pods=(*before.pods, *refused.pods))
        self[refused.gang.key] = refused


def _rejection(group: GangGroup, why: Refused, misfit: Misfit) -> GroupRejection:
    """Return why the other gangs of a group wait if one of them does not fit."""
    pods = why.gang.pending
    return GroupRejection(group.name, pods[min(misfit.fits, len(pods) - 1)].key, why)


class Decided:
    """The decisions of a cycle until now, and the group that it decides next.

    `deciding` is the group to blame if an error is raised now. `untried` gangs are left to the next
    cycle. `units` are the units of each group, by its first gang. For gangs `in_part`, only a part
    of the quorum has a place. `moved` are units whose quorums went to other nodes together with
    their surplus; the value is the number of quorum members of each role.
    """

    def __init__(self) -> None:
        self.deciding: GangGroup | None = None
        self.untried: set[GangKey] = set()
        self.groups: dict[GangKey, GangGroup] = {}
        self.units: dict[GangKey, tuple[PlacementUnit, ...]] = {}
        self.gangs: dict[GangKey, Gang] = {}
        self.placements: dict[PlacementUnit, Placement] = {}
        self.refused = Refusals()
        self.warned: list[Warned] = []
        self.in_part: set[GangKey] = set()
        self.moved: dict[PlacementUnit, Mapping[RoleKey, int]] = {}
        self.charge: Callable[[PlacementUnit, Placement], None] | None = None
        """Charges the members of a unit to their queue; None without queues."""

    def each(self, groups: Iterable[GangGroup]) -> Iterator[GangGroup]:
        """Yield groups. If an error is raised, the group that was yielded last is blamed."""
        for group in groups:
            self.deciding = group
            yield group
        self.deciding = None

    def leave_untried(self, *groups: GangGroup) -> None:
        """Leave groups to the next cycle, and drop their refusals, which are not final yet."""
        left = {gang.key for group in groups for gang in group.waiting}
        self.untried |= left
        for key in left if self.refused else ():
            if key not in self.gangs:
                self.refused.pop(key, None)

    def keep(self, group: GangGroup, placements: Mapping[PlacementUnit, Placement]) -> None:
        """Record where the quorums are. Units without a quorum are placed with the surplus."""
        for unit in self.units[group.gangs[0].key]:
            self.put(unit, placements.get(unit, NOTHING))
        for gang in group.waiting:
            self.gangs[gang.key] = gang
            self.refused.pop(gang.key, None)

    def put(self, unit: PlacementUnit, placement: Placement) -> None:
        """Record the new places of members of a unit, and charge them if there are queues."""
        self.placements[unit] = placement
        if self.charge is not None:
            self.charge(unit, placement)

    def with_room(self, groups: Sequence[GangGroup]) -> list[GangGroup]:
        """Return the groups that have a place: all their waiting gangs have one, or none has."""
        return [group for group in groups if group.waiting[0].key in self.gangs]

    def without_room(self, groups: Sequence[GangGroup]) -> list[GangGroup]:
        """Return the groups that were tried and did not fit."""
        return [group for group in groups if group.waiting[0].key not in self.gangs]

    def short_of_room(self, groups: Sequence[GangGroup]) -> list[GangGroup]:
        """Return the groups that did not fit, or only with a part of their quorum."""
        waiting = self.without_room(groups)
        if not self.in_part:
            return waiting
        short = {group.gangs[0].key for group in waiting} | self.in_part
        return [group for group in groups if group.gangs[0].key in short]

    def with_surplus(self, group: GangGroup) -> list[PlacementUnit]:
        """Return the units of a group that have a place, and surplus members left."""
        return [
            unit
            for unit in self.units[group.gangs[0].key]
            if unit in self.placements and len(self.placements[unit].binds) < len(unit.members)
        ]

    def report_full(self, group: GangGroup) -> None:
        """Record the members beyond the limits of their roles, of gangs with a place."""
        for gang in group.waiting:
            if gang.roles and gang.key in self.gangs:
                self.refused.note_full(gang)

    def plan(
        self,
        failures: Sequence[Failure],
        trial: Trial,
        preemptions: Iterable[Preemption],
        node_requests: Mapping[GangKey, NodeRequest],
    ) -> Plan:
        """Return the plan, with preemptions and requests for nodes."""
        binds: dict[GangKey, list[Bind]] = {key: [] for key in self.gangs}
        gang_of = {uid: key for unit in self.placements for uid, key in unit.gang_of.items()}
        for bind in planned_claims.named(trial.devices, trial.volumes.choices.kept(self._binds())):
            binds[gang_of[bind.pod.uid]].append(bind)
        placed: list[Placed] = []
        for key, gang in self.gangs.items():
            self.deciding = self.groups[key]
            if binds[key]:
                together = _together(self.deciding, binds)
                placed.append(Placed(gang, _in_rank_order(gang, binds[key]), together))
        self.deciding = None
        return Plan(
            placed=tuple(placed),
            preemptions=tuple(_with_devices(preemptions, trial)),
            refused=(*self.refused.values(), *_refusals(failures)),
            warned=tuple(each for each in self.warned if self._has_verdict(each.gang)),
            failures=tuple(failures),
            node_requests=tuple(
                each for key, each in node_requests.items() if key not in self.gangs
            ),
            untried=frozenset(self.untried),
            device_searches=trial.devices.free_devices.searched,
        )

    def _has_verdict(self, gang: Gang) -> bool:
        return gang.key not in self.untried or gang.key in self.gangs

    def _binds(self) -> Iterator[Bind]:
        """Yield the binds of all placements."""
        for unit, placement in self.placements.items():
            self.deciding = self.groups[unit.gangs[0].key]
            yield from placement.binds


def _with_devices(preemptions: Iterable[Preemption], trial: Trial) -> Iterator[Preemption]:
    """Yield preemptions with the devices that are kept for their nominations."""
    made = [*preemptions]
    nominations = (bind for each in made for bind in each.nominations)
    named = planned_claims.named(trial.devices, nominations, nominated=True)
    binds = {bind.pod.uid: bind for bind in named if bind.claims}
    for each in made:
        ours = tuple(binds.get(bind.pod.uid, bind) for bind in each.nominations)
        yield replace(each, nominations=ours) if binds else each


def _refusals(failures: Iterable[Failure]) -> Iterator[Refused]:
    for each in failures:
        for gang in each.group.waiting:
            cause = InternalError.of(each.error)
            yield Refused(gang, Reason.INTERNAL_ERROR, gang.pending, cause=cause)


def _together(group: GangGroup, binds: Mapping[GangKey, Sequence[Bind]]) -> tuple[GangKey, ...]:
    """Return the gangs of the group that are bound together; empty if only one is."""
    keys = tuple(gang.key for gang in group.waiting if binds[gang.key])
    return keys if len(keys) > 1 else ()


def _in_rank_order(gang: Gang, binds: Iterable[Bind]) -> tuple[Bind, ...]:
    by_pod = {bind.pod.uid: bind for bind in binds}
    return tuple(by_pod[pod.uid] for pod in gang.pending if pod.uid in by_pod)


class Progress:
    """Says which groups a cycle still begins with its remaining work.

    With `to_the_end` it begins all groups: used-up looks are renewed, as in a new cycle.
    """

    def __init__(self, decided: Decided, effort: Effort, *, to_the_end: bool) -> None:
        self.effort = effort
        self._decided = decided
        self._to_the_end = to_the_end

    def in_time(
        self, groups: Iterable[GangGroup], part: float = 1, *, one: bool = False
    ) -> Iterator[GangGroup]:
        """Yield groups while this part of a cycle's work is not used up; the rest stay untried.

        With `one`, the first group is yielded in any case.
        """
        effort, rest = self.effort, iter(groups)
        for group in self._decided.each(rest):
            if effort.takes(A_GROUP, part) or one or self._goes_on():
                one = False
                yield group
            else:
                # Work that is used up does not come back in this cycle.
                self._decided.leave_untried(group, *rest)

    def takes(self, looks: float, part: float) -> bool:
        """Count work unless this part of a cycle's work is used up; return whether work is left."""
        return self.effort.takes(looks, part) or self._goes_on()

    def options_in_time(self, options: Sequence[_Option], since: float) -> Iterator[_Option]:
        """Yield options for one group, such as flavor assignments, until its work is used up.

        The group has a part of a cycle's work; `since` is the count of work before its first
        option. Options come in their order until half of the part is used. The order of the other
        options then rotates from cycle to cycle, so that each is tried in some cycle. The first
        option, and the first of the rotated options, come whatever they cost.
        """
        effort = self.effort
        number = 0
        for number, option in enumerate(options):
            if number and self._is_long(PART_OF_A_GROUP / 2, since):
                break
            yield option
        else:
            return
        for place, option in enumerate(effort.rotated(options[number:])):
            if place and self._is_long(PART_OF_A_GROUP, since):
                return
            yield option

    def _is_long(self, part: float, since: float) -> bool:
        """Return whether the cycle's work is done, or this part of it since the count `since`."""
        effort = self.effort
        return not self._to_the_end and (effort.has_taken(part, since) or effort.is_done())

    def is_over(self, part: float = 1) -> bool:
        """Return whether no further group is begun, since this part of the cycle's work is done."""
        return self.effort.is_over(part) and not self._goes_on()

    def is_done(self) -> bool:
        """Return whether all work of the cycle is done, searches included."""
        return self.effort.is_done() and not self._goes_on()

    def is_far_over(self) -> bool:
        """Return whether twice the work of a cycle is done."""
        return self.effort.has_taken(2, since=0) and not self._goes_on()

    def _goes_on(self) -> bool:
        """Return whether the cycle runs to the end; renew its looks if all are used."""
        if self._to_the_end and self.effort.is_over():
            self.effort.renew()
        return self._to_the_end
