"""The fields that are read of queues of Kueue and Volcano, and of ResourceFlavors."""

from typing import Any

from msgspec import field

from gang_scheduler.wire.base import (
    Int32,
    LabelSelector,
    Metadata,
    Quantities,
    Quantity,
    Wire,
)
from gang_scheduler.wire.cluster import Taint
from gang_scheduler.wire.pods import Toleration

# ResourceFlavors, Kueue's and ours.


class ResourceFlavorSpec(Wire, frozen=True):
    """`spec` of a ResourceFlavor."""

    node_labels: dict[str, str] = field(default_factory=dict)
    node_taints: list[Taint] = field(default_factory=list)
    tolerations: list[Toleration] = field(default_factory=list)
    topology_name: str = ""


class ResourceFlavor(Wire, frozen=True):
    """A ResourceFlavor."""

    metadata: Metadata
    spec: ResourceFlavorSpec = ResourceFlavorSpec()


# Kueue's objects, in all served versions.


class FairSharing(Wire, frozen=True):
    """`spec.fairSharing`."""

    weight: Quantity = 1


class ResourceQuota(Wire, frozen=True):
    """`spec.resourceGroups[].flavors[].resources[]`."""

    name: str = ""
    nominal_quota: Quantity = 0
    borrowing_limit: Quantity | None = None
    lending_limit: Quantity | None = None


class FlavorQuotas(Wire, frozen=True):
    """`spec.resourceGroups[].flavors[]`."""

    name: str = ""
    resources: list[ResourceQuota] = field(default_factory=list)


class ResourceGroup(Wire, frozen=True):
    """`spec.resourceGroups[]`."""

    covered_resources: list[str] = field(default_factory=list)
    flavors: list[FlavorQuotas] = field(default_factory=list)


class FlavorFungibility(Wire, frozen=True):
    """`spec.flavorFungibility`."""

    when_can_borrow: str = ""
    when_can_preempt: str = ""
    preference: str = ""


class BorrowWithinCohort(Wire, frozen=True):
    """`spec.preemption.borrowWithinCohort`."""

    policy: str = ""
    max_priority_threshold: Int32 | None = None


class ClusterQueuePreemption(Wire, frozen=True):
    """`spec.preemption`."""

    within_cluster_queue: str = ""
    reclaim_within_cohort: str = ""
    borrow_within_cohort: BorrowWithinCohort = BorrowWithinCohort()


class AdmissionCheckRule(Wire, frozen=True):
    """`spec.admissionChecksStrategy.admissionChecks[]`: for all flavors if it names none."""

    name: str = ""
    on_flavors: list[str] = field(default_factory=list)


class AdmissionChecksStrategy(Wire, frozen=True):
    """`spec.admissionChecksStrategy`."""

    admission_checks: list[AdmissionCheckRule] = field(default_factory=list)


class AdmissionScope(Wire, frozen=True):
    """`spec.admissionScope`."""

    admission_mode: str = ""


class ClusterQueueSpec(Wire, frozen=True):
    """`spec` of a ClusterQueue. `cohort` and `admission_checks` are of v1beta1."""

    resource_groups: list[ResourceGroup] = field(default_factory=list)
    cohort: str = ""
    cohort_name: str = ""
    queueing_strategy: str = ""
    namespace_selector: LabelSelector | None = None
    flavor_fungibility: FlavorFungibility = FlavorFungibility()
    preemption: ClusterQueuePreemption = ClusterQueuePreemption()
    admission_checks: list[str] = field(default_factory=list)
    admission_checks_strategy: AdmissionChecksStrategy = AdmissionChecksStrategy()
    stop_policy: str = ""
    fair_sharing: FairSharing = FairSharing()
    admission_scope: AdmissionScope = AdmissionScope()
    concurrent_admission_policy: dict[str, Any] | None = None


class ClusterQueue(Wire, frozen=True):
    """A ClusterQueue."""

    metadata: Metadata
    spec: ClusterQueueSpec = ClusterQueueSpec()


class CohortSpec(Wire, frozen=True):
    """`spec` of a Cohort. `parent` is of v1alpha1."""

    parent: str = ""
    parent_name: str = ""
    resource_groups: list[ResourceGroup] = field(default_factory=list)
    fair_sharing: FairSharing = FairSharing()


class Cohort(Wire, frozen=True):
    """A Cohort."""

    metadata: Metadata
    spec: CohortSpec = CohortSpec()


class LocalQueueSpec(Wire, frozen=True):
    """`spec` of a LocalQueue."""

    cluster_queue: str = ""
    stop_policy: str = ""
    fair_sharing: FairSharing = FairSharing()


class LocalQueue(Wire, frozen=True):
    """A LocalQueue."""

    metadata: Metadata
    spec: LocalQueueSpec = LocalQueueSpec()


class WorkloadPriorityClass(Wire, frozen=True):
    """A WorkloadPriorityClass."""

    metadata: Metadata
    value: Int32 = 0


class CheckParameters(Wire, frozen=True):
    """`spec.parameters` of an AdmissionCheck: another object."""

    kind: str = ""
    name: str = ""


class AdmissionCheckSpec(Wire, frozen=True):
    """`spec` of an AdmissionCheck."""

    controller_name: str = ""
    parameters: CheckParameters = CheckParameters()


class AdmissionCheck(Wire, frozen=True):
    """An AdmissionCheck."""

    metadata: Metadata
    spec: AdmissionCheckSpec = AdmissionCheckSpec()


# Queues, PodGroups and Jobs of Volcano.


class Guarantee(Wire, frozen=True):
    """`spec.guarantee`."""

    resource: Quantities = field(default_factory=dict)


class QueueSpec(Wire, frozen=True):
    """`spec` of a Queue."""

    weight: Int32 = 1
    capability: Quantities = field(default_factory=dict)
    deserved: Quantities = field(default_factory=dict)
    guarantee: Guarantee = Guarantee()
    parent: str = ""
    priority: Int32 = 0
    reclaimable: bool | None = None
    dequeue_strategy: str = ""
    affinity: dict[str, Any] | None = None
    extend_clusters: list[Any] = field(default_factory=list)


class QueueStatus(Wire, frozen=True):
    """`status` of a Queue."""

    state: str = ""


class Queue(Wire, frozen=True):
    """A Queue."""

    metadata: Metadata
    spec: QueueSpec = QueueSpec()
    status: QueueStatus = QueueStatus()
