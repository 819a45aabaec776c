"""All PodDisruptionBudgets as last seen, and how many evictions each allows."""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping

from gang_scheduler.decode.budgets import DeclaredBudget
from gang_scheduler.model.pods import Pod, PodPhase


class Budgets:
    """All PodDisruptionBudgets."""

    def __init__(self) -> None:
        self._known: dict[str, DeclaredBudget] = {}
        self._by_namespace: dict[str, dict[str, DeclaredBudget]] = {}

    @property
    def uids(self) -> Collection[str]:
        """The uids of all budgets."""
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
    healthy = sum(1 for _ in _healthy(expected))
    return max(healthy - budget.least_healthy(len(expected)), 0)


def _healthy(pods: Iterable[Pod]) -> Iterator[Pod]:
    return (pod for pod in pods if pod.phase is PodPhase.RUNNING and not pod.deleting)
