"""The Api port in memory, for tests: answers as an API server does, and fails on demand.

`FakeCluster` is the server's side: the objects, and who watches them. `FakeApi` is one client's
side: its calls, and the faults that they meet. Several clients may share a cluster. The contract
tests hold this module and `kubernetes` to the same answers.
"""

import asyncio
import copy
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Literal, NamedTuple

from gang_scheduler.cluster.errors import BUDGET, ApiError
from gang_scheduler.cluster.ports import (
    CLUSTER_NETWORK_TOPOLOGIES,
    CSI_DRIVERS,
    CSI_NODES,
    CSI_STORAGE_CAPACITIES,
    JOB_SETS,
    JOBS,
    KUEUE_TOPOLOGIES,
    NAMESPACES,
    NATIVE_POD_GROUPS,
    NODES,
    PERSISTENT_VOLUME_CLAIMS,
    PERSISTENT_VOLUMES,
    POD_DISRUPTION_BUDGETS,
    POD_GROUPS,
    PODS,
    SCHED_PLUGINS_POD_GROUPS,
    STORAGE_CLASSES,
    Body,
    ClaimRef,
    PodRef,
    Resource,
    VolumeRef,
)
from gang_scheduler.cluster.volumes import claim_patches

LEASES = Resource("coordination.k8s.io", "v1", "leases")
EVENTS = Resource("events.k8s.io", "v1", "events")
SERVED = (
    *(PODS, NODES, NAMESPACES, LEASES, EVENTS, POD_DISRUPTION_BUDGETS),
    *(POD_GROUPS, SCHED_PLUGINS_POD_GROUPS, NATIVE_POD_GROUPS[0]),
    *(PERSISTENT_VOLUMES, PERSISTENT_VOLUME_CLAIMS, STORAGE_CLASSES),
    *(CSI_NODES, CSI_DRIVERS, CSI_STORAGE_CAPACITIES),
    *(JOBS, JOB_SETS, CLUSTER_NETWORK_TOPOLOGIES, KUEUE_TOPOLOGIES[0]),
)

Document = dict[str, Any]
Change = Literal["ADDED", "MODIFIED", "DELETED"]
Watcher = Callable[[Resource, Change, Document], None]


class FakeCluster:
    """The objects. `watchers` are told of every change with a copy, before the write returns.

    `without_status` are the kinds whose CRD has no status subresource: their generation counts
    status writes, too.
    """

    def __init__(
        self, served: Iterable[Resource] = SERVED, without_status: Iterable[Resource] = ()
    ) -> None:
        self.watchers: list[Watcher] = []
        self.without_status = frozenset(without_status)
        self._objects: dict[Resource, dict[tuple[str, str], Document]] = {
            resource: {} for resource in served
        }
        self._version = 0

    def put(self, resource: Resource, body: Body) -> Document:
        """Create or replace an object and return it with what a server fills in.

        A body of another uid is another object: watchers see the first one go.
        """
        document = copy.deepcopy(dict(body))
        metadata = document["metadata"] = dict(document["metadata"])
        namespace, name = metadata.get("namespace", ""), metadata["name"]
        before = self._objects[resource].get((namespace, name))
        if before is not None and metadata.get("uid", _uid(before)) != _uid(before):
            self._remove(resource, namespace, name)
            before = None
        known = before["metadata"] if before else {}
        for field, made_up in (
            ("uid", f"uid-{self._version + 1}"),
            ("creationTimestamp", _now()),
            ("generation", 1),
        ):
            metadata.setdefault(field, known.get(field, made_up))
        return self._store(resource, document)

    def has(self, resource: Resource, namespace: str, name: str) -> bool:
        """Tell whether there is such an object."""
        return (namespace, name) in self._objects.get(resource, {})

    def get(self, resource: Resource, namespace: str, name: str) -> Document:
        """Return a copy of an object. Raises ApiError 404."""
        return copy.deepcopy(self._find(resource, namespace, name))

    def all(self, resource: Resource) -> list[Document]:
        """Return copies of all objects of a kind. Raises ApiError 404 for one not served."""
        if resource not in self._objects:
            raise ApiError(404, "the server could not find the requested resource")
        return copy.deepcopy(list(self._objects[resource].values()))

    def delete(self, resource: Resource, namespace: str, name: str) -> None:
        """Remove an object; one with finalizers is only marked, as being deleted."""
        if self._find(resource, namespace, name)["metadata"].get("finalizers"):
            with self.changing(resource, namespace, name) as found:
                found["metadata"].setdefault("deletionTimestamp", _now())
        else:
            self._remove(resource, namespace, name)

    @contextmanager
    def changing(self, resource: Resource, namespace: str, name: str) -> Iterator[Document]:
        """Yield an object to be changed in place, and store it unless an exception is raised."""
        changed = self.get(resource, namespace, name)
        yield changed
        self._store(resource, changed)

    def _find(self, resource: Resource, namespace: str, name: str) -> Document:
        found = self._objects.get(resource, {}).get((namespace, name))
        if found is None:
            raise ApiError(404, f'{resource.plural} "{name}" not found')
        return found

    def _store(self, resource: Resource, document: Document) -> Document:
        metadata = document["metadata"]
        key = (metadata.get("namespace", ""), metadata["name"])
        before = self._objects[resource].get(key)
        metadata["resourceVersion"] = before["metadata"]["resourceVersion"] if before else ""
        # As in Kubernetes, a write that changes nothing makes no new version and no event.
        if before != document:
            self._version += 1
            metadata["resourceVersion"] = str(self._version)
            self._objects[resource][key] = document
            self._tell(resource, "MODIFIED" if before else "ADDED", document)
        return copy.deepcopy(document)

    def _remove(self, resource: Resource, namespace: str, name: str) -> None:
        self._tell(resource, "DELETED", self._objects[resource].pop((namespace, name)))

    def _tell(self, resource: Resource, change: Change, document: Document) -> None:
        for watcher in self.watchers:
            watcher(resource, change, copy.deepcopy(document))


class Call(NamedTuple):
    """One call of the port."""

    method: str
    namespace: str
    name: str
    arguments: Body


@dataclass(frozen=True, slots=True)
class Fault:
    """What befalls a call: it takes time, then fails or never ends.

    `after` says that the write has happened by then, and only its answer is late or lost.
    """

    error: ApiError | None = None
    after: bool = False
    delay_seconds: float = 0.0
    hangs: bool = False

    async def strike(self) -> None:
        """Let it happen."""
        if self.hangs:
            await asyncio.Event().wait()
        await asyncio.sleep(self.delay_seconds)
        if self.error is not None:
            raise ApiError(*self.error.details)


NO_FAULT = Fault()

Script = Callable[[Call], Fault | None]
"""Decides what befalls a call. May change the cluster: then somebody else was faster."""


class FakeApi:
    """A client of a fake cluster. `calls` are all that it made; `scripts` decide their faults."""

    def __init__(self, cluster: FakeCluster | None = None) -> None:
        self.cluster = cluster or FakeCluster()
        self.calls: list[Call] = []
        self.scripts: list[Script] = []

    def fail(self, method: str, *faults: Fault, name: str = "") -> None:
        """Let the next calls of a method (on the object of a name, if given) meet these faults."""
        waiting = list(faults)

        def script(call: Call) -> Fault | None:
            matches = call.method == method and name in ("", call.name)
            return waiting.pop(0) if matches and waiting else None

        self.scripts.append(script)

    async def bind(self, pod: PodRef, node: str, annotations: Mapping[str, str]) -> None:
        """Bind the pod, if it still has this uid, and add the annotations in the same write."""
        seen = {"uid": pod.uid, "node": node, "annotations": dict(annotations)}
        async with self._call("bind", pod.namespace, pod.name, seen):
            with self.cluster.changing(PODS, pod.namespace, pod.name) as found:
                _require_unbound(found, pod.uid)
                found.setdefault("spec", {})["nodeName"] = node
                found["metadata"].setdefault("annotations", {}).update(annotations)
                _set_condition(found, {"type": "PodScheduled", "status": "True"})

    async def bound_node(self, pod: PodRef) -> str:
        """Return the node of the pod, "" while it has none; GONE if the uid is another."""
        async with self._call("bound_node", pod.namespace, pod.name, {"uid": pod.uid}):
            found = self.cluster.get(PODS, pod.namespace, pod.name)
            if _uid(found) != pod.uid:
                raise ApiError(404, f"pod {pod.namespace}/{pod.name} is another one now")
            return str(found.get("spec", {}).get("nodeName", ""))

    async def delete_pod(self, pod: PodRef) -> None:
        """Delete the pod, if it still has this uid, with its own grace period."""
        async with self._call("delete_pod", pod.namespace, pod.name, {"uid": pod.uid}):
            found = self.cluster.get(PODS, pod.namespace, pod.name)
            if _uid(found) != pod.uid:
                raise ApiError(409, f"the UID in the precondition ({pod.uid}) is not {_uid(found)}")
            self.cluster.delete(PODS, pod.namespace, pod.name)

    async def evict(self, pod: PodRef, *, dry_run: bool = False) -> None:
        """Delete the same pod as far as budgets allow, or only ask; PROTECTED if they do not."""
        seen = {"uid": pod.uid, "dry_run": dry_run}
        async with self._call("evict", pod.namespace, pod.name, seen):
            found = self.cluster.get(PODS, pod.namespace, pod.name)
            if _uid(found) != pod.uid:
                raise ApiError(409, f"the UID in the precondition ({pod.uid}) is not {_uid(found)}")
            self._charge_budgets(found, dry_run=dry_run)
            if not dry_run:
                self.cluster.delete(PODS, pod.namespace, pod.name)

    async def nominate(self, pod: PodRef, node: str) -> None:
        """Say which node room is made on for a pod; "" says that none is. REFUSED for another."""
        seen = {"uid": pod.uid, "node": node}
        async with self._call("nominate", pod.namespace, pod.name, seen):
            with self.cluster.changing(PODS, pod.namespace, pod.name) as found:
                _require_same(found, pod)
                patch = {"nominatedNodeName": node or None}
                found["status"] = _merge(found.get("status"), patch)

    async def select_node(self, claim: ClaimRef, node: str) -> int:
        """Have the volume of a claim made for a node, and return the claim's version then.

        A bound claim is left alone. REFUSED if another node was selected, GONE if the uid is
        another, CONFLICT if somebody else changes the claim right now.
        """
        seen = {"uid": claim.uid, "node": node}
        async with self._call("select_node", claim.namespace, claim.name, seen):
            return self._change(
                *(PERSISTENT_VOLUME_CLAIMS, claim.namespace, claim.name),
                lambda found: claim_patches.selecting(found, claim, node),
            )

    async def reserve(self, volume: VolumeRef, claim: ClaimRef) -> int:
        """Have a volume bound to a claim, and return the volume's version then.

        REFUSED if it is another claim's, GONE and CONFLICT as above.
        """
        async with self._call("reserve", name=volume.name, arguments={"claim": claim}):
            return self._change(
                *(PERSISTENT_VOLUMES, "", volume.name),
                lambda found: claim_patches.reserving(found, volume, claim),
            )

    async def patch_pod_condition(self, pod: PodRef, condition: Body) -> None:
        """Set one condition of a pod. REFUSED if the uid is another."""
        seen = {"uid": pod.uid, "condition": dict(condition)}
        async with self._call("patch_pod_condition", pod.namespace, pod.name, seen):
            with self.cluster.changing(PODS, pod.namespace, pod.name) as found:
                _require_same(found, pod)
                _set_condition(found, condition)

    async def patch_status(
        self, resource: Resource, namespace: str, name: str, status: Body
    ) -> bool:
        """Merge into the status by the way the CRD allows; tell whether that was a subresource."""
        seen = {"resource": resource, "status": dict(status)}
        async with self._call("patch_status", namespace, name, seen):
            with self.cluster.changing(resource, namespace, name) as found:
                merged = _merge(found.get("status"), status)
                if resource in self.cluster.without_status and merged != found.get("status"):
                    found["metadata"]["generation"] += 1
                found["status"] = merged
        return resource not in self.cluster.without_status

    async def create_event(self, namespace: str, event: Body) -> None:
        """Create an Event of events.k8s.io/v1."""
        metadata = dict(event["metadata"])
        count = len(self.cluster.all(EVENTS))
        name = metadata.setdefault("name", f"{metadata.get('generateName', '')}{count}")
        async with self._call("create_event", namespace, name, {"event": dict(event)}):
            self._require_new(EVENTS, namespace, name)
            self.cluster.put(EVENTS, {**event, "metadata": {**metadata, "namespace": namespace}})

    async def uids(self, resource: Resource) -> Mapping[str, PodRef]:
        """List all objects of a kind by uid. GONE if the kind is not served."""
        async with self._call("uids", arguments={"resource": resource}):
            found = (each["metadata"] for each in self.cluster.all(resource))
            return {
                each["uid"]: PodRef(each.get("namespace", ""), each["name"], each["uid"])
                for each in found
            }

    async def get_lease(self, namespace: str, name: str) -> Body:
        """Return a Lease."""
        async with self._call("get_lease", namespace, name):
            return self.cluster.get(LEASES, namespace, name)

    async def put_lease(self, namespace: str, name: str, lease: Body) -> Body:
        """Create a Lease without a resourceVersion, or replace the one of that version."""
        async with self._call("put_lease", namespace, name, {"lease": copy.deepcopy(lease)}):
            version = lease["metadata"].get("resourceVersion")
            if version:
                found = self.cluster.get(LEASES, namespace, name)["metadata"]
                uid = lease["metadata"].get("uid", found["uid"])
                if (version, uid) != (found["resourceVersion"], found["uid"]):
                    raise ApiError(409, f'leases "{name}": the object has been modified')
            else:
                self._require_new(LEASES, namespace, name)
            metadata = {**lease["metadata"], "name": name, "namespace": namespace}
            return self.cluster.put(LEASES, {**lease, "metadata": metadata})

    @asynccontextmanager
    async def _call(
        self, method: str, namespace: str = "", name: str = "", arguments: Body | None = None
    ) -> AsyncIterator[None]:
        call = Call(method, namespace, name, arguments or {})
        self.calls.append(call)
        # No answer comes within the same turn of the loop.
        await asyncio.sleep(0)
        found = (script(call) for script in self.scripts)
        fault = next((each for each in found if each is not None), NO_FAULT)
        if not fault.after:
            await fault.strike()
        yield
        if fault.after:
            await fault.strike()

    def _charge_budgets(self, found: Document, *, dry_run: bool) -> None:
        """Count an eviction on the budgets of a running pod, or refuse it."""
        if found.get("status", {}).get("phase") != "Running":
            return
        namespace, labels = found["metadata"].get("namespace", ""), found["metadata"].get("labels")
        for budget in self.cluster.all(POD_DISRUPTION_BUDGETS):
            name, wanted = budget["metadata"]["name"], budget["spec"]["selector"]["matchLabels"]
            covers = wanted.items() <= (labels or {}).items()
            if budget["metadata"].get("namespace", "") != namespace or not covers:
                continue
            with self.cluster.changing(POD_DISRUPTION_BUDGETS, namespace, name) as charged:
                allowed = charged.setdefault("status", {}).get("disruptionsAllowed", 0)
                if not allowed:
                    raise ApiError(429, "Cannot evict pod: a budget forbids it.", 10, cause=BUDGET)
                charged["status"]["disruptionsAllowed"] = allowed if dry_run else allowed - 1

    def _change(
        self,
        resource: Resource,
        namespace: str,
        name: str,
        patch_for: Callable[[Body], Body | None],
    ) -> int:
        """Merge into an object what is left to do, and return its version then."""
        with self.cluster.changing(resource, namespace, name) as found:
            for part, changes in (patch_for(found) or {}).items():
                found[part] = _merge(found.get(part), changes)
        return claim_patches.version_of(self.cluster.get(resource, namespace, name))

    def _require_new(self, resource: Resource, namespace: str, name: str) -> None:
        if self.cluster.has(resource, namespace, name):
            raise ApiError(409, f'{resource.plural} "{name}" already exists')


def _require_unbound(found: Document, uid: str) -> None:
    if _uid(found) != uid:
        raise ApiError(409, f"the UID in the precondition ({uid}) is not {_uid(found)}")
    name, spec = found["metadata"]["name"], found.get("spec", {})
    if "deletionTimestamp" in found["metadata"]:
        raise ApiError(409, f"pod {name} is being deleted, cannot be assigned to a host")
    if spec.get("nodeName"):
        raise ApiError(409, f'pod {name} is already assigned to node "{spec["nodeName"]}"')
    if spec.get("schedulingGates"):
        raise ApiError(409, f"pod {name} has non-empty .spec.schedulingGates")


def _require_same(found: Document, pod: PodRef) -> None:
    if _uid(found) != pod.uid:
        # Not a failed precondition to the API server, but an attempt to change it.
        raise ApiError(422, f'Pod "{pod.name}" is invalid: metadata.uid: immutable')


def _set_condition(found: Document, condition: Body) -> None:
    """Replace the condition of the same type, or add it."""
    conditions = found.setdefault("status", {}).setdefault("conditions", [])
    others = [each for each in conditions if each["type"] != condition["type"]]
    found["status"]["conditions"] = [*others, dict(condition)]


def _merge(into: object, patch: object) -> object:
    """Apply a JSON merge patch (RFC 7396)."""
    if not isinstance(patch, Mapping):
        return copy.deepcopy(patch)
    merged = dict(into) if isinstance(into, Mapping) else {}
    for key, value in patch.items():
        if value is None:
            merged.pop(key, None)
        else:
            merged[key] = _merge(merged.get(key), value)
    return merged


def _uid(document: Document) -> str:
    return str(document["metadata"]["uid"])


def _now() -> str:
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
