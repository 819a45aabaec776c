"""Objects as an API server keeps them: what it requires of them, and how it changes them."""

import copy
from collections.abc import Mapping
from typing import Any

from gang_scheduler.client.errors import ApiError
from gang_scheduler.client.port import Body
from gang_scheduler.model.refs import PodRef

Document = dict[str, Any]


def uid_of(document: Document) -> str:
    """Return the uid of an object."""
    return str(document["metadata"]["uid"])


def require_uid(found: Document, uid: str) -> None:
    """Refuse to act on an object of another uid. Raises ApiError."""
    if uid_of(found) != uid:
        raise ApiError(409, f"the UID in the precondition ({uid}) is not {uid_of(found)}")


def require_unbound(found: Document, uid: str) -> None:
    """Refuse to bind a pod of another uid, with a node, with gates or being deleted."""
    require_uid(found, uid)
    name, spec = found["metadata"]["name"], found.get("spec", {})
    if "deletionTimestamp" in found["metadata"]:
        raise ApiError(409, f"pod {name} is being deleted, cannot be assigned to a host")
    if spec.get("nodeName"):
        raise ApiError(409, f'pod {name} is already assigned to node "{spec["nodeName"]}"')
    if spec.get("schedulingGates"):
        raise ApiError(409, f"pod {name} has non-empty .spec.schedulingGates")


def require_same(found: Document, pod: PodRef) -> None:
    """Refuse to patch a pod of another uid. Raises ApiError."""
    if uid_of(found) != pod.uid:
        # To the API server not a failed precondition, but an attempt to change the uid.
        raise ApiError(422, f'Pod "{pod.name}" is invalid: metadata.uid: immutable')


def require_unchanged(found: Document, metadata: Body) -> None:
    """Refuse to patch an object of another version, or of another uid. Raises ApiError."""
    known, name = found["metadata"], found["metadata"]["name"]
    if metadata.get("resourceVersion", known["resourceVersion"]) != known["resourceVersion"]:
        raise ApiError(409, f'"{name}": the object has been modified')
    if metadata.get("uid", known["uid"]) != known["uid"]:
        raise ApiError(422, f'"{name}" is invalid: metadata.uid: immutable')


def set_condition(found: Document, condition: Body) -> None:
    """Replace the condition of the same type, or add it."""
    conditions = found.setdefault("status", {}).setdefault("conditions", [])
    others = [each for each in conditions if each["type"] != condition["type"]]
    found["status"]["conditions"] = [*others, dict(condition)]


def merge(into: object, patch: object) -> object:
    """Apply a JSON merge patch (RFC 7396)."""
    if not isinstance(patch, Mapping):
        return copy.deepcopy(patch)
    merged = dict(into) if isinstance(into, Mapping) else {}
    for key, value in patch.items():
        if value is None:
            merged.pop(key, None)
        else:
            merged[key] = merge(merged.get(key), value)
    return merged
