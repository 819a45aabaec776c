"""Rules on evictions: each victim may be evicted (`evictions`), and is needed (`spared`)."""

import itertools
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from math import inf
from typing import Any, Final

from gang_auditor import objects, queues, victims
from gang_auditor.auditor import Limits
from gang_auditor.charges import NO_QUEUE, Charge, amounts_of
from gang_auditor.findings import Finding
from gang_auditor.gangs import JOB, OURS, GangName
from gang_auditor.objects import Amounts, Kind, Pod, mapping
from gang_auditor.rules.volumes import claims_of
from gang_auditor.watch_events import Object
from gang_auditor.world import Change, Due, World
from gang_scheduler.api import annotations as keys

# Rule `evictions`: a victim is a pod that the preemptor may evict. Source: docs/preemption.md and
# docs/queues.md. A victim is judged when it is marked, by the preemptor that the mark names. Never
# allowed: mirror pods, pods of DaemonSets, pods that are already being deleted, pods that a label
# protects, and any victim of a gang with `preemptionPolicy: Never`. Without queues, the priority of
# the victim's gang must be lower. With queues, withinQueue decides in the preemptor's own queue. In
# another queue, reclaim or whileBorrowing, `allowPreemption` and `allowPreemptFrom` decide, and
# that queue must be over its nominal quota. Not flagged: victims of a queue that would be over its
# nominal quota if pods counted that may soon be charged (waiting pods, pods of Jobs that have just
# started, and pods of suspended workloads that wait for victims), or if pods counted that have left
# within the skew, or by a nominal quota that was replaced within the skew; marks by the uid of a
# gang that no longer exists; victims if, within the skew, a Queue was created or deleted, or the
# PodGroup of one of the gangs was deleted or not yet known, since these objects say which gang is
# in which queue; gangs of Kueue's and Volcano's queues; gangs that overran a declared end; run
# times that are too short.

NAMESPACE: Final = Kind("", "Namespace")
FOREIGN: Final = (keys.KUEUE_QUEUE, keys.VOLCANO_QUEUE, keys.VOLCANO_QUEUE_SHORT)
UNKNOWN: Final = "?"


class Evictions:
    """Judges whether a gang may be evicted for another gang."""

    name = "evictions"

    def __init__(self, limits: Limits) -> None:
        self._limits = limits

    def changed(self, changes: Sequence[Change], world: World) -> Iterator[Finding]:
        """Judge victims as they are marked."""
        for change in changes:
            pod, before = change.after, change.before
            mark = victims.mark_of(pod) if pod is not None else None
            if pod is None or mark is None or (before is not None and victims.is_marked(before)):
                continue
            known_by = self._limits.decided(change.since)
            was_deleted = pod.is_deleted and world.over_at.get(pod.uid, change.at) < known_by
            fault = "while it was being deleted" if was_deleted else _protected(before or pod)
            is_settled = not queues.just_turned(world, self._limits, known_by)
            fault = fault or _of_preemptor(pod, mark, world, known_by, by_queues=is_settled)
            if fault:
                details = {"preemptor": mark.gang, "node": pod.node}
                message = f"evicted for {mark.gang}, {fault}"
                yield Finding(change.at, self.name, pod.about, message, details)

    def passed(self, now: float, world: World) -> Iterator[Finding]:  # noqa: ARG002 - a rule's.
        """Judge nothing later."""
        yield from ()


def _protected(pod: Pod) -> str:
    """Return why no gang may evict a pod, "" if some gang may evict it."""
    states = {
        "though it is a mirror pod": keys.MIRROR_POD in pod.annotations
        and _is_controlled_by(pod, "v1", "Node"),
        "though it is of a DaemonSet": _is_controlled_by(pod, "apps/v1", "DaemonSet")
        and _is_for_one_node(pod),
        "though a label protects it": pod.labels.get(keys.DISABLE_PREEMPTIBLE) == "true"
        or pod.labels.get(keys.QUOTA_PREEMPTIBLE) == "false",
    }
    return next((words for words, holds in states.items() if holds), "")


def _is_controlled_by(pod: Pod, api_version: str, kind: str) -> bool:
    controller = pod.controller
    return (controller.get("apiVersion"), controller.get("kind")) == (api_version, kind)


def _is_for_one_node(pod: Pod) -> bool:
    """Return whether a pod has the node affinity that the controller of DaemonSets writes."""
    of_nodes = mapping(mapping(pod.spec, "affinity"), "nodeAffinity")
    required = mapping(of_nodes, "requiredDuringSchedulingIgnoredDuringExecution")
    names = {"key": "metadata.name", "operator": "In", "values": [pod.node]}
    return required.get("nodeSelectorTerms") == [{"matchFields": [names]}]


def _of_preemptor(
    victim: Pod, mark: victims.Mark, world: World, known_by: float, *, by_queues: bool
) -> str:
    """Return why a gang may not evict a pod, "" if it may, or if that cannot be judged.

    `known_by` is the time of the oldest state that counts. `by_queues`: the Queues of that time are
    known.
    """
    preemptor, gang = victims.preemptor_of(mark, world), victims.gang_or_pod(victim)
    if preemptor is None or _has_overrun(victim, world):
        return ""
    members = victims.members_of(preemptor, world)
    if any(each.spec.get("preemptionPolicy") == "Never" for each in members if not each.node):
        return "whose preemptionPolicy is Never"
    mine, other = victims.priority_of(preemptor, world), victims.priority_of(gang, world)
    if mine is None or other is None:
        return ""
    if not by_queues or any(_was_missing(each, world, known_by) for each in (preemptor, gang)):
        return ""
    names = (_queue_of(preemptor, world), _queue_of(gang, world))
    return "" if UNKNOWN in names else _by_queues(names, victim, (mine, other), world, known_by)


def _was_missing(gang: GangName, world: World, since: float) -> bool:
    """Return whether the object of a gang, which names its queue, was unknown or deleted."""
    if gang.kind != OURS:
        return False
    versions = world.objects(OURS).between(gang.object_key, since, float("inf"))
    known = itertools.dropwhile(lambda version: version is None, versions)
    return not any(versions) or None in known


def _by_queues(
    names: tuple[str, str], victim: Pod, priorities: tuple[int, int], world: World, known_by: float
) -> str:
    """Judge an eviction by the queues of preemptor and victim, and by their priorities."""
    specs = queues.specs_of(world)
    mine, other = priorities
    own, theirs = names
    policy = mapping(specs.get(own, {}), "preemption")
    if not specs or own == theirs == NO_QUEUE:
        return "" if other < mine else f"whose priority {mine} is not above {other}"
    if own == theirs:
        return _in_queue(policy, mine, other)
    fault = _from_another(specs, names, victim, world, known_by)
    return fault or _reclaimed(policy, mine, other)


def _in_queue(policy: Mapping[str, Any], mine: int, other: int) -> str:
    wanted = policy.get("withinQueue") or "LowerPriority"
    if wanted == "Never":
        return "in a queue in which none is evicted for another"
    most = mine if wanted == "LowerOrNewerEqualPriority" else mine - 1
    return "" if other <= most else f"of its own queue, whose priority {mine} is not above {other}"


def _reclaimed(policy: Mapping[str, Any], mine: int, other: int) -> str:
    """Judge an eviction by what the preemptor's queue may take from other queues."""
    reclaim = policy.get("reclaim") or "Any"
    borrowing = mapping(policy, "whileBorrowing")
    bounds = {"Any": other, "LowerPriority": mine - 1, "LowerOrNewerEqualPriority": mine}
    if other <= bounds.get(reclaim, other - 1):
        return ""
    threshold = borrowing.get("maxPriorityThreshold")
    borrows = borrowing.get("policy") == "LowerPriority" and other < mine
    if borrows and (threshold is None or other <= threshold):
        return ""
    return f"whose queue may not take from others at priority {mine} against {other}"


def _from_another(
    specs: Mapping[str, Object],
    names: tuple[str, str],
    victim: Pod,
    world: World,
    known_by: float,
) -> str:
    """Return why pods of another queue must not be evicted, "" if they may be."""
    own, theirs = names
    above = _path(specs, own)
    for each in _path(specs, theirs):
        if each in above:
            break
        policy = mapping(specs.get(each, {}), "preemption")
        if policy.get("allowPreemption") is False:
            return f"from {each}, of which no queue may take"
        allowed = policy.get("allowPreemptFrom")
        if allowed is not None and not set(allowed) & set(above):
            return f"from {each}, of which {own} may not take"
    if theirs not in specs:
        return ""
    charged = [*_perhaps_charged(theirs, world), *_charged_before(theirs, world, known_by)]
    versions = world.objects(queues.QUEUE).between(theirs, known_by, inf)
    for spec in (mapping(each, "spec") for each in versions if each is not None):
        if _is_over({**specs, theirs: spec}, theirs, victim, charged, world):
            return ""
    return f"from {theirs}, which is within quota"


def _is_over(
    specs: Mapping[str, Object],
    queue: str,
    victim: Pod,
    charged: Iterable[tuple[Charge, int]],
    world: World,
) -> bool:
    """Return whether a queue exceeds its nominal quota of any resource that a victim uses.

    `charged` counts in addition to what bound pods are charged.
    """
    used = dict(world.charges.used)
    for charge, count in charged:
        used[charge] = used.get(charge, 0) + count
    asked = {resource for resource, count in victim.requests.items() if count}
    for key in queues.governed(specs):
        account = queues.tree_of(world, specs, used, key).accounts[queue]
        if asked & set(queues.meanings(key[1])) and account.used > account.nominal:
            return True
    return False


def _perhaps_charged(queue: str, world: World) -> Iterator[tuple[Charge, int]]:
    """Yield charges that a queue may have in addition to the charges of its bound pods.

    They come from pods that are leaving, pods that another program bound, waiting pods, whose
    binding may be on its way, and pods of Jobs that have just started or wait suspended.
    """
    for pod in world.pods.values():
        is_sure = bool(pod.plan) and not pod.is_deleted
        if is_sure or pod.has_ended or pod.is_gated:
            continue
        if _queue_of(victims.gang_or_pod(pod), world) == queue:
            yield from amounts_of(pod, queue)
    for job in world.objects(JOB):
        metadata, spec = mapping(job, "metadata"), mapping(job, "spec")
        notes = mapping(metadata, "annotations")
        has_started = bool(notes.get(keys.ADMITTED_AT)) and notes.get(keys.QUEUE) == queue
        gang = GangName(JOB, str(metadata.get("namespace")), str(metadata.get("name")))
        if has_started or (spec.get("suspend") is True and _queue_of(gang, world) == queue):
            made = sum(
                int(mapping(job, "status").get(each) or 0) for each in ("active", "succeeded")
            )
            missing = max(0, int(spec.get("parallelism") or 1) - made)
            for charge, count in amounts_of(Pod(mapping(spec, "template")), queue):
                yield charge, missing * count


def _charged_before(queue: str, world: World, known_by: float) -> Iterator[tuple[Charge, int]]:
    """Yield charges of a queue that have ended since the oldest state that counts."""
    for pod in world.left_since(known_by):
        if pod.plan and (pod.annotations.get(keys.QUEUE) or NO_QUEUE) == queue:
            yield from amounts_of(pod, queue)


def _path(specs: Mapping[str, Object], queue: str) -> list[str]:
    """Return a queue and the queues above it."""
    path = [queue]
    while path[-1] in specs and path[-1] != queues.ROOT and len(path) <= len(specs):
        path.append(str(specs[path[-1]].get("parent") or queues.ROOT))
    return path if path[-1] == queues.ROOT else [*path, queues.ROOT]


def _queue_of(gang: GangName, world: World) -> str:
    """Return the queue of a gang: from its bindings, else the queue that it names."""
    members = victims.members_of(gang, world)
    for pod in members:
        if pod.plan and pod.annotations.get(keys.QUEUE):
            return _ours(pod.annotations[keys.QUEUE])
    # A suspended workload names its queue itself, and its pods do not.
    described = [world.objects(kind).latest(gang.object_key) for kind in (OURS, gang.kind)]
    labelled = [mapping(mapping(each or {}, "metadata"), "labels") for each in described]
    labelled += [each.labels for each in members]
    for labels in labelled:
        if labels.get(keys.QUEUE):
            return str(labels[keys.QUEUE])
        if any(labels.get(key) for key in FOREIGN):
            return UNKNOWN
    space = world.objects(NAMESPACE).latest(gang.namespace)
    default = mapping(mapping(space or {}, "metadata"), "annotations").get(keys.DEFAULT_QUEUE)
    return str(default or NO_QUEUE)


def _ours(written: str) -> str:
    return UNKNOWN if "/" in written else written


def _has_overrun(victim: Pod, world: World) -> bool:
    gang = victims.gang_or_pod(victim)
    found = world.objects(OURS).latest(gang.object_key)
    return bool(mapping(mapping(found or {}, "status"), "backfill"))


# Rule `spared`: no gang is evicted without need. Source: docs/preemption.md: in the end no victim
# can be spared. When a plan has been carried out, the rule puts each gang of its victims back in a
# calculation. If all nodes still have room for the gang in addition to the pods that were bound or
# nominated, its eviction was not needed. Not flagged: victims while, or shortly after, there are
# queues, since quota may have been missing; preemptors or victims with ports, claims, affinity or
# spread; preemptors whose members have changed since, or that were placed in room that appeared
# later; room that was freed within the skew, and room to which other gangs were nominated. So a
# finding is certain, but an eviction without a finding may still be wrong: `--simulate` compares
# with a plan.

LONGEST: Final = 10
"""The writes of a plan may take this many times the clock skew in `Limits`."""


@dataclass
class _Plan:
    """The victims of a preemptor, and pods that left without the plan knowing it.

    `members` has the node of each of its members, by uid, when the first victim was marked; "" for
    a member without a node or nomination.
    """

    preemptor: str
    at: float
    mark: victims.Mark
    members: Mapping[str, str]
    marked: dict[str, Pod] = field(default_factory=dict)
    left: dict[str, Pod] = field(default_factory=dict)


class Spared:
    """Judges whether victims would still fit next to the pods for which they were evicted."""

    name = "spared"

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._plans: dict[str, _Plan] = {}
        self._left: Due[Pod] = Due(limits.skew)
        self._leaving: dict[str, Pod] = {}
        self._active_at = 0.0
        """When a pod was last marked or nominated: plans are written one after another."""

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
        """Remember leaving pods for as long as a plan may not have known that they leave."""
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
        """Calculate for each plan that was carried out whether its victims could have stayed."""
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
        """Return whether a preemptor has its planned members, and no room new to the plan.

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
        """Yield the victims of plans that were made later than this one."""
        for each in self._plans.values():
            if each is not plan and each.at >= plan.at:
                yield from each.marked.values()

    def _beside(self, plan: _Plan, world: World) -> Mapping[str, Mapping[str, Pod]]:
        """Return the pods whose room a plan could not use, by node and uid.

        They left later, were marked for a later plan, or wait with a nomination.
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
        """Return whether nodes have room for pods in addition to all present and expected pods."""
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
            used = objects.total(e.requests for e in (*others, *back.values()))
            asked = {key for each in back.values() for key, n in each.requests.items() if n}
            if any(_is_over_quota(key, used, offered) for key in asked):
                return False
        return True


def _members(mark: victims.Mark, world: World) -> Sequence[Pod]:
    """Return the members of a preemptor; none if it is not known."""
    preemptor = victims.preemptor_of(mark, world)
    return () if preemptor is None else victims.members_of(preemptor, world)


def _place(pod: Pod) -> str:
    """Return the node of a pod, or its nominated node; "" if it has neither."""
    return pod.node or pod.nominated


def _is_over_quota(resource: str, used: Mapping[str, int], offered: Sequence[Amounts]) -> bool:
    return used.get(resource, 0) > min(each.get(resource, 0) for each in offered)


def _by_gang(pods: Iterable[Pod]) -> dict[GangName, list[Pod]]:
    found: dict[GangName, list[Pod]] = {}
    for each in pods:
        found.setdefault(victims.gang_or_pod(each), []).append(each)
    return found


def _is_special(pod: Pod) -> bool:
    """Return whether the place of a pod depends on more than resources."""
    affinity = mapping(pod.spec, "affinity")
    near = affinity.get("podAffinity") or affinity.get("podAntiAffinity")
    spread = pod.spec.get("topologySpreadConstraints")
    return bool(near or spread or pod.host_ports or claims_of(pod))
