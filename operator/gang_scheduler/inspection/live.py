"""Clusters of an API server, as far as one may read them.

LIVE, where nodes and the pods of all namespaces may be listed: the same cache as that of `run`.
Else WRITTEN: the objects of one namespace, with what the scheduler wrote into them.
"""

import time
from collections.abc import Callable, Sequence
from typing import Any, Final

import anyio

from gang_scheduler import policy
from gang_scheduler.api import kinds as api_kinds
from gang_scheduler.api.kinds import GVR
from gang_scheduler.client.errors import ApiError, Kind
from gang_scheduler.client.kubernetes import KubernetesApi
from gang_scheduler.decode.event_handlers import EventHandlers
from gang_scheduler.decode.left_out import LeftOutObjects
from gang_scheduler.inspection import awaited_claims, gangs_set_aside, origins, profiles
from gang_scheduler.inspection.clusters import Cluster, Source
from gang_scheduler.inspection.profiles import OperatorSettings
from gang_scheduler.inspection.servers import Server
from gang_scheduler.model.queues import Product
from gang_scheduler.settings.policy import Policy
from gang_scheduler.settings.values import KUEUE_NAMESPACE, VOLCANO_NAMESPACE
from gang_scheduler.state import kinds
from gang_scheduler.state.cache import Cache
from gang_scheduler.state.changes import Changes
from gang_scheduler.watch import live
from gang_scheduler.watch.live import Unlisted
from gang_scheduler.watch.quota_controllers import LeaseName, QuotaControllers

WRITTEN_INTO: Final = frozenset(
    {
        api_kinds.PODS.name,
        api_kinds.POD_GROUPS.name,
        api_kinds.SCHED_PLUGINS_POD_GROUPS.name,
        api_kinds.NATIVE_POD_GROUPS[0].name,
        api_kinds.QUEUES.name,
    }
)
"""The kinds that the scheduler writes into."""
BESIDE_GANGS: Final = frozenset(
    {
        api_kinds.NODES.name,
        api_kinds.NAMESPACES.name,
        api_kinds.POD_DISRUPTION_BUDGETS.name,
        api_kinds.PERSISTENT_VOLUME_CLAIMS.name,
        api_kinds.CSI_STORAGE_CAPACITIES.name,
    }
)
"""Kinds that only decisions need: where these are written and not made, they are not read."""


NOTHING_GIVEN: Final = Policy()


async def read(server: Server, namespace: str = "", given: Policy = NOTHING_GIVEN) -> Cluster:
    """Return the cluster of a server; "" asks for all namespaces.

    Where it may not be read, a namespace that was asked for is read alone. Settings are those of
    the operator, but for those that are `given`. Raises ApiError.
    """
    operator = profiles.but_for(given, await profiles.read(server))
    try:
        return await everything(server, operator)
    except ApiError as error:
        if error.status != live.FORBIDDEN or not namespace:
            raise
    return await only(server, operator, namespace)


def _unseen(event_handlers: EventHandlers) -> live.Handlers:
    return event_handlers


async def everything(
    server: Server,
    operator: OperatorSettings,
    seen_by: Callable[[EventHandlers], live.Handlers] = _unseen,
) -> Cluster:
    """Return the whole cluster. Raises ApiError, 403 if nodes or pods may not be listed.

    `seen_by` may return handlers that look at objects on their way into the cache.
    """
    cache, left_out, event_handlers = _empty(operator.policy)
    handlers = seen_by(event_handlers)
    unlisted = await live.fill(server.connection, handlers, server.request_seconds)
    notes = [*operator.notes, *_told(left_out), *_of_unlisted(unlisted.forbidden)]
    notes += await _quota_notes(server, cache, unlisted)
    unknown = {*unlisted.not_served, *unlisted.forbidden}
    cache.serve_provisioning(served=api_kinds.PROVISIONING_REQUESTS[0].name not in unknown)
    awaited_claims.keep_room(cache)
    now = int(time.time())
    gangs_set_aside.take_over(cache, now)
    return Cluster(
        *(cache, operator.policy, now, Source.LIVE, operator.settings_of),
        notes=tuple(notes),
        unread=unlisted.forbidden,
    )


async def only(server: Server, operator: OperatorSettings, namespace: str) -> Cluster:
    """Return what is written in a namespace. Raises ApiError, 403 if its pods may not be listed."""
    cache, left_out, event_handlers = _empty(operator.policy)
    reading = _Namespace(server, namespace, event_handlers)
    async with anyio.create_task_group() as group:
        for reader, _ in kinds.sinks(cache):
            if reader.name not in BESIDE_GANGS and (reader.namespaced or _is_of_queues(reader.gvr)):
                group.start_soon(reading.take_in, reader.name, reader.versions)
    if reading.refused is not None:
        raise reading.refused
    asks = [origins.ASK_FOR_ALL]
    if api_kinds.QUEUES.name in reading.forbidden:
        asks.append(origins.ASK_FOR_QUEUES)
    return Cluster(
        *(cache, operator.policy, int(time.time()), Source.WRITTEN, operator.settings_of),
        notes=(*operator.notes, *_told(left_out), *asks),
        unread=tuple(sorted({*reading.forbidden, api_kinds.NODES.name})),
        namespace=namespace,
        written=reading.written,
    )


def _is_of_queues(gvr: GVR) -> bool:
    return "queues" in gvr.plural or "cohorts" in gvr.plural


class _Namespace:
    """Reads the objects of a namespace, and those without one that gangs are in.

    `refused` is the answer that nothing can be said without: of pods.
    """

    def __init__(self, server: Server, namespace: str, event_handlers: EventHandlers) -> None:
        self.written: dict[str, Sequence[dict[str, Any]]] = {}
        self.forbidden: set[str] = set()
        self.refused: ApiError | None = None
        self._server = server
        self._namespace = namespace
        self._event_handlers = event_handlers

    async def take_in(self, name: str, versions: Sequence[GVR]) -> None:
        """Take in the objects of a kind, in the first of its versions that is served."""
        for gvr in versions:
            try:
                found = await self._bodies(gvr)
            except ApiError as error:
                if error.kind is not Kind.GONE:
                    self._note(name, error)
                    return
            else:
                self._hand_on(gvr, found)
                return

    async def _bodies(self, gvr: GVR) -> list[dict[str, Any]]:
        namespace = "" if _is_of_all(gvr) else self._namespace
        seconds = self._server.request_seconds
        return await live.bodies(self._server.connection, gvr, namespace, page_seconds=seconds)

    def _hand_on(self, gvr: GVR, found: Sequence[dict[str, Any]]) -> None:
        if gvr.name in WRITTEN_INTO:
            self.written[gvr.name] = found
        handler = self._event_handlers.of(gvr)
        for each in found:
            handler.take({"type": "ADDED", "object": each})

    def _note(self, name: str, error: ApiError) -> None:
        if error.status != live.FORBIDDEN or name == api_kinds.PODS.name:
            self.refused = self.refused or error
        self.forbidden.add(name)


def _is_of_all(gvr: GVR) -> bool:
    return not kinds.of(gvr).reader.namespaced


def _empty(of: Policy) -> tuple[Cache, LeftOutObjects, EventHandlers]:
    """Return an empty cache, and what fills it."""
    cache, left_out = policy.cache(of, Changes()), LeftOutObjects()
    cache.gang_queue.expect_nothing()
    return cache, left_out, EventHandlers(kinds.sinks(cache, policy.membership(of)), left_out)


def _told(left_out: LeftOutObjects) -> list[str]:
    """Return a line for each object that cannot be read."""
    lines = []
    for each in left_out.take_all():
        metadata = each.obj.get("metadata") or {}
        name = "/".join(str(metadata[key]) for key in ("namespace", "name") if metadata.get(key))
        lines.append(f"{each.kind} {name} is left out: {each.why}")
    return lines


def _of_unlisted(forbidden: Sequence[str]) -> list[str]:
    """Return what is to be known of an answer without some kinds."""
    if not forbidden:
        return []
    return [f"not counted, since they may not be listed: {', '.join(forbidden)}"]


async def _quota_notes(server: Server, cache: Cache, unlisted: Unlisted) -> list[str]:
    """Tell the cache whether other controllers decide quota; return a line for each that does."""
    lines: list[str] = []

    def tell(product: Product, lease: LeaseName, _: str) -> None:
        lines.append(
            f"quota of {product.value} is decided by its own controller, {'/'.join(lease)}"
        )

    look = QuotaControllers(
        *(KubernetesApi(server.connection), cache),
        namespaces={
            Product.KUEUE: KUEUE_NAMESPACE,
            Product.VOLCANO: VOLCANO_NAMESPACE,
        },
        tell=tell,
        not_served=lambda: unlisted.not_served,
    )
    await look.look()
    return lines
