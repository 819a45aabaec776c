"""Builders of what volumes are about, as the model has it and as the API server sends it.

`disk`, `need` and `volumes` build the model; those that end in `_body` build API objects. Sizes are
in bytes in the model.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from gang_scheduler.model.gangs import Gang
from gang_scheduler.model.nodes import Node
from gang_scheduler.model.pods import Pod
from gang_scheduler.model.selectors import NodeTerm
from gang_scheduler.model.volumes import Need, Provisioning, Storage, Use, Volume, Volumes
from gang_scheduler.state.cache import Cache
from gang_scheduler.state.changes import Changes
from support import cache_feeding
from support.builders import NAMESPACE, SCHEDULER, Text, node, requirement

HOST = "host"
LOCAL = "local"
LATE = "late"
DRIVER = "csi.example.com"

Body = dict[str, Any]


def hosts(*names: str) -> list[Node]:
    """Return nodes that volumes can name."""
    return [node(name, labels={HOST: name}) for name in names]


def on(*names: str) -> tuple[NodeTerm, ...]:
    """Return the terms of a volume that these nodes reach."""
    return ((requirement(HOST, "In", *names),),)


def disk(name: str, *nodes: str, storage_class: str = LOCAL, size: int = 1, **rest: Any) -> Volume:
    """Return a volume that these nodes reach, or all."""
    return Volume(name, storage_class, size, nodes=on(*nodes) if nodes else None, **rest)


def need(storage_class: str = LOCAL, size: int = 1, **rest: Any) -> Need:
    """Return what a claim asks for that is bound with its pod."""
    return Need(storage_class, size, **rest)


def needing(*needs: Need) -> Storage:
    """Return what a pod asks for that has such claims."""
    return Storage(needs=needs)


def volumes(
    *available: Volume,
    made: Mapping[str, Provisioning] | None = None,
    uses: Iterable[Use] = (),
    **rest: Any,
) -> Volumes:
    """Return what there is: these volumes, and classes that make more."""
    in_order = sorted(available, key=lambda each: (each.size, each.name))
    by_class = {
        name: tuple(each for each in in_order if each.storage_class == name)
        for name in {each.storage_class for each in in_order}
    }
    return Volumes(by_class, made or {}, dict.fromkeys(uses, 1), **rest)


def claim_body(
    name: str,
    storage_class: str = LATE,
    *,
    size: str = "1Gi",
    volume: str = "",
    selected: str = "",
    owner: str = "",
    modes: Sequence[str] = ("ReadWriteOnce",),
    metadata: Mapping[str, Any] | None = None,
    status: Mapping[str, Any] | None = None,
    **spec: Any,
) -> Body:
    """Return a claim, bound if it has a volume; `owner` is the uid of its controller."""
    notes = {
        **({"pv.kubernetes.io/bind-completed": "yes"} if volume else {}),
        **({"volume.kubernetes.io/selected-node": selected} if selected else {}),
    }
    own: Body = {"name": name, "namespace": NAMESPACE, "uid": f"uid-{name}", "annotations": notes}
    if owner:
        own["ownerReferences"] = [{"kind": "Pod", "uid": owner, "controller": True}]
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {"resourceVersion": "1", **own, **(metadata or {})},
        "spec": {
            "accessModes": list(modes),
            "resources": {"requests": {"storage": size}},
            "storageClassName": storage_class,
            "volumeName": volume,
            **spec,
        },
        "status": {"phase": "Bound" if volume else "Pending", **(status or {})},
    }


def volume_body(
    name: str,
    storage_class: str = LATE,
    *,
    nodes: Sequence[str] = (),
    claim: str = "",
    claim_uid: str = "",
    size: str = "1Gi",
    handle: str = "",
    labels: Text | None = None,
    phase: str = "",
    version: int = 1,
    **spec: Any,
) -> Body:
    """Return a volume that these nodes reach, or all; `claim` is the name of whose it is."""
    terms = [{"matchExpressions": [{"key": HOST, "operator": "In", "values": list(nodes)}]}]
    reference = {"namespace": NAMESPACE, "name": claim, "uid": claim_uid or f"uid-{claim}"}
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolume",
        "metadata": {
            "name": name,
            "uid": f"uid-{name}",
            "labels": dict(labels or {}),
            "resourceVersion": str(version),
        },
        "spec": {
            "accessModes": ["ReadWriteOnce"],
            "capacity": {"storage": size},
            "storageClassName": storage_class,
            **({"nodeAffinity": {"required": {"nodeSelectorTerms": terms}}} if nodes else {}),
            **({"claimRef": reference} if claim else {}),
            **({"csi": {"driver": DRIVER, "volumeHandle": handle}} if handle else {}),
            **spec,
        },
        "status": {"phase": phase or ("Bound" if claim else "Available")},
    }


def class_body(name: str = LATE, provisioner: str = DRIVER, *, waits: bool = True) -> Body:
    """Return a class whose claims wait for their pods."""
    mode = "WaitForFirstConsumer" if waits else "Immediate"
    return {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "StorageClass",
        "metadata": {"name": name, "uid": f"uid-{name}"},
        "provisioner": provisioner,
        "volumeBindingMode": mode,
    }


def local_class_body() -> Body:
    """Return a class without a provisioner."""
    return class_body(LOCAL, "kubernetes.io/no-provisioner")


def csi_node_body(name: str, limit: int | None, driver: str = DRIVER) -> Body:
    """Return the drivers of a node: one, with a limit."""
    found = {"name": driver, "nodeID": name, "allocatable": {"count": limit}}
    return {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "CSINode",
        "metadata": {"name": name, "uid": f"uid-csi-{name}"},
        "spec": {"drivers": [found]},
    }


def attachment_body(name: str, volume: str, on_node: str) -> Body:
    """Return an attachment of a volume to a node."""
    source = {"persistentVolumeName": volume}
    return {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "VolumeAttachment",
        "metadata": {"name": name, "uid": f"uid-{name}"},
        "spec": {"attacher": DRIVER, "nodeName": on_node, "source": source},
    }


def mounting(*claims: str, ephemeral: Sequence[str] = ()) -> list[Body]:
    """Return `spec.volumes` of a pod with these claims, and of volumes made for it alone."""
    return [
        *({"name": each, "persistentVolumeClaim": {"claimName": each}} for each in claims),
        *({"name": each, "ephemeral": {"volumeClaimTemplate": {}}} for each in ephemeral),
    ]


def cluster(*bodies: Mapping[str, Any], changes: Changes | None = None) -> Cache:
    """Return a cache that has seen these objects."""
    cache = Cache([SCHEDULER], changes or Changes())
    see(cache, *bodies)
    return cache


def see(cache: Cache, *bodies: Mapping[str, Any]) -> None:
    """Let a cache see objects as they are now."""
    event_handlers = cache_feeding.event_handlers(cache)
    for body in bodies:
        cache_feeding.tell(event_handlers, "MODIFIED", body)


def lose(cache: Cache, body: Mapping[str, Any]) -> None:
    """Let a cache see that an object is gone."""
    cache_feeding.tell(cache_feeding.event_handlers(cache), "DELETED", body)


def waiting(cache: Cache) -> dict[str, Pod]:
    """Return the pods that the next cycle tries, by name."""
    return {pod.name: pod for gang in gangs_due(cache) for pod in gang.pending}


def gangs_due(cache: Cache) -> list[Gang]:
    """Return the gangs that the next cycle tries."""
    return [gang for group in cache.snapshot(0).groups for gang in group.waiting]
