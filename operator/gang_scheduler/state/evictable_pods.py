"""The pods on nodes, and which of them may be evicted: kept up to date pod by pod.

Lazy: nothing is evaluated until a gang of higher priority waits. Then labels and owners are
evaluated once per pod change. `bound_pods` is linear in pods on nodes, because minimum run times
depend on the clock.
"""

import functools
import itertools
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Final, TypeVar

from gang_scheduler.decode.cluster import DeclaredBudget
from gang_scheduler.model import refs
from gang_scheduler.model.bound_pods import BoundPod, BoundPods
from gang_scheduler.model.evictions import ProtectedBy
from gang_scheduler.model.gangs import GangGroup
from gang_scheduler.model.pods import Elastic, Pod
from gang_scheduler.model.refs import GangKey, JobFailures, NaturalKey, natural_key
from gang_scheduler.model.rules import NO_SETTINGS, PreemptionRules
from gang_scheduler.state import terminating
from gang_scheduler.state.elastic_surplus import Steps, is_cooling, steps_by_rank, steps_of
from gang_scheduler.state.gangs.gang_info import GangInfo
from gang_scheduler.state.protections import SYSTEM_PRIORITY, GangProtection, Protections
from gang_scheduler.state.terminating import Leaving, is_late

NONE_RANKED: Mapping[GangKey, int] = {}
MANY: Final = 2_000
"""At least this many changed pods are evaluated ahead of the snapshot, this many in each step."""
_key_of_namespace: Final = functools.lru_cache(maxsize=4096)(natural_key)

T = TypeVar("T")
_Order = tuple[NaturalKey, NaturalKey, str]
Infos = Mapping[GangKey, GangInfo]


class EvictablePods:
    """All pods that have a node and have not ended; no pod if preemption is off."""

    def __init__(self, rules: PreemptionRules = NO_SETTINGS.preemption) -> None:
        self.rules = rules
        self.protections = Protections(rules)
        self.leaving = Leaving(rules)
        self._pods: dict[str, tuple[Pod, GangKey | None]] = {}
        self._of_jobs: dict[str, set[str]] = {}
        self._changed: dict[str, None] = {}
        self._bound_pods: dict[str, BoundPod] = {}
        self._spared: dict[str, BoundPod] = {}
        self._order: dict[str, _Order] = {}
        self._in_order = True
        self._present: Counter[int] = Counter()
        self._priorities: Counter[int] = Counter()
        self._kept: frozenset[GangKey] = frozenset()
        self._began: dict[GangKey, int] = {}
        self._bound: dict[GangKey, Counter[str]] = {}
        """How many pods of gangs are on nodes, by role. A pod without a gang protects no other."""
        self._gangs: dict[GangKey, GangProtection] = {}

    def upsert(self, pod: Pod, gang: GangKey | None) -> None:
        """Add or replace a pod on its node. `gang` is None for pods of other schedulers."""
        if self.rules.preemption:
            self._leave(pod.uid)
            self._pods[pod.uid] = (pod, gang)
            self._present[pod.priority] += 1
            if pod.job_uid:
                self._of_jobs.setdefault(pod.job_uid, set()).add(pod.uid)
            self._changed[pod.uid] = None
            self.leaving.upsert(pod, gang)

    def delete(self, uid: str) -> None:
        """Forget a pod that is no longer on a node."""
        self._leave(uid)
        self.leaving.delete(uid)
        if uid in self._bound_pods:
            self._changed[uid] = None
        else:
            # A pod that came and left between two evaluations was never counted.
            self._changed.pop(uid, None)

    def upsert_budget(self, declared: DeclaredBudget) -> bool:
        """Add or replace a budget; return whether more pods than before may be evicted."""
        before = self.protections.budgets.upsert(declared)
        if before is None or before.selector != declared.selector:
            self._look_again_in(declared.namespace)
        if before is None or not self.rules.preemption:
            return False
        more = (declared.allowed or 0) > (before.allowed or 0)
        return more or before.selector != declared.selector

    def upsert_job(self, uid: str, failures: JobFailures | None) -> bool:
        """Note how a Job counts evicted pods; None forgets it.

        Returns whether more pods than before may be evicted.
        """
        before = self.protections.unprotected_jobs.pop(uid, None)
        if failures is not None and failures.unprotected:
            self.protections.unprotected_jobs[uid] = failures
        now = self.protections.unprotected_jobs.get(uid)
        if (before is None) == (now is None):
            return False
        pods = self._of_jobs.get(uid, set())
        self._changed.update(dict.fromkeys(pods))
        return bool(pods) and now is None and not self.rules.preempt_unprotected_jobs

    def delete_budget(self, uid: str) -> bool:
        """Forget a budget; return whether more pods than before may be evicted."""
        before = self.protections.budgets.delete(uid)
        if before is not None:
            self._look_again_in(before.namespace)
        return before is not None and self.rules.preemption

    def decided(self, uids: Collection[str]) -> None:
        """Count victims as leaving before the API server shows it."""
        for uid in self._pods.keys() & set(uids):
            self.leaving.decided(*self._pods[uid])
            self._changed[uid] = None

    def spared(self, uids: Collection[str]) -> set[str]:
        """Count pods that are no longer victims as staying; return their nodes."""
        staying = [pod for pod in map(self.leaving.spared, uids) if pod is not None]
        self._changed.update((pod.uid, None) for pod in staying)
        return {pod.node for pod in staying}

    def evaluate_in_steps(self, may_evict: Callable[[int], bool]) -> Iterator[None]:
        """Evaluate changed pods, a part in each step, if they are many and may have to be known.

        `may_evict`: whether a gang that waits may evict pods of this priority.
        """
        if len(self._changed) < MANY or not may_evict(min(self._present, default=SYSTEM_PRIORITY)):
            return
        while len(self._changed) >= MANY:
            self._refresh(MANY)
            yield
        self._refresh()
        self._put_in_order()
        yield

    def outranked_by(self, priority: int) -> bool:
        """Return whether any evictable pod has a priority lower than this."""
        if not any(each < priority for each in self._present):
            return False
        self._refresh()
        return any(each < priority for each in self._priorities)

    def bound_pods_for(
        self,
        groups: Iterable[GangGroup],
        infos: Infos,
        pods: Callable[[], Iterable[Pod]],
        now: int,
        ranked: Mapping[GangKey, int] = NONE_RANKED,
    ) -> BoundPods | None:
        """Return the pods that may make room for one of the groups; None if there are none.

        `ranked` has the priorities of gangs whose members differ in priority; `now` is in seconds.
        Leaving pods make room for every group. The other pods are evaluated only if a group
        outranks some of them.
        """
        priorities = {group.priority for group in groups}
        lingering = (pod.priority for pod, _ in self.leaving.staying(now))
        lowest = min((*ranked.values(), *lingering), default=SYSTEM_PRIORITY)
        if any(lowest < each or self.outranked_by(each) for each in priorities):
            return self.bound_pods(infos, pods, now, ranked)
        return self.leaving_for(priorities, now)

    def leaving_for(self, waiting: Collection[object], now: int) -> BoundPods | None:
        """Return the leaving pods if a group waits for any; None if there are none."""
        going = self.leaving.bound_pods(now) if waiting else ()
        return BoundPods(leaving=going) if going else None

    def bound_pods(
        self,
        infos: Infos,
        pods: Callable[[], Iterable[Pod]],
        now: int,
        ranked: Mapping[GangKey, int] = NONE_RANKED,
    ) -> BoundPods:
        """Return all bound pods, leaving ones separately.

        Linear in pods on nodes; `now` is in seconds.
        """
        self._refresh()
        self._put_in_order()
        bound_pods = self._with_lingering(now)
        gangs = self._protections(infos)
        self._kept = frozenset(key for key, gang in gangs if not gang.preemptable)
        if self._kept:
            bound_pods = tuple(
                self._spare(each) if each.gang in self._kept and each.evictable else each
                for each in bound_pods
            )
        runtimes = {key: gang.min_runtime for key, gang in gangs if gang.min_runtime}
        if runtimes or self.rules.min_runtime_before_preemption_seconds:
            self._began = _began(bound_pods, self._began)
            bound_pods = tuple(self._checked(each, runtimes, now) for each in bound_pods)
        if ranked:
            bound_pods = tuple(_ranked(each, ranked) for each in bound_pods)
        elastic = [(infos[key], gang.elastic) for key, gang in gangs if gang.elastic is not None]
        bound_pods, steps = self._elastic(bound_pods, elastic, now)
        spare = [(key, gang.surplus) for key, gang in gangs if any(gang.surplus.values())]
        steps = {**steps_by_rank(spare, bound_pods), **steps}
        going = self.leaving.not_deleted()
        used = Counter(budget for pod in going for budget in self.protections.budgets.of(pod))
        allowed = self.protections.budgets.allowed(pods)
        return BoundPods(
            pods=bound_pods,
            surplus={key: by_role[""] for key, by_role in spare if by_role.keys() == {""}},
            surplus_by_role={key: by_role for key, by_role in spare if by_role.keys() != {""}},
            allowed={key: max(0, n - used[key]) for key, n in allowed.items()},
            leaving=self.leaving.bound_pods(now),
            steps=steps,
            counts_since=now - self.rules.lost_work_cap_seconds,
        )

    def _elastic(
        self, bound_pods: tuple[BoundPod, ...], gangs: Sequence[tuple[GangInfo, Elastic]], now: int
    ) -> tuple[tuple[BoundPod, ...], Mapping[GangKey, Steps]]:
        """Return the bound pods except surplus that is protected now, and the steps of the rest."""
        most = self.rules.max_min_runtime_seconds
        if not gangs:
            return bound_pods, {}
        cooling = {info.key for info, elastic in gangs if is_cooling(info, elastic, now, most)}
        bound_pods = tuple(
            self._spare(each) if each.gang in cooling and each.evictable else each
            for each in bound_pods
        )
        members: dict[GangKey, list[BoundPod]] = {info.key: [] for info, _ in gangs}
        for each in bound_pods:
            if each.gang in members:
                members[each.gang].append(each)
        return bound_pods, {
            info.key: steps_of(info, elastic, members[info.key]) for info, elastic in gangs
        }

    def _with_lingering(self, now: int) -> tuple[BoundPod, ...]:
        """Return the bound pods in order, with pods whose deletion takes too long to wait for.

        Such a pod is no member any more: it may be evicted alone, and then gets less time.
        """
        found = [
            BoundPod(
                *(pod, terminating.alone(pod)),
                evictable=self.protections.of_pod(pod, gang) is None,
                budgets=self.protections.budgets_of(pod, ends_late=True),
                unprotected=pod.job_uid in self.protections.unprotected_jobs,
                ends_late=True,
            )
            for pod, gang in self.leaving.staying(now)
        ]
        bound_pods = tuple(self._bound_pods.values())
        if not found:
            return bound_pods
        return tuple(sorted((*bound_pods, *found), key=lambda each: _place_of(each.pod)))

    def _leave(self, uid: str) -> None:
        """Remove a pod from its node, if it was on one."""
        before, _ = self._pods.pop(uid, (None, None))
        if before is not None:
            _add(self._present, before.priority, -1)
            if before.job_uid:
                self._leave_job(before)

    def _leave_job(self, pod: Pod) -> None:
        pods = self._of_jobs[pod.job_uid]
        pods.discard(pod.uid)
        if not pods:
            del self._of_jobs[pod.job_uid]

    def _refresh(self, most: int | None = None) -> None:
        """Evaluate the pods that have changed since the last call, or the first of them."""
        for uid in list(itertools.islice(self._changed, most)):
            before = self._bound_pods.get(uid)
            if before is not None:
                self._count(before, -1)
            self._evaluate(uid)
            del self._changed[uid]

    def _evaluate(self, uid: str) -> None:
        self._spared.pop(uid, None)
        if uid not in self._pods or uid in self.leaving:
            self._bound_pods.pop(uid, None)
            self._order.pop(uid, None)
            return
        pod, gang = self._pods[uid]
        if uid not in self._order:
            self._order[uid] = _place_of(pod)
            self._in_order = False
        bound_pod = BoundPod(
            pod,
            gang or terminating.alone(pod),
            evictable=self.protections.of_pod(pod, gang) is None,
            budgets=self.protections.budgets_of(pod, ends_late=is_late(pod, self.rules)),
            unprotected=pod.job_uid in self.protections.unprotected_jobs,
        )
        self._bound_pods[uid] = bound_pod
        self._count(bound_pod, 1)

    def _count(self, bound_pod: BoundPod, sign: int) -> None:
        if bound_pod.evictable:
            _add(self._priorities, bound_pod.pod.priority, sign)
        if bound_pod.gang.source != refs.SINGLE.name:
            bound = self._bound.get(bound_pod.gang)
            if bound is None:
                bound = self._bound[bound_pod.gang] = Counter()
            _add(bound, bound_pod.pod.role, sign)
            self._gangs.pop(bound_pod.gang, None)
            if not bound:
                del self._bound[bound_pod.gang]
                self._began.pop(bound_pod.gang, None)

    def protected_by(self, uid: str) -> ProtectedBy:
        """Return the reason why a pod on a node is not evictable."""
        known = self._pods.get(uid)
        found = self.protections.of_pod(*known) if known is not None else None
        if found is None and known is not None and known[1] in self._kept:
            return ProtectedBy.POD_GROUP
        return found or ProtectedBy.MIN_RUNTIME

    def _protections(self, infos: Infos) -> list[tuple[GangKey, GangProtection]]:
        """Return the gangs on nodes that protect some of their pods, and how.

        Computed once for each version of a gang, because every cycle needs it and gangs hardly
        change.
        """
        known, found = self._gangs, []
        for key, by_role in self._bound.items():
            info = infos.get(key)
            if info is None:
                continue
            gang, version = known.get(key), info.version
            if gang is None or gang.number != version.number or gang.version is not version:
                gang = known[key] = self.protections.of_gang(info, by_role)
            if gang.matters:
                found.append((key, gang))
        return found

    def _look_again_in(self, namespace: str) -> None:
        self._changed.update(
            (uid, None) for uid, (pod, _) in self._pods.items() if pod.namespace == namespace
        )

    def _put_in_order(self) -> None:
        if not self._in_order:
            uids = sorted(self._bound_pods, key=self._order.__getitem__)
            self._bound_pods = {uid: self._bound_pods[uid] for uid in uids}
            self._in_order = True

    def _checked(self, bound_pod: BoundPod, runtimes: Mapping[GangKey, int], now: int) -> BoundPod:
        """Return the bound pod, not evictable before its minimum run time is over."""
        of_all = self.rules.min_runtime_before_preemption_seconds
        least = max(runtimes.get(bound_pod.gang, 0), of_all)
        if not bound_pod.evictable or not least:
            return bound_pod
        since = bound_pod.pod.ran_since
        since = min(since, self._began.get(bound_pod.gang, since))
        return bound_pod if now - since >= least else self._spare(bound_pod)

    def _spare(self, bound_pod: BoundPod) -> BoundPod:
        """Return the bound pod as not evictable.

        The result is the same object each time.
        """
        uid = bound_pod.pod.uid
        if uid not in self._spared:
            self._spared[uid] = replace(bound_pod, evictable=False)
        return self._spared[uid]


def _began(bound_pods: Iterable[BoundPod], before: Mapping[GangKey, int]) -> dict[GangKey, int]:
    """Return since when gangs have had running pods without a break, in seconds.

    `before` is the last answer. A minimum run time counts from then: else a member that is replaced
    now and then would protect its whole gang for ever.
    """
    found: dict[GangKey, int] = {}
    for each in bound_pods:
        # A pod may have been created long before it was bound.
        since = each.pod.started_at or each.pod.scheduled_at
        if since and each.gang.source != refs.SINGLE.name:
            earlier = found.get(each.gang, before.get(each.gang, since))
            found[each.gang] = int(min(since, earlier))
    return found


def _place_of(pod: Pod) -> _Order:
    return _key_of_namespace(pod.namespace), natural_key(pod.name), pod.uid


def _ranked(bound_pod: BoundPod, priorities: Mapping[GangKey, int]) -> BoundPod:
    """Return the bound pod with the priority of its gang."""
    priority = priorities.get(bound_pod.gang, bound_pod.pod.priority)
    return (
        bound_pod
        if priority == bound_pod.pod.priority
        else replace(bound_pod, gangs_priority=priority)
    )


def _add(counter: Counter[T], key: T, sign: int) -> None:
    counter[key] += sign
    if not counter[key]:
        del counter[key]
