"""Claims of gangs that wait, and gangs that they may evict, with what both are charged."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from gang_scheduler.model.api_words import Fairness
from gang_scheduler.model.bound_pods import BoundPod, BoundPods
from gang_scheduler.model.evictions import RunningGang
from gang_scheduler.model.queues import Product, Queue, QueueRef
from gang_scheduler.scheduler.reclaim.after_eviction import Part
from gang_scheduler.scheduler.reclaim.cycle_requests import ReclaimRequests
from gang_scheduler.scheduler.reclaim.eviction_policy import EvictionLimits
from gang_scheduler.scheduler.reclaim.request import ReclaimRequest, RunningInQueue
from gang_scheduler.scheduler.turns.ledger import Ledger
from support import builders
from support.builders import gang_key
from support.queue_builders import CPU, Amount, amounts, forest_of

NOW = 10_000
LIMITS = EvictionLimits(now=NOW)


def request(queue: QueueRef, cpu: Amount = 1, *, name: str = "p", **fields: Any) -> ReclaimRequest:
    """Return what a gang asks that waits since 0, with priority 0."""
    priority = fields.pop("priority", 0)
    created_at = fields.pop("created_at", 0)
    return ReclaimRequest(queue, amounts(cpu), priority, created_at, (gang_key(name),), **fields)


def running(
    queue: QueueRef, name: str = "v", cpu: Amount = 1, *, priority: int = 0, **known: Any
) -> RunningInQueue:
    """Return a gang of one pod; `known` are fields of RunningGang."""
    charges = {f"uid-{name}": amounts(cpu)}
    gang = RunningGang(**known)
    resources = frozenset({"cpu"})
    return RunningInQueue(gang_key(name), queue, priority, gang, charges, priority, resources)


def part(each: RunningInQueue, **fields: Any) -> Part:
    """Return a gang that goes."""
    return Part(each, each.charge_of(each.charges), **fields)


def ledger(
    queues: Sequence[Queue],
    running: Iterable[RunningInQueue] = (),
    *,
    asked: Mapping[QueueRef, Amount] | None = None,
    fairness: Fairness = Fairness.PRIORITY,
    enforced: frozenset[Product] = frozenset(Product),
) -> Ledger:
    """Return the charges of gangs that run, with trees that are all of one fairness."""
    every = dict.fromkeys(Product, fairness)
    forest = forest_of(queues, asked=asked, fairness=every, enforced=enforced)
    for each in running:
        forest.charge(each.ref, each.charge_of(each.charges))
    return Ledger(forest, {}, enforced)


@dataclass
class Nodes:
    """The pods on nodes, and what is known of them where there are queues."""

    pods: list[BoundPod] = field(default_factory=list)
    queues: dict[str, QueueRef] = field(default_factory=dict)
    charges: dict[str, Amount] = field(default_factory=dict)
    gangs: dict[str, RunningGang] = field(default_factory=dict)

    def run(
        self, queue: QueueRef, name: str, *cpus: int, known: RunningGang | None = None, **asks: Any
    ) -> Sequence[BoundPod]:
        """Let a gang run of a pod for each amount; return its pods."""
        pods = [
            builders.bound_pod(f"{name}-{number}", "n1", gang=name, cpu=f"{cpu}m", **asks)
            for number, cpu in enumerate(cpus)
        ]
        self.pods += pods
        self.queues.update({each.pod.uid: queue for each in pods})
        self.charges.update(zip((each.pod.uid for each in pods), cpus, strict=True))
        self.gangs[name] = known or RunningGang()
        return pods

    def bound_pods(self, **fields: Any) -> BoundPods:
        """Return them as a snapshot has them; `fields` are arguments of the builder."""
        charged = {uid: (self.queues[uid], amounts(n)) for uid, n in self.charges.items()}
        known = {gang_key(name): each for name, each in self.gangs.items()}
        return builders.in_queues(builders.bound_pods(*self.pods, **fields), charged, known)

    def ledger(self, queues: Sequence[Queue], **fields: Any) -> Ledger:
        """Return what they are charged."""
        found = ledger(queues, **fields)
        for uid, ref in self.queues.items():
            found.charge(ref, amounts(self.charges[uid]))
        return found

    def reclaim_requests(
        self, queues: Sequence[Queue], limits: EvictionLimits = LIMITS, **fields: Any
    ) -> ReclaimRequests:
        """Return the claims of a cycle on them."""
        return ReclaimRequests(self.bound_pods(), self.ledger(queues, **fields), limits)


def cpu_of(quota: Ledger, queue: QueueRef) -> int:
    """Return what a queue is charged of CPU."""
    return quota.forest.used(queue, CPU)
