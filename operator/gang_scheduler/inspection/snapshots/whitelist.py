"""The one table of what is written of each kind: what its reader decodes, and nothing beside it.

Of labels all are written, since selectors may ask for any; of annotations those that are read.
"""

from collections.abc import Mapping
from dataclasses import replace
from itertools import chain
from typing import Any, Final

import msgspec

from gang_scheduler.api import annotations, kinds
from gang_scheduler.api.kinds import GVR
from gang_scheduler.api.network_topology import ClusterNetworkTopologySpec
from gang_scheduler.api.pod_group import PodGroupSpec, PodGroupStatus
from gang_scheduler.api.queues.queue import QueueSpec
from gang_scheduler.api.queues.status import QueueStatus
from gang_scheduler.decode import foreign_marks, keys, priority_classes, volumes
from gang_scheduler.decode.network import kueue_topologies
from gang_scheduler.decode.pods.pod import KNOWN_ANNOTATIONS
from gang_scheduler.decode.workloads import spark, table, volcano_pod_groups
from gang_scheduler.inspection.snapshots import shapes
from gang_scheduler.inspection.snapshots.shapes import Shape
from gang_scheduler.wire import budgets, nodes, pod_groups, pods
from gang_scheduler.wire import volumes as volume_wire
from gang_scheduler.wire.conditions import Condition
from gang_scheduler.wire.metadata import Metadata, MetadataOnly
from gang_scheduler.wire.provisioning import configs as provisioning_configs
from gang_scheduler.wire.provisioning import requests as provisioning_requests
from gang_scheduler.wire.queues import flavors, kueue, volcano
from gang_scheduler.wire.workloads import apps, jobs, kubeflow, lws, ray
from gang_scheduler.wire.workloads import spark as spark_wire

PREFIXES: Final = (
    *KNOWN_ANNOTATIONS,
    *table.MEMBERSHIP.prefixes,
    *keys.PREFIXES,
    keys.POD_GROUP_PREFIX,
    *foreign_marks.TELLING,
)
"""Prefixes of annotations that are written."""
KEYS: Final = frozenset(
    {
        *keys.FOREIGN,
        *keys.POD_GROUP_NAMES,
        *chain.from_iterable(each.pods.keys | each.pods.rank_keys for each in table.KINDS),
        annotations.VOLCANO_QUEUE,
        annotations.VOLCANO_QUEUE_SHORT,
        annotations.CONSUMES_REQUEST,
        annotations.CONSUMES_REQUEST_FORMERLY,
        annotations.MIRROR_POD,
        annotations.SELECTED_NODE,
        volumes.BIND_COMPLETED,
        volumes.OLD_CLASS,
        volcano_pod_groups.TASK,
    }
)
"""Other annotations that are."""
SPARK_SETTINGS: Final = frozenset({spark.INSTANCES, spark.LEAST, spark.DYNAMIC})
"""Of the settings of an application, which may have secrets among them, these are read."""


def is_read(annotation: str) -> bool:
    """Return whether an annotation is read, or is taken for a misspelling of one that is."""
    return annotation.startswith(PREFIXES) or annotation in KEYS or bool(keys.meant_by(annotation))


_ONLY: Final = {"annotations": is_read, "sparkConf": SPARK_SETTINGS.__contains__}
"""Maps of which some keys are read, by the names of their fields, wherever they are."""
_METADATA: Final = shapes.of(Metadata)


def _narrowed(shape: Shape, name: str = "") -> Shape:
    """Return a shape whose maps have only those keys that are read."""
    known = shape.fields
    return replace(
        shape,
        fields=known and {each: _narrowed(inner, each) for each, inner in known.items()},
        values=shape.values and _narrowed(shape.values),
        items=shape.items and _narrowed(shape.items),
        only=_ONLY.get(name) if shape.values else None,
    )


def _struct(kind: type[msgspec.Struct]) -> Shape:
    """Return the shape of an object that is read as one struct; its kind is written in any case."""
    known = shapes.of(kind).fields or {}
    own = {name: shape for name, shape in known.items() if name != "apiVersion"}
    return _narrowed(Shape(fields={"metadata": _METADATA, **own}))


def _parts(**parts: Shape) -> Shape:
    """Return the shape of an object that has metadata and these parts."""
    return _narrowed(Shape(fields={"metadata": _METADATA, **parts}))


def _native_pod_group() -> Shape:
    """Return the shape of a native PodGroup: a constraint that is not known keeps it waiting."""
    found = shapes.of(pod_groups.NativePodGroup).fields or {}
    spec = found["spec"]
    for path in ("schedulingConstraints", "schedulingConstraints.topology[]"):
        spec = shapes.changed(spec, path, lambda shape: replace(shape, others=True))
    return _parts(spec=spec, status=_of_gangs(Shape(fields={"conditions": _CONDITIONS})))


def _of_gangs(status: Shape) -> Shape:
    """Return the shape of the status of a PodGroup: it tells when members saved their work."""
    checkpoint = Shape(fields={"doneAt": shapes.SCALAR})
    return replace(status, fields={**(status.fields or {}), "checkpoint": checkpoint})


def _recent_usage() -> Shape:
    """Return the shape of what of the status of a Queue decisions depend on."""
    known = shapes.of(QueueStatus).fields or {}
    return Shape(fields={"recentUsage": known["recentUsage"]})


_CONDITIONS: Final = Shape(items=shapes.of(Condition))
_POD_GROUP: Final = _parts(
    spec=shapes.of(PodGroupSpec), status=_of_gangs(shapes.of(PodGroupStatus))
)
_TRAINING_JOB: Final = _struct(kubeflow.TrainingJob)
_FLAVOR: Final = _struct(flavors.ResourceFlavor)

WRITTEN: Final[Mapping[GVR, Shape]] = {
    kinds.NODES: _struct(nodes.Node),
    kinds.NAMESPACES: _struct(MetadataOnly),
    kinds.PODS: _struct(pods.Pod),
    kinds.POD_GROUPS: _POD_GROUP,
    kinds.SCHED_PLUGINS_POD_GROUPS: _POD_GROUP,
    kinds.NATIVE_POD_GROUPS[0]: _native_pod_group(),
    kinds.VOLCANO_POD_GROUPS: _struct(volcano.PodGroup),
    kinds.JOB_SETS: _struct(jobs.JobSet),
    kinds.LEADER_WORKER_SETS[0]: _struct(lws.LeaderWorkerSet),
    kinds.PYTORCH_JOBS: _TRAINING_JOB,
    kinds.TF_JOBS: _TRAINING_JOB,
    kinds.XGBOOST_JOBS: _TRAINING_JOB,
    kinds.PADDLE_JOBS: _TRAINING_JOB,
    kinds.JAX_JOBS: _TRAINING_JOB,
    kinds.MPI_JOBS[0]: _TRAINING_JOB,
    kinds.RAY_CLUSTERS[0]: _struct(ray.RayCluster),
    kinds.RAY_JOBS[0]: _struct(ray.RayJob),
    kinds.TRAIN_JOBS: _struct(kubeflow.TrainJob),
    kinds.SPARK_APPLICATIONS: _struct(spark_wire.SparkApplication),
    kinds.STATEFUL_SETS: _struct(apps.StatefulSet),
    kinds.DEVICE_CLASSES: _parts(spec=Shape(fields={"extendedResourceName": shapes.SCALAR})),
    kinds.DEPLOYMENTS: _struct(MetadataOnly),
    kinds.APP_WRAPPERS: _struct(MetadataOnly),
    kinds.JOBS: _struct(jobs.Job),
    kinds.PRIORITY_CLASSES: _struct(priority_classes.PriorityClass),
    kinds.POD_DISRUPTION_BUDGETS: _struct(budgets.PodDisruptionBudget),
    kinds.CLUSTER_NETWORK_TOPOLOGIES: _parts(spec=shapes.of(ClusterNetworkTopologySpec)),
    kinds.KUEUE_TOPOLOGIES[0]: _struct(kueue_topologies.Topology),
    kinds.QUEUES: _parts(spec=shapes.of(QueueSpec), status=_recent_usage()),
    kinds.RESOURCE_FLAVORS: _FLAVOR,
    kinds.CLUSTER_QUEUES[0]: _struct(kueue.ClusterQueue),
    kinds.COHORTS[0]: _struct(kueue.Cohort),
    kinds.KUEUE_RESOURCE_FLAVORS[0]: _FLAVOR,
    kinds.LOCAL_QUEUES[0]: _struct(kueue.LocalQueue),
    kinds.WORKLOAD_PRIORITY_CLASSES[0]: _struct(kueue.WorkloadPriorityClass),
    kinds.ADMISSION_CHECKS[0]: _struct(kueue.AdmissionCheck),
    kinds.PROVISIONING_REQUEST_CONFIGS[0]: _struct(provisioning_configs.ProvisioningRequestConfig),
    kinds.PROVISIONING_REQUESTS[0]: _struct(provisioning_requests.ProvisioningRequest),
    kinds.VOLCANO_QUEUES: _struct(volcano.Queue),
    kinds.PERSISTENT_VOLUME_CLAIMS: _struct(volume_wire.Claim),
    kinds.PERSISTENT_VOLUMES: _struct(volume_wire.Volume),
    kinds.STORAGE_CLASSES: _struct(volume_wire.StorageClass),
    kinds.CSI_NODES: _struct(volume_wire.CsiNode),
    kinds.CSI_DRIVERS: _struct(volume_wire.CsiDriver),
    kinds.CSI_STORAGE_CAPACITIES: _struct(volume_wire.Capacity),
    kinds.VOLUME_ATTACHMENTS: _struct(volume_wire.VolumeAttachment),
}
"""The shape of each kind that `state.kinds` reads, by its best version."""


def of_body(gvr: GVR, kind: str, body: Mapping[str, Any]) -> dict[str, Any]:
    """Return what is written of an object of a kind, whether it can be read or not."""
    api_version = str(body.get("apiVersion") or gvr.api_version)
    found: dict[str, Any] = shapes.pruned(body, WRITTEN[gvr])
    return {"apiVersion": api_version, "kind": kind, **found}


def of_struct(gvr: GVR, kind: str, source: Any) -> bytes:  # noqa: ANN401 - a struct of that kind.
    """Return the line of a pod or node that was decoded already: of these there are many."""
    source = _with_annotations_that_are_read(source)
    if gvr == kinds.PODS and _has_more(source.spec):
        body = msgspec.to_builtins(source)
        return msgspec.json.encode(of_body(gvr, kind, body))
    start = msgspec.json.encode({"apiVersion": gvr.api_version, "kind": kind})
    return start[:-1] + b"," + msgspec.json.encode(source)[1:]


def _with_annotations_that_are_read(source: Any) -> Any:  # noqa: ANN401 - as above.
    present = source.metadata.annotations
    if all(map(is_read, present)):
        return source
    read = {key: text for key, text in present.items() if is_read(key)}
    metadata = msgspec.structs.replace(source.metadata, annotations=read)
    return msgspec.structs.replace(source, metadata=metadata)


def _has_more(spec: pods.PodSpec) -> bool:
    """Return whether a pod has objects of which nothing is read but that they are there."""
    more = spec.scheduling_gates or spec.resource_claims
    return bool(more or any(each.ephemeral is not None for each in spec.volumes))
