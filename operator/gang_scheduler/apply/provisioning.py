"""ProvisioningRequests: created when a cycle requests nodes, deleted when no gang needs them.

The name of a request follows from the gang, from the requested nodes, and from the number of the
attempt. So a request is made once, even after a crash between two writes: a new leader computes the
same name and finds the request there. PodTemplates are created before the request that names them.
"""

import time
from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping
from functools import partial
from typing import Any, Final

import anyio

from gang_scheduler.api import annotations
from gang_scheduler.api.kinds import GVR, POD_TEMPLATES, PODS, PROVISIONING_REQUESTS
from gang_scheduler.api.parsing import InvalidField, without_nulls
from gang_scheduler.apply.workloads.starts import WorkloadObjects
from gang_scheduler.client.backoff import Backoff
from gang_scheduler.client.errors import ApiError, Kind
from gang_scheduler.client.interfaces import Api, Body
from gang_scheduler.client.writing import Writes, count
from gang_scheduler.decode import provisioning as decode
from gang_scheduler.decode.provisioning import MANAGED_BY, OURS, written
from gang_scheduler.internal_errors import confined
from gang_scheduler.model.provisioning import NodeRequest, ProvisioningRequest
from gang_scheduler.model.suspended import ManagedWorkload
from gang_scheduler.state.cache import Cache
from gang_scheduler.state.changes import Changes
from gang_scheduler.state.provisioning import Decided
from gang_scheduler.telemetry.logger import Logger
from gang_scheduler.workloads import table, virtual_pods
from gang_scheduler.workloads.suspended import without_additions

# One member of each pod set, as an object from which a PodTemplate can be made. A workload that
# waits suspended has no pods yet; its member is computed from the workload as it is now, as its
# controller would create it.

CONFLICT: Final = 409
CONTAINERS: Final = ("initContainers", "containers")


class MemberBodies:
    """Reads members, or the workloads that have none yet."""

    def __init__(self, api: Api) -> None:
        self._api = api
        self._workloads = WorkloadObjects(api)

    async def of(self, node_request: NodeRequest) -> list[Body]:
        """Return a member of each pod set. Raises ApiError, also if the workload has changed."""
        pods = [each.pod for each in node_request.pod_sets]
        suspended = node_request.gang.suspended
        if suspended is None:
            return [await self._api.get(PODS, each.namespace, each.name) for each in pods]
        wanted = {each.name for each in pods}
        workload = await self._read(suspended.workload)
        made = virtual_pods.bodies_of(workload)
        found = {name: each for each in made if (name := each["metadata"]["name"]) in wanted}
        if wanted - found.keys():
            raise ApiError(CONFLICT, f"{suspended.workload} has changed")
        return [_with_images(found[each.name]) for each in pods]

    async def _read(self, workload: ManagedWorkload) -> Body:
        """Return the object that declares the members: the workload, or the workload it owns."""
        if workload.kind in table.DECLARING_NO_MEMBERS:
            workload = workload._replace(kind=table.OWNED[workload.kind])
        body = without_additions(await self._workloads.read(workload))
        version = table.SUSPENDABLE[workload.kind].versions[0].api_version
        typed: Body = without_nulls({"apiVersion": version, "kind": workload.kind, **body})
        return typed


def _with_images(pod: Body) -> Body:
    """Return a pod in which each container has an image: its own, else the first container's.

    Controllers add containers whose images come from their own configuration.
    """
    spec = pod["spec"]
    image = next((str(each["image"]) for each in spec["containers"] if each.get("image")), "none")
    containers = {
        field: [_with_image(each, image) for each in spec[field]]
        for field in CONTAINERS
        if spec.get(field)
    }
    return {**pod, "spec": {**spec, **containers}}


def _with_image(container: Mapping[str, Any], image: str) -> Mapping[str, Any]:
    return container if container.get("image") else {**container, "image": image}


LEFT_OUT: Final = frozenset({"nodeName", "ephemeralContainers", "schedulingGates"})
"""Fields of a pod's spec that no template may have, or that mean nothing in one."""
LABELS: Final = {MANAGED_BY: OURS}


def template_name(request: ProvisioningRequest, number: int) -> str:
    """Return the name of the PodTemplate of a pod set, counted from 0."""
    return f"{request.name}-{number}"


def owners_of(cache: Cache, node_request: NodeRequest) -> list[Body]:
    """Return the owner references of a request: to the gang's object, else to its members.

    Kubernetes deletes the request with its last owner.
    """
    key = node_request.gang.key
    info = cache.gang_queue.infos.get(key)
    spec = info.observed.spec if info is not None else None
    if spec is not None and spec.gvr is not None and spec.uid:
        kind = table.BY_NAME[key.source].object_kind
        # A gang of a JobSet has the name of its replicatedJob as well.
        return [_owner(spec.gvr.api_version, kind, key.name.partition("/")[0], spec.uid)]
    return [_owner("v1", "Pod", each.pod.name, each.pod.uid) for each in node_request.pod_sets]


def pod_template(
    name: str, pod: Body, node_labels: Iterable[tuple[str, str]], owners: Iterable[Body]
) -> Body:
    """Return a PodTemplate of pods like this one, on nodes with these labels."""
    metadata, spec = pod.get("metadata", {}), pod.get("spec", {})
    kept = {key: value for key, value in spec.items() if key not in LEFT_OUT}
    selector = {**(spec.get("nodeSelector") or {}), **dict(node_labels)}
    return {
        "apiVersion": "v1",
        "kind": "PodTemplate",
        "metadata": _metadata(name, owners),
        "template": {
            "metadata": {"labels": metadata.get("labels") or {}},
            "spec": {**kept, **({"nodeSelector": selector} if selector else {})},
        },
    }


def provisioning_request(
    gvr: GVR, node_request: NodeRequest, wanted: ProvisioningRequest, owners: Iterable[Body]
) -> Body:
    """Return the body of the ProvisioningRequest to create."""
    ours = {
        annotations.PROVISIONED_GANG: written(wanted.gang),
        annotations.PROVISIONED_GANG_UID: wanted.gang_uid,
        annotations.PROVISIONING_DIGEST: wanted.digest,
        annotations.PROVISIONING_ATTEMPT: str(wanted.attempt),
    }
    pod_sets = [
        {"podTemplateRef": {"name": template_name(wanted, number)}, "count": each.number}
        for number, each in enumerate(node_request.pod_sets)
    ]
    return {
        "apiVersion": gvr.api_version,
        "kind": "ProvisioningRequest",
        "metadata": {**_metadata(wanted.name, owners), "annotations": ours},
        "spec": {
            "provisioningClassName": wanted.class_name,
            "podSets": pod_sets,
            **({"parameters": dict(node_request.parameters)} if node_request.parameters else {}),
        },
    }


def _metadata(name: str, owners: Iterable[Body]) -> dict[str, Any]:
    return {"name": name, "labels": LABELS, "ownerReferences": list(owners)}


def _owner(api_version: str, kind: str, name: str, uid: str) -> Mapping[str, str]:
    return {"apiVersion": api_version, "kind": kind, "name": name, "uid": uid}


LOOK_SECONDS: Final = 1.0
MOST_AT_ONCE: Final = 8
LAST_PAUSE_SECONDS: Final = 30.0
WHAT: Final = "provisioning_request"

Tell = Callable[[ProvisioningRequest], None]
log = Logger()


def _nothing(_: ProvisioningRequest) -> None:
    """Do nothing."""


class Provisioner:
    """Creates and deletes requests as the state decides.

    `not_served` are the names of kinds whose CRDs are not installed. `tell` is called for each
    request whose state has changed. `clock` is in seconds since the epoch.
    """

    def __init__(
        self,
        api: Api,
        cache: Cache,
        changes: Changes,
        *,
        not_served: Callable[[], Collection[str]],
        writes: Writes,
        tell: Tell = _nothing,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._api = api
        self._members = MemberBodies(api)
        self._cache = cache
        self._changes = changes
        self._not_served = not_served
        self._writes = writes
        self._tell = tell
        self._clock = clock
        self._pauses: dict[str, tuple[Backoff, float]] = {}

    async def run(self) -> None:
        """Create and delete requests after changes, and now and then, until cancelled."""
        while True:
            with anyio.move_on_after(LOOK_SECONDS):
                await self._changes.provisioning.wait()
            self._changes.provisioning.clear()
            with confined("write", "requests for nodes"):
                await self.look()

    async def look(self) -> None:
        """Note whether nodes can be requested, then make all writes that are due."""
        self.note_served()
        state = self._cache.provisioning
        if not state.is_on or not self._writes.allowed():
            return
        unwanted = state.unwanted(int(self._clock()))
        gone = {(each.namespace, each.name) for each in unwanted}
        wanted = [each for name, each in state.requests.decided.items() if name not in gone]
        self._forget_pauses()
        limiter = anyio.CapacityLimiter(MOST_AT_ONCE)
        async with anyio.create_task_group() as group:
            for request in filter(self._is_due, unwanted):
                group.start_soon(self._one, limiter, request, partial(self._delete, request))
            for each in wanted:
                if self._is_due(each.request):
                    create = partial(self._create, each)
                    group.start_soon(self._one, limiter, each.request, create)
        for request in state.requests.take_news():
            self._tell(request)

    def note_served(self) -> None:
        """Note whether the kind is installed."""
        served = PROVISIONING_REQUESTS[0].name not in set(self._not_served())
        self._cache.serve_provisioning(served=served)

    async def _one(
        self,
        limiter: anyio.CapacityLimiter,
        request: ProvisioningRequest,
        write: Callable[[], Awaitable[None]],
    ) -> None:
        """Make one write; if it fails, wait before the next attempt."""
        async with limiter:
            with confined("write", f"{request.namespace}/{request.name}"):
                try:
                    await write()
                except ApiError as error:
                    self._failed(request, error)

    def _failed(self, request: ProvisioningRequest, error: ApiError) -> None:
        count(WHAT, error)
        name = f"{request.namespace}/{request.name}"
        backoff, _ = self._pauses.get(name) or (Backoff(last=LAST_PAUSE_SECONDS), 0.0)
        self._pauses[name] = backoff, self._clock() + backoff.seconds(error.retry_after)
        log.warning("provisioning_write_failed", request=name, error=str(error))

    def _is_due(self, request: ProvisioningRequest) -> bool:
        _, not_before = self._pauses.get(f"{request.namespace}/{request.name}", (None, 0.0))
        return self._clock() >= not_before

    def _forget_pauses(self) -> None:
        known = {f"{e.namespace}/{e.name}" for e in self._cache.provisioning.requests.all()}
        self._pauses = {name: each for name, each in self._pauses.items() if name in known}

    # Creation.

    async def _create(self, decided: Decided) -> None:
        """Create the templates and then the request. Raises ApiError if this must be repeated."""
        request = decided.request
        try:
            owners = owners_of(self._cache, decided.node_request)
            pods = await self._members.of(decided.node_request)
            for number, (pod_set, pod) in enumerate(
                zip(decided.node_request.pod_sets, pods, strict=True)
            ):
                template = pod_template(
                    *(template_name(request, number), pod, pod_set.node_labels, owners)
                )
                await self._create_once(template, request.namespace)
            if not self._writes.allowed():
                return
            decided.sent = True
            self._created(await self._create_request(decided, owners), request)
        except ApiError as error:
            refused = error.kind in (Kind.REFUSED, Kind.DENIED)
            about = request.namespace, request.name
            if not refused or self._writes.denial_may_pass(WHAT, error, about):
                raise
            count(WHAT, error)
            log.warning("provisioning_request_refused", request=request.name, error=str(error))
            now = int(self._clock())
            self._cache.provisioning.refused(request, error.message, now)

    async def _create_once(self, template: Body, namespace: str) -> None:
        if not self._writes.allowed():
            return
        try:
            await self._api.create(POD_TEMPLATES, namespace, template)
        except ApiError as error:
            # It has the same name, so it was made for the same members.
            if error.kind is not Kind.CONFLICT:
                raise

    async def _create_request(self, decided: Decided, owners: Iterable[Body]) -> Body:
        """Create the request in the best version that is served; return it, or the existing one."""
        request = decided.request
        for gvr in PROVISIONING_REQUESTS:
            body = provisioning_request(gvr, decided.node_request, request, owners)
            try:
                return await self._api.create(gvr, request.namespace, body)
            except ApiError as error:
                if error.kind is Kind.CONFLICT:
                    return await self._api.get(gvr, request.namespace, request.name)
                if error.kind is not Kind.GONE or gvr == PROVISIONING_REQUESTS[-1]:
                    raise
        raise AssertionError(request)

    def _created(self, body: Body, request: ProvisioningRequest) -> None:
        """Store the created request, unless the watch was faster."""
        name = (request.namespace, request.name)
        if name not in self._cache.provisioning.requests.decided:
            return
        try:
            found = decode.request(body)
        except InvalidField as error:
            raise ApiError(0, f"the answer is no request: {error}") from error
        if (found.gang, found.digest) != (request.gang, request.digest):
            message = "another ProvisioningRequest has its name"
            self._cache.provisioning.refused(request, message, int(self._clock()))
            return
        count(WHAT)
        log.info("provisioning_request_created", gang=str(request.gang), request=request.name)
        self._cache.upsert_request(found)

    # Deletion.

    async def _delete(self, request: ProvisioningRequest) -> None:
        """Delete a request and its templates. Raises ApiError if this must be repeated."""
        decided = self._cache.provisioning.requests.decided.get((request.namespace, request.name))
        if request.uid or (decided is not None and decided.sent):
            for gvr in _versions(request):
                await self._delete_one(gvr, request, request.name, request.uid)
        templates: Iterable[str] = request.templates
        if decided is not None:
            numbers = range(len(decided.node_request.pod_sets))
            templates = [template_name(request, number) for number in numbers]
        self._cache.provisioning.deleting(request)
        for name in templates:
            await self._delete_one(POD_TEMPLATES, request, name, "")
        if request.uid:
            count(WHAT, "deleted")
            log.info("provisioning_request_deleted", gang=str(request.gang), request=request.name)

    async def _delete_one(
        self, gvr: GVR, request: ProvisioningRequest, name: str, uid: str
    ) -> None:
        if not self._writes.allowed():
            return
        try:
            await self._api.delete(gvr, request.namespace, name, uid)
        except ApiError as error:
            if error.kind not in (Kind.GONE, Kind.CONFLICT):
                raise


def _versions(request: ProvisioningRequest) -> Iterable[GVR]:
    """Return the API versions in which a request may be deleted."""
    known = [gvr for gvr in PROVISIONING_REQUESTS if gvr.api_version == request.api_version]
    return known or PROVISIONING_REQUESTS
