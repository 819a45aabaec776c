"""What protects pods on nodes from eviction: labels, Jobs, minimum run times, and budgets."""

from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Final, NamedTuple

from gang_scheduler.api import annotations
from gang_scheduler.decode.cluster import DeclaredBudget
from gang_scheduler.model.bound_pods import ENDS_LATE
from gang_scheduler.model.evictions import Sparing
from gang_scheduler.model.pods import Elastic, Pod, PodPhase
from gang_scheduler.model.refs import GangKey, JobFailures
from gang_scheduler.model.rules import PreemptionRules
from gang_scheduler.state.gangs.gang_info import GangInfo
from gang_scheduler.state.gangs.observed import Version

SYSTEM_PRIORITY: Final = 2_000_000_000
"""The lower of the priorities of system-cluster-critical and system-node-critical."""

# All PodDisruptionBudgets as last seen, and how many evictions each allows.


class Budgets:
    """All PodDisruptionBudgets."""

    def __init__(self) -> None:
        self._known: dict[str, DeclaredBudget] = {}
        self._by_namespace: dict[str, dict[str, DeclaredBudget]] = {}

    def uids(self) -> Collection[str]:
        """Return the uids of all budgets."""
        return self._known.keys()

    def upsert(self, declared: DeclaredBudget) -> DeclaredBudget | None:
        """Add or replace a budget; return the earlier state."""
        before = self._known.get(declared.uid)
        self._known[declared.uid] = declared
        self._by_namespace.setdefault(declared.namespace, {})[declared.uid] = declared
        return before

    def delete(self, uid: str) -> DeclaredBudget | None:
        """Forget a budget; return its last state."""
        before = self._known.pop(uid, None)
        if before is not None:
            near = self._by_namespace[before.namespace]
            del near[uid]
            if not near:
                del self._by_namespace[before.namespace]
        return before

    def of(self, pod: Pod) -> tuple[str, ...]:
        """Return the keys of the budgets that cover a pod."""
        near = self._by_namespace.get(pod.namespace)
        if not near:
            return ()
        return tuple(sorted(each.key for each in near.values() if each.covers(pod)))

    def allowed(self, pods: Callable[[], Iterable[Pod]]) -> Mapping[str, int]:
        """Return how many pods of each budget may be evicted; `pods` is called only to count."""
        return {
            each.key: _counted(each, pods()) if each.allowed is None else each.allowed
            for each in sorted(self._known.values(), key=lambda each: each.key)
        }


def _counted(budget: DeclaredBudget, pods: Iterable[Pod]) -> int:
    """Return disruptionsAllowed as the disruption controller would compute it."""
    expected = [pod for pod in pods if not pod.terminal and budget.covers(pod)]
    healthy = sum(pod.phase is PodPhase.RUNNING and not pod.deleting for pod in expected)
    return max(healthy - budget.least_healthy(len(expected)), 0)


class GangProtection(NamedTuple):
    """The protection of a gang's pods on nodes, as of a version of the gang.

    `surplus` is how many pods of each role may be evicted, `min_runtime` is in seconds. `matters`:
    the gang protects some of its pods, or has a surplus.
    """

    version: Version
    number: int
    preemptable: bool
    min_runtime: int
    elastic: Elastic | None
    surplus: Mapping[str, int]
    matters: bool


class Protections:
    """The rules by which pods are protected, with all budgets, and Jobs that count evictions."""

    def __init__(self, rules: PreemptionRules) -> None:
        self.budgets = Budgets()
        self.unprotected_jobs: dict[str, JobFailures] = {}
        """By uid, the Jobs that fail for good if each of their pods is evicted once."""
        self._rules = rules

    def of_pod(self, pod: Pod, gang: GangKey | None) -> Sparing | None:
        """Return why a pod is protected while it runs; None if only its priority protects it."""
        # This runs for every pod on a node, so it skips all checks that cannot matter.
        found: Sparing | None = None
        if pod.assumed:
            # A binding in progress must be finished first.
            found = Sparing.BINDING
        elif pod.priority >= SYSTEM_PRIORITY:
            found = Sparing.SYSTEM
        elif gang is None and not self._rules.preempt_other_schedulers:
            found = Sparing.OTHER_SCHEDULER
        elif pod.pinned:
            found = Sparing.PINNED
        elif pod.job_uid in self.unprotected_jobs and not self._rules.preempt_unprotected_jobs:
            found = Sparing.JOB
        elif pod.labels and self._is_protected(pod):
            found = Sparing.LABEL
        return found

    def _is_protected(self, pod: Pod) -> bool:
        """Return whether a label protects the pod.

        Labels protect pods only in some namespaces.
        """
        if not self._may_protect(pod.namespace):
            return False
        disabled = pod.labels.get(annotations.DISABLE_PREEMPTIBLE) == "true"
        return disabled or pod.labels.get(annotations.QUOTA_PREEMPTIBLE) == "false"

    def _may_protect(self, namespace: str) -> bool:
        """Return whether users of a namespace may protect their pods by labels."""
        where = self._rules.protection_label_namespaces
        return not where or namespace in where

    def of_gang(self, info: GangInfo, by_role: Mapping[str, int]) -> GangProtection:
        """Return the protection of a gang that has so many pods of each role on nodes."""
        spec, elastic = info.observed.spec, info.scaling.elastic
        preemptable = spec is None or spec.preemptable or not self._may_protect(info.key.namespace)
        min_runtime = self._rules.counted_min_runtime(info.observed.min_runtime_seconds)
        has_more = len(by_role) > 1 or max(by_role.values()) > 1
        surplus = info.attempt.surplus_of(by_role) if has_more else {}
        matters = bool(min_runtime or elastic is not None or any(surplus.values()))
        return GangProtection(
            *(info.version, info.version.number, preemptable, min_runtime, elastic, surplus),
            matters=matters or not preemptable,
        )

    def budgets_of(self, pod: Pod, *, ends_late: bool) -> tuple[str, ...]:
        """Return the disruption budgets of a pod.

        Without the Eviction API, pods that end late share one more.
        """
        budgets = self.budgets.of(pod)
        return (*budgets, ENDS_LATE) if ends_late and not self._rules.use_eviction_api else budgets
