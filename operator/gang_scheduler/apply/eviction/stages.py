"""The stages of a preemption, each as the steps that are left of it at this moment."""

import functools
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from gang_scheduler.apply.checkpoints.grace import GracePeriods
from gang_scheduler.apply.eviction import disruption_target
from gang_scheduler.apply.eviction.disruption_target import Naming
from gang_scheduler.apply.eviction.preemption_run import PASSING, PreemptionRun, Step
from gang_scheduler.apply.outcomes import EvictionBegun, Outcomes
from gang_scheduler.apply.workloads.whole_workloads import ManagedPods, Suspend, WholeWorkloads
from gang_scheduler.client.errors import Kind
from gang_scheduler.client.port import Api
from gang_scheduler.model.bound_pods import BoundPod
from gang_scheduler.model.causes.preemption import MemberGone
from gang_scheduler.model.pods import Pod, PodPhase
from gang_scheduler.state.cache import Cache
from gang_scheduler.telemetry import metrics


class Stages:
    """Makes the steps of each stage from the objects in the cache, and from what was written.

    A write that stands needs no step: after a crash, or for a later run of the same pods, only
    what lacks is written.
    """

    def __init__(
        self,
        api: Api,
        cache: Cache,
        *,
        naming: Naming,
        outcomes: Outcomes,
        grace_periods: GracePeriods,
        use_eviction_api: bool,
        managed: ManagedPods,
        suspend: Suspend,
        clock: Callable[[], float],
    ) -> None:
        self._api = api
        self._cache = cache
        self._naming = naming
        self._outcomes = outcomes
        self._grace_periods = grace_periods
        self._use_eviction_api = use_eviction_api
        self._whole_workloads = WholeWorkloads(managed, suspend, self._eviction)
        self._clock = clock
        # Uids of pods whose nomination in the cache may differ from the last write.
        self._written: set[str] = set()
        self._unmarked: set[str] = set()

    def forget(self, uids: Iterable[str]) -> None:
        """Forget what was written to the nominations of pods: the cache has it.

        And that marks were taken from pods that are gone.
        """
        self._written.difference_update(uids)
        self._unmarked = {uid for uid in self._unmarked if self._cache.pod(uid) is not None}

    def nominations(self, current: PreemptionRun) -> Iterator[Step]:
        """Yield the steps that reserve the room of the members."""
        for bind in current.preemption.nominations:
            pod, node = bind.pod, bind.node
            if pod.virtual:
                continue  # Nothing has created it yet: its room is kept by the state alone.
            # The nomination in the cache is from the API server, unless this process wrote one.
            if pod.nominated != node or pod.uid in self._written:
                self._written.add(pod.uid)
                request = functools.partial(self._api.nominate, node=node)
                yield Step("nominate", pod, request, needs_pod=True)

    def clearings(self, current: PreemptionRun) -> Iterator[Step]:
        """Yield the steps that take back the nominations of displaced pods."""
        clear = functools.partial(self._api.nominate, node="")
        for pod in current.preemption.displaced:
            if pod.virtual:
                continue
            self._written.add(pod.uid)
            yield Step("clear", pod, clear, optional=True)

    def dry_runs(self, current: PreemptionRun) -> Iterator[Step]:
        """Return the steps that ask whether budgets allow the evictions; none without budgets."""
        ask = functools.partial(self._api.evict, dry_run=True)
        victims = self.victims(current) if self._use_eviction_api else ()
        return (Step("try_to_evict", pod, ask, PASSING) for pod in victims)

    def marks(self, current: PreemptionRun) -> Iterator[Step]:
        """Yield the steps that mark the victims."""
        now = int(self._clock())
        for pod in self.victims(current):
            if self.is_marked(pod):
                current.marked.add(pod.uid)
                continue
            self._unmarked.discard(pod.uid)
            made = disruption_target.mark(current.preemption, pod.namespace, self._naming, now)
            request = functools.partial(self._api.patch_pod_condition, condition=made)
            yield Step("mark", pod, request, begun=current.marked)

    def evictions(self, current: PreemptionRun) -> Iterator[Step]:
        """Yield the evictions; none if a member is gone, since its room is not needed then."""
        members = (bind.pod for bind in current.preemption.nominations)
        missing = next((pod for pod in members if self._is_gone(pod)), None)
        if missing is not None:
            current.fail(MemberGone(missing.key))
            return
        victims = tuple(self.victims(current))
        if victims:
            if not current.preemption.to_start_anew:
                metrics.PREEMPTIONS.labels("carried_out").inc()
                metrics.VICTIMS.inc(len(victims))
            self._outcomes.put(EvictionBegun(current.preemption))
        suspended: set[str] = set()
        for step in self._whole_workloads.suspensions(victims, current.evicted):
            suspended |= {step.pod.uid, *step.along}
            yield step
        for pod in victims:
            if pod.uid not in suspended:
                yield self._eviction(pod, begun=current.evicted, final=True)

    def _eviction(self, pod: Pod, **how: Any) -> Step:  # noqa: ANN401 - fields of a Step.
        by_budgets, grace_seconds = self._use_eviction_api, self._grace_periods.of(pod)
        evict = self._api.evict if by_budgets else self._api.delete_pod
        request = functools.partial(evict, grace_seconds=grace_seconds)
        # A budget that other evictions have used up meanwhile allows evictions again later.
        passing = PASSING | {Kind.PROTECTED} if by_budgets else PASSING
        return Step("evict", pod, request, passing, **how)

    def releases(
        self, current: PreemptionRun, claimant_of: Callable[[str], PreemptionRun]
    ) -> Iterator[Step]:
        """Yield the steps that unmark victims, and that evict the rest of a broken gang.

        `claimant_of` returns the run that a victim is one of now, by its uid.
        """
        made = disruption_target.unmark(int(self._clock()))
        unmark = functools.partial(self._api.patch_pod_condition, condition=made)
        for uid in sorted(current.marked - current.evicted):
            pod = self._cache.pod(uid)
            claimant = claimant_of(uid)
            claimant.marked.add(uid)
            if pod is None or not pod.living or claimant is not current:
                continue
            if self._is_of_broken_gang(pod, current):
                yield self._eviction(pod, optional=True)
            else:
                self._unmarked.add(uid)
                yield Step("unmark", pod, unmark, optional=True)

    def _is_of_broken_gang(self, pod: Pod, current: PreemptionRun) -> bool:
        """Return whether evictions have left a pod's gang below its minMember.

        Those of an earlier process are not known: there it is any cause but failed nodes.
        """
        info = self._cache.gang_queue.infos.get(pod.gang)
        if info is None or pod.uid not in info.observed.members:
            return False
        degraded = self._cache.degraded.of(pod.gang, int(self._clock()))
        victims = (each for each in current.preemption.victims if each.gang == pod.gang)
        if degraded and degraded.nodes and not any(e.pod.uid in current.evicted for e in victims):
            return False
        ended = (each for each in info.attempt.ended() if each.phase is PodPhase.SUCCEEDED)
        left = [each for each in info.observed.bound() if each.uid not in current.evicted]
        return not info.observed.has_quorum([*left, *ended])

    def victims(self, current: PreemptionRun) -> Iterator[Pod]:
        """Yield the victims as they are now, without those that are leaving or have ended.

        One that was leaving so late that it was chosen all the same is among them until it hurries.
        """
        for each in current.preemption.victims:
            pod = self._cache.pod(each.pod.uid)
            if pod is not None and (pod.living or _lingers(each, pod)):
                yield pod

    def is_marked(self, pod: Pod) -> bool:
        """Return whether a mark stands; the pod in the cache may be older than its removal."""
        return pod.marked and pod.uid not in self._unmarked

    def _is_gone(self, pod: Pod) -> bool:
        found = self._cache.pod(pod.uid)
        return found is None or not found.living


def _lingers(victim: BoundPod, pod: Pod) -> bool:
    """Return whether a pod that was being deleted when it was chosen leaves as late as then."""
    return victim.lingers and not pod.terminal and pod.gone_by == victim.pod.gone_by
