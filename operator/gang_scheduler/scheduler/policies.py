"""The kinds of policies, as protocols, and the profile that puts policies together."""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Protocol

from gang_scheduler.model.gangs import GangGroup
from gang_scheduler.model.nodes import BoolArray, IntArray, NodeTable
from gang_scheduler.model.plan import Obstacle
from gang_scheduler.model.pods import PodClass
from gang_scheduler.model.rules import NO_SETTINGS, Rules
from gang_scheduler.scheduler.label_domains import Caps
from gang_scheduler.scheduler.trial import Share, Trial


class OneByOne(Protocol):
    """A filter's answer while pods of one class are placed one by one.

    Nothing else is assumed in the trial meanwhile.
    """

    def open(self) -> BoolArray:
        """Return the nodes that the filter allows for the next pod. They must not be changed."""

    def placed(self, row: int) -> None:
        """Note that a pod of the class is on a node. Costs a few vector operations."""


class ScoresOneByOne(Protocol):
    """The scores of a preference while pods of one class are placed one by one."""

    def score(self) -> IntArray:
        """Return the scores of the nodes for the next pod. They must not be changed."""

    def placed(self, row: int) -> None:
        """Note that a pod of the class is on a node. Costs a few vector operations."""


class Steady:
    """Scores that do not change when pods of the same class are placed."""

    def __init__(self, scores: IntArray) -> None:
        self._scores = scores

    def score(self) -> IntArray:
        """Return the same scores for each pod."""
        return self._scores

    def placed(self, row: int) -> None:
        """Do nothing: a placed pod does not change these scores."""


class NodeFilter(Protocol):
    """A filter that depends only on the node and the class.

    It is computed once per class until nodes change.
    """

    @property
    def obstacle(self) -> Obstacle:
        """How the filter describes itself to users: the obstacle."""

    def passes(self, ask: PodClass, nodes: NodeTable) -> BoolArray:
        """Return the nodes that the filter allows."""

    def reasons(self, ask: PodClass, nodes: NodeTable, rejected: BoolArray) -> Counter[str]:
        """Count the nodes of `rejected` by reason, in kube-scheduler's words."""


class RoomFilter(Protocol):
    """A filter that depends on pods on the same node.

    It is computed on every trial, for the classes it concerns.
    """

    @property
    def obstacle(self) -> Obstacle:
        """How the filter describes itself to users: the obstacle."""

    def concerns(self, ask: PodClass, trial: Trial) -> bool:
        """Return whether pods of the class can be rejected at all. Cheap."""

    def slots(self, ask: PodClass, trial: Trial) -> IntArray:
        """Return for each node how many pods of the class it takes."""

    def reasons(self, ask: PodClass, trial: Trial, rejected: BoolArray) -> Counter[str]:
        """Count the nodes of `rejected` by reason, in kube-scheduler's words."""


class CoupledFilter(RoomFilter, Protocol):
    """A filter that also depends on other nodes: its slots are right for one pod at a time only."""

    def coupled(self, ask: PodClass, trial: Trial) -> bool:
        """Return whether a pod of the class on one node changes the slots of other nodes."""

    def at_once(self, ask: PodClass, trial: Trial) -> Caps | None:
        """Return how many pods of a class may be placed at once if its pods depend on each other.

        None if only one may.
        """

    def one_by_one(self, ask: PodClass, trial: Trial) -> OneByOne | None:
        """Return the nodes for pods that depend on each other, as they are placed one at a time.

        None if `slots` must be computed again after each pod.
        """

    def most_slots(self, ask: PodClass, trial: Trial) -> IntArray:
        """Return an upper bound of `slots`, whatever pods are placed before."""


class Preference(Protocol):
    """Scores nodes by the preferences of a class."""

    def concerns(self, ask: PodClass, trial: Trial) -> bool:
        """Return whether the class prefers any node at all. Cheap."""

    def score(self, ask: PodClass, trial: Trial) -> IntArray:
        """Return the score of each node, on any scale."""

    def coupled(self, ask: PodClass, trial: Trial) -> bool:
        """Return whether a pod of the class on one node changes the scores for the next."""

    def one_by_one(self, ask: PodClass, trial: Trial) -> ScoresOneByOne:
        """Return the scores pod by pod."""


FillOrder = Callable[[int, PodClass, IntArray, Trial], IntArray]
"""Says in which order nodes are filled: (pods more, pod class, rows, trial) -> a key per row.

The node with the least key is first. `rows` are all different and ascend.
"""
Fill = Callable[[PodClass, IntArray, int, Trial], Share]
"""Chooses nodes for a number of pods of one class: (pod class, slots, count, trial) -> share."""


@dataclass(frozen=True)
class Profile:
    """The policies of one scheduler.

    Filters run in this order; the first to reject a node gives the reason. Preferences have
    weights.
    """

    order: Callable[[GangGroup], tuple[Any, ...]]
    node_filters: tuple[NodeFilter, ...]
    room_filters: tuple[RoomFilter, ...]
    coupled_filters: tuple[CoupledFilter, ...]
    preferences: tuple[tuple[int, Preference], ...]
    fill_order: FillOrder
    fill: Fill
    # Not hashed, because profiles are in keys that are looked up for each waiting gang.
    rules: Rules = field(default=NO_SETTINGS, hash=False)
