"""What kept members from nodes, counted by reason, and what the next one is short of."""

from collections import Counter
from typing import Final, NamedTuple

import numpy as np

from gang_scheduler.model.nodes import BoolArray
from gang_scheduler.model.plan import Obstacle, Shortage
from gang_scheduler.model.pods import PodClass
from gang_scheduler.scheduler import oversized
from gang_scheduler.scheduler.placement.feasible_slots import allowed
from gang_scheduler.scheduler.policies import NodeFilter, Profile, RoomFilter
from gang_scheduler.scheduler.trial import Trial

OUT: Final = (Obstacle.UNSCHEDULABLE, Obstacle.NOT_READY)


class Diagnosis(NamedTuple):
    """What keeps one more pod from the nodes.

    `rejections` are (reason, nodes), most nodes first; `shortage` is None if no node rejects it.
    """

    rejections: tuple[tuple[str, int], ...]
    shortage: Shortage | None


def diagnose(
    pod_class: PodClass, trial: Trial, profile: Profile, near: BoolArray | None = None
) -> Diagnosis:
    """Return what keeps one more pod of this class from the nodes. Called once a misfit.

    The first filter that rejects a node gives its reason, as in kube-scheduler. What it is short of
    is looked for on the nodes of `near`, None for all.
    """
    found = _of_node_filters(pod_class, trial, profile)
    for room in (*profile.room_filters, *profile.coupled_filters):
        if not room.concerns(pod_class, trial):
            continue
        rejected = found.reject(room, room.slots(pod_class, trial) == 0)
        if rejected is not None:
            found.reasons += room.reasons(pod_class, trial, rejected)
    rejections = sorted(found.reasons.items(), key=lambda item: (-item[1], item[0]))
    nearest = found.lacks_room if near is None else found.lacks_room & near
    shortage = _shortage(pod_class, trial, found, nearest)
    told = oversized.told(shortage, pod_class, trial.nodes, profile)
    return Diagnosis(tuple(rejections), told)


class _Counts:
    """The nodes that no filter has rejected so far, and why the others were rejected.

    `lacks_room` are those that the filter of resources rejects, and no other one.
    """

    def __init__(self, left: BoolArray) -> None:
        self.reasons: Counter[str] = Counter()
        self.nodes: Counter[Obstacle] = Counter()
        self.left = left
        self.lacks_room: BoolArray = np.zeros(len(left), dtype=np.bool_)

    def copy(self) -> "_Counts":
        """Return the same counts, to be added to. For as long as no node lacks room."""
        other = _Counts(self.left.copy())
        other.reasons.update(self.reasons)
        other.nodes.update(self.nodes)
        return other

    def reject(self, policy: NodeFilter | RoomFilter, full: BoolArray) -> BoolArray | None:
        """Note the nodes that a filter is against; return those that none was before, if any."""
        rejected = self.left & full
        self.left &= ~full
        self.lacks_room &= ~full
        if policy.obstacle is Obstacle.RESOURCES:
            self.lacks_room = rejected
        number = int(np.count_nonzero(rejected))
        if not number:
            return None
        self.nodes[policy.obstacle] += number
        return rejected


def _of_node_filters(pod_class: PodClass, trial: Trial, profile: Profile) -> _Counts:
    """Return what the filters of nodes reject: computed once a class while nodes do not change."""
    everywhere = np.ones(len(trial.nodes), dtype=np.bool_)
    if np.count_nonzero(allowed(pod_class, trial, profile)) == len(everywhere):
        return _Counts(everywhere)

    def compute() -> _Counts:
        found = _Counts(everywhere)
        for each in profile.node_filters:
            rejected = found.reject(each, ~each.passes(pod_class, trial.nodes))
            if rejected is not None:
                found.reasons += each.reasons(pod_class, trial.nodes, rejected)
        return found

    return trial.nodes.derive(("rejected", pod_class), compute).copy()


def _shortage(
    pod_class: PodClass, trial: Trial, found: _Counts, nearest: BoolArray
) -> Shortage | None:
    out = sum(found.nodes[each] for each in OUT)
    if nearest.any():
        nodes = found.nodes[Obstacle.RESOURCES]
        return Shortage(Obstacle.RESOURCES, nodes, _lacking(pod_class, trial, nearest), out)
    # Of several obstacles the first filter's comes first: a counter keeps the order.
    for obstacle, nodes in found.nodes.most_common(1):
        return Shortage(obstacle, nodes, out=out)
    return None


def _lacking(pod_class: PodClass, trial: Trial, nearest: BoolArray) -> tuple[tuple[str, int], ...]:
    """Return what the node lacks that lacks the fewest resources, and the least part of them."""
    asked = [(name, amount) for name, amount in pod_class.requests if amount > 0]
    amounts = np.array([[amount] for _, amount in asked])
    free = np.array([trial.free_of(name)[nearest] for name, _ in asked])
    missing = np.maximum(amounts - free, 0)
    number = np.count_nonzero(missing, axis=0)
    parts = (missing / amounts).max(axis=0)
    best = np.where(number == number.min(), parts, np.inf).argmin()
    short = zip(asked, missing[:, best].tolist(), strict=True)
    return tuple((name, lacking) for (name, _), lacking in short if lacking)
