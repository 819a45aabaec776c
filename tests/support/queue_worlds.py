"""Snapshots with queues: what runs is charged as `state` would."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from gang_scheduler.model.api_words import Fairness
from gang_scheduler.model.bound_pods import BoundPod, Charged
from gang_scheduler.model.evictions import RunningGang
from gang_scheduler.model.gangs import Gang
from gang_scheduler.model.nodes import Node
from gang_scheduler.model.plan import Plan
from gang_scheduler.model.queues import (
    DEFAULT_FLAVOR,
    Charge,
    Flavor,
    FlavorResource,
    Product,
    Queue,
    QueueRef,
    QueueState,
    QueueUsage,
)
from gang_scheduler.model.rules import PromiseRules, Rules
from gang_scheduler.model.snapshot import Snapshot
from gang_scheduler.scheduler.cycle import schedule
from gang_scheduler.scheduler.profile import PROFILES
from support import builders
from support.queue_builders import queue_set

BINPACK = PROFILES["binpack"]


def in_queue(queue: QueueRef, name: str, **asks: Any) -> Gang:
    """Return a gang that waits in a queue."""
    return replace(builders.gang(name, **asks), queue=queue)


class Running(NamedTuple):
    """A bound pod, a gang of one, and the queue that it is charged to."""

    queue: QueueRef
    bound: BoundPod


def running(queue: QueueRef, name: str, node: str, **asks: Any) -> Running:
    """Return a bound pod that is charged to a queue."""
    return Running(queue, builders.bound_pod(name, node, **asks))


def world(
    queues: Sequence[Queue],
    gangs: Iterable[Gang],
    nodes: Sequence[Node],
    runs: Sequence[Running] = (),
    *,
    flavors: Sequence[Flavor] = (),
    fairness: Mapping[Product, Fairness] | None = None,
    enforced: frozenset[Product] = frozenset(Product),
    taken_at: int = 0,
) -> Snapshot:
    """Return a snapshot; each running pod is a gang of one, and charged in flavor `default`."""
    gangs = tuple(gangs)
    made = builders.snapshot(
        nodes,
        gangs,
        bound_pods=builders.in_queues(
            builders.bound_pods(*(each.bound for each in runs)),
            {each.bound.pod.uid: (each.queue, {}) for each in runs},
        ),
        taken_at=taken_at,
    )
    declared = queue_set(queues, flavors, fairness, enforced)
    return replace(made, queues=QueueState(declared, usage_of(runs, gangs)))


def with_ends(snapshot: Snapshot, ends: Mapping[str, int | None]) -> Snapshot:
    """Return a snapshot with the expected ends of running gangs by name; it began at 0."""
    bound = snapshot.bound_pods
    assert bound is not None
    charged: dict[str, Charged] = {}
    for each in bound.pods:
        charge: dict[FlavorResource, int] = {}
        _add(charge, each.pod.pod_class.requests)
        charged[each.pod.uid] = bound.charged[each.pod.uid][0], charge
    known = {each.gang: RunningGang(ends_at=ends.get(each.gang.name)) for each in bound.pods}
    return replace(snapshot, bound_pods=builders.in_queues(bound, charged, known))


def promising(snapshot: Snapshot, number: int = 1, after: int = 300) -> Plan:
    """Return the plan of a scheduler with so many reservations, after so long a wait."""
    rules = PromiseRules(reservations=number, reservation_after_seconds=after)
    return schedule(snapshot, replace(BINPACK, rules=Rules(promises=rules)))


def usage_of(runs: Iterable[Running], gangs: Iterable[Gang] = ()) -> QueueUsage:
    """Return what bound pods are charged in flavor `default`, and what gangs ask for there."""
    charged: dict[QueueRef, dict[FlavorResource, int]] = {}
    asked: dict[QueueRef, dict[FlavorResource, int]] = {}
    groups: dict[QueueRef, int] = {}
    for each in runs:
        _add(charged.setdefault(each.queue, {}), each.bound.pod.pod_class.requests)
        groups[each.queue] = groups.get(each.queue, 0) + 1
    for gang in gangs:
        for pod in gang.pending:
            if gang.queue is not None:
                _add(asked.setdefault(gang.queue, {}), pod.pod_class.requests)
    return QueueUsage(charged, asked, groups)


def _add(charge: dict[FlavorResource, int], requests: Iterable[tuple[str, int]]) -> None:
    for resource, amount in requests:
        key = FlavorResource(DEFAULT_FLAVOR, resource)
        charge[key] = charge.get(key, 0) + amount


def charges_of(plan: Plan) -> dict[QueueRef, Charge]:
    """Return what a plan's bindings charge each queue, by the flavors that they name."""
    charged: dict[QueueRef, dict[FlavorResource, int]] = {}
    for placed in plan.placed:
        for bind in placed.binds:
            requests = dict(bind.pod.pod_class.requests)
            assert placed.gang.queue is not None
            of_queue = charged.setdefault(placed.gang.queue, {})
            for resource, flavor in bind.flavors:
                key = FlavorResource(flavor, resource)
                of_queue[key] = of_queue.get(key, 0) + requests.get(resource, 0)
    return dict(charged)


def decide(snapshot: Snapshot) -> Plan:
    """Return the plan."""
    return schedule(snapshot, BINPACK)
