"""Kueue's ClusterQueues, Cohorts, LocalQueues and classes, in all served versions."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any, Final

from gang_scheduler.api.kinds import GVR
from gang_scheduler.api.parsing import IS, InvalidField
from gang_scheduler.decode import cluster, fields
from gang_scheduler.decode.queues import declared
from gang_scheduler.decode.queues.declared import (
    AdmissionCheck,
    DeclaredFlavor,
    DeclaredQueue,
    LocalQueue,
    WorkloadPriorityClass,
)
from gang_scheduler.model.api_words import EvictionPolicy, FlavorPreference, StopPolicy, Strategy
from gang_scheduler.model.nodes import Taint, Toleration
from gang_scheduler.model.queues import (
    EvictionRules,
    Flavor,
    FlavorResource,
    Fungibility,
    Product,
    Queue,
    QueueKind,
    QueueRef,
    Quota,
    ResourceGroup,
)
from gang_scheduler.model.selectors import Requirement
from gang_scheduler.wire import queues as wire
from gang_scheduler.wire.base import Quantity
from gang_scheduler.wire.queues import ResourceFlavor

# ResourceFlavors: sets of nodes. Kueue's and ours have the same shape.


def flavor_of(product: Product) -> Callable[[Mapping[str, Any]], DeclaredFlavor]:
    """Return the reader of the ResourceFlavors of a product. The reader raises InvalidField."""

    def read(body: Mapping[str, Any]) -> DeclaredFlavor:
        source = fields.read(body, ResourceFlavor)
        return DeclaredFlavor(source.metadata.uid, _flavor(product, source))

    return read


def _flavor(product: Product, source: ResourceFlavor) -> Flavor:
    spec = source.spec
    return Flavor(
        product=product,
        name=source.metadata.name,
        node_labels=tuple(sorted(spec.node_labels.items())),
        node_taints=tuple(Taint(each.key, each.value, each.effect) for each in spec.node_taints),
        tolerations=tuple(
            Toleration(each.key, each.operator or "Equal", each.value, each.effect)
            for each in spec.tolerations
        ),
        topology=spec.topology_name,
    )


V1BETA1, V1ALPHA1 = "v1beta1", "v1alpha1"
USAGE_BASED, NOT_USAGE_BASED = "UsageBasedAdmissionFairSharing", "NoAdmissionFairSharing"

STOPS, GOES_ON = "MayStopSearch", "TryNextFlavor"
# v1beta1's words for ending the search.
BORROW, PREEMPT = "Borrow", "Preempt"

WITHIN: Final = (
    EvictionPolicy.NEVER,
    EvictionPolicy.LOWER_PRIORITY,
    EvictionPolicy.LOWER_OR_NEWER_EQUAL_PRIORITY,
)
RECLAIM: Final = (EvictionPolicy.NEVER, EvictionPolicy.LOWER_PRIORITY, EvictionPolicy.ANY)
WHILE_BORROWING: Final = (EvictionPolicy.NEVER, EvictionPolicy.LOWER_PRIORITY)


def cluster_queue(body: Mapping[str, Any]) -> DeclaredQueue:
    """Return a ClusterQueue. Raises InvalidField."""
    source = fields.read(body, wire.ClusterQueue)
    spec, metadata, gvr = source.spec, source.metadata, gvr_of(body, "clusterqueues")
    parent = spec.cohort if gvr.version == V1BETA1 else spec.cohort_name
    queue = Queue(
        ref=QueueRef(QueueKind.CLUSTER_QUEUE, metadata.name),
        uid=metadata.uid,
        created_at=fields.timestamp(metadata.creation_timestamp),
        parent=QueueRef(QueueKind.COHORT, parent) if parent else None,
        weight=declared.weight("spec.fairSharing.weight", spec.fair_sharing.weight),
        quotas=_quotas(spec.resource_groups),
        resource_groups=tuple(
            ResourceGroup(tuple(each.covered_resources), tuple(one.name for one in each.flavors))
            for each in spec.resource_groups
        ),
        strategy=declared.choice(
            "spec.queueingStrategy", spec.queueing_strategy, Strategy, Strategy.BEST_EFFORT_FIFO
        ),
        stop=declared.choice("spec.stopPolicy", spec.stop_policy, StopPolicy, StopPolicy.NONE),
        namespaces=_namespaces(spec),
        fungibility=_fungibility(spec.flavor_fungibility),
        evictions=_evictions(spec.preemption),
        checks=tuple(_checks(spec)),
        flavor_checks=_flavor_checks(spec),
        by_local_usage=_by_local_usage(spec.admission_scope.admission_mode),
    )
    notes: tuple[str, ...] = ()
    if spec.concurrent_admission_policy is not None:
        notes = ("spec.concurrentAdmissionPolicy has no effect",)
    return DeclaredQueue(_judged(queue), gvr, notes=notes, generation=metadata.generation)


def cohort(body: Mapping[str, Any]) -> DeclaredQueue:
    """Return a Cohort. Raises InvalidField."""
    source = fields.read(body, wire.Cohort)
    spec, metadata, gvr = source.spec, source.metadata, gvr_of(body, "cohorts")
    parent = spec.parent if gvr.version == V1ALPHA1 else spec.parent_name
    queue = Queue(
        ref=QueueRef(QueueKind.COHORT, metadata.name),
        uid=metadata.uid,
        created_at=fields.timestamp(metadata.creation_timestamp),
        parent=QueueRef(QueueKind.COHORT, parent) if parent else None,
        weight=declared.weight("spec.fairSharing.weight", spec.fair_sharing.weight),
        quotas=_quotas(spec.resource_groups),
    )
    return DeclaredQueue(_judged(queue), gvr, generation=metadata.generation)


def gvr_of(body: Mapping[str, Any], plural: str) -> GVR:
    """Return the kind, in the API version of the object."""
    group, _, version = str(body.get("apiVersion", "")).rpartition("/")
    return GVR(group, version, plural)


def _judged(queue: Queue) -> Queue:
    """Return the queue, with a problem if its fields contradict each other."""
    try:
        declared.check_weight("spec.fairSharing.weight", queue.weight)
    except InvalidField as error:
        return replace(queue, problem=declared.problem(error))
    return queue


def _quotas(groups: Iterable[wire.ResourceGroup]) -> dict[FlavorResource, Quota]:
    found: dict[FlavorResource, Quota] = {}
    for i, group in enumerate(groups):
        for j, flavor in enumerate(group.flavors):
            where = f"spec.resourceGroups[{i}].flavors[{j}]"
            _check_flavor(where, group, flavor)
            for k, each in enumerate(flavor.resources):
                of = FlavorResource(flavor.name, each.name)
                if of in found:
                    raise InvalidField(
                        f"{where}.resources[{k}].name", each.name, "must be unique", IS
                    )
                found[of] = _quota(f"{where}.resources[{k}]", each)
    return found


def _check_flavor(where: str, group: wire.ResourceGroup, flavor: wire.FlavorQuotas) -> None:
    if not flavor.name:
        raise InvalidField(f"{where}.name", None, "is required")
    named = [each.name for each in flavor.resources]
    if sorted(named) != sorted(group.covered_resources):
        covered = ", ".join(group.covered_resources)
        raise InvalidField(
            f"{where}.resources", named, f"must be the covered resources, {covered}", IS
        )


def _quota(where: str, source: wire.ResourceQuota) -> Quota:
    return Quota(
        nominal=declared.amount(f"{where}.nominalQuota", source.name, source.nominal_quota),
        borrowing_limit=_limit(f"{where}.borrowingLimit", source.name, source.borrowing_limit),
        lending_limit=_limit(f"{where}.lendingLimit", source.name, source.lending_limit),
    )


def _limit(where: str, resource: str, quantity: Quantity | None) -> int | None:
    return None if quantity is None else declared.amount(where, resource, quantity)


def _namespaces(spec: wire.ClusterQueueSpec) -> tuple[Requirement, ...] | None:
    if spec.namespace_selector is None:
        return None
    return cluster.label_requirements(spec.namespace_selector, "spec.namespaceSelector")


def _fungibility(source: wire.FlavorFungibility) -> Fungibility:
    where = "spec.flavorFungibility"
    return Fungibility(
        stop_when_borrowing=_stops(f"{where}.whenCanBorrow", source.when_can_borrow, BORROW, STOPS),
        stop_when_evicting=_stops(
            f"{where}.whenCanPreempt", source.when_can_preempt, PREEMPT, GOES_ON
        ),
        preference=declared.choice(
            f"{where}.preference",
            source.preference,
            FlavorPreference,
            FlavorPreference.BORROWING_OVER_PREEMPTION,
        ),
    )


def _stops(where: str, text: str, formerly: str, default: str) -> bool:
    """Return whether the search for a flavor may stop."""
    word = text or default
    if word not in (STOPS, GOES_ON, formerly):
        raise InvalidField(where, text, f"must be one of {STOPS}, {GOES_ON}")
    return word != GOES_ON


def _evictions(source: wire.ClusterQueuePreemption) -> EvictionRules:
    where, borrow = "spec.preemption", source.borrow_within_cohort
    return EvictionRules(
        within_queue=declared.choice(
            f"{where}.withinClusterQueue", source.within_cluster_queue, WITHIN, EvictionPolicy.NEVER
        ),
        reclaim=declared.choice(
            f"{where}.reclaimWithinCohort",
            source.reclaim_within_cohort,
            RECLAIM,
            EvictionPolicy.NEVER,
        ),
        while_borrowing=declared.choice(
            f"{where}.borrowWithinCohort.policy",
            borrow.policy,
            WHILE_BORROWING,
            EvictionPolicy.NEVER,
        ),
        while_borrowing_threshold=borrow.max_priority_threshold,
    )


def _checks(spec: wire.ClusterQueueSpec) -> Iterator[str]:
    """Yield the names of the checks for all flavors."""
    yield from spec.admission_checks
    rules = spec.admission_checks_strategy.admission_checks
    yield from (each.name for each in rules if not each.on_flavors)


def _flavor_checks(spec: wire.ClusterQueueSpec) -> dict[str, tuple[str, ...]]:
    found: dict[str, tuple[str, ...]] = {}
    for rule in spec.admission_checks_strategy.admission_checks:
        for flavor in rule.on_flavors:
            found[flavor] = (*found.get(flavor, ()), rule.name)
    return found


def _by_local_usage(mode: str) -> bool:
    if mode not in ("", USAGE_BASED, NOT_USAGE_BASED):
        must = f"must be one of {USAGE_BASED}, {NOT_USAGE_BASED}"
        raise InvalidField("spec.admissionScope.admissionMode", mode, must)
    return mode == USAGE_BASED


# LocalQueues, WorkloadPriorityClasses and AdmissionChecks of Kueue.

MULTI_KUEUE: Final = "kueue.x-k8s.io/multikueue"
PROVISIONING: Final = "kueue.x-k8s.io/provisioning-request"
_ONE_CLUSTER: Final = (
    f"spec.controllerName {MULTI_KUEUE} has no effect: gangs are placed in this cluster alone"
)


def local_queue(body: Mapping[str, Any]) -> LocalQueue:
    """Return a LocalQueue. Raises InvalidField."""
    source = fields.read(body, wire.LocalQueue)
    spec, metadata = source.spec, source.metadata
    weight = declared.weight("spec.fairSharing.weight", spec.fair_sharing.weight)
    declared.check_weight("spec.fairSharing.weight", weight)
    return LocalQueue(
        uid=metadata.uid,
        namespace=metadata.namespace,
        name=metadata.name,
        cluster_queue=QueueRef(QueueKind.CLUSTER_QUEUE, spec.cluster_queue),
        stop=declared.choice("spec.stopPolicy", spec.stop_policy, StopPolicy, StopPolicy.NONE),
        weight=weight,
    )


def workload_priority_class(body: Mapping[str, Any]) -> WorkloadPriorityClass:
    """Return a WorkloadPriorityClass. Raises InvalidField."""
    source = fields.read(body, wire.WorkloadPriorityClass)
    return WorkloadPriorityClass(source.metadata.uid, source.metadata.name, source.value)


def admission_check(body: Mapping[str, Any]) -> AdmissionCheck:
    """Return an AdmissionCheck. Raises InvalidField."""
    source = fields.read(body, wire.AdmissionCheck)
    controller, parameters = source.spec.controller_name, source.spec.parameters
    return AdmissionCheck(
        source.metadata.uid,
        source.metadata.name,
        controller=controller,
        api_version=str(body.get("apiVersion", "")),
        notes=(_ONE_CLUSTER,) if controller == MULTI_KUEUE else (),
        config=parameters.name if parameters.kind == "ProvisioningRequestConfig" else "",
    )
