"""Manifests of resource.k8s.io/v1: classes, slices, claims and templates of one driver."""

from typing import Any

from gang_scheduler.api import annotations
from gang_scheduler.api.kinds import DEVICE_CLASSES, RESOURCE_CLAIMS, RESOURCE_SLICES
from gang_scheduler.client.fake.cluster import FakeCluster
from gang_scheduler.decode.devices.objects import decode_claim

DRIVER = "gpu.example.com"
CLASS = "gpu"
Body = dict[str, Any]
V1 = RESOURCE_CLAIMS.api_version


def device_class(name: str = CLASS, **spec: Any) -> Body:
    """Return a class of all devices of the driver."""
    selectors = [{"cel": {"expression": f"device.driver == '{DRIVER}'"}}]
    metadata = {"name": name, "uid": f"uid-{name}"}
    return _object("DeviceClass", metadata, spec={"selectors": selectors, **spec})


def resource_slice(
    node: str, devices: int = 4, *, of_device: Body | None = None, **spec: Any
) -> Body:
    """Return the pool of a node, with devices gpu-0, gpu-1 and so on; each has `of_device`."""
    pool = {"name": node, "generation": 1, "resourceSliceCount": 1}
    found = [{"name": f"gpu-{each}", **(of_device or {})} for each in range(devices)]
    given = {"driver": DRIVER, "nodeName": node, "pool": pool, "devices": found, **spec}
    metadata = {"name": f"{node}-{DRIVER}", "uid": f"uid-{node}-slice"}
    return _object("ResourceSlice", metadata, spec=given)


def request(count: int = 1, name: str = "gpu", device_class: str = CLASS) -> Body:
    """Return a request for devices of a class."""
    return {"name": name, "exactly": {"deviceClassName": device_class, "count": count}}


def claim(name: str, *requests: Body, owner: str = "", **metadata: Any) -> Body:
    """Return an unallocated claim, by default for one device; with an owner, a pod controls it."""
    of = {"apiVersion": "v1", "kind": "Pod", "name": owner, "uid": f"uid-{owner}"}
    owners = {"ownerReferences": [{**of, "controller": True}]} if owner else {}
    given = {"namespace": "default", "name": name, "uid": f"uid-claim-{name}", **owners, **metadata}
    spec = {"devices": {"requests": [*(requests or (request(),))]}}
    return _object("ResourceClaim", given, spec=spec)


def template(name: str, *requests: Body) -> Body:
    """Return a template of claims, by default for one device."""
    spec = {"spec": {"devices": {"requests": [*(requests or (request(),))]}}}
    metadata = {"namespace": "default", "name": name, "uid": f"uid-template-{name}"}
    return _object("ResourceClaimTemplate", metadata, spec=spec)


def allocated(body: Body, node: str, *devices: str, pods: tuple[str, ...] = ()) -> Body:
    """Return a claim with devices of a node, reserved for pods."""
    term = {"matchFields": [{"key": "metadata.name", "operator": "In", "values": [node]}]}
    results = [
        {"request": "gpu", "driver": DRIVER, "pool": node, "device": each} for each in devices
    ]
    allocation = {
        "devices": {"results": results},
        "nodeSelector": {"nodeSelectorTerms": [term]},
    }
    users = [{"resource": "pods", "name": each, "uid": f"uid-{each}"} for each in pods]
    return {**body, "status": {"allocation": allocation, "reservedFor": users}}


def marked(body: Body) -> Body:
    """Return an allocated claim with the mark that the scheduler writes on its allocations."""
    allocation = decode_claim(body).allocation
    assert allocation is not None
    marks = {annotations.ALLOCATED: allocation.mark}
    return {**body, "metadata": {**body["metadata"], "annotations": marks}}


def naming(*entries: Body, created: dict[str, str] | None = None) -> Body:
    """Return the fields of a pod that name claims, with the claims that were created for it."""
    made = [
        {"name": entry, **({"resourceClaimName": name} if name else {})}
        for entry, name in (created or {}).items()
    ]
    return {"spec": {"resourceClaims": [*entries]}, "status": {"resourceClaimStatuses": made}}


def by_name(claim: str, entry: str = "gpu") -> Body:
    """Return an entry of a pod that names a claim."""
    return {"name": entry, "resourceClaimName": claim}


def by_template(template: str, entry: str = "gpu") -> Body:
    """Return an entry of a pod that names a template."""
    return {"name": entry, "resourceClaimTemplateName": template}


def attached_later(*conditions: str) -> Body:
    """Return the fields of a device that its driver must attach before a pod may use it."""
    if not conditions:
        return {}
    return {
        "bindingConditions": [*conditions],
        "bindingFailureConditions": ["Failed"],
        "bindsToNode": True,
    }


def publish(
    cluster: FakeCluster, *nodes: str, devices: int = 4, conditions: tuple[str, ...] = ()
) -> None:
    """Put the class, and the slices of nodes, into a fake cluster."""
    cluster.put(DEVICE_CLASSES, device_class())
    for node in nodes:
        made = resource_slice(node, devices, of_device=attached_later(*conditions))
        cluster.put(RESOURCE_SLICES, made)


def _object(kind: str, metadata: Body, **parts: Any) -> Body:
    return {"apiVersion": V1, "kind": kind, "metadata": metadata, **parts}
