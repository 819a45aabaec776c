"""The Api port on a real API server."""

from collections.abc import Awaitable, Callable, Mapping
from typing import TypeVar

import msgspec

from gang_scheduler.api.kinds import GVR, LEASES, PERSISTENT_VOLUME_CLAIMS, PERSISTENT_VOLUMES, PODS
from gang_scheduler.client import patches
from gang_scheduler.client.connection import Connection
from gang_scheduler.client.errors import UNREADABLE, AnswerTooLongError, ApiError, Kind
from gang_scheduler.client.interfaces import Body
from gang_scheduler.client.list_pages import Pages
from gang_scheduler.model.refs import ClaimRef, PodRef, VolumeRef
from gang_scheduler.wire import pods as pod_wire
from gang_scheduler.wire.base import IdentityList

T = TypeVar("T")

MERGE_PATCH = "application/merge-patch+json"
STRATEGIC_PATCH = "application/strategic-merge-patch+json"
METADATA_ONLY = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"
PAGE = 5000
MOST_NAMES = 16
MOST_OBJECTS = 500
LONGEST_OBJECTS = 4 * 2**20
"""In bytes. A user may have a thousand objects of a megabyte: these are not decoded."""
TOO_LARGE = 413
"""The status of a list that is too long to be read at once: another request would not help."""
EVENT_SECONDS = 5.0
"""The timeout of an Event.

Events are sent one by one: a request that hangs delays all later ones.
"""
BIND_SECONDS = 4.0
"""The timeout of a binding: meanwhile, its worker sends no other one.

The fence of the connection makes sure that no write is sent once another replica may hold the
Lease.
"""


class KubernetesApi:
    """Sends requests to a real API server, and decodes only the needed fields of answers."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        # Custom resources whose CRD turned out to have no status subresource.
        self._without_status: set[GVR] = set()

    async def bind(self, pod: PodRef, node: str, annotations: Mapping[str, str]) -> None:
        """Bind the pod, if it still has this uid, and add the annotations in the same write."""
        binding = {
            "apiVersion": "v1",
            "kind": "Binding",
            "metadata": {
                "name": pod.name,
                "namespace": pod.namespace,
                "uid": pod.uid,
                "annotations": annotations,
            },
            "target": {"apiVersion": "v1", "kind": "Node", "name": node},
        }
        path = _path(PODS, pod.namespace, pod.name) + "/binding"
        await self._connection.request(
            "POST", path, msgspec.json.encode(binding), timeout_seconds=BIND_SECONDS
        )

    async def bound_node(self, pod: PodRef) -> str:
        """Return the node of the pod, "" while it has none; GONE if the pod has another uid."""
        path = _path(PODS, pod.namespace, pod.name)
        answer = await self._connection.request("GET", path, timeout_seconds=BIND_SECONDS)
        found = _decoded(answer, pod_wire.PodPlace)
        if found.metadata.uid != pod.uid:
            raise ApiError(404, f"pod {pod.namespace}/{pod.name} is another one now")
        return found.spec.node_name

    async def delete_pod(self, pod: PodRef, *, grace_seconds: int | None = None) -> None:
        """Delete the pod, if it still has this uid, with its own grace period or the given one."""
        options = {"apiVersion": "v1", "kind": "DeleteOptions", **_deletion(pod, grace_seconds)}
        path = _path(PODS, pod.namespace, pod.name)
        await self._connection.request("DELETE", path, msgspec.json.encode(options))

    async def evict(
        self, pod: PodRef, *, dry_run: bool = False, grace_seconds: int | None = None
    ) -> None:
        """Evict the pod, or only check whether that is allowed; PROTECTED if budgets forbid it."""
        eviction = {
            "apiVersion": "policy/v1",
            "kind": "Eviction",
            "metadata": {"name": pod.name, "namespace": pod.namespace},
            "deleteOptions": _deletion(pod, grace_seconds),
        }
        path = _path(PODS, pod.namespace, pod.name) + "/eviction"
        query = "?dryRun=All" if dry_run else ""
        await self._connection.request("POST", path + query, msgspec.json.encode(eviction))

    async def annotate_pod(self, pod: PodRef, annotations: Mapping[str, str | None]) -> None:
        """Set annotations of a pod; a value of None removes one. REFUSED if the uid is another."""
        patch = {"metadata": {"uid": pod.uid, "annotations": annotations}}
        path = _path(PODS, pod.namespace, pod.name)
        await self._connection.request("PATCH", path, msgspec.json.encode(patch), MERGE_PATCH)

    async def nominate(self, pod: PodRef, node: str) -> None:
        """Set the nominated node of a pod, or clear it with "". REFUSED if the uid is another."""
        patch = {"metadata": {"uid": pod.uid}, "status": {"nominatedNodeName": node or None}}
        path = _path(PODS, pod.namespace, pod.name) + "/status"
        await self._connection.request("PATCH", path, msgspec.json.encode(patch), MERGE_PATCH)

    async def select_node(self, claim: ClaimRef, node: str) -> int:
        """Request a volume for a claim on a node, and return the new version of the claim.

        A bound claim is left unchanged. REFUSED if another node was selected, GONE if the claim has
        another uid, CONFLICT if another writer changes the claim at the same time.
        """
        path = _path(PERSISTENT_VOLUME_CLAIMS, claim.namespace, claim.name)
        return await self._change(path, lambda it: patches.selecting_node(it, claim, node))

    async def reserve(self, volume: VolumeRef, claim: ClaimRef) -> int:
        """Reserve a volume for a claim, and return the volume's new version.

        REFUSED if the volume belongs to another claim, GONE if it has another uid, CONFLICT if
        another writer changes it at the same time.
        """
        path = _path(PERSISTENT_VOLUMES, name=volume.name)
        return await self._change(path, lambda it: patches.reserving_claim(it, volume, claim))

    async def _change(self, path: str, patch_for: Callable[[Body], Body | None]) -> int:
        """Read an object, patch it if needed, and return its version after that."""
        answer = await self._connection.request("GET", path, timeout_seconds=BIND_SECONDS)
        patch = patch_for(_document(answer))
        if patch is not None:
            body = msgspec.json.encode(patch)
            answer = await self._connection.request(
                "PATCH", path, body, MERGE_PATCH, timeout_seconds=BIND_SECONDS
            )
        return patches.version_of(_document(answer))

    async def patch_pod_condition(
        self, pod: PodRef, condition: Body, *, if_alive: bool = False
    ) -> None:
        """Set one condition of a pod. REFUSED if the uid is another.

        With `if_alive`: only if the pod is not being deleted and has not ended, else GONE.
        """
        path = _path(PODS, pod.namespace, pod.name)
        # With the uid, the API server refuses the patch if another pod has taken the name.
        metadata = {"uid": pod.uid}
        if if_alive:
            found = _document(await self._connection.request("GET", path))
            metadata = patches.version_of_living(found, pod)
        body = msgspec.json.encode({"metadata": metadata, "status": {"conditions": [condition]}})
        await self._connection.request("PATCH", f"{path}/status", body, STRATEGIC_PATCH)

    async def fail_pod(self, pod: PodRef, condition: Body) -> None:
        """Set the phase of a pod to Failed, and one condition. REFUSED if the uid is another."""
        status = {"phase": "Failed", "conditions": [condition]}
        patch = {"metadata": {"uid": pod.uid}, "status": status}
        path = _path(PODS, pod.namespace, pod.name) + "/status"
        await self._connection.request("PATCH", path, msgspec.json.encode(patch), STRATEGIC_PATCH)

    async def patch_status(self, gvr: GVR, namespace: str, name: str, status: Body) -> bool:
        """Merge a patch into the status; return whether the CRD has a status subresource."""
        path = _path(gvr, namespace, name)
        patch = msgspec.json.encode({"status": status})
        if gvr not in self._without_status:
            try:
                await self._connection.request("PATCH", path + "/status", patch, MERGE_PATCH)
            except ApiError as error:
                if error.kind is not Kind.GONE or await self._has_status(gvr):
                    raise
            else:
                return True
        await self._connection.request("PATCH", path, patch, MERGE_PATCH)
        return False

    async def _has_status(self, gvr: GVR) -> bool:
        """Return whether the CRD has a status subresource.

        After a 404, either the subresource or the object may be missing.
        """
        answer = await self._connection.request("GET", f"/apis/{gvr.group}/{gvr.version}")
        served = {each["name"] for each in _document(answer).get("resources", ())}
        if f"{gvr.plural}/status" in served:
            return True
        self._without_status.add(gvr)
        return False

    async def create_event(self, namespace: str, event: Body) -> None:
        """Create an Event of events.k8s.io/v1."""
        path = f"/apis/events.k8s.io/v1/namespaces/{namespace}/events"
        body = msgspec.json.encode(event)
        await self._connection.request("POST", path, body, timeout_seconds=EVENT_SECONDS)

    async def patch_event_series(self, namespace: str, name: str, count: int, seen_at: str) -> None:
        """Set how often an Event was seen, 2 times or more, and when it was last seen."""
        path = f"/apis/events.k8s.io/v1/namespaces/{namespace}/events/{name}"
        patch = {"series": {"count": count, "lastObservedTime": seen_at}}
        body = msgspec.json.encode(patch)
        await self._connection.request(
            "PATCH", path, body, MERGE_PATCH, timeout_seconds=EVENT_SECONDS
        )

    async def uids(self, gvr: GVR) -> Mapping[str, PodRef]:
        """List all objects of a kind by uid. GONE if the kind is not served."""
        found: dict[str, PodRef] = {}
        pages, following = Pages(PAGE), ""
        while True:

            def ask(limit: int, following: str = following) -> Awaitable[bytes]:
                path = f"{_path(gvr)}?limit={limit}&continue={following}"
                return self._connection.request("GET", path, accept=METADATA_ONLY)

            page = _decoded(await pages.get(ask), IdentityList)
            for item in page.items or ():
                each = item.metadata
                found[each.uid] = PodRef(each.namespace, each.name, each.uid)
            following = page.metadata.continue_
            if not following:
                return found

    async def count(self, gvr: GVR) -> int:
        """Return how many objects of a kind there are. GONE if it is not served."""
        path = f"{_path(gvr)}?limit=1"
        page = _decoded(
            await self._connection.request("GET", path, accept=METADATA_ONLY), IdentityList
        )
        return len(page.items or ()) + page.metadata.remaining_item_count

    async def names(self, gvr: GVR, namespace: str, label: str, value: str) -> list[str]:
        """List the first objects of a kind in a namespace that have a label.

        GONE if it is not served.
        """
        path = f"{_path(gvr, namespace)}?labelSelector={label}={value}&limit={MOST_NAMES}"
        answer = await self._connection.request("GET", path, accept=METADATA_ONLY)
        return [each.metadata.name for each in _decoded(answer, IdentityList).items or ()]

    async def objects(self, gvr: GVR, namespace: str) -> list[Body]:
        """List the objects of a kind in a namespace. GONE if it is not served.

        REFUSED if there are too many of them, or they are too long, to be read at once.
        """
        path = f"{_path(gvr, namespace)}?limit={MOST_OBJECTS}"
        try:
            answer = await self._connection.request("GET", path)
        except AnswerTooLongError:
            raise ApiError(TOO_LARGE, f"{gvr.plural} in {namespace} are too long") from None
        if len(answer) > LONGEST_OBJECTS:
            raise ApiError(TOO_LARGE, f"{gvr.plural} in {namespace} are too long")
        listed = _document(answer)
        if (listed.get("metadata") or {}).get("continue"):
            raise ApiError(TOO_LARGE, f"{namespace} has more than {MOST_OBJECTS} {gvr.plural}")
        return list(listed.get("items") or ())

    async def get(self, gvr: GVR, namespace: str, name: str) -> Body:
        """Return an object of any kind."""
        return _document(await self._connection.request("GET", _path(gvr, namespace, name)))

    async def create(self, gvr: GVR, namespace: str, body: Body) -> Body:
        """Create an object, and return it; CONFLICT if its name is taken.

        GONE if the kind or the namespace does not exist.
        """
        path, content = _path(gvr, namespace), msgspec.json.encode(body)
        answer = await self._connection.request("POST", path, content, timeout_seconds=BIND_SECONDS)
        return _document(answer)

    async def delete(self, gvr: GVR, namespace: str, name: str, uid: str = "") -> None:
        """Delete an object; if a uid is given, only the object with it, else CONFLICT."""
        options = {"apiVersion": "v1", "kind": "DeleteOptions", "propagationPolicy": "Background"}
        precondition = {"preconditions": {"uid": uid}} if uid else {}
        body = msgspec.json.encode({**options, **precondition})
        path = _path(gvr, namespace, name)
        await self._connection.request("DELETE", path, body, timeout_seconds=BIND_SECONDS)

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
        path, body = _path(gvr, namespace, name), msgspec.json.encode(patch)
        path += f"/{subresource}" if subresource else ""
        query = f"?fieldManager={manager}" if manager else ""
        answer = await self._connection.request(
            "PATCH", path + query, body, MERGE_PATCH, timeout_seconds=BIND_SECONDS
        )
        return _document(answer)

    async def get_lease(self, namespace: str, name: str) -> Body:
        """Return a Lease."""
        return await self.get(LEASES, namespace, name)

    async def put_lease(self, namespace: str, name: str, lease: Body) -> Body:
        """Create a Lease if the given one has no resourceVersion, else replace that version."""
        body = msgspec.json.encode(lease)
        if lease["metadata"].get("resourceVersion"):
            path = _path(LEASES, namespace, name)
            return _document(await self._connection.request("PUT", path, body))
        return _document(await self._connection.request("POST", _path(LEASES, namespace), body))


def _deletion(pod: PodRef, grace_seconds: int | None) -> Body:
    grace = {} if grace_seconds is None else {"gracePeriodSeconds": grace_seconds}
    return {"preconditions": {"uid": pod.uid}, **grace}


def _path(gvr: GVR, namespace: str = "", name: str = "") -> str:
    return gvr.path(namespace, name)


def _document(answer: bytes) -> Body:
    return _decoded(answer, dict)


def _decoded(answer: bytes, kind: type[T]) -> T:
    """Return the decoded answer. A proxy on the way may cut an answer, or send its own."""
    try:
        return msgspec.json.decode(answer, type=kind)
    except UNREADABLE as error:
        raise ApiError(0, f"the answer is no {kind.__name__}: {error}") from error
