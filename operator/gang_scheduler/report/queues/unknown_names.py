"""Names of queues and resources in our Queues that nothing is called by: likely misspelt."""

from collections.abc import Collection, Iterator
from typing import Final

from gang_scheduler.model import likeness
from gang_scheduler.model.charged_requests import RequestRules
from gang_scheduler.model.nodes import NodeTable
from gang_scheduler.model.queues import DEFAULT_FLAVOR, GPU, NONE, ROOT, FlavorResource, Queue

CLOSE_ENOUGH: Final = 0.8
ALWAYS_THERE: Final = frozenset({ROOT.name, NONE.name})


def counted(nodes: NodeTable, rules: RequestRules) -> frozenset[str]:
    """Return the resources that pods can be charged for; empty while there are no nodes."""
    if not len(nodes):
        return frozenset()
    outputs = (name for each in rules.transformations.values() for name, _ in each.outputs)
    return frozenset({GPU, *nodes.resources, *outputs})


def notes(queue: Queue, queues: Collection[str], resources: Collection[str]) -> tuple[str, ...]:
    """Return what to tell of one of our Queues; of resources nothing while none is known."""
    return (*_queues(queue, queues), *_resources(queue, resources))


def _queues(queue: Queue, known: Collection[str]) -> Iterator[str]:
    fields = {
        "spec.borrowing.allowedQueues": queue.lenders,
        "spec.preemption.allowPreemptFrom": queue.evictions.may_lose_to,
    }
    for where, names in fields.items():
        unknown = (each for each in names or () if each not in known and each not in ALWAYS_THERE)
        for name in sorted(unknown):
            yield f"{where}: no queue is called {name}{_meant(name, known)}"


def _resources(queue: Queue, known: Collection[str]) -> Iterator[str]:
    for of in sorted(queue.quotas) if known else ():
        if of.resource not in known:
            meant = _meant(of.resource, known)
            yield f"{_field(queue, of)}: no node has {of.resource}{meant}"


def _field(queue: Queue, of: FlavorResource) -> str:
    if of.flavor == DEFAULT_FLAVOR:
        return "spec.quota"
    return f"spec.flavors[{queue.resource_groups[0].flavors.index(of.flavor)}].quota"


def _meant(name: str, known: Collection[str]) -> str:
    near = likeness.close_to(name, known, cutoff=CLOSE_ENOUGH)
    return f" (did you mean {near[0]}?)" if near else ""
