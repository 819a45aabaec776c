"""Our Queues (py-gang-scheduler.io)."""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace
from fractions import Fraction
from typing import Any

import msgspec

from gang_scheduler.api import queue as api
from gang_scheduler.api.kinds import QUEUES
from gang_scheduler.api.parsing import IS, InvalidField, parse_spec
from gang_scheduler.api.queue import (
    AdmissionControl,
    Backfill,
    Borrowing,
    BorrowingEviction,
    FlavorFungibility,
    PriorityRange,
    QueuePreemption,
    QueueQuota,
    QueueSpec,
    WhenBorrowing,
)
from gang_scheduler.decode import cluster, fields
from gang_scheduler.decode.queues import declared
from gang_scheduler.decode.queues.declared import DeclaredQueue
from gang_scheduler.model.api_words import EvictionPolicy, FlavorPreference, StopPolicy, Strategy
from gang_scheduler.model.queues import (
    DEFAULT_FLAVOR,
    GPU,
    NONE,
    ROOT,
    AdmissionLimits,
    Aging,
    EvictionRules,
    FlavorResource,
    Fungibility,
    ProvisioningRules,
    Queue,
    QueueKind,
    QueueRef,
    Quota,
    RecentUsage,
    ReservationRules,
    ResourceGroup,
    SavingRules,
)
from gang_scheduler.model.reasons import Problem
from gang_scheduler.model.selectors import Requirement
from gang_scheduler.wire.base import LabelSelector, Metadata, Quantities, Wire


class _Selecting(Wire, frozen=True):
    namespace_selector: LabelSelector | None = None


class _Queue(Wire, frozen=True):
    """The fields that are read in addition to those of the API model."""

    metadata: Metadata
    spec: _Selecting = _Selecting()


class _RecentUsage(Wire, frozen=True):
    at: str = ""
    amounts: Quantities = msgspec.field(default_factory=dict)


class _Status(Wire, frozen=True):
    recent_usage: _RecentUsage = _RecentUsage()


def queue(body: Mapping[str, Any]) -> DeclaredQueue:
    """Return a Queue. Raises InvalidField."""
    # The status may be large, and its content is not checked here.
    spec = parse_spec(api.Queue, {**body, "status": {}}).spec
    source = fields.read(body, _Queue)
    metadata = source.metadata
    ref = QueueRef(QueueKind.QUEUE, metadata.name)
    if ref == NONE:
        must = "is reserved for gangs that name no queue"
        raise InvalidField("metadata.name", metadata.name, must, IS)
    found = Queue(
        ref=ref,
        uid=metadata.uid,
        created_at=fields.timestamp(metadata.creation_timestamp),
        parent=_parent(ref, spec),
        weight=Fraction(1) if spec.weight is None else Fraction(str(spec.weight)),
        quotas=_quotas(spec),
        default_quota=_borrowing(spec.borrowing),
        resource_groups=_resource_groups(spec),
        strategy=spec.strategy or Strategy.BEST_EFFORT_FIFO,
        stop=spec.stop_policy or StopPolicy.NONE,
        namespaces=_namespaces(source.spec.namespace_selector),
        fairness=spec.fairness,
        lenders=_lenders(spec.borrowing),
        limits=_limits(spec.admission_control or AdmissionControl()),
        fungibility=_fungibility(spec.flavor_fungibility or FlavorFungibility()),
        evictions=_evictions(spec.preemption or QueuePreemption()),
        aging=Aging(spec.aging.per_hour, spec.aging.max) if spec.aging else Aging(),
        reservations=_reservations(spec.backfill or Backfill()),
        saving=_saving(spec),
        provisioning=_provisioning(spec.provisioning_class),
    )
    status = body.get("status")
    return DeclaredQueue(
        _judged(found, spec),
        QUEUES,
        names_namespaces=spec.namespace_selector is not None,
        notes=tuple(_notes(body["spec"] if body.get("spec") else {})),
        generation=metadata.generation,
        status=status if isinstance(status, Mapping) else {},
        recent=_recent(status),
    )


def gpus_twice(queue: Queue, gpu_resources: Collection[str]) -> Problem | None:
    """Return the problem of a queue of ours with quotas both on `gpu` and on a part of it."""
    named = {resource for _, resource in queue.quotas}
    both = sorted(named & set(gpu_resources))
    if queue.ref.kind is not QueueKind.QUEUE or GPU not in named or not both:
        return None
    where = (
        "spec.quota" if queue.resource_groups[0].flavors == (DEFAULT_FLAVOR,) else "spec.flavors"
    )
    must = f"must not name both {GPU} and {both[0]}: {GPU} counts it, too"
    return declared.problem(InvalidField(where, None, must))


def _parent(ref: QueueRef, spec: QueueSpec) -> QueueRef | None:
    if ref == ROOT:
        return None
    return QueueRef(QueueKind.QUEUE, spec.parent) if spec.parent else ROOT


def _by_flavor(spec: QueueSpec) -> Iterator[tuple[str, str, QueueQuota]]:
    """Yield flavors with the fields of their quotas, in order of preference."""
    named: set[str] = set()
    for i, each in enumerate(spec.flavors or ()):
        if each.name in named:
            raise InvalidField(f"spec.flavors[{i}].name", each.name, "must be unique", IS)
        named.add(each.name)
        yield each.name, f"spec.flavors[{i}].quota", each.quota
    if not spec.flavors and spec.quota is not None:
        yield DEFAULT_FLAVOR, "spec.quota", spec.quota


def _quotas(spec: QueueSpec) -> dict[FlavorResource, Quota]:
    base = _borrowing(spec.borrowing)
    found = {}
    for flavor, where, quota in _by_flavor(spec):
        soft = declared.amounts(f"{where}.soft", quota.soft)
        hard = declared.amounts(f"{where}.hard", quota.hard)
        guaranteed = declared.amounts(f"{where}.guaranteed", quota.guaranteed)
        promised = {**guaranteed, **hard, **soft}
        for resource in sorted(promised):
            found[FlavorResource(flavor, resource)] = replace(
                base,
                nominal=promised[resource],
                total=resource in soft,
                implied=resource not in soft,
                guaranteed=guaranteed.get(resource),
                limit=hard.get(resource),
            )
    return found


def _borrowing(source: Borrowing | None) -> Quota:
    """Return a quota that only limits borrowing."""
    if source is None or not source.enabled:
        return Quota(borrowing_limit=0)
    ratio = source.max_borrow_ratio
    return Quota(borrowing_ratio=None if ratio is None else Fraction(str(ratio)))


def _resource_groups(spec: QueueSpec) -> tuple[ResourceGroup, ...]:
    by_flavor = list(_by_flavor(spec))
    covered = {
        resource
        for _, _, quota in by_flavor
        for amounts in (quota.soft, quota.hard, quota.guaranteed)
        for resource in amounts or ()
    }
    flavors = tuple(name for name, _, _ in by_flavor)
    return (ResourceGroup(tuple(sorted(covered)), flavors),) if covered else ()


def _namespaces(selector: LabelSelector | None) -> tuple[Requirement, ...]:
    if selector is None:
        return ()
    return cluster.label_requirements(selector, "spec.namespaceSelector")


def _lenders(source: Borrowing | None) -> frozenset[str] | None:
    if source is None or source.allowed_queues is None:
        return None
    return frozenset(source.allowed_queues)


def _limits(source: AdmissionControl) -> AdmissionLimits:
    priorities = source.priority_range or PriorityRange()
    return AdmissionLimits(source.max_jobs, source.max_gpus_per_job, priorities.min, priorities.max)


def _fungibility(source: FlavorFungibility) -> Fungibility:
    return Fungibility(
        stop_when_borrowing=source.when_can_borrow is not WhenBorrowing.TRY_NEXT_FLAVOR,
        stop_when_evicting=source.when_can_preempt is WhenBorrowing.MAY_STOP_SEARCH,
        preference=source.preference or FlavorPreference.BORROWING_OVER_PREEMPTION,
    )


def _reservations(source: Backfill) -> ReservationRules:
    after = _seconds(source.reservation_after, "spec.backfill.reservationAfter")
    return ReservationRules(source.enabled is not False, after)


def _evictions(source: QueuePreemption) -> EvictionRules:
    borrowing, ours = source.while_borrowing or BorrowingEviction(), source.allow_preempt_from
    return EvictionRules(
        within_queue=source.within_queue or EvictionPolicy.LOWER_PRIORITY,
        reclaim=source.reclaim or EvictionPolicy.ANY,
        while_borrowing=borrowing.policy or EvictionPolicy.NEVER,
        while_borrowing_threshold=borrowing.max_priority_threshold,
        may_lose=source.allow_preemption is not False,
        may_lose_to=None if ours is None else frozenset(ours),
        fence=bool(source.fence),
        min_runtime=_seconds(source.min_runtime, "spec.preemption.minRuntime") or 0,
    )


def _saving(spec: QueueSpec) -> SavingRules:
    asked, grace = spec.checkpoint_timeout, (spec.preemption or QueuePreemption()).grace_period
    return SavingRules(
        timeout=_seconds(asked, "spec.checkpointTimeout"),
        grace=_seconds(grace, "spec.preemption.gracePeriod"),
    )


def _seconds(text: str | None, where: str) -> int | None:
    return None if text is None else fields.seconds(text, where, or_zero=True)


def _judged(queue: Queue, spec: QueueSpec) -> Queue:
    """Return the queue, with a problem if its fields contradict each other."""
    try:
        declared.check_weight("spec.weight", queue.weight)
        _check_places(queue, spec)
        for _, where, quota in _by_flavor(spec):
            _check_order(where, quota)
        _check_priorities(queue.limits)
    except InvalidField as error:
        return replace(queue, problem=declared.problem(error))
    return queue


def _check_places(queue: Queue, spec: QueueSpec) -> None:
    """Raise InvalidField for a field in a place where it has no meaning."""
    if spec.flavors and spec.quota is not None:
        raise InvalidField("spec.quota", None, "must be absent where there are flavors")
    if queue.ref == ROOT and spec.parent:
        raise InvalidField("spec.parent", spec.parent, "must be absent in the Queue named root", IS)
    if queue.ref != ROOT and spec.fairness:
        raise InvalidField(
            "spec.fairness", spec.fairness, "may be set only in the Queue named root", IS
        )


def _check_order(where: str, quota: QueueQuota) -> None:
    """Raise InvalidField unless guaranteed, soft and hard are in this order."""
    for least, most in (("guaranteed", "soft"), ("guaranteed", "hard"), ("soft", "hard")):
        above = declared.amounts(where, getattr(quota, most))
        for resource, found in declared.amounts(where, getattr(quota, least)).items():
            if found > above.get(resource, found):
                given, bound = getattr(quota, least)[resource], getattr(quota, most)[resource]
                must = f"must be at most {most} ({bound})"
                raise InvalidField(f"{where}.{least}.{resource}", given, must)


def _check_priorities(limits: AdmissionLimits) -> None:
    """Raise InvalidField for bounds that exclude every priority."""
    least, most = limits.lowest_priority, limits.highest_priority
    if least is not None and most is not None and least > most:
        where = "spec.admissionControl.priorityRange.min"
        raise InvalidField(where, least, f"must be at most max ({most})")


def _provisioning(class_name: str | None) -> dict[str, ProvisioningRules]:
    """Return how nodes are requested, for all flavors; empty for a queue that requests none."""
    return {"": ProvisioningRules(class_name)} if class_name else {}


def _notes(spec: Mapping[str, Any]) -> Iterator[str]:
    """Yield notes for users about fields without effect."""
    borrowing = spec.get("borrowing") or {}
    for name in ("maxBorrowRatio", "allowedQueues"):
        if borrowing.get(name) is not None and not borrowing.get("enabled"):
            yield f"spec.borrowing.{name} has no effect while spec.borrowing.enabled is not true"


def _recent(status: object) -> RecentUsage | None:
    """Return the usage in a status; None without a readable one."""
    try:
        found = fields.read(status if isinstance(status, Mapping) else {}, _Status).recent_usage
        at = fields.timestamp(found.at)
        return RecentUsage(at, declared.amounts("amounts", found.amounts)) if at else None
    except InvalidField:
        return None
