"""Why members found no node: counts by reason, and the resource that the next member lacks."""

import functools
import itertools
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gang_scheduler.model import similar_names
from gang_scheduler.model.nodes import BoolArray, NodeTable
from gang_scheduler.model.plan import Obstacle, Oversized, Shortage, Unmatched
from gang_scheduler.model.pods import PodClass
from gang_scheduler.model.resources import PODS
from gang_scheduler.scheduler.effort import looks
from gang_scheduler.scheduler.filters import devices, node_affinity, resources, spare_nodes
from gang_scheduler.scheduler.placement.feasible_slots import allowed
from gang_scheduler.scheduler.policies import NodeFilter, Profile, RoomFilter
from gang_scheduler.scheduler.trial import Trial

# Requests of a pod that no node can meet, even if it is empty.

CLOSE_ENOUGH: Final = 0.8
NAMED: Final = 2
"""At most this many labels of a nodeSelector that no node has are reported."""
MOST_READ: Final = 200
"""Label keys are compared on at most this many nodes, with at most this many values for each key.
"""
NEAR_LOOKS: Final = 30
"""The cost of comparing one label with up to `MOST_READ` others, in looks."""
MOST_SUGGESTED: Final = 8
"""Similar names are suggested for at most this many missing resources."""


def with_oversized(
    shortage: Shortage | None, pod_class: PodClass, nodes: NodeTable, profile: Profile
) -> Shortage | None:
    """Add the requests that no node can meet to a shortage.

    Computed once per node table and class.
    """
    if shortage is not None and shortage.obstacle == node_affinity.obstacle:
        return replace(shortage, unmatched=unmatched(pod_class, nodes))
    if shortage is None or not shortage.lacking:
        return shortage
    found = oversized_of(pod_class, nodes, profile)
    return replace(shortage, oversized=found) if found else shortage


def oversized_of(pod_class: PodClass, nodes: NodeTable, profile: Profile) -> tuple[Oversized, ...]:
    """Return the requests that are larger than any node whose labels and taints suit.

    Computed once per class.
    """
    return nodes.cached(
        ("oversized", pod_class, profile),
        functools.partial(_find_oversized, pod_class, nodes, profile),
    )


def unmatched(pod_class: PodClass, nodes: NodeTable) -> tuple[Unmatched, ...]:
    """Return the first labels of a nodeSelector that no node has. Computed once per class."""
    return nodes.cached(
        ("unmatched", pod_class),
        lambda: tuple(itertools.islice(_unmatched_labels(pod_class, nodes), NAMED)),
    )


def _unmatched_labels(pod_class: PodClass, nodes: NodeTable) -> Iterator[Unmatched]:
    for key, value in pod_class.node_selector:
        column = nodes.label(key)
        if value in column.by_value:
            continue
        if column.values:
            near = _similar(value, column.values)
            yield Unmatched(key, value, f"{key}={near}" if near else "")
        else:
            near = _similar(key, nodes.cached(("label_keys",), lambda: _label_keys(nodes)))
            yield Unmatched(key, value, near)


def _label_keys(nodes: NodeTable) -> tuple[str, ...]:
    return tuple(sorted({key for node in nodes.nodes[:MOST_READ] for key in node.labels}))


def _similar(name: str, known: Sequence[str]) -> str:
    """Return the known name that may be meant; "" if none is similar, or there are too many."""
    if len(known) > MOST_READ:
        return ""
    for each in known:
        if each.casefold() == name.casefold():
            return each
    return "".join(similar_names.close_to(name, known, cutoff=CLOSE_ENOUGH))


def _find_oversized(
    pod_class: PodClass, nodes: NodeTable, profile: Profile
) -> tuple[Oversized, ...]:
    usable = np.ones(len(nodes), dtype=np.bool_)
    for each in profile.node_filters:
        usable &= each.passes(pod_class, nodes)
    return tuple(_oversized_requests(pod_class, nodes, usable))


def _oversized_requests(
    pod_class: PodClass, nodes: NodeTable, usable: BoolArray
) -> Iterator[Oversized]:
    unknown = 0
    for name, asked in pod_class.requests:
        column = nodes.axis.get(name)
        if name == PODS or asked <= 0:
            continue
        if column is None:
            unknown += 1
            known = nodes.resources if unknown <= MOST_SUGGESTED else ()
            near = similar_names.close_to(name, known, cutoff=CLOSE_ENOUGH)
            device_class = nodes.device_classes.get(name, "")
            yield Oversized(name, asked, near="".join(near), device_class=device_class)
            continue
        offered = nodes.allocatable[:, column]
        largest = int(offered[usable].max(initial=0))
        if asked > largest:
            most, as_devices = int(offered.max(initial=0)), name in (nodes.by_devices or ())
            device_class = nodes.device_classes.get(name, "") if as_devices or not most else ""
            yield Oversized(
                *(name, asked, largest, most), device_class=device_class, as_devices=as_devices
            )


_Amounts = tuple[tuple[str, int], ...]


class Diagnosis(NamedTuple):
    """The reasons that keep one more pod from the nodes.

    `rejections` are (reason, nodes), most nodes first; `shortage` is None if no node rejects it.
    """

    rejections: tuple[tuple[str, int], ...]
    shortage: Shortage | None


def diagnose(
    pod_class: PodClass, trial: Trial, profile: Profile, near: BoolArray | None = None
) -> Diagnosis:
    """Find the reasons that keep one more pod of this class from the nodes, for a misfit.

    The first filter that rejects a node gives its reason, as in kube-scheduler. The shortage is
    measured on the nodes of `near`; None stands for all nodes.
    """
    trial.effort.count(looks(len(trial.nodes)))
    found = _of_node_filters(pod_class, trial, profile)
    without_devices: BoolArray | None = None
    for room in (*profile.room_filters, *profile.coupled_filters):
        if not room.concerns(pod_class, trial):
            continue
        full = room.slots(pod_class, trial) == 0
        if room.obstacle == devices.obstacle:
            # Nodes that lack room are not searched for devices.
            full &= found.left
        rejected = found.reject(room, full)
        if rejected is not None:
            found.reasons += room.reasons(pod_class, trial, rejected)
            if room.obstacle == devices.obstacle:
                without_devices = rejected
    rejections = sorted(found.reasons.items(), key=lambda item: (-item[1], item[0]))
    everywhere = np.ones(len(trial.nodes), dtype=np.bool_)
    shortage = _shortage(pod_class, trial, found, everywhere if near is None else near)
    extended = with_oversized(shortage, pod_class, trial.nodes, profile)
    if (
        extended is not None
        and extended.obstacle == devices.obstacle
        and without_devices is not None
    ):
        extended = replace(extended, devices=devices.missing(pod_class, trial, without_devices))
    if extended is not None:
        trial.effort.count(len(extended.unmatched) * NEAR_LOOKS)
    return Diagnosis(tuple(rejections), extended)


class _Counts:
    """The nodes that no filter has rejected yet, and the reasons for the other nodes.

    `lacks_room` are nodes that only the filter of resources rejects. `ruled_out` has an entry for
    each node: the place in `rules`, from 1 on, of the first node filter that rejects it, or 0.
    """

    def __init__(self, left: BoolArray) -> None:
        self.reasons: Counter[str] = Counter()
        self.nodes: Counter[Obstacle] = Counter()
        self.left = left
        self.rules: list[Obstacle] = []
        self.ruled_out: NDArray[np.int8] = np.zeros(len(left), dtype=np.int8)
        self.lacks_room: BoolArray = np.zeros(len(left), dtype=np.bool_)

    def copy(self) -> "_Counts":
        """Return a copy that can be changed.

        `lacks_room` is not copied: only node filters may have run before.
        """
        other = _Counts(self.left.copy())
        other.reasons.update(self.reasons)
        other.nodes.update(self.nodes)
        other.rules = self.rules.copy()
        other.ruled_out = self.ruled_out
        return other

    def rule(self, obstacle: Obstacle) -> np.int8:
        """Return the number of an obstacle in `rules`, from 1 on; add a new obstacle."""
        if obstacle not in self.rules:
            self.rules.append(obstacle)
        return np.int8(self.rules.index(obstacle) + 1)

    def reject(self, policy: NodeFilter | RoomFilter, full: BoolArray) -> BoolArray | None:
        """Count the nodes that a filter is the first to reject; return them, None without any."""
        rejected = self.left & full
        self.left &= ~full
        self.lacks_room &= ~full
        if policy.obstacle.is_room:
            self.lacks_room = rejected
        if policy.obstacle == spare_nodes.obstacle:
            # Handle it like a node filter: these nodes do not lack room.
            self.ruled_out = np.where(rejected, self.rule(policy.obstacle), self.ruled_out)
        number = int(np.count_nonzero(rejected))
        if not number:
            return None
        self.nodes[policy.obstacle] += number
        return rejected


def _of_node_filters(pod_class: PodClass, trial: Trial, profile: Profile) -> _Counts:
    """Return the rejections by node filters: computed once per class while nodes do not change."""
    everywhere = np.ones(len(trial.nodes), dtype=np.bool_)
    if np.count_nonzero(allowed(pod_class, trial, profile)) == len(everywhere):
        return _Counts(everywhere)

    def compute() -> _Counts:
        found = _Counts(everywhere)
        for each in profile.node_filters:
            rejected = found.reject(each, ~each.passes(pod_class, trial.nodes))
            if rejected is not None:
                found.reasons += each.reasons(pod_class, trial.nodes, rejected)
                found.ruled_out[rejected] = found.rule(each.obstacle)
        return found

    return trial.nodes.cached(("rejected", pod_class), compute).copy()


def _shortage(
    pod_class: PodClass, trial: Trial, found: _Counts, near: BoolArray
) -> Shortage | None:
    out = sum(number for each, number in found.nodes.items() if each.is_out)
    nearest = found.lacks_room & near
    if not nearest.any():
        # If several obstacles reject equally many nodes, the obstacle of the first filter wins: a
        # Counter keeps the order in which they were added.
        for obstacle, nodes in found.nodes.most_common(1):
            return Shortage(obstacle, nodes, out=out)
        return None
    lacking, asked = _lacking(pod_class, trial, nearest)
    by_rules = set(found.nodes) - {
        found.rules[each - 1] for each in np.unique(found.ruled_out) if each
    }
    return Shortage(
        resources.obstacle,
        found.nodes[resources.obstacle],
        lacking,
        out,
        asked=asked if by_rules == {resources.obstacle} else (),
        one_a_node=_is_one_a_node(pod_class, trial),
        ruled_out=_ruled_out(pod_class, trial, found, near),
    )


def _lacking(pod_class: PodClass, trial: Trial, nearest: BoolArray) -> tuple[_Amounts, _Amounts]:
    """Return the missing amounts on the node that lacks fewest resources, and requests to report.

    Among equal nodes the one with the smallest missing part wins. The requests are for the missing
    resources. If another node has enough of all of these, the requests are for every resource that
    some node lacks.
    """
    asked = [(name, amount) for name, amount in pod_class.requests if amount > 0]
    amounts = np.array([[amount] for _, amount in asked])
    free = np.array([trial.free_of(name)[nearest] for name, _ in asked])
    missing = np.maximum(amounts - free, 0)
    number = np.count_nonzero(missing, axis=0)
    parts = (missing / amounts).max(axis=0)
    best = np.where(number == number.min(), parts, np.inf).argmin()
    short = zip(asked, missing[:, best].tolist(), strict=True)
    scarce = missing[:, best] > 0
    if not missing[scarce].any(axis=0).all():
        scarce = missing.any(axis=1)
    return (
        tuple((name, lacking) for (name, _), lacking in short if lacking),
        tuple(each for each, is_scarce in zip(asked, scarce.tolist(), strict=True) if is_scarce),
    )


def _is_one_a_node(pod_class: PodClass, trial: Trial) -> bool:
    """Return whether no node is large enough for two pods of a class.

    Computed once per class.
    """

    def compute() -> bool:
        nodes = trial.nodes
        request = nodes.vector(pod_class.requests)
        return not (nodes.allocatable >= 2 * request).all(axis=1).any()

    return trial.nodes.cached(("one_a_node", pod_class), compute)


def _ruled_out(
    pod_class: PodClass, trial: Trial, found: _Counts, near: BoolArray
) -> tuple[tuple[Obstacle, int], ...]:
    """Return how many near nodes have room and are ruled out, by obstacle, most nodes first."""
    if not found.ruled_out.any():
        return ()
    roomy = near & (found.ruled_out > 0)
    for name, amount in pod_class.requests:
        if amount > 0:
            roomy &= trial.free_of(name) >= amount
    counted = Counter(found.ruled_out[roomy].tolist())
    return tuple((found.rules[each - 1], number) for each, number in counted.most_common())
