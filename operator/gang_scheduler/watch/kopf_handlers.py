"""Every Kopf handler. Each hands its events on; nothing is ever written back through Kopf.

Only `on.event`: the other kinds of handlers put finalizers and annotations on users' objects.
Kinds whose CRD is absent cost nothing, and are watched from the moment it appears.
"""

import ssl
from collections.abc import Callable
from dataclasses import dataclass, field

import kopf

from gang_scheduler.api.kinds import GVR
from gang_scheduler.client.connection import Connection
from gang_scheduler.decode import unreadable
from gang_scheduler.decode.event_handlers import EventHandlers
from gang_scheduler.watch.watched_kinds import WATCHED, Watched

Listed = Callable[[GVR, str], None]


def register(
    registry: kopf.OperatorRegistry,
    event_handlers: EventHandlers,
    listed: Listed,
    connection: Connection,
) -> None:
    """Put all handlers into a registry.

    `listed` is called with the kind and the uid of every object that came with a list, before it is
    taken in.
    """
    for kind in WATCHED:
        # Kopf takes a kind without a version for one of the group's preferred version, and that
        # may have no such kind: scheduling.k8s.io/v1 has no PodGroups.
        for gvr in kind.versions:
            _watch(registry, gvr, kind, event_handlers, listed)

    @kopf.on.login(registry=registry)
    async def login(**_: object) -> kopf.ConnectionInfo:
        return await credentials(connection)


def _watch(
    registry: kopf.OperatorRegistry,
    gvr: GVR,
    kind: Watched,
    event_handlers: EventHandlers,
    listed: Listed,
) -> None:
    @kopf.on.event(*gvr, id=gvr.plural, registry=registry)
    async def seen(event: kopf.RawEvent, **_: object) -> None:
        if event["type"] is None:
            listed(kind.versions[0], unreadable.identity(event["object"]).uid)
        kind.take(event_handlers, event)


@dataclass(frozen=True, kw_only=True)
class Credentials(kopf.ConnectionInfo):
    """Ours for Kopf, which keeps a session of its own. Two that say the same are equal."""

    tls: ssl.SSLContext = field(compare=False)

    def as_ssl_context(self) -> ssl.SSLContext:
        """Return ours: Kopf has no word for the name that the server must prove."""
        return self.tls


async def credentials(connection: Connection) -> Credentials:
    """Return what Kopf logs in with."""
    scheme, _, token = (await connection.authorization()).get("Authorization", "").partition(" ")
    return Credentials(
        server=connection.host,
        tls=connection.tls,
        scheme=scheme or None,
        token=token or None,
        proxy_url=connection.proxy_url,
    )
