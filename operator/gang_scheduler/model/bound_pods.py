"""The pods on the nodes, and whether each may be evicted."""

import operator
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, TypeVar

from gang_scheduler.model.evictions import UNKNOWN, RunningGang
from gang_scheduler.model.pods import Pod, PodClass
from gang_scheduler.model.queues import Charge, QueueRef
from gang_scheduler.model.records import record
from gang_scheduler.model.refs import GangKey

ENDS_LATE: Final = "ends-late"
"""Stands for a budget that allows no eviction, for pods that may take long to end.

Other pods are evicted instead if possible.
"""

TOO_MANY_BUDGETS: Final = "too-many-budgets"
"""Stands for a budget that allows no eviction, for pods under more budgets than are counted."""

T = TypeVar("T")
Charged = tuple[QueueRef, Charge]
"""The leaf to which a pod is charged, and the amounts."""


@record
class BoundPod:
    """A pod that has a node. `budgets` name the PodDisruptionBudgets that cover it.

    `gangs_priority` is the priority of the gang if it differs from the pod's: then the gang's
    counts, as in the queue. A pod is `evictable` if only its priority protects it: no label forbids
    eviction, no owner recreates the pod on the same node, the minimum run time of its gang is over,
    and its schedulerName is ours. An `unprotected` pod belongs to a Job that evictions could end
    for good. A pod that `ends_late` is being deleted, but so slowly that it counts as staying.
    """

    pod: Pod
    gang: GangKey
    evictable: bool = True
    budgets: tuple[str, ...] = ()
    gangs_priority: int | None = None
    unprotected: bool = False
    ends_late: bool = False

    @property
    def priority(self) -> int:
        """The priority by which the pod may be evicted: its gang's, if known."""
        return self.pod.priority if self.gangs_priority is None else self.gangs_priority


@dataclass(frozen=True, slots=True, eq=False)
class BoundGang:
    """The pods of one gang on nodes: the same object as long as none of its fields changes.

    `charged` has the charge of each pod, None for a pod without a queue. `cached` keeps values in
    the object.
    """

    pods: tuple[BoundPod, ...]
    charged: tuple[Charged | None, ...]
    known: RunningGang = UNKNOWN
    _cache: dict[str, tuple[Any, Any]] = field(default_factory=dict, init=False, repr=False)

    def cached(
        self, name: str, basis: tuple[object, ...], compute: Callable[["BoundGang"], T]
    ) -> T:
        """Return the result of `compute`, cached until `basis` consists of other objects."""
        # This runs for each gang on nodes in every cycle, most often without any basis.
        known = self._cache.get(name)
        if known is None or (basis and not all(map(operator.is_, known[0], basis))):
            known = self._cache[name] = (basis, compute(self))
        found: T = known[1]
        return found


@dataclass(frozen=True, slots=True, eq=False)
class BoundPods:
    """The pods that have a node, in natural order of their names.

    `leaving` are pods that terminate, and victims of earlier cycles. They leave in any case, so
    plans can use their room. All other bound pods are in `pods`. `surplus` is how many of `pods` a
    running gang can lose and still have its minMember; `surplus_by_role` is the same for gangs with
    roles. A gang that is in neither mapping can lose no pod. `steps` has, for gangs that shrink by
    whole steps, the uids of the surplus pods of each step, in the order of eviction. `allowed` is
    how many more pods of each PodDisruptionBudget may be evicted.

    `saved_at` is when gangs last saved their work. When sets of victims are compared, work from
    before `counts_since` does not count. Both are in seconds. If there are queues, `charged` has
    the charges of pods by uid, and `gangs` has `pods` by gang.
    """

    pods: tuple[BoundPod, ...] = ()
    surplus: Mapping[GangKey, int] = field(default_factory=dict)
    allowed: Mapping[str, int] = field(default_factory=dict)
    leaving: tuple[BoundPod, ...] = ()
    charged: Mapping[str, Charged] = field(default_factory=dict)
    gangs: Mapping[GangKey, BoundGang] = field(default_factory=dict)
    surplus_by_role: Mapping[GangKey, Mapping[str, int]] = field(default_factory=dict)
    steps: Mapping[GangKey, tuple[tuple[str, ...], ...]] = field(default_factory=dict)
    saved_at: Mapping[GangKey, int] = field(default_factory=dict)
    counts_since: int = 0

    def work_since(self, gang: GangKey, now: int) -> int:
        """Return the time since which a gang's pods would lose work if evicted now, in seconds.

        `now` is in seconds. A save in the future does not count.
        """
        saved_at = self.saved_at.get(gang, 0)
        return max(self.counts_since, saved_at if saved_at <= now else 0)


@dataclass(frozen=True, slots=True, eq=False)
class PinnedPods:
    """The pods that come back to the same node after an eviction: a class and a node name each.

    These are pods of DaemonSets, and mirror pods. The object stays the same until one is added or
    removed.
    """

    pods: tuple[tuple[PodClass, str], ...] = ()


NONE_PINNED: Final = PinnedPods()


def by_gang(bound_pods: Iterable[BoundPod]) -> dict[GangKey, list[BoundPod]]:
    """Return bound pods by gang, in their order."""
    found: dict[GangKey, list[BoundPod]] = {}
    for each in bound_pods:
        found.setdefault(each.gang, []).append(each)
    return found
