"""The pods that KubeRay creates, as its version 1.4 does."""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from msgspec import field

from gang_scheduler.api.parsing import InvalidField
from gang_scheduler.decode.names import LONGEST_LABEL
from gang_scheduler.decode.workloads.members import bodies
from gang_scheduler.decode.workloads.members.present import part
from gang_scheduler.decode.workloads.members.source import (
    Source,
    has_ended,
    has_labels,
    label,
    required,
)
from gang_scheduler.decode.workloads.ray_clusters import CLUSTER, GROUP, HEAD, NODE_TYPE, WORKER
from gang_scheduler.wire.containers import Container
from gang_scheduler.wire.metadata import Metadata
from gang_scheduler.wire.pods import PodTemplate
from gang_scheduler.wire.structs import Wire
from gang_scheduler.wire.workloads.ray import RayClusterSpec

OWN_LABELS: Final = frozenset({CLUSTER, NODE_TYPE, GROUP})
"""Labels that a template cannot replace; it can replace the others."""
ORIGIN_NAME, ORIGIN_KIND = "ray.io/originated-from-cr-name", "ray.io/originated-from-crd"
FAULT_TOLERANT: Final = "ray.io/ft-enabled"
HEAD_GROUP: Final = "headgroup"
LONGEST_PREFIX: Final = 50

WAITS_FOR_HEAD: Final = bodies.added("wait-gcs-ready")
AUTOSCALER: Final = bodies.added("autoscaler")
SUBMITTER: Final = bodies.added("ray-job-submitter")
SIDECAR_MODE: Final = "SidecarMode"

Body = Mapping[str, Any]


class _AutoscalerOptions(Wire, frozen=True):
    resources: dict[str, Any] | None = None


class _ClusterSpec(RayClusterSpec, frozen=True):
    autoscaler_options: _AutoscalerOptions = _AutoscalerOptions()
    gcs_fault_tolerance_options: dict[str, Any] | None = None


class _Cluster(Wire, frozen=True):
    spec: _ClusterSpec = _ClusterSpec()


class _MadeOf(Wire, frozen=True):
    """The spec of a RayJob or RayService."""

    submission_mode: str = ""
    cluster_selector: dict[str, str] = field(default_factory=dict)
    ray_cluster_spec: _ClusterSpec | None = None
    ray_cluster_config: _ClusterSpec | None = None


class _Maker(Wire, frozen=True):
    # Its labels become those of what is made.
    metadata: Metadata = Metadata()
    spec: _MadeOf = _MadeOf()


def ray_cluster(source: Source) -> Iterator[Body]:
    """Yield the head and the workers, group by group. Raises InvalidField."""
    spec = source.read(_Cluster).spec
    _check(spec)
    raw = source.body["spec"]
    present = [each for each in source.pods({CLUSTER: source.name}) if not has_ended(each)]
    if not any(label(each, NODE_TYPE) == HEAD for each in present):
        yield _head(source, spec, raw["headGroupSpec"]["template"])
    for group, given in zip(spec.worker_group_specs, raw.get("workerGroupSpecs", ()), strict=True):
        labels = {NODE_TYPE: WORKER, GROUP: group.group_name}
        number = group.number - sum(has_labels(each, labels) for each in present)
        prefix = f"{source.name}-{group.group_name}"[:LONGEST_PREFIX].lower()
        for name in bodies.suffixed(f"{prefix}-worker-", number, source.has_pod):
            made = _pod(source, given["template"], name, WORKER, group.group_name)
            yield bodies.with_init_container(made, WAITS_FOR_HEAD)


def ray_job(source: Source) -> Iterator[Body]:
    """Yield the RayCluster of a RayJob; none if it runs on another one. Raises InvalidField."""
    spec = source.read(_Maker).spec
    if spec.cluster_selector:
        return
    required(spec.ray_cluster_spec, "spec.rayClusterSpec")
    known = part(source.body, "status").get("rayClusterName")
    made = _cluster_of(source, str(known or ""), "rayClusterSpec")
    # A template without containers is refused where the cluster is read.
    head = spec.ray_cluster_spec.head_group_spec if spec.ray_cluster_spec is not None else None
    submits = spec.submission_mode == SIDECAR_MODE and head and head.template.spec.containers
    yield from map(_with_submitter, made) if submits else made


def _with_submitter(cluster: Body) -> Body:
    """Return a RayCluster with the container that submits the job, in the head."""
    head = cluster["spec"]["headGroupSpec"]
    template = bodies.with_container(head["template"], SUBMITTER)
    spec = {**cluster["spec"], "headGroupSpec": {**head, "template": template}}
    return {**cluster, "spec": spec}


def ray_service(source: Source) -> Iterator[Body]:
    """Yield the RayCluster of a RayService. Raises InvalidField."""
    spec = source.read(_Maker).spec
    required(spec.ray_cluster_config, "spec.rayClusterConfig")
    states = ("activeServiceStatus", "pendingServiceStatus")
    known = (part(source.body, "status", each).get("rayClusterName") for each in states)
    name = next((str(each) for each in known if each), "")
    yield from _cluster_of(source, name, "rayClusterConfig")


def _cluster_of(source: Source, name: str, spec: str) -> Iterator[Body]:
    """Yield the RayCluster of a workload, unless it has one."""
    if source.owned("RayCluster"):
        return
    kind = source.body["kind"]
    given = source.body["metadata"]
    labels = {ORIGIN_NAME: source.name, ORIGIN_KIND: kind}
    yield {
        "apiVersion": source.body["apiVersion"],
        "kind": "RayCluster",
        "metadata": {
            **bodies.merged(given, labels, {}),
            **bodies.owned(source.body, name or f"{source.name}-00000"),
        },
        "spec": source.body["spec"][spec],
    }


def _head(source: Source, spec: _ClusterSpec, template: Body) -> Body:
    prefix = f"{source.name[:LONGEST_PREFIX].lower()}-head-"
    name = next(bodies.suffixed(prefix, 1, source.has_pod))
    made = _pod(source, template, name, HEAD, HEAD_GROUP)
    tolerant = spec.gcs_fault_tolerance_options is not None or (
        part(source.body, "metadata", "annotations").get(FAULT_TOLERANT) == "true"
    )
    annotations = {**made["metadata"]["annotations"], FAULT_TOLERANT: str(tolerant).lower()}
    made = {**made, "metadata": {**made["metadata"], "annotations": annotations}}
    return _with_autoscaler(made, spec) if spec.enable_in_tree_autoscaling else made


def _with_autoscaler(made: Body, spec: _ClusterSpec) -> Body:
    own = spec.autoscaler_options.resources
    autoscaler = AUTOSCALER if own is None else {**AUTOSCALER, "resources": own}
    return bodies.with_container(made, autoscaler)


def _pod(source: Source, template: Body, name: str, node_type: str, group: str) -> dict[str, Any]:
    own = {CLUSTER: source.name, NODE_TYPE: node_type, GROUP: group}
    default = {
        "ray.io/is-ray-node": "yes",
        "ray.io/identifier": f"{source.name}-{node_type}"[-LONGEST_LABEL:].lstrip("-"),
        "app.kubernetes.io/name": "kuberay",
        "app.kubernetes.io/created-by": "kuberay-operator",
    }
    given = part(template, "metadata", "labels")
    labels = {**default, **{key: given[key] for key in given if key not in OWN_LABELS}, **own}
    if label(source.body, ORIGIN_KIND) == "RayService":
        labels["ray.io/serve"] = str(node_type == WORKER).lower()
    return bodies.pod(source.body, template, name, labels)


def _check(spec: _ClusterSpec) -> None:
    _check_template(spec.head_group_spec.template, "spec.headGroupSpec")
    for i, group in enumerate(spec.worker_group_specs):
        where = f"spec.workerGroupSpecs[{i}]"
        required(group.group_name, f"{where}.groupName")
        _check_template(group.template, where)
        bodies.check_number(group.number, f"{where}.replicas")
    groups = [each.group_name for each in spec.worker_group_specs]
    for i, name in enumerate(groups):
        if name in groups[:i]:
            must = "must differ from those of the groups before"
            raise InvalidField(f"spec.workerGroupSpecs[{i}].groupName", name, must)


def _check_template(template: PodTemplate, where: str) -> None:
    containers: list[Container] = template.spec.containers
    bodies.check_template(template, f"{where}.template", given=bool(containers))
