"""LocalQueues, WorkloadPriorityClasses and AdmissionChecks of Kueue."""

from collections.abc import Mapping
from typing import Any, Final

from gang_scheduler.decode import fields
from gang_scheduler.decode.queues import values
from gang_scheduler.decode.queues.declared import AdmissionCheck, LocalQueue, WorkloadPriorityClass
from gang_scheduler.model.queues import QueueKind, QueueRef, StopPolicy
from gang_scheduler.wire.queues import kueue as wire

MULTI_KUEUE: Final = "kueue.x-k8s.io/multikueue"
PROVISIONING: Final = "kueue.x-k8s.io/provisioning-request"
_ONE_CLUSTER: Final = (
    f"spec.controllerName {MULTI_KUEUE} has no effect: gangs are placed in this cluster alone"
)


def local_queue(body: Mapping[str, Any]) -> LocalQueue:
    """Return a LocalQueue. Raises InvalidField."""
    source = fields.read(body, wire.LocalQueue)
    spec, metadata = source.spec, source.metadata
    weight = values.weight("spec.fairSharing.weight", spec.fair_sharing.weight)
    values.check_weight("spec.fairSharing.weight", weight)
    return LocalQueue(
        uid=metadata.uid,
        namespace=metadata.namespace,
        name=metadata.name,
        cluster_queue=QueueRef(QueueKind.CLUSTER_QUEUE, spec.cluster_queue),
        stop=values.choice("spec.stopPolicy", spec.stop_policy, StopPolicy, StopPolicy.NONE),
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
