"""The bodies of requests for nodes, and of the PodTemplates that they name."""

from collections.abc import Iterable, Mapping
from typing import Any, Final

from gang_scheduler.api import annotations
from gang_scheduler.api.kinds import GVR
from gang_scheduler.client.port import Body
from gang_scheduler.decode.provisioning import MANAGED_BY, OURS, written
from gang_scheduler.decode.workloads import table
from gang_scheduler.model.provisioning import Asking, ProvisioningRequest
from gang_scheduler.state.cache import Cache

LEFT_OUT: Final = frozenset({"nodeName", "ephemeralContainers", "schedulingGates"})
"""Fields of a pod's spec that no template may have, or that say nothing of it."""
LABELS: Final = {MANAGED_BY: OURS}


def template_name(request: ProvisioningRequest, number: int) -> str:
    """Return the name of the PodTemplate of a pod set, counted from 0."""
    return f"{request.name}-{number}"


def owners_of(cache: Cache, asking: Asking) -> list[Body]:
    """Return the references to the object of a gang; to its members where there is none.

    With the last of its owners a request is deleted by Kubernetes itself.
    """
    key = asking.gang.key
    info = cache.gang_queue.infos.get(key)
    spec = info.observed.spec if info is not None else None
    if spec is not None and spec.gvr is not None and spec.uid:
        kind = table.BY_NAME[key.source].object_kind
        # A JobSet's gang is called after its job, too.
        return [_owner(spec.gvr.api_version, kind, key.name.partition("/")[0], spec.uid)]
    return [_owner("v1", "Pod", each.pod.name, each.pod.uid) for each in asking.pod_sets]


def template(
    name: str, pod: Body, node_labels: Iterable[tuple[str, str]], owners: Iterable[Body]
) -> Body:
    """Return a PodTemplate of pods like this one, on nodes with these labels."""
    metadata, spec = pod.get("metadata", {}), pod.get("spec", {})
    kept = {key: value for key, value in spec.items() if key not in LEFT_OUT}
    selector = {**(spec.get("nodeSelector") or {}), **dict(node_labels)}
    return {
        "apiVersion": "v1",
        "kind": "PodTemplate",
        "metadata": _metadata(name, owners),
        "template": {
            "metadata": {"labels": metadata.get("labels") or {}},
            "spec": {**kept, **({"nodeSelector": selector} if selector else {})},
        },
    }


def request(gvr: GVR, asking: Asking, wanted: ProvisioningRequest, owners: Iterable[Body]) -> Body:
    """Return a ProvisioningRequest."""
    ours = {
        annotations.PROVISIONED_GANG: written(wanted.gang),
        annotations.PROVISIONED_GANG_UID: wanted.gang_uid,
        annotations.PROVISIONING_DIGEST: wanted.digest,
        annotations.PROVISIONING_ATTEMPT: str(wanted.attempt),
    }
    pod_sets = [
        {"podTemplateRef": {"name": template_name(wanted, number)}, "count": each.number}
        for number, each in enumerate(asking.pod_sets)
    ]
    return {
        "apiVersion": gvr.api_version,
        "kind": "ProvisioningRequest",
        "metadata": {**_metadata(wanted.name, owners), "annotations": ours},
        "spec": {
            "provisioningClassName": wanted.class_name,
            "podSets": pod_sets,
            **({"parameters": dict(asking.parameters)} if asking.parameters else {}),
        },
    }


def _metadata(name: str, owners: Iterable[Body]) -> dict[str, Any]:
    return {"name": name, "labels": LABELS, "ownerReferences": list(owners)}


def _owner(api_version: str, kind: str, name: str, uid: str) -> Mapping[str, str]:
    return {"apiVersion": api_version, "kind": kind, "name": name, "uid": uid}
