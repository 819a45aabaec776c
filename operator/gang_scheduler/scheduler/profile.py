"""The one page that lists every policy by name. A new policy is its file and a line here."""

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from gang_scheduler.model.gangs import GangGroup
from gang_scheduler.model.nodes import BoolArray, IntArray, NodeTable
from gang_scheduler.model.pods import Ask
from gang_scheduler.scheduler import preferences
from gang_scheduler.scheduler.domains import Caps
from gang_scheduler.scheduler.filters import (
    bound_volumes,
    declared_features,
    host_ports,
    inter_pod_affinity,
    node_affinity,
    readiness,
    resources,
    taints,
    topology_spread,
    unschedulable,
    volume_binding,
    volume_limits,
    volume_restrictions,
    volume_zone,
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
    """Depends on what else is on the node: computed on every trial, for those it concerns."""

    def concerns(self, ask: Ask, trial: Trial) -> bool:
        """Tell whether pods of the class can be rejected at all. Cheap."""

    def slots(self, ask: Ask, trial: Trial) -> IntArray:
        """Return how many pods of the class fit on each node beside each other."""

    def reasons(self, ask: Ask, trial: Trial, rejected: BoolArray) -> Counter[str]:
        """Count the nodes of `rejected` by reason, in kube-scheduler's words."""


class CoupledFilter(RoomFilter, Protocol):
    """Depends on what is on other nodes, too, so what nodes offer is right for one pod alone."""

    def coupled(self, ask: Ask, trial: Trial) -> bool:
        """Tell whether a pod of the class on one node changes what others offer to the next."""

    def at_once(self, ask: Ask, trial: Trial) -> Caps | None:
        """Return how many pods may come at once, if coupled; None is one in the whole cluster."""

    def prospects(self, ask: Ask, trial: Trial) -> IntArray:
        """Return a bound on `slots`, whichever pods beside which the class may be were placed."""


class Preference(Protocol):
    """Nodes that a class would rather have than others."""

    def concerns(self, ask: Ask, trial: Trial) -> bool:
        """Tell whether the class prefers any node at all. Cheap."""

    def score(self, ask: Ask, trial: Trial) -> IntArray:
        """Return how much each node is preferred, on any scale."""

    def coupled(self, ask: Ask, trial: Trial) -> bool:
        """Tell whether a pod of the class on one node changes the scores for the next."""


Rank = Callable[[Ask, IntArray, Trial], IntArray]
"""Order the rows with slots, the best first: (ask, slots, trial) -> rows."""
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

    Filters run in this order; the first to reject a node gives the reason. Preferences have
    weights.
    """

    order: Callable[[GangGroup], tuple[Any, ...]]
    node_filters: tuple[NodeFilter, ...]
    room_filters: tuple[RoomFilter, ...]
    coupled_filters: tuple[CoupledFilter, ...]
    preferences: tuple[tuple[int, Preference], ...]
    rank: Rank
    fill: Fill
    preemption: PreemptionRules = PreemptionRules()


NODE_FILTERS: tuple[NodeFilter, ...] = (
    *(unschedulable, readiness, taints, node_affinity),
    *(bound_volumes, volume_zone, declared_features),
)
ROOM_FILTERS: tuple[RoomFilter, ...] = (host_ports, resources, volume_limits)
COUPLED_FILTERS: tuple[CoupledFilter, ...] = (
    *(volume_restrictions, volume_binding),
    *(topology_spread, inter_pod_affinity),
)
PREFERENCES: tuple[tuple[int, Preference], ...] = (
    # The weights of kube-scheduler.
    (3, preferences.taints),
    (2, preferences.node_affinity),
    (2, preferences.topology_spread),
    (2, preferences.inter_pod_affinity),
)


def _profile(rank: Rank, fill: Fill) -> Profile:
    return Profile(
        order=priority_then_age.key,
        node_filters=NODE_FILTERS,
        room_filters=ROOM_FILTERS,
        coupled_filters=COUPLED_FILTERS,
        preferences=PREFERENCES,
        rank=rank,
        fill=fill,
    )


PROFILES: Mapping[str, Profile] = {
    "binpack": _profile(binpack.rank, binpack.fill),
    "spread": _profile(spread.rank, spread.fill),
}
