"""The server's side of the fake API server: its objects, their rules, and their watchers."""

import copy
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Any, Literal

from gang_scheduler.api.kinds import (
    CLUSTER_NETWORK_TOPOLOGIES,
    CSI_DRIVERS,
    CSI_NODES,
    CSI_STORAGE_CAPACITIES,
    DEVICE_CLASSES,
    DEVICE_TAINT_RULES,
    EVENTS,
    GVR,
    JOB_SETS,
    JOBS,
    KUEUE_TOPOLOGIES,
    LEASES,
    NAMESPACES,
    NATIVE_POD_GROUPS,
    NODES,
    PERSISTENT_VOLUME_CLAIMS,
    PERSISTENT_VOLUMES,
    POD_DISRUPTION_BUDGETS,
    POD_GROUPS,
    POD_TEMPLATES,
    PODS,
    PROVISIONING_REQUESTS,
    RESOURCE_CLAIM_TEMPLATES,
    RESOURCE_CLAIMS,
    RESOURCE_SLICES,
    SCHED_PLUGINS_POD_GROUPS,
    STORAGE_CLASSES,
)
from gang_scheduler.client.errors import ApiError
from gang_scheduler.client.interfaces import Body
from gang_scheduler.model.refs import PodRef

# Objects as an API server keeps them: the rules for a write, and how a write changes them.

Document = dict[str, Any]


def uid_of(document: Document) -> str:
    """Return the uid of an object."""
    return str(document["metadata"]["uid"])


def require_uid(found: Document, uid: str) -> None:
    """Refuse to act on an object with another uid. Raises ApiError."""
    if uid_of(found) != uid:
        raise ApiError(409, f"the UID in the precondition ({uid}) is not {uid_of(found)}")


def require_unbound(found: Document, uid: str) -> None:
    """Refuse to bind a pod that has another uid, a node, gates, or is being deleted."""
    require_uid(found, uid)
    name, spec = found["metadata"]["name"], found.get("spec", {})
    if "deletionTimestamp" in found["metadata"]:
        raise ApiError(409, f"pod {name} is being deleted, cannot be assigned to a host")
    if spec.get("nodeName"):
        raise ApiError(409, f'pod {name} is already assigned to node "{spec["nodeName"]}"')
    if spec.get("schedulingGates"):
        raise ApiError(409, f"pod {name} has non-empty .spec.schedulingGates")


def require_same(found: Document, pod: PodRef) -> None:
    """Refuse to patch a pod with another uid. Raises ApiError."""
    if uid_of(found) != pod.uid:
        # The API server sees this as an attempt to change the uid, not as a failed precondition.
        raise ApiError(422, f'Pod "{pod.name}" is invalid: metadata.uid: immutable')


def require_unchanged(found: Document, metadata: Body) -> None:
    """Refuse to patch an object with another version or uid. Raises ApiError."""
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


SERVED = (
    *(PODS, NODES, NAMESPACES, LEASES, EVENTS, POD_DISRUPTION_BUDGETS),
    *(POD_GROUPS, SCHED_PLUGINS_POD_GROUPS, NATIVE_POD_GROUPS[0]),
    *(PERSISTENT_VOLUMES, PERSISTENT_VOLUME_CLAIMS, STORAGE_CLASSES),
    *(CSI_NODES, CSI_DRIVERS, CSI_STORAGE_CAPACITIES),
    *(JOBS, JOB_SETS, CLUSTER_NETWORK_TOPOLOGIES, KUEUE_TOPOLOGIES[0]),
    *(PROVISIONING_REQUESTS[0], POD_TEMPLATES),
    *(DEVICE_CLASSES, RESOURCE_SLICES, RESOURCE_CLAIMS, RESOURCE_CLAIM_TEMPLATES),
    DEVICE_TAINT_RULES[0],
)

Change = Literal["ADDED", "MODIFIED", "DELETED"]
Watcher = Callable[[GVR, Change, Document], None]


class FakeCluster:
    """The objects of a cluster. `watchers` get a copy of every change, before the write returns.

    `without_status` are the kinds whose CRD has no status subresource: their generation counts
    status writes, too.
    """

    def __init__(
        self,
        served: Iterable[GVR] = SERVED,
        without_status: Iterable[GVR] = (),
        *,
        first_version: int = 0,
    ) -> None:
        self.watchers: list[Watcher] = []
        self.without_status = set(without_status)
        self._objects: dict[GVR, dict[tuple[str, str], Document]] = {gvr: {} for gvr in served}
        self._version = first_version

    @property
    def version(self) -> int:
        """The version of the last change."""
        return self._version

    def serve(self, gvr: GVR) -> None:
        """Serve one more kind from now on."""
        self._objects.setdefault(gvr, {})

    def withdraw(self, gvr: GVR) -> None:
        """Delete all objects of a kind, and stop serving it."""
        for namespace, name in list(self._objects[gvr]):
            self._remove(gvr, namespace, name)
        del self._objects[gvr]

    def put(self, gvr: GVR, body: Body) -> Document:
        """Create or replace an object; return it with the fields that a server fills in.

        A body with another uid is another object: watchers see the first one deleted.
        """
        document = copy.deepcopy(dict(body))
        metadata = document["metadata"] = dict(document["metadata"])
        namespace, name = metadata.get("namespace", ""), metadata["name"]
        before = self._objects[gvr].get((namespace, name))
        if before is not None and metadata.get("uid", uid_of(before)) != uid_of(before):
            self._remove(gvr, namespace, name)
            before = None
        known = before["metadata"] if before else {}
        for field, made_up in (
            ("uid", f"uid-{self._version + 1}"),
            ("creationTimestamp", now()),
            ("generation", 1),
        ):
            metadata.setdefault(field, known.get(field, made_up))
        return self._store(gvr, document)

    def has(self, gvr: GVR, namespace: str, name: str) -> bool:
        """Return whether the object exists."""
        return (namespace, name) in self._objects.get(gvr, {})

    def get(self, gvr: GVR, namespace: str, name: str) -> Document:
        """Return a copy of an object. Raises ApiError 404."""
        return copy.deepcopy(self._find(gvr, namespace, name))

    def all(self, gvr: GVR) -> list[Document]:
        """Return copies of all objects of a kind. Raises ApiError 404 for a kind not served."""
        if gvr not in self._objects:
            raise ApiError(404, "the server could not find the requested resource")
        return copy.deepcopy(list(self._objects[gvr].values()))

    def documents(self, gvr: GVR) -> Mapping[tuple[str, str], Document]:
        """Return the objects of a kind by namespace and name. They must not be changed."""
        return self._objects[gvr]

    def remove(self, gvr: GVR, namespace: str, name: str) -> None:
        """Remove an object, even if it has finalizers."""
        self._find(gvr, namespace, name)
        self._remove(gvr, namespace, name)

    def delete(self, gvr: GVR, namespace: str, name: str) -> None:
        """Remove an object; with finalizers only its deletionTimestamp is set."""
        if self._find(gvr, namespace, name)["metadata"].get("finalizers"):
            with self.changing(gvr, namespace, name) as found:
                found["metadata"].setdefault("deletionTimestamp", now())
        else:
            self._remove(gvr, namespace, name)

    @contextmanager
    def changing(self, gvr: GVR, namespace: str, name: str) -> Iterator[Document]:
        """Yield an object to change in place, and store it unless an exception is raised.

        An object that is being deleted disappears with its last finalizer.
        """
        changed = self.get(gvr, namespace, name)
        had_finalizers = bool(changed["metadata"].get("finalizers"))
        yield changed
        self._store(gvr, changed)
        metadata = changed["metadata"]
        if had_finalizers and "deletionTimestamp" in metadata and not metadata.get("finalizers"):
            self._remove(gvr, namespace, name)

    def _find(self, gvr: GVR, namespace: str, name: str) -> Document:
        found = self._objects.get(gvr, {}).get((namespace, name))
        if found is None:
            raise ApiError(404, f'{gvr.plural} "{name}" not found')
        return found

    def _store(self, gvr: GVR, document: Document) -> Document:
        metadata = document["metadata"]
        key = (metadata.get("namespace", ""), metadata["name"])
        before = self._objects[gvr].get(key)
        metadata["resourceVersion"] = before["metadata"]["resourceVersion"] if before else ""
        # As in Kubernetes, a write that changes nothing makes no new version and no event.
        if before != document:
            self._version += 1
            metadata["resourceVersion"] = str(self._version)
            self._objects[gvr][key] = document
            self._tell(gvr, "MODIFIED" if before else "ADDED", document)
        return copy.deepcopy(document)

    def _remove(self, gvr: GVR, namespace: str, name: str) -> None:
        last = copy.deepcopy(self._objects[gvr].pop((namespace, name)))
        # A deletion has its own version, from which a watch can continue.
        self._version += 1
        last["metadata"]["resourceVersion"] = str(self._version)
        self._tell(gvr, "DELETED", last)

    def _tell(self, gvr: GVR, change: Change, document: Document) -> None:
        for watcher in self.watchers:
            watcher(gvr, change, copy.deepcopy(document))


def now() -> str:
    """Return the time as the API server writes it."""
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
