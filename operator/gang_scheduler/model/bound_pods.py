"""The pods on the nodes, and what protects them from eviction."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from gang_scheduler.model.evictions import RunningGang
from gang_scheduler.model.pods import Pod, PodClass
from gang_scheduler.model.queues import Charge, QueueRef
from gang_scheduler.model.refs import GangKey


@dataclass(frozen=True, slots=True)
class BoundPod:
    """A pod that has a node. `budgets` name the PodDisruptionBudgets that cover it.

    `gangs_priority` is the priority of the gang if it differs from the pod's: the gang's counts, as
    in the queue. A pod is `evictable` if only its priority protects it: no label forbids it, no
    owner recreates the pod on the same node, the minimum run time of its gang is over, and its
    schedulerName is one of ours. An `unprotected` pod is of a Job that evictions could end for
    good.
    """

    pod: Pod
    gang: GangKey
    evictable: bool = True
    budgets: tuple[str, ...] = ()
    gangs_priority: int | None = None
    unprotected: bool = False

    @property
    def priority(self) -> int:
        """The priority by which the pod may be evicted: that of its gang."""
        return self.pod.priority if self.gangs_priority is None else self.gangs_priority


@dataclass(frozen=True, slots=True, eq=False)
class BoundPods:
    """The pods that have a node, in natural order of their names.

    `leaving` are pods that terminate, and victims of earlier cycles: they leave in any case, so
    their room can be planned with. All other bound pods are `pods`. `surplus` is how many of `pods`
    a running gang can lose and still have its minMember; a gang that is not in it can lose none.
    `allowed` is how many more pods of each PodDisruptionBudget may be evicted. Where there are
    queues, `queues` are the leaves that pods are charged to, and `charges` what they are charged,
    by uid; `gangs` is what is known of their gangs.
    """

    pods: tuple[BoundPod, ...] = ()
    surplus: Mapping[GangKey, int] = field(default_factory=dict)
    allowed: Mapping[str, int] = field(default_factory=dict)
    leaving: tuple[BoundPod, ...] = ()
    queues: Mapping[str, QueueRef] = field(default_factory=dict)
    charges: Mapping[str, Charge] = field(default_factory=dict)
    gangs: Mapping[GangKey, RunningGang] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, eq=False)
class PinnedPods:
    """The pods that come back to the same node whatever is evicted, each a class and a node's name.

    Pods of DaemonSets, and mirror pods. The same object for as long as none comes or goes.
    """

    pods: tuple[tuple[PodClass, str], ...] = ()


NONE_PINNED: Final = PinnedPods()
