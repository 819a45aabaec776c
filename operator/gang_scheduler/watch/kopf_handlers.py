"""Every Kopf handler. Each hands its events on; Kopf never writes anything back.

Only `on.event`: the other kinds of handlers put finalizers and annotations on users' objects. Kinds
whose CRD is absent cost nothing, and are watched from the moment when the CRD appears.
"""

import ssl
from dataclasses import dataclass, field
from typing import Any

import kopf

from gang_scheduler.api.kinds import GVR
from gang_scheduler.client.connection import Connection
from gang_scheduler.decode.event_handlers import EventHandlers, KindHandler
from gang_scheduler.watch import watch_ages


def register(
    registry: kopf.OperatorRegistry, event_handlers: EventHandlers, connection: Connection
) -> None:
    """Put all handlers into a registry, for what watches bring: see `kopf_lists` for lists."""
    for handler in event_handlers.all:
        # Kopf takes a kind without a version for one of the group's preferred version, and that
        # may have no such kind: scheduling.k8s.io/v1 has no PodGroups.
        for gvr in handler.versions:
            _watch(registry, gvr, handler)

    @kopf.on.login(registry=registry)
    async def login(**_: object) -> kopf.ConnectionInfo:
        return await credentials(connection)


def _watch(registry: kopf.OperatorRegistry, gvr: GVR, handler: KindHandler[Any]) -> None:
    @kopf.on.event(*gvr, id=gvr.plural, registry=registry)
    async def seen(event: kopf.RawEvent, **_: object) -> None:
        handler.take(event)
        watch_ages.seen(handler.name)


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
