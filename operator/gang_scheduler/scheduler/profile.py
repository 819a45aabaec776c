"""The one page that lists every policy by name. A new policy is its file and a line here."""

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from gang_scheduler.model.gangs import GangGroup
from gang_scheduler.model.nodes import BoolArray, IntArray, NodeTable
from gang_scheduler.model.pods import Ask
from gang_scheduler.scheduler.filters import (
    host_ports,
    node_affinity,
    readiness,
    resources,
    taints,
    unschedulable,
)
from gang_scheduler.scheduler.ordering import priority_then_age
from gang_scheduler.scheduler.placement import binpack, spread
from gang_scheduler.scheduler.trial import Share, Trial


class NodeFilter(Protocol):
    """Depends on the node and the ask alone: computed once a class for as long as nodes last."""

    def passes(self, ask: Ask, nodes: NodeTable) -> BoolArray:
        """Return the nodes that the filter allows."""

    def reasons(self, ask: Ask, nodes: NodeTable, rejected: BoolArray) -> Counter[str]:
        """Count the nodes of `rejected` by reason, in kube-scheduler's words."""


class RoomFilter(Protocol):
    """Depends on what else is on the node: computed on every trial."""

    def slots(self, ask: Ask, trial: Trial) -> IntArray:
        """Return how many pods of the class fit on each node beside each other."""

    def reasons(self, ask: Ask, trial: Trial, rejected: BoolArray) -> Counter[str]:
        """Count the nodes of `rejected` by reason, in kube-scheduler's words."""


Fill = Callable[[Ask, IntArray, int, Trial], Share]
"""Choose nodes for a number of pods of one class: (ask, slots, count, trial) -> share."""


@dataclass(frozen=True, slots=True)
class PreemptionRules:
    """Victims are of a priority lower by `min_difference`, and `most_victims` a plan; 0: any.

    `within_budgets`: never more than PodDisruptionBudgets allow, whatever else it costs.
    """

    min_difference: int = 1
    most_victims: int = 0
    within_budgets: bool = False


@dataclass(frozen=True)
class Profile:
    """The policies of one scheduler.

    Filters run in this order; the first to reject a node gives the reason.
    """

    order: Callable[[GangGroup], tuple[Any, ...]]
    node_filters: tuple[NodeFilter, ...]
    room_filters: tuple[RoomFilter, ...]
    fill: Fill
    preemption: PreemptionRules = PreemptionRules()


NODE_FILTERS: tuple[NodeFilter, ...] = (unschedulable, readiness, taints, node_affinity)
ROOM_FILTERS: tuple[RoomFilter, ...] = (host_ports, resources)

PROFILES: Mapping[str, Profile] = {
    "binpack": Profile(priority_then_age.key, NODE_FILTERS, ROOM_FILTERS, binpack.fill),
    "spread": Profile(priority_then_age.key, NODE_FILTERS, ROOM_FILTERS, spread.fill),
}
