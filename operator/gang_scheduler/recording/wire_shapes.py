"""The fields that snapshots and recordings keep: the fields that `wire/` decodes, and no others.

All labels are kept, since selectors may name any label. An annotation is kept only if it is read.
"""

import enum
import functools
import types
import typing
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any, Final, get_args, get_origin

import msgspec
from pydantic import BaseModel

from gang_scheduler.api import annotations, kinds
from gang_scheduler.api.kinds import GVR
from gang_scheduler.api.pod_group import PodGroupSpec, PodGroupStatus
from gang_scheduler.api.queue import QueueSpec, QueueStatus
from gang_scheduler.api.topology import ClusterNetworkTopologySpec
from gang_scheduler.decode import cluster, foreign_marks, known_keys, topology, volumes
from gang_scheduler.decode.pods.pod import KNOWN_ANNOTATIONS
from gang_scheduler.wire import cluster as wire_cluster
from gang_scheduler.wire import devices as device_wire
from gang_scheduler.wire import pods, provisioning, queues
from gang_scheduler.wire import volumes as volume_wire
from gang_scheduler.wire.base import Condition, Keys, Metadata, MetadataOnly, Words
from gang_scheduler.workloads import table

# The fields that are read of each kind, derived from the types into which its reader decodes. So a
# field that no reader knows is never written. A field that is added to a reader is written from
# then on.

Value = Any
"""Any JSON value."""


@dataclass(frozen=True, slots=True, eq=False)
class Shape:
    """The allowed shape of a JSON value.

    `fields` are the shapes of an object's fields, `values` is the shape of the values of a map, and
    `items` the shape of the items of a list; each is None if the value is no object, map or list.
    `scalar`: the value may be text, a number or a boolean, and `words` are the allowed texts, if
    the API has a short list of them. `only` selects the keys of a map that are read, None for all.
    `others`: of other fields it is read whether they exist, but not their values.
    """

    fields: Mapping[str, "Shape"] | None = None
    values: "Shape | None" = None
    items: "Shape | None" = None
    scalar: bool = False
    words: frozenset[str] = frozenset()
    only: Callable[[str], bool] | None = None
    others: bool = False


PRESENCE: Final = Shape()
"""The shape of a value that is never read: only whether it exists matters."""
SCALAR: Final = Shape(scalar=True)


def shape_of(kind: Any) -> Shape:  # noqa: ANN401 - any type that a struct or model may have.
    """Return the shape of a type: a wire struct, a model of the API, or a type used in these."""
    if kind is Any or kind is object:
        return PRESENCE
    origin = get_origin(kind)
    if origin is typing.Annotated:
        inner, *marks = get_args(kind)
        return functools.reduce(_marked, marks, shape_of(inner))
    if origin in (typing.Union, types.UnionType):
        return _either(shape_of(each) for each in get_args(kind) if each is not types.NoneType)
    if origin is dict:
        values = shape_of(get_args(kind)[1])
        return PRESENCE if values is PRESENCE else Shape(values=values)
    if origin in (list, tuple):
        return Shape(items=shape_of(get_args(kind)[0]))
    return _of_class(kind)


def _marked(shape: Shape, mark: object) -> Shape:
    if isinstance(mark, Words):
        return replace(shape, words=mark)
    return replace(shape, only=mark.__contains__) if isinstance(mark, Keys) else shape


def _of_class(kind: type) -> Shape:
    if issubclass(kind, msgspec.Struct):
        found = msgspec.structs.fields(kind)
        return Shape(fields={each.encode_name: shape_of(each.type) for each in found})
    if issubclass(kind, BaseModel):
        models = kind.model_fields.items()
        return Shape(
            fields={each.alias or name: shape_of(each.annotation) for name, each in models}
        )
    if issubclass(kind, enum.Enum):
        return Shape(scalar=True, words=frozenset(str(each.value) for each in kind))
    return SCALAR


def _either(shapes: Iterable[Shape]) -> Shape:
    """Return a shape that allows a value if any of the shapes does."""
    found = Shape()
    for each in shapes:
        found = Shape(
            fields=each.fields if found.fields is None else found.fields,
            values=found.values or each.values,
            items=found.items or each.items,
            scalar=found.scalar or each.scalar,
            words=found.words | each.words,
        )
    return found


def changed(shape: Shape, path: str, change: Callable[[Shape], Shape]) -> Shape:
    """Return a shape in which the part at a path such as `spec.volumes[].name` is changed."""
    if not path:
        return change(shape)
    if path.startswith("[]"):
        rest = path.removeprefix("[]").removeprefix(".")
        return replace(shape, items=changed(shape.items or PRESENCE, rest, change))
    name, rest = _first(path)
    known = shape.fields or {}
    inner = changed(known.get(name, PRESENCE), rest, change)
    return replace(shape, fields={**known, name: inner})


def _first(path: str) -> tuple[str, str]:
    """Return the first field of a path, and the rest of the path."""
    name, dot, rest = path.partition(".")
    if name.endswith("[]"):
        return name.removesuffix("[]"), f"[]{dot}{rest}"
    return name, rest


def pruned(value: Value, shape: Shape) -> Value:
    """Return the part of a value that is read, even if the value is invalid.

    A value of the wrong type becomes an empty value of that type: reading it fails in the same way.
    """
    if isinstance(value, Mapping):
        return _pruned_object(value, shape)
    if isinstance(value, list):
        items = shape.items
        return [] if items is None else [pruned(each, items) for each in value]
    if value is None or shape.scalar:
        return value
    return type(value)()


def _pruned_object(value: Mapping[str, Value], shape: Shape) -> Value:
    if shape.fields is not None:
        known = shape.fields
        found = {
            name: pruned(each, known[name])
            for name, each in value.items()
            if name in known and each is not None
        }
        if shape.others:
            strange = {name: True for name, each in value.items() if each and name not in known}
            found |= strange
        return found
    if shape.values is not None:
        only, values = shape.only, shape.values
        return {k: pruned(v, values) for k, v in value.items() if only is None or only(k)}
    return {}


PREFIXES: Final = (
    *KNOWN_ANNOTATIONS,
    *table.MEMBERSHIP.prefixes,
    *known_keys.PREFIXES,
    known_keys.POD_GROUP_PREFIX,
    *foreign_marks.TELLING,
)
"""Prefixes of annotations that are kept."""
KEYS: Final = frozenset(
    {
        *known_keys.FOREIGN,
        *known_keys.POD_GROUP_NAMES,
        *chain.from_iterable(each.keys | each.role_keys | each.rank_keys for each in table.PODS),
        annotations.VOLCANO_QUEUE,
        annotations.VOLCANO_QUEUE_SHORT,
        annotations.CONSUMES_REQUEST,
        annotations.CONSUMES_REQUEST_FORMERLY,
        annotations.MIRROR_POD,
        annotations.SELECTED_NODE,
        volumes.BIND_COMPLETED,
        volumes.OLD_CLASS,
    }
)
"""Further keys of annotations that are kept."""


def is_read(annotation: str) -> bool:
    """Return whether an annotation is read, or may be a misspelling of one."""
    return (
        annotation.startswith(PREFIXES)
        or annotation in KEYS
        or bool(known_keys.meant_by(annotation))
    )


_METADATA: Final = shape_of(Metadata)


def _narrowed(shape: Shape, name: str = "") -> Shape:
    """Return a shape in which maps keep only the keys that are read."""
    known = shape.fields
    return replace(
        shape,
        fields=known and {each: _narrowed(inner, each) for each, inner in known.items()},
        values=shape.values and _narrowed(shape.values),
        items=shape.items and _narrowed(shape.items),
        only=is_read if name == "annotations" and shape.values else shape.only,
    )


def _struct(kind: type[msgspec.Struct]) -> Shape:
    """Return the shape of an object that is read as one struct; its `kind` is always written."""
    known = shape_of(kind).fields or {}
    own = {name: shape for name, shape in known.items() if name != "apiVersion"}
    return _narrowed(Shape(fields={"metadata": _METADATA, **own}))


def _parts(**parts: Shape) -> Shape:
    """Return the shape of an object that has metadata and these parts."""
    return _narrowed(Shape(fields={"metadata": _METADATA, **parts}))


def _native_pod_group() -> Shape:
    """Return the shape of a native PodGroup.

    Constraints that are not known are kept without their values, because they keep the gang
    waiting.
    """
    found = shape_of(pods.NativePodGroup).fields or {}
    spec = found["spec"]
    for path in ("schedulingConstraints", "schedulingConstraints.topology[]"):
        spec = changed(spec, path, lambda shape: replace(shape, others=True))
    return _parts(spec=spec, status=_of_gangs(Shape(fields={"conditions": _CONDITIONS})))


def _of_gangs(status: Shape) -> Shape:
    """Return the shape of a PodGroup's status, with the time at which members saved their work."""
    checkpoint = Shape(fields={"doneAt": SCALAR})
    return replace(status, fields={**(status.fields or {}), "checkpoint": checkpoint})


def _recent_usage() -> Shape:
    """Return the shape of a Queue's status: only the fields that decisions depend on."""
    known = shape_of(QueueStatus).fields or {}
    return Shape(fields={"recentUsage": known["recentUsage"]})


_CONDITIONS: Final = Shape(items=shape_of(Condition))
_POD_GROUP: Final = _parts(spec=shape_of(PodGroupSpec), status=_of_gangs(shape_of(PodGroupStatus)))
_FLAVOR: Final = _struct(queues.ResourceFlavor)

WRITTEN: Final[Mapping[GVR, Shape]] = {
    kinds.NODES: _struct(wire_cluster.Node),
    kinds.NAMESPACES: _struct(MetadataOnly),
    kinds.PODS: _struct(pods.Pod),
    kinds.POD_GROUPS: _POD_GROUP,
    kinds.SCHED_PLUGINS_POD_GROUPS: _POD_GROUP,
    kinds.NATIVE_POD_GROUPS[0]: _native_pod_group(),
    kinds.DEVICE_CLASSES: _struct(device_wire.DeviceClass),
    kinds.RESOURCE_SLICES: _struct(device_wire.ResourceSlice),
    kinds.DEVICE_TAINT_RULES[0]: _struct(device_wire.DeviceTaintRule),
    kinds.RESOURCE_CLAIMS: _struct(device_wire.ResourceClaim),
    kinds.RESOURCE_CLAIM_TEMPLATES: _struct(device_wire.ResourceClaimTemplate),
    **{each.versions[0]: _struct(each.struct) for each in table.WATCHED if each.struct is not None},
    kinds.PRIORITY_CLASSES: _struct(cluster.PriorityClass),
    kinds.POD_DISRUPTION_BUDGETS: _struct(wire_cluster.PodDisruptionBudget),
    kinds.CLUSTER_NETWORK_TOPOLOGIES: _parts(spec=shape_of(ClusterNetworkTopologySpec)),
    kinds.KUEUE_TOPOLOGIES[0]: _struct(topology.Topology),
    kinds.QUEUES: _parts(spec=shape_of(QueueSpec), status=_recent_usage()),
    kinds.RESOURCE_FLAVORS: _FLAVOR,
    kinds.CLUSTER_QUEUES[0]: _struct(queues.ClusterQueue),
    kinds.COHORTS[0]: _struct(queues.Cohort),
    kinds.KUEUE_RESOURCE_FLAVORS[0]: _FLAVOR,
    kinds.LOCAL_QUEUES[0]: _struct(queues.LocalQueue),
    kinds.WORKLOAD_PRIORITY_CLASSES[0]: _struct(queues.WorkloadPriorityClass),
    kinds.ADMISSION_CHECKS[0]: _struct(queues.AdmissionCheck),
    kinds.PROVISIONING_REQUEST_CONFIGS[0]: _struct(provisioning.ProvisioningRequestConfig),
    kinds.PROVISIONING_REQUESTS[0]: _struct(provisioning.ProvisioningRequest),
    kinds.VOLCANO_QUEUES: _struct(queues.Queue),
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
    """Return the fields of an object that are kept, even if the object is invalid."""
    api_version = str(body.get("apiVersion") or gvr.api_version)
    found: dict[str, Any] = pruned(body, WRITTEN[gvr])
    return {"apiVersion": api_version, "kind": kind, **found}


def of_struct(gvr: GVR, kind: str, source: Any) -> bytes:  # noqa: ANN401 - a struct of that kind.
    """Return the JSON line of a pod or node that is decoded already, which saves time."""
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
    """Return whether a pod has scheduling gates or ephemeral volumes: only that is read of them."""
    return bool(spec.scheduling_gates or any(each.ephemeral is not None for each in spec.volumes))
