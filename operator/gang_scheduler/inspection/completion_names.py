"""Names of objects, for shell completion."""

import asyncio
from collections.abc import Iterable

import msgspec

from gang_scheduler.api.kinds import (
    GVR,
    NAMESPACES,
    NATIVE_POD_GROUPS,
    NODES,
    POD_GROUPS,
    PODS,
    QUEUES,
    SCHED_PLUGINS_POD_GROUPS,
)
from gang_scheduler.client.errors import UNREADABLE, ApiError
from gang_scheduler.client.kubernetes import METADATA_ONLY
from gang_scheduler.decode.pods import pod
from gang_scheduler.inspection.servers import Server
from gang_scheduler.settings.policy import Policy
from gang_scheduler.wire import pods as pod_wire
from gang_scheduler.wire.base import IdentityList, Wire
from gang_scheduler.workloads import table


class _Pods(Wire, frozen=True):
    items: list[pod_wire.Pod] | None = None


async def gangs(server: Server, namespace: str, most: int) -> set[str]:
    """Return at most `most` names of gangs from each kind of PodGroup, and from pods."""
    kinds = (POD_GROUPS, SCHED_PLUGINS_POD_GROUPS, NATIVE_POD_GROUPS[0])
    found = await asyncio.gather(
        *(_names(server, gvr, most, namespace) for gvr in kinds),
        _of_pods(server, namespace, most),
    )
    return set().union(*found)


async def queues(server: Server, _: str, most: int) -> Iterable[str]:
    """Return the names of Queues."""
    return await _names(server, QUEUES, most)


async def namespaces(server: Server, _: str, most: int) -> Iterable[str]:
    """Return the names of namespaces."""
    return await _names(server, NAMESPACES, most)


async def nodes(server: Server, _: str, most: int) -> Iterable[str]:
    """Return the names of nodes."""
    return await _names(server, NODES, most)


async def _names(server: Server, gvr: GVR, most: int, namespace: str = "") -> Iterable[str]:
    try:
        answer = await server.connection.request(
            *("GET", f"{gvr.path(namespace)}?limit={most}"),
            accept=METADATA_ONLY,
            timeout_seconds=server.request_seconds,
        )
        page = msgspec.json.decode(answer, type=IdentityList)
    except (ApiError, *UNREADABLE):
        return ()  # Not served, or not allowed.
    return [each.metadata.name for each in page.items or ()]


async def _of_pods(server: Server, namespace: str, most: int) -> Iterable[str]:
    """Return the names of gangs of pods that have our default schedulerName."""
    (ours, *_) = Policy().rules.gangs.scheduler_names
    path = f"{PODS.path(namespace)}?limit={most}&fieldSelector=spec.schedulerName={ours}"
    try:
        answer = await server.connection.request(
            "GET", path, timeout_seconds=server.request_seconds
        )
        found = msgspec.json.decode(answer, type=_Pods).items or ()
    except (ApiError, *UNREADABLE):
        return ()
    return [pod.pod_from_wire(each, table.MEMBERSHIP).gang.name for each in found]
