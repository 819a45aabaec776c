"""Patches: for the binding of a claim and a volume, and JSON merge patches of any object."""

from collections.abc import Mapping
from typing import Any

from gang_scheduler.api.annotations import SELECTED_NODE
from gang_scheduler.client.errors import ApiError
from gang_scheduler.client.port import Body
from gang_scheduler.model.refs import ClaimRef, VolumeRef

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


def version_of(document: Mapping[str, Any]) -> int:
    """Return the resourceVersion of an object: a later version is a larger number."""
    return int(document["metadata"]["resourceVersion"])


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
