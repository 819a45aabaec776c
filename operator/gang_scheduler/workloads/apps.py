"""StatefulSets, ReplicaSets and Deployments: their gangs, queues and pods."""

import functools
import itertools
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Annotated, Any, Final

from msgspec import field

from gang_scheduler.api.kinds import DEPLOYMENTS, STATEFUL_SETS
from gang_scheduler.api.parsing import Faults, InvalidField
from gang_scheduler.decode import fields, gang_annotations, topology
from gang_scheduler.decode.gang_annotations import GangOptions
from gang_scheduler.decode.gangs.specs import GangObject, GangSpec, with_elastic, with_foreign_marks
from gang_scheduler.decode.pods.membership import PodsOfKind, named_gang_of
from gang_scheduler.decode.queues import naming
from gang_scheduler.decode.reader import Unreadable
from gang_scheduler.model.causes.specs import InvalidInput
from gang_scheduler.model.reasons import Problem, Reason
from gang_scheduler.model.refs import GangKey, GangSource
from gang_scheduler.wire.base import Count, Metadata, MetadataOnly, Wire, Words
from gang_scheduler.wire.pods import Pod, PodTemplate
from gang_scheduler.workloads import (
    controllers,
    leader_worker_sets,
    misplaced_requests,
    queue_namers,
)
from gang_scheduler.workloads.controllers import Source, is_active, is_ready, part
from gang_scheduler.workloads.kind import Body, Kind, ReplicaField, served

# Pods that the controllers of StatefulSets, ReplicaSets and Deployments would create.

POD_NAME: Final = "statefulset.kubernetes.io/pod-name"
POD_INDEX: Final = "apps.kubernetes.io/pod-index"
REVISION: Final = "controller-revision-hash"
TEMPLATE_HASH: Final = "pod-template-hash"
ORDERED, PARALLEL = "OrderedReady", "Parallel"


class StatefulSetSpec(Wire, frozen=True):
    """`spec` of a StatefulSet."""

    replicas: Count = 1
    pod_management_policy: Annotated[str, Words({ORDERED, PARALLEL})] = ORDERED
    template: PodTemplate = PodTemplate()


class StatefulSet(Wire, frozen=True):
    """A StatefulSet."""

    metadata: Metadata
    spec: StatefulSetSpec = StatefulSetSpec()


class _Selector(Wire, frozen=True):
    match_labels: dict[str, str] = field(default_factory=dict)
    match_expressions: list[dict[str, Any]] = field(default_factory=list)


class _Ordinals(Wire, frozen=True):
    start: Count = 0


class _Claim(Wire, frozen=True):
    metadata: Metadata = Metadata()


class _Spec(StatefulSetSpec, frozen=True):
    """`spec` of any of these kinds."""

    selector: _Selector | None = None
    ordinals: _Ordinals = _Ordinals()
    volume_claim_templates: list[_Claim] = field(default_factory=list)


class _Workload(StatefulSet, frozen=True):
    spec: _Spec = _Spec()


def stateful_set(source: Source) -> Iterator[Body]:
    """Yield the missing pods of a StatefulSet, each after its claims.

    Raises InvalidField that names the field and the value.
    """
    spec = _checked(source)
    for index in _ordinals(source, spec):
        name = f"{source.name}-{index}"
        yield from _claims(source, spec, index)
        numbered = {POD_NAME: name, POD_INDEX: str(index), REVISION: f"{source.name}-00000"}
        made = controllers.pod(source.body, source.body["spec"]["template"], name, numbered)
        made["spec"] = {**made["spec"], "volumes": [*_volumes(made, spec, name)]}
        yield leader_worker_sets.admitted(made)


def replica_set(source: Source) -> Iterator[Body]:
    """Yield the missing pods of a ReplicaSet. Raises InvalidField."""
    spec = _checked(source)
    selector = (spec.selector or _Selector()).match_labels
    number = spec.replicas - sum(map(is_active, source.pods(selector)))
    for name in controllers.suffixed(f"{source.name}-", number, source.has_pod):
        yield controllers.pod(source.body, source.body["spec"]["template"], name)


def deployment(source: Source) -> Iterator[Body]:
    """Yield the ReplicaSet of a Deployment, unless it has one. Raises InvalidField."""
    spec = _checked(source)
    if source.owned("ReplicaSet"):
        return
    named = _replica_sets(source)
    name = next(iter(named), f"{source.name}-00000")
    hashed = {TEMPLATE_HASH: name.removeprefix(f"{source.name}-")}
    template = controllers.from_template(source.body["spec"]["template"], hashed, {})
    labels = template["metadata"]["labels"]
    others = sum(active for each, active in named.items() if each != name)
    yield {
        "apiVersion": "apps/v1",
        "kind": "ReplicaSet",
        "metadata": {**controllers.owned(source.body, name), "labels": labels},
        "spec": {
            "replicas": max(0, spec.replicas - others),
            "selector": {"matchLabels": labels},
            "template": {"metadata": template["metadata"], "spec": template["spec"]},
        },
    }


def _replica_sets(source: Source) -> dict[str, int]:
    """Return the ReplicaSets that pods in the input name, with the number of active pods."""
    found = source.present.owners("ReplicaSet", "apps", source.namespace)
    prefix = f"{source.name}-"
    return {
        name: sum(map(is_active, pods))
        for name, pods in found.items()
        if name.startswith(prefix) and "-" not in name.removeprefix(prefix)
    }


def _ordinals(source: Source, spec: _Spec) -> Iterator[int]:
    """Yield the ordinals of the pods to create.

    On a cluster, a StatefulSet with ordered pods creates a pod once the pods before it are ready.
    """
    start = spec.ordinals.start
    in_turn = source.from_cluster and spec.pod_management_policy != PARALLEL
    for index in range(start, start + spec.replicas):
        present = source.pod(f"{source.name}-{index}")
        if present is None:
            yield index
        if in_turn and (present is None or not is_ready(present)):
            return


def _claims(source: Source, spec: _Spec, index: int) -> Iterator[Body]:
    given = source.body["spec"].get("volumeClaimTemplates", ())
    for template, read in zip(given, spec.volume_claim_templates, strict=True):
        name = f"{read.metadata.name}-{source.name}-{index}"
        # The claims outlive the pods, so they have no controller.
        metadata = {**controllers.owned(source.body, name), "ownerReferences": []}
        yield {
            "apiVersion": "v1",
            "kind": "PersistentVolumeClaim",
            "metadata": {**controllers.merged(template.get("metadata", {}), {}, {}), **metadata},
            "spec": template.get("spec", {}),
        }


def _volumes(pod: Body, spec: _Spec, name: str) -> Iterable[Body]:
    """Return the volumes of a pod: its claims first, then the other volumes of its template."""
    claims = [each.metadata.name for each in spec.volume_claim_templates]
    others = (each for each in pod["spec"].get("volumes", ()) if each.get("name") not in claims)
    own = (
        {"name": each, "persistentVolumeClaim": {"claimName": f"{each}-{name}"}} for each in claims
    )
    return itertools.chain(own, others)


def _checked(source: Source) -> _Spec:
    """Return the spec. Raises InvalidField for faults that an API server would refuse."""
    spec = source.read(_Workload).spec
    if spec.selector is None:
        raise InvalidField("spec.selector", None, "is required")
    if "template" not in part(source.body, "spec"):
        raise InvalidField("spec.template", None, "is required")
    controllers.check_template(spec.template, "spec.template")
    labels = spec.template.metadata.labels
    for key, value in spec.selector.match_labels.items():
        if labels.get(key) != value:
            where = f"spec.template.metadata.labels[{key}]"
            must = f'must be "{value}" as in spec.selector.matchLabels'
            raise InvalidField(where, labels.get(key, ""), must)
    controllers.check_number(spec.replicas, "spec.replicas")
    return spec


# The pods of a StatefulSet are a gang if its pod template says so.

SOURCE: Final = GangSource("StatefulSet", "StatefulSet")


def name_of(source: Pod) -> str:
    """Return the name of the StatefulSet that controls a pod; "" for any other pod."""
    controller = source.metadata.controller
    return controller.name if controller.is_stateful_set else ""


def read_stateful_set(body: Body) -> GangObject:
    """Return a StatefulSet. Raises InvalidField if it cannot be read."""
    source = fields.read(body, StatefulSet)
    return replace(
        queue_namers.named_queue(queue_namers.STATEFUL_SET, source.metadata),
        gang_specs=(_gang_spec(source),) if _is_gang(source) else (),
        misplaced=misplaced_requests.of_stateful_set(source.metadata, source.spec.template),
    )


def _is_gang(source: StatefulSet) -> bool:
    """Return whether the pods are a gang of this StatefulSet, and not part of another gang."""
    template = source.spec.template
    is_part = leader_worker_sets.NAME in template.metadata.labels
    if is_part or not (template.asks_for_gang() and source.spec.replicas):
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
    request = faults.read(lambda: topology.network_topology_spec(present), None)
    try:
        faults.check()
    except InvalidField as error:
        return replace(spec, problem=Problem(Reason.INVALID_SPEC, InvalidInput(str(error))))
    spec = replace(spec, options=options, topology_request=request)
    spec = with_elastic(spec, {**present, **metadata.annotations}, SOURCE.name)
    return with_foreign_marks(spec, metadata)


def _check_order(spec: StatefulSetSpec) -> None:
    """Raise InvalidField if a pod is created only when the pod before it is ready."""
    policy = spec.pod_management_policy
    if policy != PARALLEL:
        where = "spec.podManagementPolicy"
        raise InvalidField(where, policy, f"must be {PARALLEL} for a gang")


def _starts_at_0(stateful_set: Body) -> bool:
    """Return whether the ordinals begin at 0: the pods with ordinals below `replicas` then stay."""
    return not part(part(stateful_set, "spec"), "ordinals").get("start")


STATEFUL_SET: Final = Kind(
    name=SOURCE.name,
    versions=(STATEFUL_SETS,),
    struct=StatefulSet,
    read=read_stateful_set,
    pods=PodsOfKind(SOURCE, name_of, replacing=frozenset({SOURCE.name})),
    creates=stateful_set,
    replicas=ReplicaField(lambda *_: ("spec", "replicas"), _starts_at_0),
)
DEPLOYMENT: Final = Kind(
    name=queue_namers.DEPLOYMENT,
    versions=(DEPLOYMENTS,),
    struct=MetadataOnly,
    read=functools.partial(queue_namers.read_queue_namer, queue_namers.DEPLOYMENT),
    if_unreadable=Unreadable.KEEP,
    names_queues=True,
    creates=deployment,
)
REPLICA_SET: Final = Kind(
    name="ReplicaSet", versions=served("replicasets.apps", "v1"), creates=replica_set
)
