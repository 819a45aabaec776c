"""The reclaim request of a gang to its queue, and the running gangs that may be victims."""

import functools
import math
from collections.abc import Callable, Collection, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from gang_scheduler.model.bound_pods import BoundGang, BoundPod
from gang_scheduler.model.evictions import RunningGang
from gang_scheduler.model.gangs import GangGroup
from gang_scheduler.model.pods import Pod
from gang_scheduler.model.queues import Charge, FlavorResource, QueueRef
from gang_scheduler.model.refs import GangKey, natural_key
from gang_scheduler.scheduler.trial import Placement

MayTake = Callable[["ReclaimRequest", Sequence[Placement], Sequence[BoundPod]], bool]
"""Returns whether members may use their planned places once victims have gone.

It is asked right before the plan is carried out, so True also records that they will.
"""


@dataclass(frozen=True, slots=True, eq=False)
class ReclaimRequest:
    """The quota that the waiting members of a group ask of a queue together, in one flavor option.

    `charge_of` returns the charge of some of the members with the same option. `pod_priority` is
    the priority that counts if the group names no queue. `may_take` is asked before the request
    evicts pods, or takes the room of pods that leave.
    """

    ref: QueueRef
    charge: Charge
    priority: int
    created_at: float
    gangs: tuple[GangKey, ...] = ()
    pod_priority: int = 0
    charge_of: Callable[[Iterable[Pod]], Charge] | None = None
    may_take: "MayTake | None" = None

    def as_oldest(self) -> "ReclaimRequest":
        """Return the same request as if it were older than all gangs."""
        return ReclaimRequest(
            *(self.ref, self.charge, self.priority, -math.inf),
            *(self.gangs, self.pod_priority, self.charge_of, self.may_take),
        )

    def for_pods(self, pods: Iterable[Pod]) -> "ReclaimRequest":
        """Return the request for some of the members."""
        return self if self.charge_of is None else replace(self, charge=self.charge_of(pods))


def reclaim_request_of(
    group: GangGroup,
    ref: QueueRef,
    charge: Charge,
    charge_of: Callable[[Iterable[Pod]], Charge] | None = None,
) -> ReclaimRequest:
    """Return the reclaim request of a group to a queue."""
    return ReclaimRequest(
        ref,
        charge,
        group.queue_priority,
        group.created_at,
        tuple(gang.key for gang in group.waiting),
        group.priority,
        charge_of,
    )


@dataclass(frozen=True, eq=False)
class RunningInQueue:
    """A gang on nodes, with the charge of each of its pods.

    `priority` is its priority in the queue. `resources` are all that its pods request. `preempts`:
    its members may evict other pods.
    """

    key: GangKey
    ref: QueueRef
    priority: int
    known: RunningGang
    charges: Mapping[str, Charge] = field(default_factory=dict)
    pod_priority: int = 0
    resources: frozenset[str] = frozenset()
    preempts: bool = True

    @functools.cached_property
    def keys(self) -> frozenset[FlavorResource]:
        """The keys that its pods are charged for."""
        charges = self.charges.values()
        return frozenset(key for charge in charges for key, amount in charge.items() if amount > 0)

    @functools.cached_property
    def traits(self) -> tuple[Hashable, ...]:
        """The properties that decide by which classes it may be evicted in its queue.

        Its age and its run time are not among them.
        """
        return self.keys, self.resources, self.priority, self.pod_priority

    @functools.cached_property
    def lowest(self) -> int:
        """The lower of its two priorities."""
        return min(self.priority, self.pod_priority)

    @functools.cached_property
    def charge(self) -> Charge:
        """The charge of all its pods."""
        return self._sum(self.charges)

    @functools.cached_property
    def name(self) -> tuple[object, ...]:
        """The sort key of its name."""
        return natural_key(self.key.namespace), natural_key(self.key.name), self.key.source

    def charge_of(self, uids: Collection[str]) -> Charge:
        """Return the charge of some of its pods."""
        return self.charge if len(uids) == len(self.charges) else self._sum(uids)

    def _sum(self, uids: Iterable[str]) -> Charge:
        found: dict[FlavorResource, int] = {}
        for uid in uids:
            for key, amount in self.charges.get(uid, {}).items():
                found[key] = found.get(key, 0) + amount
        return found


def running_in_queue_of(gang: BoundGang) -> RunningInQueue | None:
    """Return a gang on nodes with its charges; None if it has no queue, or no evictable pod.

    Computed once until the gang changes.
    """
    return gang.cached("held", (), _running_in_queue_of)


def _running_in_queue_of(gang: BoundGang) -> RunningInQueue | None:
    ref = next((each[0] for each in gang.charged if each is not None), None)
    if ref is None or not any(each.evictable for each in gang.pods):
        return None
    pods, known = gang.pods, gang.known
    priority = max(each.priority for each in pods)
    charged = zip(pods, gang.charged, strict=True)
    return RunningInQueue(
        pods[0].gang,
        ref,
        priority if known.class_priority is None else known.class_priority,
        known,
        {each.pod.uid: {} if charge is None else charge[1] for each, charge in charged},
        priority,
        frozenset(
            name
            for pod_class in {each.pod.pod_class for each in pods}
            for name, amount in pod_class.requests
            if amount > 0
        ),
        all(each.pod.preempts for each in pods),
    )
