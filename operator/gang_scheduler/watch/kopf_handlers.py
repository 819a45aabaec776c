"""Every Kopf handler. Each hands its events on; Kopf never writes anything back.

Only `on.event`: the other kinds of handlers put finalizers and annotations on users' objects. Kinds
whose CRD is absent cost nothing, and are watched from the moment when the CRD appears.
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

    `listed` is called with the kind and the uid of every object that comes with a list, before the
    object is taken in.
    """
    for kind in WATCHED:
        # Without a version Kopf takes the preferred version of the group, which may not have the
        # kind: scheduling.k8s.io/v1 has no PodGroups.
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
    """Our credentials for Kopf, which keeps a session of its own. Equal ones compare equal."""

    tls: ssl.SSLContext = field(compare=False)

    def as_ssl_context(self) -> ssl.SSLContext:
        """Return our TLS context: Kopf has no setting for tls-server-name."""
        return self.tls


async def credentials(connection: Connection) -> Credentials:
    """Return the credentials with which Kopf logs in."""
    scheme, _, token = (await connection.authorization()).get("Authorization", "").partition(" ")
    return Credentials(
        server=connection.host,
        tls=connection.tls,
        scheme=scheme or None,
        token=token or None,
        proxy_url=connection.proxy_url,
    )
