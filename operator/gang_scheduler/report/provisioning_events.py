"""Tells of requests for nodes: Events on the objects of gangs, and counts."""

from typing import Final, NamedTuple

from gang_scheduler.decode.workloads import table
from gang_scheduler.model.provisioning import Came, ProvisioningRequest
from gang_scheduler.report.events import About, Events
from gang_scheduler.report.texts.causes.provisioning import came_text
from gang_scheduler.state.cache import Cache
from gang_scheduler.telemetry import metrics


class _Said(NamedTuple):
    """The Event of what came of a request."""

    reason: str
    warning: bool = False


EVENTS: Final = {
    Came.ASKED: _Said("ProvisioningRequested"),
    Came.PROVISIONED: _Said("Provisioned"),
    Came.FAILED: _Said("ProvisioningFailed", warning=True),
    Came.REVOKED: _Said("ProvisioningFailed", warning=True),
    Came.EXPIRED: _Said("ProvisioningFailed", warning=True),
    Came.REFUSED: _Said("ProvisioningFailed", warning=True),
}


class ProvisioningEvents:
    """Tells once what came of each request."""

    def __init__(self, cache: Cache, events: Events) -> None:
        self._cache = cache
        self._events = events

    def tell(self, request: ProvisioningRequest) -> None:
        """Tell what came of a request; nothing of one for a gang that is gone."""
        metrics.PROVISIONING_REQUESTS.labels(request.came.value).inc()
        said, about = EVENTS.get(request.came), self._about(request)
        if said is None or about is None:
            return
        words = came_text(request.came, request.message)
        if request.came is Came.ASKED:
            words = f"nodes of class {request.class_name} are asked for"
        elif request.came is Came.PROVISIONED:
            words = request.message or "the nodes are there"
        note = f"ProvisioningRequest {request.name}: {words}"
        self._events.record(about, said.reason, note, warning=said.warning)

    def _about(self, request: ProvisioningRequest) -> About | None:
        """Return the object of a gang, or a member where there is none."""
        key = request.gang
        info = self._cache.gang_queue.infos.get(key)
        if info is None:
            return None
        spec = info.observed.spec
        if spec is not None and spec.gvr is not None:
            kind = table.BY_NAME[key.source].object_kind
            name = key.name.partition("/")[0]
            return About(spec.gvr.api_version, kind, key.namespace, name, spec.uid, gang=key)
        pod = next(iter(info.observed.living), None)
        if pod is None:
            return None
        return About("v1", "Pod", pod.namespace, pod.name, pod.uid, gang=key)
