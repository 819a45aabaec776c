"""The pods that each group of a cycle may evict, kept for groups that may evict the same pods."""

import bisect
import functools
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final

from gang_scheduler.model.bound_pods import BoundPod, BoundPods
from gang_scheduler.model.gangs import GangGroup
from gang_scheduler.model.plan import Bind
from gang_scheduler.model.refs import GangKey
from gang_scheduler.model.selectors import PodSelector
from gang_scheduler.model.snapshot import Snapshot
from gang_scheduler.scheduler.placement.placement_units import PlacementUnit
from gang_scheduler.scheduler.policies import Profile
from gang_scheduler.scheduler.preemption.eviction_units import ANY_PRIORITY
from gang_scheduler.scheduler.preemption.leaving_pods import Departures
from gang_scheduler.scheduler.preemption.potential_victims import PotentialVictims
from gang_scheduler.scheduler.preemption.preemptor import VICTIMS
from gang_scheduler.scheduler.preemption.queue_rules import Judge
from gang_scheduler.scheduler.preemption.victim_costs import VictimCosts
from gang_scheduler.scheduler.reclaim.cycle_requests import ReclaimRequests
from gang_scheduler.scheduler.reclaim.ping_pong import Memory
from gang_scheduler.scheduler.reclaim.request import ReclaimRequest
from gang_scheduler.scheduler.trial import Trial

NO_GANGS: Final[frozenset[GangKey]] = frozenset()

PODS_A_LOOK: Final = 2
"""Looking at this many potential victims takes as long as one look."""

PODS_OF_A_POOL: Final = 16
"""For a further priority, sorting out this many pods on nodes takes as long as one look."""

MOST_LOOKS: Final = 1_500
"""The most looks that all potential victims of one gang count as."""

_VictimsKey = tuple[int, frozenset[GangKey], frozenset[PodSelector]]
"""The highest priority to evict, the gangs that are spared, and the pods that are spared."""


class VictimPools:
    """The potential victims of a group: pods of lower priority, or the pods that queues allow."""

    def __init__(
        self, snapshot: Snapshot, trial: Trial, profile: Profile, departures: Departures
    ) -> None:
        self._taken_at = snapshot.taken_at
        self._bound_pods = snapshot.bound_pods or BoundPods()
        self._trial = trial
        self._profile = profile
        self._departures = departures
        self._by_priority: dict[_VictimsKey, PotentialVictims] = {}
        self._affinities: frozenset[PodSelector] = frozenset()

    def below(self, group: GangGroup) -> PotentialVictims | None:
        """Return the pods of lower priority that a group may evict; None if there are none."""
        below = group.priority - self._profile.rules.preemption.min_priority_difference
        if self._lowest is None or self._lowest > below:
            return None
        # Priorities that no pod on a node has between them may evict the same pods.
        below = self._priorities[bisect.bisect_right(self._priorities, below) - 1]
        own = frozenset(gang for gang in self.own(group) if self._least.get(gang, below) <= below)
        key = below, own, self._affinities
        if key not in self._by_priority:
            # A cycle may have one pool in any case: more of them are work.
            if self._by_priority:
                self._trial.effort.count(len(self._bound_pods.pods) / PODS_OF_A_POOL)
            # Later groups have the same or a lower priority.
            self._by_priority = {
                key: each for key, each in self._by_priority.items() if key[0] == below
            }
            spared = _with_protected(own, self._affinities, self._bound_pods)
            potential = PotentialVictims(
                VictimCosts(spared, below, self._taken_at), self._trial.nodes
            )
            self._by_priority[key] = potential
            potential.leave(self._departures.victims)
        return self._by_priority[key]

    def by_reclaim(
        self,
        group: GangGroup,
        units: Sequence[PlacementUnit],
        request: ReclaimRequest,
        reclaim_requests: ReclaimRequests | None,
        memory: Memory,
    ) -> PotentialVictims | None:
        """Return the pods that queues may let the group evict; None if there are none."""
        self._trial.effort.begin(units[0].gangs[0].key, VICTIMS)
        if reclaim_requests is None or not reclaim_requests.reaches_any(request):
            return None  # The request reaches no queue: no need to find the lacking resources.
        if not self._trial.effort.may_begin():
            return None
        resources = self._departures.preemptor(units).lacking_resources()
        judge = Judge(reclaim_requests, reclaim_requests.reclaim(request, resources), memory)
        if not judge.running:
            return None
        members = [each for gang in judge.running for each in reclaim_requests.members(gang)]
        # The cost stays so low that the search itself can begin.
        self._trial.effort.spend(min(len(members) // PODS_A_LOOK, MOST_LOOKS))
        spared = _with_protected(
            self.own(group), self._affinities, replace(self._bound_pods, pods=tuple(members))
        )
        judge.costs = VictimCosts(spared, ANY_PRIORITY, self._taken_at, judge.standings())
        potential = PotentialVictims(judge.costs, self._trial.nodes, judge)
        potential.leave(self._departures.victims)
        remaining = potential.victims(potential.remaining)
        return None if not remaining or judge.lacking(remaining) else potential

    def leave(self, victims: Sequence[BoundPod]) -> None:
        """Note pods that are evicted: no group may evict them again."""
        for potential in self._by_priority.values():
            potential.leave(victims)

    def spare(self, nominations: Sequence[Bind]) -> None:
        """Note reserved room: pods to which its members have affinity must stay."""
        self._affinities |= _affinities_of(nominations)

    def own(self, group: GangGroup) -> frozenset[GangKey]:
        """Return the gangs of the group that have pods on nodes: a group never evicts its own."""
        # Most gangs are alone in their group, and need no search among all gangs on nodes.
        return group.declared & self._bound if group.declared else NO_GANGS

    @functools.cached_property
    def _bound(self) -> frozenset[GangKey]:
        return frozenset(each.gang for each in self._bound_pods.pods)

    @functools.cached_property
    def _lowest(self) -> int | None:
        """The lowest priority of any pod that may be evicted."""
        return self._priorities[0] if self._priorities else None

    @functools.cached_property
    def _priorities(self) -> list[int]:
        """The priorities of all pods that may be evicted, ascending."""
        return sorted({each.priority for each in self._bound_pods.pods if each.evictable})

    @functools.cached_property
    def _least(self) -> Mapping[GangKey, int]:
        """For each gang the lowest priority of its pods that may be evicted."""
        found: dict[GangKey, int] = {}
        for each in self._bound_pods.pods:
            if each.evictable:
                found[each.gang] = min(found.get(each.gang, each.priority), each.priority)
        return found


def _affinities_of(binds: Sequence[Bind]) -> frozenset[PodSelector]:
    """Return the selectors of the pods to which members have affinity, which must stay."""
    pod_affinity = (bind.pod.pod_class.pod_affinity for bind in binds)
    affinities = (each.affinity for each in pod_affinity if each is not None)
    return frozenset(each.selector for each in affinities if each is not None)


def _with_protected(
    own: frozenset[GangKey], affinities: frozenset[PodSelector], bound_pods: BoundPods
) -> BoundPods:
    """Return the bound pods; those of the own group or in `affinities` are not evictable."""
    if not own and not affinities:
        return bound_pods
    spared = (
        replace(each, evictable=False)
        if each.gang in own or affinities & each.pod.pod_class.selected_by
        else each
        for each in bound_pods.pods
    )
    return replace(bound_pods, pods=tuple(spared))
