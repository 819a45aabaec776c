"""Claims and volumes as the controllers of a cluster would leave them."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from gang_scheduler.api.kinds import (
    CSI_DRIVERS,
    CSI_NODES,
    CSI_STORAGE_CAPACITIES,
    GVR,
    PERSISTENT_VOLUME_CLAIMS,
    PERSISTENT_VOLUMES,
    STORAGE_CLASSES,
    VOLUME_ATTACHMENTS,
)
from gang_scheduler.api.parsing import InvalidField
from gang_scheduler.decode import fields
from gang_scheduler.decode import volumes as volume_decode
from gang_scheduler.decode.volume_objects import VolumeObject
from gang_scheduler.simulation import kinds, workloads
from gang_scheduler.simulation.kinds import Kind
from gang_scheduler.wire import pods as pod_wire
from gang_scheduler.wire import volumes as volume_wire

IS_DEFAULT: Final = "storageclass.kubernetes.io/is-default-class"

Body = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Stored:
    """A claim, a volume, or another storage object."""

    gvr: GVR
    found: VolumeObject


RESOURCES: Final[Mapping[Kind, GVR]] = {
    kinds.PERSISTENT_VOLUME_CLAIM: PERSISTENT_VOLUME_CLAIMS,
    kinds.PERSISTENT_VOLUME: PERSISTENT_VOLUMES,
    kinds.STORAGE_CLASS: STORAGE_CLASSES,
    kinds.CSI_NODE: CSI_NODES,
    kinds.CSI_DRIVER: CSI_DRIVERS,
    kinds.CSI_STORAGE_CAPACITY: CSI_STORAGE_CAPACITIES,
    kinds.VOLUME_ATTACHMENT: VOLUME_ATTACHMENTS,
}


def loaders(classes: Iterable[Body]) -> Mapping[Kind, Callable[[Body], Stored]]:
    """Return how each storage kind is read; `classes` are the StorageClasses of the input."""
    default = _default_class(classes)
    return {kind: _loader(kind, default) for kind in RESOURCES}


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
        metadata = {
            **given,
            **workloads.owned(pod, "Pod", f"{pod['metadata']['name']}-{volume.name}"),
        }
        spec = template.get("spec", {})
        yield {
            "apiVersion": "v1",
            "kind": "PersistentVolumeClaim",
            "metadata": metadata,
            "spec": spec,
        }


def _loader(kind: Kind, default: str) -> Callable[[Body], Stored]:
    gvr = RESOURCES[kind]

    def load(body: Body) -> Stored:
        if kind is kinds.PERSISTENT_VOLUME_CLAIM:
            body = _settled_claim(body, default)
        elif kind is kinds.PERSISTENT_VOLUME:
            body = _settled_volume(body)
        return Stored(gvr, volume_decode.READERS[gvr](body))

    return load


def _settled_claim(body: Body, default: str) -> Body:
    """Return a claim with a class if there is a default, bound if it names its volume."""
    source = fields.read(body, volume_wire.Claim)
    spec = {"storageClassName": default, **body.get("spec", {})}
    if not source.spec.volume_name or source.status.phase not in ("", "Bound"):
        return {**body, "spec": spec}
    known = source.metadata.annotations
    metadata = {**body["metadata"], "annotations": {**known, volume_decode.BIND_COMPLETED: "yes"}}
    return {**body, "spec": spec, "metadata": metadata}


def _settled_volume(body: Body) -> Body:
    """Return a volume with a phase: its own, else Bound with a claimRef, else Available."""
    source = fields.read(body, volume_wire.Volume)
    phase = "Available" if source.spec.claim_ref is None else "Bound"
    return {**body, "status": {"phase": source.status.phase or phase}}


def _default_class(classes: Iterable[Body]) -> str:
    """Return the name of the youngest default class, as admission chooses; "" for none."""
    found = [
        each["metadata"]["name"]
        for each in classes
        if each["metadata"].get("annotations", {}).get(IS_DEFAULT) == "true"
    ]
    return found[-1] if found else ""
