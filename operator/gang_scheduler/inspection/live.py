"""The cluster of an API server, as far as the user has the right to read it.

LIVE, if the user may list nodes and the pods of all namespaces: the cache has the same content as
in `run`. Otherwise WRITTEN: the objects of one namespace, with the texts that the scheduler wrote
into them.
"""

import json
import math
import re
import time
from collections.abc import Callable, Collection, Sequence
from typing import Any, Final, NamedTuple

import anyio
from pydantic import ValidationError

from gang_scheduler import from_settings
from gang_scheduler.api import kinds as api_kinds
from gang_scheduler.api.kinds import CONFIG_MAPS, GVR
from gang_scheduler.client.errors import ApiError, Kind
from gang_scheduler.client.kubernetes import KubernetesApi
from gang_scheduler.decode.events import EventHandlers, LeftOutObjects
from gang_scheduler.decode.fields import timestamp_or_zero
from gang_scheduler.inspection import cluster
from gang_scheduler.inspection.cluster import Cluster, Source
from gang_scheduler.inspection.listing import waits
from gang_scheduler.inspection.servers import Server
from gang_scheduler.model.queues import Product
from gang_scheduler.recording.objects import Objects
from gang_scheduler.settings.choices import KUEUE_NAMESPACE, VOLCANO_NAMESPACE
from gang_scheduler.settings.policy import Policy
from gang_scheduler.state import kinds
from gang_scheduler.state.cache import Cache
from gang_scheduler.state.changes import Changes
from gang_scheduler.watch import list_once
from gang_scheduler.watch.known_objects import Handlers
from gang_scheduler.watch.list_once import Unlisted
from gang_scheduler.watch.quota_controllers import LeaseName, QuotaControllers

# Settings of the operator on which decisions depend, from the ConfigMap that the chart creates.
# The ConfigMap has the same name in every release. So it is found without knowing the namespace,
# and with a right that covers no other ConfigMap.

NAME: Final = "py-gang-scheduler-profile"
SETTINGS: Final = "settings.json"
"""The key of the ConfigMap with the settings: a JSON object, with names as in the environment."""
OPERATOR: Final = "operator"
"""The key under which the ConfigMap has the name of the Deployment."""
FLAGS: Final = "extraArgs.json"
"""The key of the operator's flags, which override its settings."""


class OperatorSettings(NamedTuple):
    """Settings, and the name of the operator that has them; "" for the default settings."""

    policy: Policy
    settings_of: str = ""
    notes: tuple[str, ...] = ()


async def read_profiles(server: Server) -> OperatorSettings:
    """Return the settings of the operator of a cluster, defaults where these cannot be read.

    Raises ApiError if the API server does not answer.
    """
    try:
        found = await list_once.bodies(
            *(server.connection, CONFIG_MAPS),
            selector=f"metadata.name={NAME}",
            page_seconds=server.request_seconds,
        )
    except ApiError as error:
        if error.kind not in (Kind.REFUSED, Kind.DENIED, Kind.GONE):
            raise
        return OperatorSettings(Policy())
    if not found:
        return OperatorSettings(Policy())
    first, *others = sorted(found, key=_age)
    return _with_note_of(others, of_config_map(first))


def _age(body: dict[str, Any]) -> tuple[float, str]:
    """Return a sort key for ConfigMaps: any user may make one, but none that is as old."""
    made, namespace = body["metadata"].get("creationTimestamp"), body["metadata"]["namespace"]
    return timestamp_or_zero(made) or math.inf, str(namespace)


def of_config_map(body: dict[str, Any]) -> OperatorSettings:
    """Return the settings of a ConfigMap; defaults and a note if they cannot be read."""
    namespace, data = body["metadata"]["namespace"], body.get("data") or {}
    known = Policy.model_fields
    try:
        given = json.loads(data.get(SETTINGS, "{}"))
        policy = Policy(**{name: value for name, value in given.items() if name in known})
    except (ValueError, AttributeError, ValidationError) as error:
        problem = " ".join(str(error).split())
        note = f"configmap {namespace}/{NAME} cannot be read, defaults are used: {problem}"
        return OperatorSettings(Policy(), notes=(note,))
    settings_of = f"{namespace}/{data.get(OPERATOR, 'py-gang-scheduler')}"
    return OperatorSettings(policy, settings_of, _of_flags(settings_of, data.get(FLAGS, "[]")))


def overridden(given: Policy, found: OperatorSettings) -> OperatorSettings:
    """Return the settings, overridden by `given`, and a note that names the overridden ones."""
    names = sorted(given.model_fields_set)
    if not names:
        return found
    policy = found.policy.model_copy(update={name: getattr(given, name) for name in names})
    of = f"of {found.settings_of}" if found.settings_of else "by default"
    note = f"settings {of}, but for {', '.join(names)}"
    return OperatorSettings(policy, found.settings_of, (*found.notes, note))


def _of_flags(settings_of: str, flags: str) -> tuple[str, ...]:
    """Return a note on flags of the operator that override settings, since they are not read."""
    known = {f"--{name.replace('_', '-')}" for name in Policy.model_fields}
    given = [
        each.partition("=")[0].replace("--no-", "--", 1) for each in re.findall(r"--[\w=-]+", flags)
    ]
    found = [each for each in given if each in known]
    return (f"not counted: {', '.join(found)} of {settings_of}",) if found else ()


def _with_note_of(others: list[dict[str, Any]], chosen: OperatorSettings) -> OperatorSettings:
    if not others:
        return chosen
    names = ", ".join(str(each["metadata"]["namespace"]) for each in others)
    note = f"there are operators in several namespaces: settings of {chosen.settings_of} are used"
    return chosen._replace(notes=(*chosen.notes, f"{note}, not those of {names}"))


WRITTEN_INTO: Final = frozenset(
    {
        api_kinds.PODS.name,
        api_kinds.POD_GROUPS.name,
        api_kinds.SCHED_PLUGINS_POD_GROUPS.name,
        api_kinds.NATIVE_POD_GROUPS[0].name,
        api_kinds.QUEUES.name,
    }
)
"""The kinds whose objects the scheduler writes statuses or conditions into."""
BESIDE_GANGS: Final = frozenset(
    {
        api_kinds.NODES.name,
        api_kinds.NAMESPACES.name,
        api_kinds.POD_DISRUPTION_BUDGETS.name,
        api_kinds.PERSISTENT_VOLUME_CLAIMS.name,
        api_kinds.CSI_STORAGE_CAPACITIES.name,
    }
)
"""Kinds that only decisions need. They are not read if no decision is made."""


NOTHING_GIVEN: Final = Policy()


async def read(server: Server, namespace: str = "", given: Policy = NOTHING_GIVEN) -> Cluster:
    """Return the cluster of a server; "" asks for all namespaces.

    If the user may not read all of it and named a namespace, only that namespace is read. Settings
    come from the operator; settings that are `given` win. Raises ApiError.
    """
    operator = overridden(given, await read_profiles(server))
    try:
        return await everything(server, operator)
    except ApiError as error:
        if error.status != list_once.FORBIDDEN or not namespace:
            raise
    return await only(server, operator, namespace)


def _as_they_are(event_handlers: EventHandlers) -> Handlers:
    return event_handlers


async def everything(
    server: Server,
    operator: OperatorSettings,
    seen_by: Callable[[EventHandlers], Handlers] = _as_they_are,
) -> Cluster:
    """Return the whole cluster. Raises ApiError, 403 if nodes or pods may not be listed.

    `seen_by` may return handlers that see objects on their way into the cache.
    """
    cache, left_out, event_handlers = empty(operator.policy)
    handlers = seen_by(event_handlers)
    unlisted = await list_once.fill(server.connection, handlers, server.request_seconds)
    notes = [*operator.notes, *notes_about(left_out), *_of_unlisted(unlisted.forbidden)]
    notes += await quota_notes(server, cache, unlisted)
    unknown = {*unlisted.not_served, *unlisted.forbidden}
    cache.serve_provisioning(served=api_kinds.PROVISIONING_REQUESTS[0].name not in unknown)
    cache.serve_devices(served=api_kinds.RESOURCE_CLAIMS.name not in unknown)
    waits.keep_room(cache)
    now = int(time.time())
    waits.set_aside_as_written(cache, now)
    return Cluster(
        *(cache, operator.policy, now, Source.LIVE, operator.settings_of),
        notes=tuple(notes),
        unread=unlisted.forbidden,
    )


async def only(server: Server, operator: OperatorSettings, namespace: str) -> Cluster:
    """Return a cluster with only the texts that the scheduler wrote in one namespace.

    Raises ApiError 403 if its pods may not be listed.
    """
    cache, left_out, event_handlers = empty(operator.policy)
    reading = _Namespace(server, namespace, event_handlers)
    async with anyio.create_task_group() as group:
        for reader, _ in kinds.sinks(cache):
            if reader.name not in BESIDE_GANGS and (reader.namespaced or _is_of_queues(reader.gvr)):
                group.start_soon(reading.take_in, reader.name, reader.versions)
    if reading.refused is not None:
        raise reading.refused
    asks = [cluster.ASK_FOR_ALL]
    if api_kinds.QUEUES.name in reading.forbidden:
        asks.append(cluster.ASK_FOR_QUEUES)
    return Cluster(
        *(cache, operator.policy, int(time.time()), Source.WRITTEN, operator.settings_of),
        notes=(*operator.notes, *notes_about(left_out), *asks),
        unread=tuple(sorted({*reading.forbidden, api_kinds.NODES.name})),
        namespace=namespace,
        written=reading.written,
    )


def _is_of_queues(gvr: GVR) -> bool:
    return "queues" in gvr.plural or "cohorts" in gvr.plural


class _Namespace:
    """Reads the objects of a namespace, and the cluster-wide objects of its gangs.

    `refused` is an error that makes any answer impossible: pods may not be listed.
    """

    def __init__(self, server: Server, namespace: str, event_handlers: EventHandlers) -> None:
        self.written: dict[str, Sequence[dict[str, Any]]] = {}
        self.forbidden: set[str] = set()
        self.refused: ApiError | None = None
        self._server = server
        self._namespace = namespace
        self._event_handlers = event_handlers

    async def take_in(self, name: str, versions: Sequence[GVR]) -> None:
        """Store the objects of a kind, in the first of its versions that is served."""
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
        return await list_once.bodies(self._server.connection, gvr, namespace, page_seconds=seconds)

    def _hand_on(self, gvr: GVR, found: Sequence[dict[str, Any]]) -> None:
        if gvr.name in WRITTEN_INTO:
            self.written[gvr.name] = found
        handler = self._event_handlers.of(gvr)
        for each in found:
            handler.handle({"type": "ADDED", "object": each})

    def _note(self, name: str, error: ApiError) -> None:
        if error.status != list_once.FORBIDDEN or name == api_kinds.PODS.name:
            self.refused = self.refused or error
        self.forbidden.add(name)


def _is_of_all(gvr: GVR) -> bool:
    return not kinds.of(gvr).reader.namespaced


def empty(
    of: Policy, recorded: Objects | None = None, changes: Changes | None = None
) -> tuple[Cache, LeftOutObjects, EventHandlers]:
    """Return an empty cache, and the handlers that fill it.

    With `recorded`, the handlers also note there which objects change.
    """
    cache = from_settings.cache(of, changes or Changes())
    left_out = LeftOutObjects(recorded.left_out) if recorded else LeftOutObjects()
    cache.gang_queue.expect_nothing()
    sinks = kinds.sinks(cache, from_settings.membership(of))
    return cache, left_out, EventHandlers(recorded.noting(sinks) if recorded else sinks, left_out)


def notes_about(left_out: LeftOutObjects) -> list[str]:
    """Return a line for each object that cannot be read."""
    lines = []
    for each in left_out.take_all():
        metadata = each.obj.get("metadata") or {}
        name = "/".join(str(metadata[key]) for key in ("namespace", "name") if metadata.get(key))
        lines.append(f"{each.kind} {name} is left out: {each.why}")
    return lines


def _of_unlisted(forbidden: Sequence[str]) -> list[str]:
    """Return the notes about kinds that could not be read."""
    if not forbidden:
        return []
    return [f"not counted, since they may not be listed: {', '.join(forbidden)}"]


async def quota_notes(server: Server, cache: Cache, unlisted: Unlisted) -> list[str]:
    """Tell the cache which other controllers decide quota; return a line for each of them."""
    lines: list[str] = []
    await quota_controllers(server, cache, lambda: unlisted.not_served, lines.append).look()
    return lines


def quota_controllers(
    server: Server,
    cache: Cache,
    not_served: Callable[[], Collection[str]],
    tell: Callable[[str], None],
) -> QuotaControllers:
    """Return the search for other controllers of quota; `tell` gets a line for each found."""

    def tell_of(product: Product, lease: LeaseName, _: str) -> None:
        tell(f"quota of {product.value} is decided by its own controller, {'/'.join(lease)}")

    return QuotaControllers(
        *(KubernetesApi(server.connection), cache),
        namespaces={Product.KUEUE: KUEUE_NAMESPACE, Product.VOLCANO: VOLCANO_NAMESPACE},
        tell=tell_of,
        not_served=not_served,
    )
