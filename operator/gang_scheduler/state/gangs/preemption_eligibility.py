"""Whether a gang may make room for itself by evicting others, and if not, why."""

from typing import Final

from gang_scheduler.model.gangs import BlockCause, Gang, PreemptionBlock
from gang_scheduler.model.pods import rank_key
from gang_scheduler.model.virtual_pods import one_of_each
from gang_scheduler.state.evictable_pods import EvictablePods
from gang_scheduler.state.gangs.gang_info import GangInfo
from gang_scheduler.state.gangs.records.preemption import MOST_ROUNDS

ROUNDS_SECONDS: Final = 600


class PreemptionEligibility:
    """Answers for one gang at a time. `evictable_pods` knows the pods on the nodes."""

    def __init__(self, evictable_pods: EvictablePods) -> None:
        self._evictable_pods = evictable_pods

    def why_not(self, gang: Gang, info: GangInfo, now: int) -> PreemptionBlock | None:
        """Return why the gang may not evict pods now; None if it may. Linear in members."""
        if not self._evictable_pods.rules.preemption:
            return PreemptionBlock(BlockCause.SWITCHED_OFF)
        if info.observed.summary.peaceful:
            members = one_of_each(info.observed.living)
            peaceful = min((pod for pod in members if not pod.preempts), key=rank_key)
            return PreemptionBlock(BlockCause.POLICY_NEVER, pod=peaceful.key)
        recent = sum(1 for at in info.preemptor.rounds if now - at < ROUNDS_SECONDS)
        spent = MOST_ROUNDS if recent >= MOST_ROUNDS else 0
        if self._is_under_way(gang, info, now):
            return PreemptionBlock(BlockCause.UNDER_WAY, rounds=spent)
        return PreemptionBlock(BlockCause.TOO_MANY_ROUNDS, rounds=spent) if spent else None

    def may_change(self, gang: Gang, info: GangInfo) -> bool:
        """Return whether the answer may be another one later, although the gang is the same."""
        if info.preemptor.under_way is not None or info.preemptor.rounds:
            return True
        return info.observed.summary.nominated and any(True for _ in gang.nominated_members())

    def _is_under_way(self, gang: Gang, info: GangInfo, now: int) -> bool:
        """Return whether pods leave that are evicted for the gang, or where it is nominated."""
        leaving, started = self._evictable_pods.leaving, info.preemptor.under_way
        if started is not None and any(leaving.is_awaited(uid, now) for uid in started.victims):
            return True
        if not info.observed.summary.nominated:
            return False
        nodes = [pod.nominated for pod in gang.nominated_members()]
        if len(nodes) < max(1, gang.lacking) or leaving.is_interrupted_on(nodes):
            return False  # The plan is made again.
        return any(pod.priority < gang.priority for pod in leaving.on(nodes, now))
