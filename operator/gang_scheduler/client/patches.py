"""Bodies of patches: for claims of volumes and devices, and merge patches of any object."""

from collections.abc import Iterable, Mapping
from typing import Any

from gang_scheduler.api.annotations import ALLOCATED, SELECTED_NODE
from gang_scheduler.client.errors import ApiError
from gang_scheduler.client.interfaces import Body
from gang_scheduler.model import extended_resources
from gang_scheduler.model.devices import Claim, Consumer
from gang_scheduler.model.extended_resources import ExtendedNeed
from gang_scheduler.model.pods import ENDED
from gang_scheduler.model.refs import ClaimRef, PodRef, VolumeRef

# Patches that get a claim and a volume bound, as kube-scheduler writes them. Each patch applies
# only to the version that was read, so it overwrites no other change. The provisioner and the PV
# controller do the rest.

BOUND_BY_CONTROLLER = "pv.kubernetes.io/bound-by-controller"


def selecting_node(found: Mapping[str, Any], claim: ClaimRef, node: str) -> Body | None:
    """Return the patch that requests a volume on a node; None if the claim needs no patch.

    Raises ApiError if the claim was replaced by another one, or another node was selected.
    """
    metadata = _same(found, claim.uid, f"claim {claim.key}")
    selected = (metadata.get("annotations") or {}).get(SELECTED_NODE, "")
    if found["spec"].get("volumeName") or selected == node:
        return None
    if selected:
        raise ApiError(422, f"for claim {claim.key} node {selected} was selected")
    return {"metadata": {**_version(metadata), "annotations": {SELECTED_NODE: node}}}


def reserving_claim(found: Mapping[str, Any], volume: VolumeRef, claim: ClaimRef) -> Body | None:
    """Return the patch that gives a volume to a claim; None if the claim already has it.

    Raises ApiError if the volume was replaced by another one, or belongs to another claim.
    """
    metadata = _same(found, volume.uid, f"volume {volume.name}")
    owner = found["spec"].get("claimRef") or {}
    meant = not owner or (owner.get("namespace"), owner.get("name")) == (
        claim.namespace,
        claim.name,
    )
    if not meant or owner.get("uid", "") not in ("", claim.uid):
        whose = f"{owner.get('namespace')}/{owner.get('name')}"
        raise ApiError(422, f"volume {volume.name} is for claim {whose}")
    if owner.get("uid"):
        return None
    reference = {"apiVersion": "v1", "kind": "PersistentVolumeClaim", **claim._asdict()}
    # If a user set the claimRef, it has no uid and stays; the PV controller may undo ours.
    ours = {} if owner else {"annotations": {BOUND_BY_CONTROLLER: "yes"}}
    return {"metadata": {**_version(metadata), **ours}, "spec": {"claimRef": reference}}


# Patches of claims of devices. Each applies only to the version of the claim that was planned on.
# Allocation and pods are written together: the API server refuses users of an unallocated claim.

CLAIM_FINALIZER = "resource.kubernetes.io/delete-protection"


def protecting_claim(claim: Claim, mark: str) -> Body:
    """Return the patch that prepares a claim for its allocation, which has this mark.

    With the finalizer, an allocated claim is not deleted.
    """
    finalizers = [*dict.fromkeys((*claim.finalizers, CLAIM_FINALIZER))]
    marks = {ALLOCATED: mark}
    return {
        "metadata": {**_version_of(claim), "finalizers": finalizers, "annotations": marks},
    }


def unprotecting_claim(claim: Claim) -> Body:
    """Return the patch that lets an allocated claim be deleted."""
    finalizers = [each for each in claim.finalizers if each != CLAIM_FINALIZER]
    return {"metadata": {**_version_of(claim), "finalizers": finalizers}}


def claim_for(pod: PodRef, extended: Iterable[ExtendedNeed]) -> Body:
    """Return the claim for the extended resources of a pod, as kube-scheduler makes it."""
    owner = {"apiVersion": "v1", "kind": "Pod", "name": pod.name, "uid": pod.uid}
    requests = [
        {
            "name": request.name,
            "exactly": {
                "deviceClassName": each.device_class,
                "allocationMode": "ExactCount",
                "count": each.count,
            },
        }
        for request in extended_resources.spec_of(extended).requests
        for each in request.alternatives
    ]
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaim",
        "metadata": {
            "namespace": pod.namespace,
            "name": extended_resources.claim_name(pod.name, pod.uid),
            "generateName": extended_resources.base_of_name(pod.name),
            "annotations": {extended_resources.ANNOTATION: "true"},
            "ownerReferences": [{**owner, "controller": True}],
            "finalizers": [CLAIM_FINALIZER],
        },
        "spec": {"devices": {"requests": requests}},
    }


def naming_claim(pod: PodRef, claim: str, extended: Iterable[ExtendedNeed]) -> Body:
    """Return the patch of a pod's status that tells the kubelet which container gets what."""
    mappings = [
        {
            "containerName": each.container,
            "resourceName": each.resource,
            "requestName": each.request,
        }
        for need in extended
        for each in need.mappings
    ]
    said = {"resourceClaimName": claim, "requestMappings": mappings}
    return {"metadata": {"uid": pod.uid}, "status": {"extendedResourceClaimStatus": said}}


def allocating_devices(
    claim: Claim, version: str, allocation: Mapping[str, Any], users: Iterable[Consumer]
) -> Body:
    """Return the patch of a claim's status in this version that gives it devices and users."""
    metadata = {"uid": claim.uid, "resourceVersion": version}
    reserved = [*map(_consumer, users)]
    return {"metadata": metadata, "status": {"allocation": allocation, "reservedFor": reserved}}


def reserving_devices(claim: Claim, users: Iterable[Consumer]) -> Body:
    """Return the patch of an allocated claim's status that adds users to it."""
    reserved = [*map(_consumer, (*claim.reserved_for, *users))]
    return {"metadata": _version_of(claim), "status": {"reservedFor": reserved}}


def withdrawing_devices(claim: Claim, users: Iterable[Consumer] | None) -> Body:
    """Return the patch that leaves these users on a claim; None removes its devices, too."""
    metadata = _version_of(claim)
    if users is None:
        return {"metadata": metadata, "status": {"allocation": None, "reservedFor": None}}
    return {"metadata": metadata, "status": {"reservedFor": [*map(_consumer, users)]}}


def _version_of(claim: Claim) -> dict[str, str]:
    return {"uid": claim.uid, "resourceVersion": claim.resource_version}


def _consumer(found: Consumer) -> dict[str, str]:
    said = {"apiGroup": found.api_group} if found.api_group else {}
    return {**said, "resource": found.resource, "name": found.name, "uid": found.uid}


def version_of(document: Mapping[str, Any]) -> int:
    """Return the resourceVersion of an object: a later version is a larger number."""
    return int(document["metadata"]["resourceVersion"])


def version_of_living(found: Mapping[str, Any], pod: PodRef) -> dict[str, str]:
    """Return the metadata of a patch for this version of a pod.

    Raises ApiError, GONE, if the pod is another one now, is being deleted or has ended.
    """
    metadata = _same(found, pod.uid, f"pod {pod.name}")
    if "deletionTimestamp" in metadata:
        raise ApiError(404, f"pod {pod.name} is being deleted")
    phase = found.get("status", {}).get("phase", "")
    if phase in ENDED:
        raise ApiError(404, f"pod {pod.name} has ended: {phase}")
    return _version(metadata)


def _same(found: Mapping[str, Any], uid: str, what: str) -> Mapping[str, Any]:
    metadata: Mapping[str, Any] = found["metadata"]
    if metadata["uid"] != uid:
        raise ApiError(404, f"{what} is another one now")
    return metadata


def _version(metadata: Mapping[str, Any]) -> dict[str, str]:
    return {key: metadata[key] for key in ("uid", "resourceVersion")}


# JSON merge patches (RFC 7396), computed from an object before and after a change. A patch
# replaces lists as a whole, so a patch with a list in it is only safe for the exact version of the
# object from which it was made.

Document = Mapping[str, Any]


def merge_patch(before: Document, after: Document) -> dict[str, Any]:
    """Return the smallest patch that turns `before` into `after`; empty if they are equal.

    A null in a map of `after` counts as absent, as in every patch.
    """
    patch: dict[str, Any] = dict.fromkeys(before.keys() - after.keys())
    for key, wanted in after.items():
        there = before.get(key)
        if isinstance(wanted, Mapping) and isinstance(there, Mapping):
            if changes := merge_patch(there, wanted):
                patch[key] = changes
        elif key not in before or wanted != there:
            patch[key] = wanted
    return patch
