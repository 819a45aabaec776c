"""The interfaces to the API server, and to pods that are asked over HTTP.

`kubernetes` and `fake` implement the interface to the API server, and `pod_http` the one to pods.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple, Protocol

from gang_scheduler.api.kinds import GVR
from gang_scheduler.model.refs import ClaimRef, PodRef, VolumeRef


class PodRequest(NamedTuple):
    """A request to the IP `host` of a pod. `id` is sent as a header. The `body` may be empty."""

    method: str
    host: str
    port: int
    path: str
    id: str
    body: bytes | None = None


class PodAnswer(NamedTuple):
    """The answer of a pod: a status, and a short body."""

    status: int
    body: bytes = b""


class PodHttp(Protocol):
    """Sends requests to pods.

    It follows no redirect, has no proxy and no credentials, and reads little.
    """

    async def ask(self, request: PodRequest) -> PodAnswer:
        """Return the answer. Raises OSError if no valid answer comes in time."""


Body = Mapping[str, Any]


class Api(Protocol):
    """The writes and reads of the scheduler except watches. Every method may raise ApiError."""

    async def bind(self, pod: PodRef, node: str, annotations: Mapping[str, str]) -> None:
        """Bind the pod, if it still has this uid, and add the annotations in the same write."""

    async def bound_node(self, pod: PodRef) -> str:
        """Return the node of the pod, "" while it has none; GONE if the pod has another uid."""

    async def delete_pod(self, pod: PodRef, *, grace_seconds: int | None = None) -> None:
        """Delete the pod if it still has this uid, with its own grace period or the given one.

        With 0 it is removed at once, without waiting for its kubelet.
        """

    async def fail_pod(self, pod: PodRef, condition: Body) -> None:
        """Set the phase of a pod to Failed, and one condition. REFUSED if the uid is another."""

    async def evict(
        self, pod: PodRef, *, dry_run: bool = False, grace_seconds: int | None = None
    ) -> None:
        """Evict the pod, or only check whether that is allowed; PROTECTED if budgets forbid it."""

    async def annotate_pod(self, pod: PodRef, annotations: Mapping[str, str | None]) -> None:
        """Set annotations of a pod; a value of None removes one. REFUSED if the uid is another."""

    async def nominate(self, pod: PodRef, node: str) -> None:
        """Set the nominated node of a pod, or clear it with "". REFUSED if the uid is another."""

    async def select_node(self, claim: ClaimRef, node: str) -> int:
        """Request a volume for a claim on a node, and return the new version of the claim.

        A bound claim is left unchanged. REFUSED if another node was selected, GONE if the claim has
        another uid, CONFLICT if another writer changes the claim at the same time.
        """

    async def reserve(self, volume: VolumeRef, claim: ClaimRef) -> int:
        """Reserve a volume for a claim, and return the volume's new version.

        REFUSED if the volume belongs to another claim, GONE if it has another uid, CONFLICT if
        another writer changes it at the same time.
        """

    async def patch_pod_condition(
        self, pod: PodRef, condition: Body, *, if_alive: bool = False
    ) -> None:
        """Set one condition of a pod. REFUSED if the uid is another.

        With `if_alive`: only if the pod is not being deleted and has not ended, else GONE.
        """

    async def patch_status(self, resource: GVR, namespace: str, name: str, status: Body) -> bool:
        """Merge a patch into the status; return whether the CRD has a status subresource."""

    async def create_event(self, namespace: str, event: Body) -> None:
        """Create an Event of events.k8s.io/v1."""

    async def patch_event_series(self, namespace: str, name: str, count: int, seen_at: str) -> None:
        """Set how often an Event was seen, 2 times or more, and when it was last seen.

        Kubernetes then keeps the Event for another hour. GONE if it has expired.
        """

    async def uids(self, resource: GVR) -> Mapping[str, PodRef]:
        """List all objects of a kind by uid. GONE if the kind is not served."""

    async def count(self, resource: GVR) -> int:
        """Return how many objects of a kind there are. GONE if it is not served."""

    async def names(self, resource: GVR, namespace: str, label: str, value: str) -> list[str]:
        """List the first objects of a kind in a namespace that have a label.

        GONE if it is not served.
        """

    async def objects(self, resource: GVR, namespace: str) -> list[Body]:
        """List the objects of a kind in a namespace. GONE if it is not served.

        REFUSED if there are too many of them, or they are too long, to be read at once.
        """

    async def get(self, resource: GVR, namespace: str, name: str) -> Body:
        """Return an object of any kind."""

    async def create(self, resource: GVR, namespace: str, body: Body) -> Body:
        """Create an object, and return it; CONFLICT if its name is taken.

        GONE if the kind or the namespace does not exist.
        """

    async def delete(self, resource: GVR, namespace: str, name: str, uid: str = "") -> None:
        """Delete an object; if a uid is given, only the object with it, else CONFLICT."""

    async def patch(
        self,
        resource: GVR,
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

    async def get_lease(self, namespace: str, name: str) -> Body:
        """Return a Lease."""

    async def put_lease(self, namespace: str, name: str, lease: Body) -> Body:
        """Create a Lease if the given one has no resourceVersion, else replace that version."""
