"""StatefulSets. The pods of one are a gang if its pod template asks for it."""

from dataclasses import replace
from typing import Final

from gang_scheduler.api.kinds import STATEFUL_SETS
from gang_scheduler.api.parsing import Faults, InvalidField
from gang_scheduler.decode import fields
from gang_scheduler.decode.gangs import gang_annotations
from gang_scheduler.decode.gangs.gang_annotations import GangOptions
from gang_scheduler.decode.gangs.gang_objects import GangObject
from gang_scheduler.decode.gangs.gang_specs import GangSpec, with_foreign_marks
from gang_scheduler.decode.network import gang_requests
from gang_scheduler.decode.pods.membership import PodsOfKind, named_gang_of
from gang_scheduler.decode.queues import naming
from gang_scheduler.decode.workloads import leader_worker_sets, misplaced_requests, queue_namers
from gang_scheduler.decode.workloads.kind import Body, ObjectsOfKind, WorkloadKind, asks
from gang_scheduler.model.causes.specs import InvalidInput
from gang_scheduler.model.gang_sources import GangSource
from gang_scheduler.model.problems import Problem, Reason
from gang_scheduler.model.refs import GangKey
from gang_scheduler.wire.pods import Pod
from gang_scheduler.wire.workloads.apps import StatefulSet, StatefulSetSpec

SOURCE: Final = GangSource("StatefulSet", "StatefulSet")
PARALLEL: Final = "Parallel"


def name_of(source: Pod) -> str:
    """Return the name of the StatefulSet that controls a pod; "" for any other pod."""
    controller = source.metadata.controller
    return controller.name if controller.is_stateful_set else ""


def read(body: Body) -> GangObject:
    """Return a StatefulSet. Raises InvalidField for what is no StatefulSet."""
    source = fields.read(body, StatefulSet)
    return replace(
        queue_namers.named(queue_namers.STATEFUL_SET, source.metadata),
        gang_specs=(_gang_spec(source),) if _is_gang(source) else (),
        misplaced=misplaced_requests.of_stateful_set(source),
    )


def _is_gang(source: StatefulSet) -> bool:
    """Return whether the pods are one gang, and none by another name or of a larger workload."""
    template = source.spec.template
    is_part = leader_worker_sets.NAME in template.metadata.labels
    if is_part or not (asks(template) and source.spec.replicas):
        return False
    return named_gang_of(Pod(template.metadata, template.spec)) is None


def _gang_spec(source: StatefulSet) -> GangSpec:
    metadata = source.metadata
    spec = GangSpec(
        key=GangKey(SOURCE.name, metadata.namespace, metadata.name),
        uid=metadata.uid,
        gvr=STATEFUL_SETS,
        created_at=fields.timestamp(metadata.creation_timestamp),
        min_member=source.spec.replicas,
        queue_request=naming.request_of(metadata.labels, metadata.annotations),
    )
    faults, present = Faults(), source.spec.template.metadata.annotations
    faults.read(lambda: _check_order(source.spec), None)
    options = faults.read(lambda: gang_annotations.read(present), GangOptions())
    request = faults.read(lambda: gang_requests.network_topology_spec(present), None)
    try:
        faults.check()
    except InvalidField as error:
        return replace(spec, problem=Problem(Reason.INVALID_SPEC, InvalidInput(str(error))))
    spec = replace(spec, options=options, topology_request=request)
    return with_foreign_marks(spec, metadata)


def _check_order(spec: StatefulSetSpec) -> None:
    """Raise InvalidField where a pod is only created once the one before it is ready."""
    policy = spec.pod_management_policy
    if policy != PARALLEL:
        where = "spec.podManagementPolicy"
        raise InvalidField(where, policy, f"must be {PARALLEL} for a gang")


KIND: Final = WorkloadKind(PodsOfKind(SOURCE, name_of), ObjectsOfKind((STATEFUL_SETS,), read))
