"""Claims and volumes as the controllers of a cluster would leave them."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Final

from gang_scheduler.api.kinds import GVR, PERSISTENT_VOLUME_CLAIMS, PERSISTENT_VOLUMES
from gang_scheduler.api.parsing import InvalidField
from gang_scheduler.decode import fields
from gang_scheduler.decode import volumes as volume_decode
from gang_scheduler.decode.workloads.members import bodies
from gang_scheduler.wire import pods as pod_wire
from gang_scheduler.wire import volumes as volume_wire

IS_DEFAULT: Final = "storageclass.kubernetes.io/is-default-class"

Body = Mapping[str, Any]


def fillers(classes: Iterable[Body]) -> Mapping[GVR, Callable[[Body], Body]]:
    """Return what controllers would fill into claims and volumes, by these StorageClasses."""
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
        metadata = {**given, **bodies.owned(pod, name)}
        spec = template.get("spec", {})
        yield {
            "apiVersion": "v1",
            "kind": "PersistentVolumeClaim",
            "metadata": metadata,
            "spec": spec,
        }


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
