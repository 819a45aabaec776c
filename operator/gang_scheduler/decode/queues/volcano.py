"""Queues of Volcano (scheduling.volcano.sh)."""

from collections.abc import Iterator, Mapping
from fractions import Fraction
from typing import Any, Final

from gang_scheduler.api.parsing import InvalidField
from gang_scheduler.decode import fields
from gang_scheduler.decode.queues import declared
from gang_scheduler.decode.queues.declared import DeclaredQueue
from gang_scheduler.decode.queues.kueue import gvr_of
from gang_scheduler.model.api_words import EvictionPolicy, StopPolicy, Strategy
from gang_scheduler.model.queues import (
    DEFAULT_FLAVOR,
    VOLCANO_ROOT,
    EvictionRules,
    FlavorResource,
    Queue,
    QueueKind,
    QueueRef,
    Quota,
    ResourceGroup,
)
from gang_scheduler.wire import queues as wire

STRATEGIES: Final = {
    "": Strategy.BEST_EFFORT_FIFO,
    "traverse": Strategy.BEST_EFFORT_FIFO,
    "fifo": Strategy.STRICT_FIFO,
}
CLOSED: Final = frozenset({"Closed", "Closing"})


def queue(body: Mapping[str, Any]) -> DeclaredQueue:
    """Return a Queue of Volcano. Raises InvalidField."""
    source = fields.read(body, wire.Queue)
    spec, metadata = source.spec, source.metadata
    ref = QueueRef(QueueKind.VOLCANO_QUEUE, metadata.name)
    quotas, problem = _quotas(spec), None
    try:
        _check(spec, quotas)
    except InvalidField as error:
        problem = declared.problem(error)
    found = Queue(
        ref=ref,
        uid=metadata.uid,
        created_at=fields.timestamp(metadata.creation_timestamp),
        parent=_parent(ref, spec),
        weight=Fraction(spec.weight),
        order=spec.priority,
        quotas=quotas,
        resource_groups=_resource_groups(quotas),
        strategy=_strategy(spec.dequeue_strategy),
        stop=StopPolicy.HOLD if source.status.state in CLOSED else StopPolicy.NONE,
        evictions=_evictions(spec),
        problem=problem,
    )
    gvr, notes = gvr_of(body, "queues"), tuple(_notes(spec))
    return DeclaredQueue(found, gvr, notes=notes, generation=source.metadata.generation)


def _evictions(spec: wire.QueueSpec) -> EvictionRules:
    return EvictionRules(
        EvictionPolicy.LOWER_PRIORITY, EvictionPolicy.ANY, may_lose=spec.reclaimable is not False
    )


def _parent(ref: QueueRef, spec: wire.QueueSpec) -> QueueRef | None:
    if ref == VOLCANO_ROOT:
        return None
    return QueueRef(QueueKind.VOLCANO_QUEUE, spec.parent) if spec.parent else VOLCANO_ROOT


def _quotas(spec: wire.QueueSpec) -> dict[FlavorResource, Quota]:
    capability = declared.amounts("spec.capability", spec.capability)
    deserved = declared.amounts("spec.deserved", spec.deserved)
    guarantee = declared.amounts("spec.guarantee.resource", spec.guarantee.resource)
    return {
        FlavorResource(DEFAULT_FLAVOR, resource): Quota(
            nominal=max(deserved.get(resource, 0), guarantee.get(resource, 0)),
            total=resource in deserved,
            implied=resource not in deserved,
            guaranteed=guarantee.get(resource),
            limit=capability.get(resource),
        )
        for resource in sorted({*capability, *deserved, *guarantee})
    }


def _resource_groups(quotas: Mapping[FlavorResource, Quota]) -> tuple[ResourceGroup, ...]:
    covered = tuple(each.resource for each in quotas)
    return (ResourceGroup(covered, (DEFAULT_FLAVOR,)),) if covered else ()


def _strategy(text: str) -> Strategy:
    if text not in STRATEGIES:
        raise InvalidField("spec.dequeueStrategy", text, "must be one of fifo, traverse")
    return STRATEGIES[text]


def _check(spec: wire.QueueSpec, quotas: Mapping[FlavorResource, Quota]) -> None:
    """Raise InvalidField for contradictory fields."""
    declared.check_weight("spec.weight", Fraction(spec.weight))
    for (_, resource), quota in quotas.items():
        if quota.limit is not None and quota.nominal > quota.limit:
            where, limit = f"spec.capability.{resource}", spec.capability[resource]
            raise InvalidField(
                where, limit, "must be at least the deserved and the guaranteed amount"
            )


def _notes(spec: wire.QueueSpec) -> Iterator[str]:
    """Yield notes for users about fields without effect."""
    if spec.affinity is not None:
        yield "spec.affinity has no effect"
    if spec.extend_clusters:
        yield "spec.extendClusters has no effect"
    deserved = declared.amounts("spec.deserved", spec.deserved)
    for resource, amount in declared.amounts("", spec.guarantee.resource).items():
        if amount > deserved.get(resource, amount):
            yield (
                f"spec.deserved.{resource} is less than spec.guarantee.resource.{resource}, which "
                "counts instead"
            )
