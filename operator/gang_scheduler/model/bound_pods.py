"""Who is on the nodes, and what stands between a pod and its eviction."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from gang_scheduler.model.gangs import GangKey
from gang_scheduler.model.pods import Pod


@dataclass(frozen=True, slots=True)
class BoundPod:
    """A pod that has a node. `budgets` name the PodDisruptionBudgets that cover it.

    `gangs_priority` is that of its gang, where the pod's own is another one: it is the one that
    counts, as in the queue. It is `evictable` where nothing but its priority protects it: no label,
    no owner that would only put it back, no minimum run time that is not over yet, and one of our
    own schedulerNames.
    """

    pod: Pod
    gang: GangKey
    evictable: bool = True
    budgets: tuple[str, ...] = ()
    gangs_priority: int | None = None

    @property
    def priority(self) -> int:
        """The priority by which it may be evicted: its gang's."""
        return self.pod.priority if self.gangs_priority is None else self.gangs_priority


@dataclass(frozen=True, slots=True, eq=False)
class BoundPods:
    """The pods that have a node, in natural order of their names.

    `leaving` are those that terminate, and victims of earlier cycles: they leave whatever is
    decided now, so their room can be planned with. All others are `pods`. `surplus` is how many
    of these a running gang can lose and still have its minMember; a gang that is not in it can lose
    none. `allowed` is how many more pods of each PodDisruptionBudget may go.
    """

    pods: tuple[BoundPod, ...] = ()
    surplus: Mapping[GangKey, int] = field(default_factory=dict)
    allowed: Mapping[str, int] = field(default_factory=dict)
    leaving: tuple[BoundPod, ...] = ()
