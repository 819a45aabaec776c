"""One client of the fake API server: its calls, and their faults."""

import asyncio
import copy
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any, Final, NamedTuple, cast

from gang_scheduler.api.kinds import (
    EVENTS,
    GVR,
    LEASES,
    PERSISTENT_VOLUME_CLAIMS,
    PERSISTENT_VOLUMES,
    POD_DISRUPTION_BUDGETS,
    PODS,
    RESOURCE_CLAIMS,
)
from gang_scheduler.client import patches
from gang_scheduler.client.errors import BUDGET, ApiError
from gang_scheduler.client.fake.cluster import (
    Document,
    FakeCluster,
    merge,
    now,
    require_same,
    require_uid,
    require_unbound,
    require_unchanged,
    set_condition,
    uid_of,
)
from gang_scheduler.client.interfaces import Body
from gang_scheduler.model.refs import ClaimRef, PodRef, VolumeRef


class Call(NamedTuple):
    """One call of an `Api` method."""

    method: str
    namespace: str
    name: str
    arguments: Body


@dataclass(frozen=True, slots=True)
class Fault:
    """A fault of a call: the call takes time, then fails or never ends.

    `after`: the write has happened by then, and only its answer is late or lost.
    """

    error: ApiError | None = None
    after: bool = False
    delay_seconds: float = 0.0
    hangs: bool = False

    async def strike(self) -> None:
        """Make the fault happen."""
        if self.hangs:
            await asyncio.Event().wait()
        await asyncio.sleep(self.delay_seconds)
        if self.error is not None:
            raise ApiError(*self.error.details)


NO_FAULT = Fault()

Script = Callable[[Call], Fault | None]
"""Decides the fault of a call. It may change the cluster, as a faster writer would."""


class FakeApi:
    """A client of a fake cluster. `calls` are all its calls; `scripts` decide their faults."""

    def __init__(self, cluster: FakeCluster | None = None) -> None:
        self.cluster = cluster or FakeCluster()
        self.calls: list[Call] = []
        self.scripts: list[Script] = []

    def fail(self, method: str, *faults: Fault, name: str = "") -> None:
        """Let the next calls of a method meet these faults, or only its calls on one object."""
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
                require_unbound(found, pod.uid)
                found.setdefault("spec", {})["nodeName"] = node
                found["metadata"].setdefault("annotations", {}).update(annotations)
                bound = {"type": "PodScheduled", "status": "True", "lastTransitionTime": now()}
                set_condition(found, bound)
                # Its node is known now, so the API server clears the nominated one.
                found["status"].pop("nominatedNodeName", None)

    async def bound_node(self, pod: PodRef) -> str:
        """Return the node of the pod, "" while it has none; GONE if the pod has another uid."""
        async with self._call("bound_node", pod.namespace, pod.name, {"uid": pod.uid}):
            found = self.cluster.get(PODS, pod.namespace, pod.name)
            if uid_of(found) != pod.uid:
                raise ApiError(404, f"pod {pod.namespace}/{pod.name} is another one now")
            return str(found.get("spec", {}).get("nodeName", ""))

    async def delete_pod(self, pod: PodRef, *, grace_seconds: int | None = None) -> None:
        """Delete the pod, if it still has this uid, with its own grace period or the given one."""
        seen = {"uid": pod.uid, "grace_seconds": grace_seconds}
        async with self._call("delete_pod", pod.namespace, pod.name, seen):
            found = self.cluster.get(PODS, pod.namespace, pod.name)
            require_uid(found, pod.uid)
            self.cluster.delete(PODS, pod.namespace, pod.name)

    async def evict(
        self, pod: PodRef, *, dry_run: bool = False, grace_seconds: int | None = None
    ) -> None:
        """Evict the pod, or only check whether that is allowed; PROTECTED if budgets forbid it."""
        seen = {"uid": pod.uid, "dry_run": dry_run, "grace_seconds": grace_seconds}
        async with self._call("evict", pod.namespace, pod.name, seen):
            found = self.cluster.get(PODS, pod.namespace, pod.name)
            require_uid(found, pod.uid)
            self._charge_budgets(found, dry_run=dry_run)
            if not dry_run:
                self.cluster.delete(PODS, pod.namespace, pod.name)

    async def annotate_pod(self, pod: PodRef, annotations: Mapping[str, str | None]) -> None:
        """Set annotations of a pod; a value of None removes one. REFUSED if the uid is another."""
        seen = {"uid": pod.uid, "annotations": dict(annotations)}
        async with self._call("annotate_pod", pod.namespace, pod.name, seen):
            with self.cluster.changing(PODS, pod.namespace, pod.name) as found:
                require_same(found, pod)
                patch = {"annotations": dict(annotations)}
                found["metadata"] = merge(found["metadata"], patch)

    async def nominate(self, pod: PodRef, node: str) -> None:
        """Set the nominated node of a pod, or clear it with "". REFUSED if the uid is another."""
        seen = {"uid": pod.uid, "node": node}
        async with self._call("nominate", pod.namespace, pod.name, seen):
            with self.cluster.changing(PODS, pod.namespace, pod.name) as found:
                require_same(found, pod)
                patch = {"nominatedNodeName": node or None}
                found["status"] = merge(found.get("status"), patch)

    async def select_node(self, claim: ClaimRef, node: str) -> int:
        """Request a volume for a claim on a node, and return the new version of the claim.

        A bound claim is left unchanged. REFUSED if another node was selected, GONE if the claim has
        another uid, CONFLICT if another writer changes the claim at the same time.
        """
        seen = {"uid": claim.uid, "node": node}
        async with self._call("select_node", claim.namespace, claim.name, seen):
            return self._change(
                *(PERSISTENT_VOLUME_CLAIMS, claim.namespace, claim.name),
                lambda found: patches.selecting_node(found, claim, node),
            )

    async def reserve(self, volume: VolumeRef, claim: ClaimRef) -> int:
        """Reserve a volume for a claim, and return the volume's new version.

        REFUSED if the volume belongs to another claim, GONE if it has another uid, CONFLICT if
        another writer changes it at the same time.
        """
        async with self._call("reserve", name=volume.name, arguments={"claim": claim}):
            return self._change(
                *(PERSISTENT_VOLUMES, "", volume.name),
                lambda found: patches.reserving_claim(found, volume, claim),
            )

    async def patch_pod_condition(
        self, pod: PodRef, condition: Body, *, if_alive: bool = False
    ) -> None:
        """Set one condition of a pod. REFUSED if the uid is another.

        With `if_alive`: only if the pod is not being deleted and has not ended, else GONE.
        """
        seen = {"uid": pod.uid, "condition": dict(condition)}
        async with self._call("patch_pod_condition", pod.namespace, pod.name, seen):
            with self.cluster.changing(PODS, pod.namespace, pod.name) as found:
                if if_alive:
                    patches.version_of_living(found, pod)
                require_same(found, pod)
                set_condition(found, condition)

    async def fail_pod(self, pod: PodRef, condition: Body) -> None:
        """Set the phase of a pod to Failed, and one condition. REFUSED if the uid is another."""
        seen = {"uid": pod.uid, "condition": dict(condition)}
        async with self._call("fail_pod", pod.namespace, pod.name, seen):
            with self.cluster.changing(PODS, pod.namespace, pod.name) as found:
                require_same(found, pod)
                set_condition(found, condition)
                found["status"]["phase"] = "Failed"

    async def patch_status(self, gvr: GVR, namespace: str, name: str, status: Body) -> bool:
        """Merge a patch into the status; return whether the CRD has a status subresource."""
        seen = {"resource": gvr, "status": dict(status)}
        async with self._call("patch_status", namespace, name, seen):
            with self.cluster.changing(gvr, namespace, name) as found:
                merged = merge(found.get("status"), status)
                if gvr in self.cluster.without_status and merged != found.get("status"):
                    found["metadata"]["generation"] += 1
                found["status"] = merged
        return gvr not in self.cluster.without_status

    async def create_event(self, namespace: str, event: Body) -> None:
        """Create an Event of events.k8s.io/v1."""
        metadata = dict(event["metadata"])
        count = len(self.cluster.all(EVENTS))
        name = metadata.setdefault("name", f"{metadata.get('generateName', '')}{count}")
        async with self._call("create_event", namespace, name, {"event": dict(event)}):
            self._require_new(EVENTS, namespace, name)
            self.cluster.put(EVENTS, {**event, "metadata": {**metadata, "namespace": namespace}})

    async def patch_event_series(self, namespace: str, name: str, count: int, seen_at: str) -> None:
        """Set how often an Event was seen, 2 times or more, and when it was last seen."""
        series = {"count": count, "lastObservedTime": seen_at}
        async with self._call("patch_event_series", namespace, name, {"series": series}):
            with self.cluster.changing(EVENTS, namespace, name) as found:
                found["series"] = series

    async def uids(self, gvr: GVR) -> Mapping[str, PodRef]:
        """List all objects of a kind by uid. GONE if the kind is not served."""
        async with self._call("uids", arguments={"resource": gvr}):
            found = (each["metadata"] for each in self.cluster.all(gvr))
            return {
                each["uid"]: PodRef(each.get("namespace", ""), each["name"], each["uid"])
                for each in found
            }

    async def count(self, gvr: GVR) -> int:
        """Return how many objects of a kind there are. GONE if it is not served."""
        async with self._call("count", arguments={"resource": gvr}):
            return len(self.cluster.all(gvr))

    async def names(self, gvr: GVR, namespace: str, label: str, value: str) -> list[str]:
        """List the objects of a kind in a namespace that have a label. GONE if it is not served."""
        async with self._call("names", namespace, arguments={"resource": gvr, label: value}):
            found = (each["metadata"] for each in self.cluster.all(gvr))
            return [
                each["name"]
                for each in found
                if each.get("namespace") == namespace
                and (each.get("labels") or {}).get(label) == value
            ]

    async def objects(self, gvr: GVR, namespace: str) -> list[Body]:
        """List the objects of a kind in a namespace. GONE if it is not served."""
        async with self._call("objects", namespace, arguments={"resource": gvr}):
            found = self.cluster.all(gvr)
            return [each for each in found if each["metadata"].get("namespace") == namespace]

    async def get(self, gvr: GVR, namespace: str, name: str) -> Body:
        """Return an object of any kind."""
        async with self._call("get", namespace, name, {"resource": gvr}):
            return self.cluster.get(gvr, namespace, name)

    async def create(self, gvr: GVR, namespace: str, body: Body) -> Body:
        """Create an object, and return it; CONFLICT if its name is taken."""
        name = body["metadata"]["name"]
        seen = {"resource": gvr, "body": copy.deepcopy(dict(body))}
        async with self._call("create", namespace, name, seen):
            self.cluster.all(gvr)
            self._require_new(gvr, namespace, name)
            metadata = {**body["metadata"], "namespace": namespace}
            return self.cluster.put(gvr, {**body, "metadata": metadata})

    async def delete(self, gvr: GVR, namespace: str, name: str, uid: str = "") -> None:
        """Delete an object; if a uid is given, only the object with it, else CONFLICT."""
        async with self._call("delete", namespace, name, {"resource": gvr, "uid": uid}):
            found = self.cluster.get(gvr, namespace, name)
            if uid:
                require_uid(found, uid)
            self.cluster.delete(gvr, namespace, name)

    async def patch(
        self,
        gvr: GVR,
        namespace: str,
        name: str,
        patch: Body,
        *,
        manager: str = "",
        subresource: str = "",
    ) -> Body:
        """Merge a patch into an object of any kind or its subresource, and return its new state.

        The object names the `manager` of the fields that are changed, by default our client. With
        `metadata.resourceVersion` in the patch: CONFLICT if the object has changed since. With
        `metadata.uid`: REFUSED if the uid is another.
        """
        seen = {"resource": gvr, "patch": copy.deepcopy(dict(patch)), "manager": manager}
        async with self._call("patch", namespace, name, {**seen, "subresource": subresource}):
            with self.cluster.changing(gvr, namespace, name) as found:
                require_unchanged(found, patch.get("metadata", {}))
                if gvr == RESOURCE_CLAIMS:
                    patch = _checked_claim_patch(found, patch, subresource)
                before = copy.deepcopy(found.get("spec"))
                found.update(cast("Document", merge(found, patch)))
                if manager:
                    notes = found["metadata"].get("managedFields") or []
                    others = [each for each in notes if each["manager"] != manager]
                    note = {"manager": manager, "operation": "Update"}
                    found["metadata"]["managedFields"] = [*others, note]
                if before != found.get("spec"):
                    found["metadata"]["generation"] += 1
            # As it is stored; it may be gone with its last finalizer.
            return copy.deepcopy(found)

    async def get_lease(self, namespace: str, name: str) -> Body:
        """Return a Lease."""
        async with self._call("get_lease", namespace, name):
            return self.cluster.get(LEASES, namespace, name)

    async def put_lease(self, namespace: str, name: str, lease: Body) -> Body:
        """Create a Lease if the given one has no resourceVersion, else replace that version."""
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
        # An answer never comes within the same iteration of the event loop.
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
        gvr: GVR,
        namespace: str,
        name: str,
        patch_for: Callable[[Body], Body | None],
    ) -> int:
        """Merge a patch into an object, if needed, and return the object's version after that."""
        with self.cluster.changing(gvr, namespace, name) as found:
            for part, changes in (patch_for(found) or {}).items():
                found[part] = merge(found.get(part), changes)
        return patches.version_of(self.cluster.get(gvr, namespace, name))

    def _require_new(self, gvr: GVR, namespace: str, name: str) -> None:
        if self.cluster.has(gvr, namespace, name):
            raise ApiError(409, f'{gvr.plural} "{name}" already exists')


# The rules by which the fake API server takes in patches of ResourceClaims (`pkg/registry`).


MOST_CLAIM_USERS: Final = 256


def _checked_claim_patch(found: Mapping[str, Any], patch: Body, subresource: str) -> Body:
    """Return the part of a patch that has an effect: only the status, or all except the status.

    Raises ApiError for a status that the API server refuses.
    """
    if subresource != "status":
        return {key: value for key, value in patch.items() if key != "status"}
    _check_claim(found.get("status") or {}, patch.get("status") or {}, found["metadata"]["name"])
    return {key: value for key, value in patch.items() if key == "status"}


def _check_claim(before: Mapping[str, Any], changes: Mapping[str, Any], name: str) -> None:
    after = {**before, **changes}
    allocation, users = after.get("allocation"), after.get("reservedFor") or []
    if users and not allocation:
        raise _invalid_claim(name, "status.reservedFor: may not be set without an allocation")
    if allocation and before.get("allocation") and allocation != before["allocation"]:
        raise _invalid_claim(name, "status.allocation: field is immutable")
    if len(users) > MOST_CLAIM_USERS:
        raise _invalid_claim(
            name, f"status.reservedFor: must have at most {MOST_CLAIM_USERS} items"
        )
    if len({each["uid"] for each in users}) < len(users):
        raise _invalid_claim(name, "status.reservedFor: duplicate value")


def _invalid_claim(name: str, why: str) -> ApiError:
    return ApiError(422, f'ResourceClaim "{name}" is invalid: {why}')
