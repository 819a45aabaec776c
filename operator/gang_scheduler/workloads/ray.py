"""RayClusters, RayJobs and RayServices: the gang of a head and its groups of workers."""

from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from typing import Annotated, Any, Final

from msgspec import field

from gang_scheduler.api import annotations
from gang_scheduler.api.parsing import IS, InvalidField, without_nulls
from gang_scheduler.decode import fields
from gang_scheduler.decode.elastic import WHERE
from gang_scheduler.decode.fields import LONGEST_LABEL
from gang_scheduler.decode.gangs.specs import GangObject, GangSpec
from gang_scheduler.decode.pods.membership import PodsOfKind, Rank
from gang_scheduler.decode.queues import naming
from gang_scheduler.model.gangs import Role
from gang_scheduler.model.pods import Elastic
from gang_scheduler.model.refs import GangKey, GangSource
from gang_scheduler.wire.base import Count, Metadata, Wire, Words
from gang_scheduler.wire.pods import Container, Pod, PodTemplate
from gang_scheduler.workloads import controllers, kind
from gang_scheduler.workloads.controllers import (
    Phase,
    Source,
    has_ended,
    has_labels,
    label,
    part,
    required,
)
from gang_scheduler.workloads.kind import Body, Kind, Owns, ReplicaField, Suspend, served

# RayClusters, also those created by RayJobs and RayServices. A cluster that Ray scales, or that is
# elastic, starts with the minimum of each group.

SOURCE: Final = GangSource("RayCluster", "RayCluster")
CLUSTER: Final = "ray.io/cluster"
NODE_TYPE: Final = "ray.io/node-type"
GROUP: Final = "ray.io/group"
HEAD, WORKER = "head", "worker"
NODES: Final = (HEAD, WORKER)
"""The pods that form a cluster, in rank order. Other pods with its label clean up after it."""
CLUSTERS: Final = served("rayclusters.ray.io", "v1", "v1alpha1")


class HeadGroup(Wire, frozen=True):
    """`spec.headGroupSpec`: one pod."""

    template: PodTemplate = PodTemplate()


class WorkerGroup(Wire, frozen=True):
    """`spec.workerGroupSpecs[]`, with the defaults of the CRD. A replica has `numOfHosts` pods."""

    group_name: str = ""
    replicas: Count = 0
    min_replicas: Count = 0
    max_replicas: Count = 2**31 - 1
    num_of_hosts: Count = 1
    suspend: bool = False
    template: PodTemplate = PodTemplate()

    @property
    def number(self) -> int:
        """How many pods the group has."""
        return self._pods(max(self.replicas, self.min_replicas))

    @property
    def least(self) -> int:
        """The least number of pods to which the group may be scaled down."""
        return self._pods(self.min_replicas)

    def _pods(self, replicas: int) -> int:
        return 0 if self.suspend else min(replicas, self.max_replicas) * max(1, self.num_of_hosts)


class RayClusterSpec(Wire, frozen=True):
    """`spec` of a RayCluster."""

    head_group_spec: HeadGroup = HeadGroup()
    worker_group_specs: list[WorkerGroup] = field(default_factory=list)
    enable_in_tree_autoscaling: bool = False
    suspend: bool = False
    managed_by: str = ""


class RayCluster(Wire, frozen=True):
    """A RayCluster."""

    metadata: Metadata
    spec: RayClusterSpec = RayClusterSpec()
    api_version: str = ""


def name_of(source: Pod) -> str:
    """Return the name of the RayCluster that a pod is a node of; "" for any other pod."""
    labels = source.metadata.labels
    return labels.get(CLUSTER, "") if labels.get(NODE_TYPE) in NODES else ""


def role_of(metadata: Metadata) -> str:
    """Return the role of a pod: `head`, or the name of its worker group."""
    node_type = metadata.labels.get(NODE_TYPE)
    if node_type == WORKER:
        return _role(metadata.labels.get(GROUP, ""))
    return HEAD if node_type == HEAD else ""


def rank_of(metadata: Metadata) -> Rank:
    """Return the rank of a pod: the head comes first, and all workers share the second place."""
    node_type = metadata.labels.get(NODE_TYPE)
    return (NODES.index(node_type),) if node_type in NODES else ()


def read(body: Body) -> GangObject:
    """Return a RayCluster. Raises InvalidField if it cannot be read."""
    source = fields.read(body, RayCluster)
    metadata, spec = source.metadata, source.spec
    roles = tuple(_roles(spec, is_elastic=_is_elastic(source)))
    declared = GangSpec(
        key=GangKey(SOURCE.name, metadata.namespace, metadata.name),
        uid=metadata.uid,
        gvr=kind.version_of(CLUSTERS, source.api_version),
        created_at=fields.timestamp(metadata.creation_timestamp),
        min_member=sum(each.min_member for each in roles),
        roles=roles,
        queue_request=naming.request_of(metadata.labels, metadata.annotations),
    )
    templates = [each.template.metadata for each in spec.worker_group_specs]
    templates.append(spec.head_group_spec.template.metadata)
    found = kind.with_annotations(declared, metadata, templates, partial(_in_replicas, spec))
    return GangObject(metadata.uid, (found,))


def _in_replicas(spec: RayClusterSpec, found: Elastic) -> Elastic:
    """Return the elastic annotation of a cluster in which the scheduler changes replicas.

    Raises InvalidField if Ray scales the cluster, or the numbers of the group do not allow it.
    """
    if spec.enable_in_tree_autoscaling:
        value, text = True, "must be false in mode Replicas: Ray changes the replicas then"
        raise InvalidField("spec.enableInTreeAutoscaling", value, text)
    groups = {_role(each.group_name): i for i, each in enumerate(spec.worker_group_specs)}
    role = found.role or next(iter(groups), "")
    if role not in groups or (len(groups) > 1 and not found.role):
        must = f"must be {' or '.join(groups)}" if groups else "needs a worker group"
        raise InvalidField(f"{WHERE}.role", found.role or None, f"{must} in mode Replicas")
    group, where = spec.worker_group_specs[groups[role]], f"spec.workerGroupSpecs[{groups[role]}]"
    if group.num_of_hosts > 1:
        must = "must be 1 in mode Replicas"
        raise InvalidField(f"{where}.numOfHosts", group.num_of_hosts, must)
    if group.min_replicas > found.min_workers:
        must = f"must be at least {group.min_replicas}, the minReplicas of group {group.group_name}"
        raise InvalidField(f"{WHERE}.minWorkers", found.min_workers, must)
    if group.max_replicas < found.max_workers:
        must = f"must be at most {group.max_replicas}, the maxReplicas of group {group.group_name}"
        raise InvalidField(f"{WHERE}.maxWorkers", found.max_workers, must)
    return found._replace(role=role)


def _replicas_path(body: Body, role: str) -> kind.Path | None:
    """Return the path of a group's number of replicas; None if the group is gone."""
    for i, each in enumerate(part(body, "spec").get("workerGroupSpecs") or ()):
        if _role(str(each.get("groupName", ""))) == role:
            return ("spec", "workerGroupSpecs", i, "replicas")
    return None


def _number(body: Body, path: kind.Path) -> int:
    """Return the replicas that KubeRay gives a group, which are within its bounds."""
    keys = ("replicas", "minReplicas", "maxReplicas")
    found = (kind.value_at(body, (*path[:-1], key)) for key in keys)
    number, least, most = map(kind.whole_number, found)
    number = max(number or 0, least or 0)
    return number if most is None else min(number, most)


def _ending(path: kind.Path) -> kind.Path:
    """Return the path of the names of pods to end; without names, KubeRay chooses pods itself."""
    return (*path[:-1], "scaleStrategy", "workersToDelete")


def _is_elastic(source: RayCluster) -> bool:
    """Return whether the number of workers may change.

    Either Ray scales the cluster, or it is elastic.
    """
    is_ours = annotations.ELASTIC in source.metadata.annotations
    return source.spec.enable_in_tree_autoscaling or is_ours


def _roles(spec: RayClusterSpec, *, is_elastic: bool) -> Iterator[Role]:
    yield Role(HEAD, 1, 1)
    for group in spec.worker_group_specs:
        yield Role(_role(group.group_name), group.least if is_elastic else group.number)


def _role(group: str) -> str:
    """Return the role of a group's workers: the group's name, unless that is the head's."""
    return f"{group}-{WORKER}" if group == HEAD else group


# Pods that version 1.4 of KubeRay creates.

OWN_LABELS: Final = frozenset({CLUSTER, NODE_TYPE, GROUP})
"""Labels that a template cannot replace; it can replace the others."""
ORIGIN_NAME, ORIGIN_KIND = "ray.io/originated-from-cr-name", "ray.io/originated-from-crd"
FAULT_TOLERANT: Final = "ray.io/ft-enabled"
HEAD_GROUP: Final = "headgroup"
LONGEST_PREFIX: Final = 50

WAITS_FOR_HEAD: Final = controllers.added("wait-gcs-ready")
AUTOSCALER: Final = controllers.added("autoscaler")
SUBMITTER: Final = controllers.added("ray-job-submitter")
SIDECAR_MODE: Final = "SidecarMode"


class _AutoscalerOptions(Wire, frozen=True):
    resources: dict[str, Any] | None = None


class _ClusterSpec(RayClusterSpec, frozen=True):
    autoscaler_options: _AutoscalerOptions = _AutoscalerOptions()
    gcs_fault_tolerance_options: dict[str, Any] | None = None


class _Cluster(RayCluster, frozen=True):
    spec: _ClusterSpec = _ClusterSpec()


# RayJobs and RayServices.

JOBS: Final = served("rayjobs.ray.io", "v1", "v1alpha1")
DEPLOYMENT_STATUSES: Final = frozenset(
    {
        *("Initializing", "Waiting", "Running", "Retrying", "Suspending", "Suspended"),
        *("Complete", "Failed", "ValidationFailed"),
    }
)


class RayJobSpec(Wire, frozen=True):
    """`spec` of a RayJob."""

    cluster_selector: dict[str, str] = field(default_factory=dict)
    ray_cluster_spec: RayClusterSpec | None = None
    suspend: bool = False
    managed_by: str = ""


class RayJobStatus(Wire, frozen=True):
    """`status` of a RayJob."""

    job_deployment_status: Annotated[str, Words(DEPLOYMENT_STATUSES)] = ""
    ray_cluster_name: str = ""


class RayJob(Wire, frozen=True):
    """A RayJob."""

    metadata: Metadata
    spec: RayJobSpec = RayJobSpec()
    status: RayJobStatus = RayJobStatus()


class _OwnerSpec(Wire, frozen=True):
    """The spec of a RayJob or RayService."""

    submission_mode: str = ""
    cluster_selector: dict[str, str] = field(default_factory=dict)
    ray_cluster_spec: _ClusterSpec | None = None
    ray_cluster_config: _ClusterSpec | None = None


class _Owner(Wire, frozen=True):
    """A RayJob or RayService. The RayCluster that is created for it has the same labels."""

    metadata: Metadata = Metadata()
    spec: _OwnerSpec = _OwnerSpec()


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
        for name in controllers.suffixed(f"{prefix}-worker-", number, source.has_pod):
            made = _pod(source, given["template"], name, WORKER, group.group_name)
            yield controllers.with_init_container(made, WAITS_FOR_HEAD)


def ray_job(source: Source) -> Iterator[Body]:
    """Yield the RayCluster of a RayJob; none if it runs on another one. Raises InvalidField."""
    spec = source.read(_Owner).spec
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
    template = controllers.with_container(head["template"], SUBMITTER)
    spec = {**cluster["spec"], "headGroupSpec": {**head, "template": template}}
    return {**cluster, "spec": spec}


def ray_service(source: Source) -> Iterator[Body]:
    """Yield the RayCluster of a RayService. Raises InvalidField."""
    spec = source.read(_Owner).spec
    required(spec.ray_cluster_config, "spec.rayClusterConfig")
    states = ("activeServiceStatus", "pendingServiceStatus")
    known = (part(source.body, "status", each).get("rayClusterName") for each in states)
    name = next((str(each) for each in known if each), "")
    yield from _cluster_of(source, name, "rayClusterConfig")


def _cluster_of(source: Source, name: str, spec: str) -> Iterator[Body]:
    """Yield the RayCluster that KubeRay creates for a workload; none if it exists already."""
    if source.owned("RayCluster"):
        return
    kind = source.body["kind"]
    given = source.body["metadata"]
    labels = {ORIGIN_NAME: source.name, ORIGIN_KIND: kind}
    yield {
        "apiVersion": source.body["apiVersion"],
        "kind": "RayCluster",
        "metadata": {
            **controllers.merged(given, labels, {}),
            **controllers.owned(source.body, name or f"{source.name}-00000"),
        },
        "spec": source.body["spec"][spec],
    }


def _head(source: Source, spec: _ClusterSpec, template: Body) -> Body:
    prefix = f"{source.name[:LONGEST_PREFIX].lower()}-head-"
    name = next(controllers.suffixed(prefix, 1, source.has_pod))
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
    return controllers.with_container(made, autoscaler)


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
    return controllers.pod(source.body, template, name, labels)


def _check(spec: _ClusterSpec) -> None:
    _check_template(spec.head_group_spec.template, "spec.headGroupSpec")
    for i, group in enumerate(spec.worker_group_specs):
        where = f"spec.workerGroupSpecs[{i}]"
        required(group.group_name, f"{where}.groupName")
        _check_template(group.template, where)
        controllers.check_number(group.number, f"{where}.replicas")
    groups = [each.group_name for each in spec.worker_group_specs]
    for i, name in enumerate(groups):
        if name in groups[:i]:
            must = "must differ from the names of other groups"
            raise InvalidField(f"spec.workerGroupSpecs[{i}].groupName", name, must, IS)


def _check_template(template: PodTemplate, where: str) -> None:
    containers: list[Container] = template.spec.containers
    controllers.check_template(template, f"{where}.template", given=bool(containers))


# RayJobs that wait suspended. Once a RayJob is started, its RayCluster describes its gang. KubeRay
# gives the RayCluster a new name each time: until it exists, the members are a gang with the name
# of the RayJob.

RAY_JOB_SOURCE: Final = GangSource("RayJob", "RayJob")


def read_ray_job(body: Body) -> GangObject:
    """Return a RayJob, with its gang as long as it is suspended. Raises InvalidField."""
    uid = body["metadata"]["uid"]
    if part(body, "spec").get("suspend") is not True:
        return GangObject(uid)
    typed = without_nulls({"apiVersion": JOBS[0].api_version, "kind": RAY_JOB_SOURCE.name, **body})
    clusters = ray_job(Source(typed))
    return GangObject(uid, tuple(_gang_of(typed, each) for each in clusters))


def _gang_of(body: Body, cluster: Body) -> GangSpec:
    """Return the gang of the RayCluster that KubeRay creates when the RayJob starts."""
    (found,) = read(cluster).gang_specs
    metadata = body["metadata"]
    key = GangKey(RAY_JOB_SOURCE.name, metadata["namespace"], metadata["name"])
    gvr = kind.version_of(JOBS, str(body.get("apiVersion")))
    return replace(found, key=key, uid=metadata["uid"], gvr=gvr)


CLUSTER_KIND: Final = Kind(
    name=SOURCE.name,
    versions=CLUSTERS,
    struct=RayCluster,
    read=read,
    pods=PodsOfKind(
        SOURCE,
        name_of,
        keys=frozenset({CLUSTER}),
        role_of=role_of,
        rank_of=rank_of,
        rank_keys=frozenset({NODE_TYPE}),
        replacing=frozenset({SOURCE.name}),
        by_default=True,
    ),
    has_roles=True,
    creates=ray_cluster,
    suspend=Suspend(),
    replicas=ReplicaField(_replicas_path, number=_number, ending=_ending),
    controller="ray.io/kuberay-operator",
    words=(HEAD, WORKER, HEAD_GROUP),
)
JOB_KIND: Final = Kind(
    name=RAY_JOB_SOURCE.name,
    versions=JOBS,
    struct=RayJob,
    read=read_ray_job,
    source=RAY_JOB_SOURCE,
    creates=ray_job,
    phase=Phase.until("jobDeploymentStatus", "Complete", "Failed"),
    suspend=Suspend(),
    controller="ray.io/kuberay-operator",
    owns=Owns(SOURCE.name, declares_members=True),
)
SERVICE_KIND: Final = Kind(
    name="RayService",
    versions=served("rayservices.ray.io", "v1", "v1alpha1"),
    creates=ray_service,
)
