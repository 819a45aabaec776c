"""What a gang asks of its queue, and the gangs that may have to go for it."""

import functools
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from gang_scheduler.model.bound_pods import BoundPod, BoundPods
from gang_scheduler.model.evictions import RunningGang
from gang_scheduler.model.gangs import GangGroup
from gang_scheduler.model.pods import Pod
from gang_scheduler.model.queues import Charge, FlavorResource, QueueRef
from gang_scheduler.model.refs import GangKey

_UNKNOWN = RunningGang()


@dataclass(frozen=True, slots=True, eq=False)
class Claim:
    """What the members of a group that wait ask of a queue together: amounts of one offer.

    `charge_of` says what some of the members are charged by the same offer. `pod_priority` is the
    priority that counts where the group names no queue.
    """

    ref: QueueRef
    charge: Charge
    priority: int
    created_at: float
    gangs: tuple[GangKey, ...] = ()
    pod_priority: int = 0
    charge_of: Callable[[Iterable[Pod]], Charge] | None = None

    def of(self, pods: Iterable[Pod]) -> "Claim":
        """Return what some of the members ask."""
        return self if self.charge_of is None else replace(self, charge=self.charge_of(pods))


def claim_of(
    group: GangGroup, ref: QueueRef, charge: Charge, charge_of: Callable[[Iterable[Pod]], Charge]
) -> Claim:
    """Return the claim of a group on a queue."""
    return Claim(
        ref,
        charge,
        group.queue_priority,
        group.created_at,
        tuple(gang.key for gang in group.waiting),
        group.priority,
        charge_of,
    )


@dataclass(frozen=True, eq=False)
class Held:
    """A gang on nodes, with what each of its pods is charged; `priority` is that in its queue.

    `resources` are all that its pods request. `preempts`: its members may evict other pods.
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
        """All that its pods are charged."""
        charges = self.charges.values()
        return frozenset(key for charge in charges for key, amount in charge.items() if amount > 0)

    def charge_of(self, uids: Iterable[str]) -> dict[FlavorResource, int]:
        """Return what some of its pods are charged together."""
        found: dict[FlavorResource, int] = {}
        for uid in uids:
            for key, amount in self.charges.get(uid, {}).items():
                found[key] = found.get(key, 0) + amount
        return found


def held_of(members: Sequence[BoundPod], bound_pods: BoundPods) -> Held | None:
    """Return a gang by its members on nodes; None for pods that are charged to no queue."""
    ref = next((bound_pods.queues.get(each.pod.uid) for each in members), None)
    if ref is None:
        return None
    gang = members[0].gang
    known = bound_pods.gangs.get(gang, _UNKNOWN)
    priority = max(each.priority for each in members)
    return Held(
        gang,
        ref,
        priority if known.class_priority is None else known.class_priority,
        known,
        {each.pod.uid: bound_pods.charges.get(each.pod.uid, {}) for each in members},
        priority,
        frozenset(
            name
            for pod_class in {each.pod.pod_class for each in members}
            for name, amount in pod_class.requests
            if amount > 0
        ),
        all(each.pod.preempts for each in members),
    )
