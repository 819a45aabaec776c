"""How many nodes take one member, why the others do not, and which gangs hold them."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Final, NamedTuple

import numpy as np

from gang_scheduler.model.bound_pods import BoundPod, BoundPods
from gang_scheduler.model.nodes import BoolArray, NodeTable, Taint
from gang_scheduler.model.plan import Bind, Obstacle, Oversized
from gang_scheduler.model.pods import Pod, PodClass
from gang_scheduler.model.refs import GangKey
from gang_scheduler.scheduler import diagnosis
from gang_scheduler.scheduler.explanation.cycle_at_turn import Turn
from gang_scheduler.scheduler.explanation.findings import (
    Amount,
    Barred,
    ClassNodes,
    Holder,
    LabelHint,
    LabelValue,
    NodeDevices,
    NodeReason,
    RejectedNodes,
    RequestDevices,
)
from gang_scheduler.scheduler.filters import devices, node_affinity, taints
from gang_scheduler.scheduler.policies import Profile
from gang_scheduler.scheduler.trial import Trial

# The gangs that hold the room of a node: running gangs, and gangs with earlier turns.


class Holders:
    """The gangs that hold a resource of nodes."""

    def __init__(self, running: BoundPods, turn: Turn) -> None:
        self._running = running
        self._turn = turn

    def of(self, nodes: Iterable[str], resource: str) -> dict[str, tuple[Holder, ...]]:
        """Return the gangs that hold a resource of each node, the largest amount first."""
        wanted = set(nodes)
        on_nodes: dict[str, list[BoundPod]] = {name: [] for name in wanted}
        for each in (*self._running.pods, *self._running.leaving):
            if each.pod.node in wanted:
                on_nodes[each.pod.node].append(each)
        taken = self._taken(wanted, resource)
        return {name: _holders(some, resource, taken[name]) for name, some in on_nodes.items()}

    def _taken(self, wanted: set[str], resource: str) -> Counter[str]:
        """Return the room that gangs with earlier turns take, by node."""
        taken: Counter[str] = Counter()
        for bind in self._binds():
            if bind.node in wanted:
                taken[bind.node] += _amount(bind.pod, resource)
        return taken

    def _binds(self) -> Iterable[Bind]:
        yield from (bind for each in self._turn.placements.values() for bind in each.binds)
        yield from (bind for each in self._turn.preemptions for bind in each.nominations)


def _holders(pods: Iterable[BoundPod], resource: str, taken: int) -> tuple[Holder, ...]:
    amounts: Counter[GangKey] = Counter()
    numbers: Counter[GangKey] = Counter()
    for each in pods:
        amount = _amount(each.pod, resource)
        amounts[each.gang] += amount
        numbers[each.gang] += bool(amount)
    ranked = sorted(amounts.items(), key=lambda item: (-item[1], item[0]))
    found = [
        Holder(str(gang), Amount(resource, amount), numbers[gang])
        for gang, amount in ranked
        if amount
    ]
    return (*found, Holder(None, Amount(resource, taken))) if taken else tuple(found)


def _amount(pod: Pod, resource: str) -> int:
    return dict(pod.pod_class.requests).get(resource, 0)


# The nodes that each filter rejects for one more pod of a class. A node counts for the first filter
# that rejects it.

Words = Callable[[BoolArray], Counter[str]]


@dataclass(frozen=True, slots=True, eq=False)
class Rejection:
    """The nodes that a filter is the first to reject. `words` counts the reasons of given nodes."""

    obstacle: Obstacle
    rows: BoolArray
    words: Words


@dataclass(frozen=True, slots=True, eq=False)
class Rejections:
    """Why nodes reject a pod. `fitting` nodes take it, and `short` nodes lack only resources."""

    found: tuple[Rejection, ...]
    fitting: BoolArray
    short: BoolArray

    def counted(self, among: BoolArray) -> tuple[RejectedNodes, ...]:
        """Return the reasons of the given nodes, most nodes first."""
        counts: Counter[str] = Counter()
        for each in self.found:
            if (rows := each.rows & among).any():
                counts += each.words(rows)
        return tuple(RejectedNodes(*each) for each in _most_first(counts))


def rejections_of(pod_class: PodClass, trial: Trial, profile: Profile) -> Rejections:
    """Return why nodes reject one more pod of a class. Each filter is asked once."""
    left = np.ones(len(trial.nodes), dtype=np.bool_)
    short = np.zeros_like(left)
    found = []
    for obstacle, full, words in _filters(pod_class, trial, profile):
        rows = left & full
        left &= ~full
        short &= ~full
        if obstacle.is_room:
            short = rows
        if rows.any():
            found.append(Rejection(obstacle, rows, words))
    return Rejections(tuple(found), left, short)


def _filters(
    pod_class: PodClass, trial: Trial, profile: Profile
) -> Iterator[tuple[Obstacle, BoolArray, Words]]:
    """Yield each filter that concerns the class: the nodes that it rejects, and its words."""
    for node_filter in profile.node_filters:
        full = ~node_filter.passes(pod_class, trial.nodes)
        yield node_filter.obstacle, full, partial(node_filter.reasons, pod_class, trial.nodes)
    for room in (*profile.room_filters, *profile.coupled_filters):
        if room.concerns(pod_class, trial):
            full = room.slots(pod_class, trial) == 0
            yield room.obstacle, full, partial(room.reasons, pod_class, trial)


# For each class of members: how many nodes accept a member, and why the other nodes do not.

MOST_CLASSES: Final = 8
NODES_NAMED: Final = 3
MOST_READ: Final = 200
"""If a filter has several reasons, it is asked for the reason of at most this many nodes."""
VALUES_NAMED: Final = 4


class Nodes(NamedTuple):
    """Why nodes reject a pod of each class. `in_vain` and `barred` each concern one class only."""

    classes: tuple[ClassNodes, ...]
    in_vain: tuple[Oversized, ...]
    barred: Barred | None


def nodes_of(turn: Turn) -> Nodes:
    """Return why nodes reject a pod of each class, the class with most members first."""
    trial = turn.trial()
    members: dict[PodClass, list[Pod]] = {}
    for pod in (pod for unit in turn.units() for pod in unit.members):
        members.setdefault(pod.pod_class, []).append(pod)
    classes = sorted(members.items(), key=lambda item: -len(item[1]))[:MOST_CLASSES]
    nodes, told, barred = trial.nodes, [], None
    for pod_class, pods in classes:
        found = rejections_of(pod_class, trial, turn.profile)
        told.append(_class_nodes(pod_class, pods, found, trial))
        if barred is None and not found.fitting.any():
            barred = _barred(pod_class, nodes)
    in_vain = (diagnosis.oversized_of(each, nodes, turn.profile) for each, _ in classes)
    return Nodes(tuple(told), next(filter(None, in_vain), ()), barred)


def _class_nodes(
    pod_class: PodClass, pods: list[Pod], found: Rejections, trial: Trial
) -> ClassNodes:
    return ClassNodes(
        pod=pods[0].key,
        pods=len(pods),
        nodes=len(trial.nodes),
        fitting=int(found.fitting.sum()),
        reasons=_reasons(found, trial),
        selectors=tuple(_hints(pod_class, trial)),
        devices=_devices(pod_class, found, trial),
    )


def _devices(pod_class: PodClass, found: Rejections, trial: Trial) -> NodeDevices | None:
    """Return the devices of the nearest node that lacks devices; None if no node lacks them."""
    rows = next((each.rows for each in found.found if each.obstacle == devices.obstacle), None)
    nearest = devices.nearest(pod_class, trial, rows) if rows is not None else None
    if nearest is None:
        return None
    requests = (
        RequestDevices(
            request=each.request,
            device_class=each.device_class,
            needed=each.wanted,
            on_node=each.reaching,
            of_class=each.of_class,
            matching=each.matching,
            not_tainted=each.tolerated,
            with_capacity=each.sufficient,
            free=each.free,
        )
        for each in nearest.funnels
    )
    return NodeDevices(trial.nodes.nodes[nearest.row].name, tuple(requests))


def _barred(pod_class: PodClass, nodes: NodeTable) -> Barred | None:
    """Return the nodes that have the required labels, if each of them rejects the pod.

    None if one of them accepts it.
    """
    matching = node_affinity.passes(pod_class, nodes)
    if matching.all() or not matching.any():
        return None
    tolerated = taints.passes(pod_class, nodes)
    if (matching & tolerated & nodes.ready & ~nodes.unschedulable).any():
        return None
    lacking: Counter[Taint] = Counter()
    rows = np.flatnonzero(matching).tolist()
    for row in np.flatnonzero(matching & ~tolerated).tolist():
        found = taints.untolerated(pod_class, nodes.nodes[row].taints)
        # A node that is cordoned or not ready has a taint of that name as well.
        lacking.update(each for each in found if not each.key.startswith(taints.OF_STATES))
    return Barred(
        nodes=len(rows),
        some=tuple(nodes.nodes[row].name for row in rows[:NODES_NAMED]),
        selector=pod_class.node_selector,
        taints=tuple(sorted(lacking.items(), key=lambda each: (-each[1], each[0].key))),
        cordoned=int((matching & nodes.unschedulable).sum()),
        not_ready=int((matching & ~nodes.ready).sum()),
    )


def _reasons(found: Rejections, trial: Trial) -> tuple[NodeReason, ...]:
    counts: Counter[str] = Counter()
    some: dict[str, list[int]] = {}
    for each in found.found:
        said = each.words(each.rows)
        counts += said
        rows = np.flatnonzero(each.rows).tolist()
        for row in rows[:NODES_NAMED] if len(said) == 1 else rows[:MOST_READ]:
            one = np.zeros_like(each.rows)
            one[row] = True
            for words in said if len(said) == 1 else each.words(one):
                some.setdefault(words, []).append(row)
    return tuple(
        NodeReason(words, number, _names(some.get(words, []), trial))
        for words, number in _most_first(counts)
    )


def _most_first(counts: Counter[str]) -> list[tuple[str, int]]:
    return sorted(counts.items(), key=lambda item: (-item[1], item[0]))


def _names(rows: list[int], trial: Trial) -> tuple[str, ...]:
    return tuple(trial.nodes.nodes[row].name for row in rows[:NODES_NAMED])


def _hints(pod_class: PodClass, trial: Trial) -> Iterator[LabelHint]:
    """Yield the labels of the node selector, with the values that nodes have."""
    for key, value in pod_class.node_selector:
        counts = Counter(node.labels[key] for node in trial.nodes.nodes if key in node.labels)
        number = counts.pop(value, 0)
        if number < len(trial.nodes):
            others = counts.most_common(VALUES_NAMED)
            yield LabelHint(key, value, number, tuple(LabelValue(*each) for each in others))
