"""What protects pods on nodes from eviction: labels, Jobs, minimum run times, and budgets."""

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Final, NamedTuple

from gang_scheduler.api import annotations
from gang_scheduler.decode.cluster import DeclaredBudget
from gang_scheduler.model.api_words import Operator
from gang_scheduler.model.bound_pods import ENDS_LATE, TOO_MANY_BUDGETS
from gang_scheduler.model.evictions import ProtectedBy
from gang_scheduler.model.pods import Elastic, Pod, PodPhase
from gang_scheduler.model.refs import GangKey, JobFailures
from gang_scheduler.model.rules import PreemptionRules
from gang_scheduler.state.gangs.gang_info import GangInfo
from gang_scheduler.state.gangs.observed import Version

SYSTEM_PRIORITY: Final = 2_000_000_000
"""The lower of the priorities of system-cluster-critical and system-node-critical."""
MOST_BUDGETS: Final = 16
"""A pod under more budgets than this counts as one whose budgets allow no eviction.

The Eviction API refuses every pod under more than one budget.
"""
MOST_COMPARED: Final = 64
"""The same holds if more budgets than this might cover a pod: users may create thousands."""

MOST_REQUIREMENTS: Final = 8
MOST_VALUES: Final = 16
"""Budgets are indexed by the requirements of their selectors that have the fewest values."""

Label = tuple[str, str]

# All PodDisruptionBudgets as last seen, and how many evictions each allows.


class _OfNamespace:
    """The budgets of a namespace, found by labels of the pods that they cover."""

    def __init__(self) -> None:
        self._budgets: dict[str, DeclaredBudget] = {}
        self._named: dict[str, list[tuple[Label, ...]]] = {}
        """The result of `_named` for each budget, by uid."""
        self._by_label: dict[Label, list[str]] | None = None
        """The uids of budgets by a label that each covered pod has; None if outdated."""
        self._others: list[str] = []
        """The uids of budgets whose selector names no value."""

    def __bool__(self) -> bool:
        return bool(self._budgets)

    def put(self, declared: DeclaredBudget) -> None:
        """Add or replace a budget. A change of only its status changes no label."""
        before = self._budgets.get(declared.uid)
        if before is None or before.selector != declared.selector:
            self._named[declared.uid] = _named(declared)
            self._by_label = None
        self._budgets[declared.uid] = declared

    def remove(self, uid: str) -> None:
        """Forget a budget."""
        del self._budgets[uid], self._named[uid]
        self._by_label = None

    def that_may_cover(self, pod: Pod) -> list[DeclaredBudget] | None:
        """Return the budgets that may cover a pod; None if they are too many to compare."""
        by_label = self._by_label = self._indexed() if self._by_label is None else self._by_label
        found = [by_label[each] for each in pod.labels.items() if each in by_label]
        found.append(self._others)
        if sum(map(len, found)) > MOST_COMPARED:
            return None
        return [self._budgets[uid] for uids in found for uid in uids]

    def _indexed(self) -> dict[Label, list[str]]:
        """Return the uids of budgets by the rarest of the labels that their selectors name.

        All budgets of an application may name its label, and only one of them a certain component.
        """
        named = self._named.values()
        count = Counter(label for choices in named for labels in choices for label in labels)
        self._others = []
        found: dict[Label, list[str]] = {}
        for uid, choices in self._named.items():
            if not choices and self._budgets[uid].selector is not None:
                self._others.append(uid)
            rarest = min(choices, key=lambda each: (sum(count[e] for e in each), each), default=())
            for label in rarest:
                found.setdefault(label, []).append(uid)
        return found


def _named(declared: DeclaredBudget) -> list[tuple[Label, ...]]:
    """Return, for each requirement with few values, labels: a covered pod has one of them."""
    named = [each for each in declared.selector or () if each.operator is Operator.IN]
    few = sorted(named, key=lambda each: (len(each.values), each.key))[:MOST_REQUIREMENTS]
    return [
        tuple((each.key, value) for value in sorted(set(each.values)))
        for each in few
        if len(each.values) <= MOST_VALUES
    ]


class Budgets:
    """All PodDisruptionBudgets."""

    def __init__(self) -> None:
        self._known: dict[str, DeclaredBudget] = {}
        self._by_namespace: dict[str, _OfNamespace] = {}

    def uids(self) -> Collection[str]:
        """Return the uids of all budgets."""
        return self._known.keys()

    def upsert(self, declared: DeclaredBudget) -> DeclaredBudget | None:
        """Add or replace a budget; return the earlier state."""
        before = self._known.get(declared.uid)
        if before is not None and before.namespace != declared.namespace:
            self.delete(declared.uid)
        self._known[declared.uid] = declared
        self._by_namespace.setdefault(declared.namespace, _OfNamespace()).put(declared)
        return before

    def delete(self, uid: str) -> DeclaredBudget | None:
        """Forget a budget; return its last state."""
        before = self._known.pop(uid, None)
        if before is not None:
            near = self._by_namespace[before.namespace]
            near.remove(uid)
            if not near:
                del self._by_namespace[before.namespace]
        return before

    def of(self, pod: Pod) -> tuple[str, ...]:
        """Return the keys of the budgets that cover a pod, or the key for too many of them."""
        near = self._by_namespace.get(pod.namespace)
        if near is None:
            return ()
        found = near.that_may_cover(pod)
        keys = None if found is None else sorted(each.key for each in found if each.covers(pod))
        return (TOO_MANY_BUDGETS,) if keys is None or len(keys) > MOST_BUDGETS else tuple(keys)

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

    def of_pod(self, pod: Pod, gang: GangKey | None) -> ProtectedBy | None:
        """Return why a pod is protected while it runs; None if only its priority protects it."""
        # This runs for every pod on a node, so it skips all checks that cannot matter.
        found: ProtectedBy | None = None
        if pod.assumed:
            # A binding in progress must be finished first.
            found = ProtectedBy.BINDING
        elif pod.priority >= SYSTEM_PRIORITY:
            found = ProtectedBy.SYSTEM
        elif gang is None and not self._rules.preempt_other_schedulers:
            found = ProtectedBy.OTHER_SCHEDULER
        elif pod.pinned:
            found = ProtectedBy.PINNED
        elif pod.job_uid in self.unprotected_jobs and not self._rules.preempt_unprotected_jobs:
            found = ProtectedBy.JOB
        elif pod.labels and self._is_protected(pod):
            found = ProtectedBy.LABEL
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
        """Return the protection of a gang; `by_role` counts its pods on nodes."""
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

        Without the Eviction API, pods that end late share one more budget, ENDS_LATE.
        """
        budgets = self.budgets.of(pod)
        return (*budgets, ENDS_LATE) if ends_late and not self._rules.use_eviction_api else budgets
