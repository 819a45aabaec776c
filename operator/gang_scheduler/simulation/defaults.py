"""Fields of the input that an API server or a controller would have filled in.

The filled-in values depend only on the order of the documents.
"""

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import datetime
from typing import Any, Final

from msgspec import field

from gang_scheduler.api.kinds import (
    CLUSTER_QUEUES,
    COHORTS,
    GVR,
    KUEUE_TOPOLOGIES,
    PERSISTENT_VOLUME_CLAIMS,
    PERSISTENT_VOLUMES,
    QUEUES,
    VOLCANO_POD_GROUPS,
    VOLCANO_QUEUES,
)
from gang_scheduler.api.parsing import InvalidField
from gang_scheduler.api.topology import DEFAULT_NAME
from gang_scheduler.decode import fields, topology
from gang_scheduler.decode import volumes as volume_decode
from gang_scheduler.decode.fields import group_of
from gang_scheduler.decode.reader import Reader
from gang_scheduler.decode.topology import DeclaredTopology
from gang_scheduler.model.queues import Product
from gang_scheduler.report import topology_status
from gang_scheduler.state.kinds import KINDS, QUEUES_NAMED
from gang_scheduler.wire import pods as pod_wire
from gang_scheduler.wire import volumes as volume_wire
from gang_scheduler.wire.base import Int64, Metadata, Wire
from gang_scheduler.workloads import controllers, table
from gang_scheduler.workloads.kind import Kind as JobKind

RFC_3339 = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:\d\d)", re.ASCII)
GRACE_SECONDS = 30
"""The grace period of a pod that sets none, as in Kubernetes."""


class GivenMetadata(Metadata, frozen=True):
    """The metadata of an object, with the fields that are checked or filled in."""

    generate_name: str = ""
    deletion_grace_period_seconds: Int64 | None = None


class Identified(Wire, frozen=True):
    """An object of any kind."""

    metadata: GivenMetadata = GivenMetadata()


def with_identity(body: Mapping[str, Any], sequence: int, *, namespaced: bool) -> Mapping[str, Any]:
    """Return the object with name, namespace and uid.

    `sequence` is the number of the object among objects of known kinds. Raises InvalidField for
    unreadable metadata.
    """
    given = fields.read(body, Identified).metadata
    for key, text in (
        ("creationTimestamp", given.creation_timestamp),
        ("deletionTimestamp", given.deletion_timestamp),
    ):
        _check_time(f"metadata.{key}", text)
    fields.check_labels(given.labels, given.annotations)
    identity = {
        "name": given.name or _generated(given.generate_name, sequence),
        "namespace": (given.namespace or "default") if namespaced else "",
        "uid": given.uid or f"simulated-{sequence:012d}",
    }
    return {**body, "metadata": {**body.get("metadata", {}), **identity}}


def with_pod_defaults(body: Mapping[str, Any], scheduler: str) -> Mapping[str, Any]:
    """Return a pod with a schedulerName and a phase; by default it is Running if it has a node."""
    spec, status = body.get("spec", {}), body.get("status", {})
    _check_time("status.startTime", status.get("startTime") or "")
    phase = "Running" if spec.get("nodeName") else "Pending"
    return {
        **body,
        "spec": {**spec, "schedulerName": spec.get("schedulerName") or scheduler},
        "status": {**status, "phase": status.get("phase") or phase},
    }


def moment(field: str, text: str) -> int:
    """Return a time in seconds since the epoch. Raises InvalidField."""
    if not _is_time(text):
        raise InvalidField(field, text, "must be a time such as 2024-05-01T12:00:00Z")
    return fields.timestamp(text)


def latest_time(body: Mapping[str, Any]) -> int:
    """Return the latest time of the object, in seconds since the epoch.

    It is the latest of its creation, its deletion request, and all times in its status.
    """
    happened = _times(body.get("status"))
    return max(creation_time(body) or 0, _deleted_at(body), *happened, 0)


def creation_time(body: Mapping[str, Any]) -> int | None:
    """Return the creation time of the object, in seconds since the epoch; None without one."""
    text = body["metadata"].get("creationTimestamp")
    return fields.timestamp(text) if text else None


def _generated(prefix: str, sequence: int) -> str:
    if not prefix:
        raise InvalidField("metadata.name", None, "is required")
    return f"{prefix}{sequence:05d}"


def _deleted_at(body: Mapping[str, Any]) -> int:
    """Return when deletion was requested, in seconds: its time less the grace; 0 if never."""
    metadata, spec = body["metadata"], body.get("spec")
    own = spec.get("terminationGracePeriodSeconds") if isinstance(spec, Mapping) else None
    given = (metadata.get("deletionGracePeriodSeconds"), own, GRACE_SECONDS)
    grace = next(each for each in given if isinstance(each, int))
    ends_at = fields.timestamp(metadata.get("deletionTimestamp") or "")
    return max(0, ends_at - max(0, grace))


def _times(status: object) -> Iterator[int]:
    """Yield all times in a status, found by the names of their fields."""
    values = status.items() if isinstance(status, Mapping) else ()
    for name, value in values:
        if isinstance(value, str):
            if name.endswith(("Time", "At")) and _is_time(value):
                yield fields.timestamp(value)
        else:
            yield from _times(value)
    for each in status if isinstance(status, list) else ():
        yield from _times(each)


def _check_time(field: str, text: str) -> None:
    if text:
        moment(field, text)


def _is_time(text: str) -> bool:
    try:
        return bool(RFC_3339.fullmatch(text) and datetime.fromisoformat(text))
    except ValueError:
        return False


# Known kinds and versions, and misspelt kinds.

Kind = Reader[Any]


def _only_expanded(kind: JobKind) -> Kind:
    """Return the reader of a workload that is not watched: only the pods made from it are read."""
    return Reader(kind=kind.name, versions=kind.versions, read=lambda body: body)


BESIDE_QUEUES: Final = frozenset({*KUEUE_TOPOLOGIES, VOLCANO_POD_GROUPS})
"""Kinds of products with queues that a file may have, although it lacks the queues."""
_DECLARING: Final = frozenset({QUEUES, *CLUSTER_QUEUES, *COHORTS, VOLCANO_QUEUES})
"""Kinds that declare queues."""
ALL: Final[tuple[Kind, ...]] = (
    *(each.reader for each in KINDS),
    *(_only_expanded(each) for each in table.KINDS if each.versions and each.read is None),
)


def kind_of(body: Mapping[str, Any]) -> Kind | None:
    """Return the kind of an object, None for an unknown one.

    Raises InvalidField for a misspelt kind and for a version that does not exist. The same name in
    a product's own API group is another kind, and not a mistake.
    """
    name, api_version = _text(body, "kind"), _text(body, "apiVersion")
    alike = _BY_NAME.get(_plain(name), ())
    group = group_of(api_version)
    if not alike or not (is_builtin(group) or any(group == each.gvr.group for each in alike)):
        return None
    exact = (each for each in alike if each.kind == name and api_version in _versions(each))
    found = next(exact, None)
    if found is None:
        raise _misspelt(name, api_version, alike)
    return found


def served(gvrs: Iterable[GVR]) -> frozenset[Product]:
    """Return the products that may have queues in a cluster that serves these kinds."""
    groups = {each.group for each in gvrs if each not in BESIDE_QUEUES}
    others = (product for product, named in QUEUES_NAMED.items() if named.group in groups)
    return frozenset({Product.OURS, *others})


def kind_named(bodies: Iterable[Mapping[str, Any]]) -> frozenset[Product]:
    """Return the products whose queue names count if the input has these objects.

    Without any object that declares a queue, the name of a queue of another product may be a label
    that is not read.
    """
    gvrs = {each.gvr for each in map(_known, bodies) if each is not None}
    return frozenset(Product) if gvrs & _DECLARING else served(gvrs)


def _known(body: Mapping[str, Any]) -> Kind | None:
    try:
        return kind_of(body)
    except InvalidField:
        return None  # The fault is reported where the object is read.


def is_builtin(group: str) -> bool:
    """Return whether an API group is one of Kubernetes itself."""
    return "." not in group or group.endswith(".k8s.io")


def _plain(name: str) -> str:
    return name.lower().rstrip("s")


_BY_NAME: Final[defaultdict[str, list[Kind]]] = defaultdict(list)
"""The kinds by name, to look up each object."""
for _each in ALL:
    _BY_NAME[_plain(_each.kind)].append(_each)


def _versions(kind: Kind) -> list[str]:
    return [gvr.api_version for gvr in kind.versions]


def _misspelt(name: str, api_version: str, alike: Iterable[Kind]) -> InvalidField:
    right = next(iter(alike)).kind
    if name != right:
        return InvalidField("kind", name, f"must be {right}")
    versions = " or ".join(version for each in alike for version in _versions(each))
    return InvalidField("apiVersion", api_version, f"must be {versions} for a {name}")


def _text(body: Mapping[str, Any], field: str) -> str:
    value = body.get(field)
    if value is None or value == "":
        raise InvalidField(field, None, "is required")
    if not isinstance(value, str):
        raise InvalidField(field, value, "must be a string")
    return value


# Topologies of the input: a wrong type is refused, and for a topology without a tree a reason is
# given.


class _Layer(Wire, frozen=True):
    topology_layer: str = ""
    parent_topology_layer: str = ""
    label_key: list[str] = field(default_factory=list)


class _Spec(Wire, frozen=True):
    network_topology_spec: list[_Layer] = field(default_factory=list)


class _ClusterNetworkTopology(Wire, frozen=True):
    """The types in a ClusterNetworkTopology. Its layers are checked as on a cluster."""

    spec: _Spec = _Spec()


def cluster_network_topology(body: Mapping[str, Any]) -> DeclaredTopology:
    """Return the declaration of a ClusterNetworkTopology. Raises InvalidField for a wrong type."""
    fields.read(body, _ClusterNetworkTopology)
    return topology.read(body)


def kueue_topology(body: Mapping[str, Any]) -> DeclaredTopology:
    """Return the declaration of a Kueue Topology. Raises InvalidField for a wrong type."""
    fields.read(body, topology.Topology)
    return topology.read_kueue_topology(body)


def why_unused(declared: DeclaredTopology) -> str:
    """Return why there is no tree, in the words of the condition; "" if there is one."""
    if not declared.is_used:
        return topology_status.not_default(DEFAULT_NAME).message
    if not declared.problem:
        return ""
    return topology_status.invalid_spec(declared.problem, kept=False).message


# Claims and volumes after the controllers of a cluster have handled them.

IS_DEFAULT: Final = "storageclass.kubernetes.io/is-default-class"

Body = Mapping[str, Any]


def volume_fillers(classes: Iterable[Body]) -> Mapping[GVR, Callable[[Body], Body]]:
    """Return functions that fill claims and volumes as controllers would, by StorageClass."""
    default = _default_class(classes)
    return {
        PERSISTENT_VOLUME_CLAIMS: lambda body: _settled_claim(body, default),
        PERSISTENT_VOLUMES: _settled_volume,
    }


def claims_of(pod: Body) -> Iterator[Body]:
    """Yield the claims of the generic ephemeral volumes of a pod. Raises InvalidField."""
    for i, volume in enumerate(fields.read(pod, pod_wire.Pod).spec.volumes):
        if volume.ephemeral is None:
            continue
        template = volume.ephemeral.get("volumeClaimTemplate")
        if not isinstance(template, Mapping):
            where = f"spec.volumes[{i}].ephemeral.volumeClaimTemplate"
            raise InvalidField(where, template, "must be an object")
        given = template.get("metadata", {})
        if not isinstance(given, Mapping):
            where = f"spec.volumes[{i}].ephemeral.volumeClaimTemplate.metadata"
            raise InvalidField(where, given, "must be an object")
        name = f"{pod['metadata']['name']}-{volume.name}"
        metadata = {**given, **controllers.owned(pod, name)}
        spec = template.get("spec", {})
        yield {
            "apiVersion": "v1",
            "kind": "PersistentVolumeClaim",
            "metadata": metadata,
            "spec": spec,
        }


def _settled_claim(body: Body, default: str) -> Body:
    """Return a claim with a class, if there is a default; bound if it names its volume."""
    source = fields.read(body, volume_wire.Claim)
    spec = {"storageClassName": default, **body.get("spec", {})}
    if not source.spec.volume_name or source.status.phase not in ("", "Bound"):
        return {**body, "spec": spec}
    known = source.metadata.annotations
    metadata = {**body["metadata"], "annotations": {**known, volume_decode.BIND_COMPLETED: "yes"}}
    return {**body, "spec": spec, "metadata": metadata}


def _settled_volume(body: Body) -> Body:
    """Return a volume with its phase; by default Bound if it has a claimRef, else Available."""
    source = fields.read(body, volume_wire.Volume)
    phase = "Available" if source.spec.claim_ref is None else "Bound"
    return {**body, "status": {"phase": source.status.phase or phase}}


def _default_class(classes: Iterable[Body]) -> str:
    """Return the name of the youngest default StorageClass, as admission does; "" without one."""
    found = [
        each["metadata"]["name"]
        for each in classes
        if each["metadata"].get("annotations", {}).get(IS_DEFAULT) == "true"
    ]
    return found[-1] if found else ""
