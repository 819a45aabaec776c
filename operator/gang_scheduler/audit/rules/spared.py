"""`spared`: no gang is evicted without need.

Source: docs/preemption.md: in the end no victim can be spared. When a plan has been carried out,
each gang of its victims is put back on paper: if all nodes still have room for it beside what was
bound or nominated, it need not have gone.

Not flagged: victims where there are queues, or were within the skew, since quota may have been
lacking; where the preemptor or the victim has ports, claims, affinity or spread; where members of
the preemptor have come or gone since, or went to room that has come since; room that was freed
within the skew, and what other gangs were nominated to. So a finding is certain, and what is not
found may still be wrong: `--simulate` compares with a plan.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from math import inf
from typing import Final

from gang_scheduler.audit import victims
from gang_scheduler.audit.auditor import Limits
from gang_scheduler.audit.due import Due
from gang_scheduler.audit.findings import Finding
from gang_scheduler.audit.gangs import GangName
from gang_scheduler.audit.objects import quantities
from gang_scheduler.audit.objects.pods import Pod, mapping
from gang_scheduler.audit.objects.quantities import Amounts
from gang_scheduler.audit.quota import queues
from gang_scheduler.audit.rules.volumes import claims_of
from gang_scheduler.audit.world import Change, World

LONGEST: Final = 10
"""So many times the skew a plan waits for others to be written."""


@dataclass
class _Plan:
    """The victims of a preemptor, and what left meanwhile: the plan may not have known that.

    `members`: the nodes of its members, by their uids, when the first victim was marked; "" where a
    member had none, and was nominated to none.
    """

    preemptor: str
    at: float
    mark: victims.Mark
    members: Mapping[str, str]
    marked: dict[str, Pod] = field(default_factory=dict)
    left: dict[str, Pod] = field(default_factory=dict)


class Spared:
    """Victims that would fit beside what they were evicted for."""

    name = "spared"

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._plans: dict[str, _Plan] = {}
        self._left: Due[Pod] = Due(limits.skew)
        self._leaving: dict[str, Pod] = {}
        self._active_at = 0.0
        """When a pod was last marked or nominated: plans are written one after the other."""

    def changed(self, changes: Sequence[Change], world: World) -> Iterator[Finding]:
        """Note victims that are marked, and room that is freed."""
        for change in changes:
            self._note_leaving(change)
            pod, before = change.after, change.before
            if pod is None:
                continue
            if pod.nominated and (before is None or before.nominated != pod.nominated):
                self._active_at = change.at
            mark = victims.mark_of(pod)
            if mark is not None and (before is None or not victims.is_marked(before)):
                self._active_at = change.at
                if mark.gang not in self._plans:
                    self._plans[mark.gang] = self._new_plan(mark, change.at, world)
                self._plans[mark.gang].marked[pod.uid] = pod
        yield from ()

    def _new_plan(self, mark: victims.Mark, at: float, world: World) -> _Plan:
        members = {each.uid: _place(each) for each in _members(mark, world)}
        return _Plan(mark.gang, at, mark, members, left=dict(self._leaving))

    def _note_leaving(self, change: Change) -> None:
        """Keep pods that leave for as long as a plan may not have known it."""
        before, after = change.before, change.after
        if before is None or not before.holds_its_node:
            return
        is_going = after is None or after.has_ended or after.is_deleted
        if is_going and not before.is_deleted and not victims.is_marked(before):
            self._leaving[before.uid] = before
            self._left.add(change.at, before)
            for plan in self._plans.values():
                plan.left[before.uid] = before

    def passed(self, now: float, world: World) -> Iterator[Finding]:
        """Put victims back, on paper."""
        for pod in self._left.take(now):
            self._leaving.pop(pod.uid, None)
        for plan in list(self._plans.values()):
            latest = min(self._active_at, plan.at + LONGEST * self._limits.skew)
            if now >= max(plan.at, latest) + self._limits.skew:
                yield from self._judge(plan, world)
                del self._plans[plan.preemptor]

    def _judge(self, plan: _Plan, world: World) -> Iterator[Finding]:
        had_queues = queues.just_turned(world, self._limits, self._limits.decided(plan.at))
        if had_queues or any(True for _ in world.objects(queues.QUEUE)):
            return
        members = _members(plan.mark, world)
        placed = {each.uid: _place(each) for each in members if _place(each)}
        if not placed or any(_is_special(each) for each in members):
            return
        if not self._are_as_planned(placed, plan, world):
            return
        beside = self._beside(plan, world)
        for gang, pods in _by_gang(plan.marked.values()).items():
            if any(_is_special(each) for each in pods) or self._is_shared(gang, plan):
                continue
            if self._fits(pods, plan, world, beside):
                names = ", ".join(sorted(each.key for each in pods))
                details = {"preemptor": plan.preemptor, "pods": sorted(e.key for e in pods)}
                message = f"evicted for {plan.preemptor}, though there was room beside it: {names}"
                yield Finding(plan.at, self.name, gang.about, message, details)

    def _is_shared(self, gang: GangName, plan: _Plan) -> bool:
        """Return whether other members of a gang were evicted for another preemptor."""
        others = (each for each in self._plans.values() if each is not plan)
        return any(victims.gang_or_pod(e) == gang for each in others for e in each.marked.values())

    def _are_as_planned(self, placed: Mapping[str, str], plan: _Plan, world: World) -> bool:
        """Return whether a preemptor has no other members, and no room that a plan did not know.

        `placed`: the nodes of its members, by their uids.
        """
        had_places = {uid for uid, node in plan.members.items() if node}
        if not had_places <= placed.keys() <= plan.members.keys():
            return False
        elsewhere = {node for uid, node in placed.items() if plan.members[uid] != node}
        freed = {each.node for each in (*plan.left.values(), *self._marked_later(plan))}
        since = plan.at - self._limits.skew
        for node in placed.values():
            versions = world.nodes.between(node, since, inf)
            if len(versions) != 1 or None in versions:
                return False
        return not elsewhere & freed

    def _marked_later(self, plan: _Plan) -> Iterator[Pod]:
        """Yield the victims of plans that were made after another one."""
        for each in self._plans.values():
            if each is not plan and each.at >= plan.at:
                yield from each.marked.values()

    def _beside(self, plan: _Plan, world: World) -> Mapping[str, Mapping[str, Pod]]:
        """Return the pods, by node and uid, whose room a plan could not give away.

        They left since, were marked for a later plan, or wait with a nomination.
        """
        found: dict[str, dict[str, Pod]] = defaultdict(dict)
        waiting = (each for each in world.pods.values() if not each.node)
        for pod in (*plan.left.values(), *self._marked_later(plan), *waiting):
            if place := _place(pod):
                found[place][pod.uid] = pod
        return found

    def _fits(
        self,
        pods: Sequence[Pod],
        plan: _Plan,
        world: World,
        beside: Mapping[str, Mapping[str, Pod]],
    ) -> bool:
        """Return whether the nodes have room for pods beside all that is there or to come."""
        nodes = {each.node for each in pods}
        for name in nodes:
            versions = world.nodes.between(name, plan.at - self._limits.skew, plan.at)
            offered = [each.allocatable for each in versions if each]
            if not offered or None in versions:
                return False
            staying = {e.uid: e for e in world.on_node(name) if not e.is_deleted}
            back = {each.uid: each for each in pods if each.node == name}
            there = {**beside.get(name, {}), **staying}
            others = [e for uid, e in there.items() if uid not in plan.marked]
            used = quantities.total(e.requests for e in (*others, *back.values()))
            asked = {key for each in back.values() for key, n in each.requests.items() if n}
            if any(_is_over(key, used, offered) for key in asked):
                return False
        return True


def _members(mark: victims.Mark, world: World) -> Sequence[Pod]:
    """Return the members of a preemptor; none if it is not known."""
    preemptor = victims.preemptor_of(mark, world)
    return () if preemptor is None else victims.members_of(preemptor, world)


def _place(pod: Pod) -> str:
    """Return the node of a pod, or that it is nominated to; "" without."""
    return pod.node or pod.nominated


def _is_over(resource: str, used: Mapping[str, int], offered: Sequence[Amounts]) -> bool:
    return used.get(resource, 0) > min(each.get(resource, 0) for each in offered)


def _by_gang(pods: Iterable[Pod]) -> dict[GangName, list[Pod]]:
    found: dict[GangName, list[Pod]] = {}
    for each in pods:
        found.setdefault(victims.gang_or_pod(each), []).append(each)
    return found


def _is_special(pod: Pod) -> bool:
    """Return whether more than resources decides where a pod fits."""
    affinity = mapping(pod.spec, "affinity")
    near = affinity.get("podAffinity") or affinity.get("podAntiAffinity")
    spread = pod.spec.get("topologySpreadConstraints")
    return bool(near or spread or pod.host_ports or claims_of(pod))
